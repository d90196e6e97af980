//! Machine code of the loop along a row, and its entry.
//!
//! One file holds all operations of a trace, a few instructions each.

use super::codes::{self, *};
use super::instructions::{Address, Instruction as Step, InstructionList, N_GATHERED, Operand, Pooled, slot};
use super::trace::{Among, Binary, RegisterTarget, Unary};
use crate::simd::Level;
use iced_x86::Code as Name;
use iced_x86::{
    BlockEncoder, BlockEncoderOptions, IcedError, Instruction, InstructionBlock, MemoryOperand, Register,
};
use jostle_core::Precision;
use memmap2::{Mmap, MmapMut};

/// A row and its partners. The code relies on the order of the fields, each of eight bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RowArguments {
    /// First and end of the places of the tile, counted from its second one, all atoms of which are
    /// partners.
    pub partners: [*const u8; 2],
    /// First and end of the places of which some atoms are partners.
    pub parts: [*const PartialPlace; 2],
    /// Square cut-offs and coefficients of the species of the row's atom.
    pub table: *const u8,
    /// Address of the x coordinate of the row's atom; y and z are registers further.
    pub center: *const u8,
    /// Registers for the components of the force on it.
    pub accumulated: [*mut u8; N_GATHERED],
}

/// Some atoms of a place of the tile.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PartialPlace {
    /// Place in bytes from the beginning of the tile.
    pub place: u64,
    /// Set of atoms: bit k if atom k is a partner of the row.
    pub atoms: u64,
}

/// Sizes of a place of the tile, in registers, and of a coefficient in the table, in numbers.
#[derive(Debug, Clone, Copy)]
pub struct PlaceLayout {
    pub place: usize,
    pub row: usize,
}

/// Machine code that is ready to run.
pub struct CompiledCode {
    code: Mmap,
    target: RegisterTarget,
    n_slots: usize,
    pool: Vec<Pooled>,
}

impl CompiledCode {
    /// Assembles code. None if it cannot be encoded, or if the system does not let it run.
    pub fn new(code: &InstructionList, layout: PlaceLayout) -> Option<Self> {
        let bytes = Assembler::new(code, layout).assemble().ok()?;
        let mut memory = MmapMut::map_anon(bytes.len()).ok()?;
        memory.copy_from_slice(&bytes);
        let pool = code.pool.clone();
        Some(CompiledCode {
            code: memory.make_exec().ok()?,
            target: code.target,
            n_slots: code.n_slots.into(),
            pool,
        })
    }

    /// Length of the working memory, in numbers.
    pub fn memory_len(&self) -> usize {
        let stride = pool_stride(self.target);
        // Embedded numbers are read alone; a full register for each keeps the rule simple.
        self.n_slots * self.target.width() + (self.pool.len() * stride).next_multiple_of(self.target.width())
    }

    /// Contents of the working memory before the first row: range and number.
    pub fn constants(
        &self,
        coefficient: impl Fn(usize) -> f64,
    ) -> impl Iterator<Item = (std::ops::Range<usize>, f64)> {
        let width = self.target.width();
        let bits = (0..width).map(move |lane| {
            let place = usize::from(slot::BITS) * width + lane;
            (place..place + 1, number(self.target, 1 << lane))
        });
        let (start, stride) = (self.n_slots * width, pool_stride(self.target));
        let pool = self.pool.iter().enumerate().map(move |(k, pooled)| {
            let value = match *pooled {
                Pooled::Literal(bits) => number(self.target, bits),
                Pooled::Coefficient(k) => coefficient(k.into()),
            };
            (start + k * stride..start + (k + 1) * stride, value)
        });
        bits.chain(pool)
    }

    /// Runs the code over rows: adds the reactions to the tile, and stores what rows accumulate.
    ///
    /// # Safety
    /// The processor must have the level that the code was made for. All places that rows name must be
    /// within the tile, the tile's places of the size the code was assembled for, working memory as long
    /// as [`CompiledCode::memory_len`] says and filled with [`CompiledCode::constants`]; no other code may use
    /// the tile, this memory and the accumulated numbers meanwhile; tables must have a row for every
    /// coefficient, and species at the places of the tile must be in them.
    #[inline(always)]
    pub unsafe fn call(&self, memory: *mut u8, tile: *mut u8, rows: &[RowArguments]) {
        type RowFunction =
            unsafe extern "sysv64" fn(*mut u8, *mut u8, *const RowArguments, *const RowArguments);
        // SAFETY: the memory holds a function of this type from its beginning on, is never written to
        // again, and lives as long as `self`.
        let function: RowFunction = unsafe { std::mem::transmute(self.code.as_ptr()) };
        let ends = rows.as_ptr_range();
        // SAFETY: as the caller promises.
        unsafe { function(memory, tile, ends.start, ends.end) }
    }
}

/// Number with these bits.
fn number(target: RegisterTarget, bits: u64) -> f64 {
    match target.precision {
        Precision::Mixed => f64::from(f32::from_bits(bits as u32)),
        Precision::Double => f64::from_bits(bits),
    }
}

/// Spacing of the numbers of the pool: AVX2 reads whole registers.
fn pool_stride(target: RegisterTarget) -> usize {
    if target.level == Level::Avx512 { 1 } else { target.width() }
}

// General registers, all of them the caller's to save. The first four are arguments.
const MEMORY: Register = Register::RDI;
const TILE: Register = Register::RSI;
const ROW: Register = Register::RDX;
const ROWS_END: Register = Register::RCX;
const PARTNER: Register = Register::R8;
const PARTNERS_END: Register = Register::R9;
const PART: Register = Register::R10;
const TABLE: Register = Register::R11;
/// Register with the address of the current partners.
const PLACE: Register = Register::RAX;

/// AVX-512: the partners of the row at the place, and the result of the last comparison.
const PARTNERS_MASK: Register = Register::K1;
const LESS: Register = Register::K2;
/// AVX2: the result of the last comparison.
const MASK: u8 = 15;

/// Targets of jumps.
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
enum Label {
    NextRow = 1,
    NextPartner,
    Interact,
    NextPart,
    RowDone,
    Done,
}

/// Predicate "less than", false for NaN, without signalling.
const LESS_THAN: u32 = 0x11;

struct Assembler<'a> {
    code: &'a InstructionList,
    layout: PlaceLayout,
    target: RegisterTarget,
    is_512: bool,
    instructions: Vec<Instruction>,
    /// Label of the next instruction.
    label: u64,
}

impl<'a> Assembler<'a> {
    fn new(code: &'a InstructionList, layout: PlaceLayout) -> Self {
        let target = code.target;
        let is_512 = target.level == Level::Avx512;
        Assembler { code, layout, target, is_512, instructions: Vec::new(), label: 0 }
    }

    fn assemble(mut self) -> Result<Vec<u8>, IcedError> {
        for (register, address) in &self.code.fixed {
            if Self::center(*address).is_none() {
                self.step(Step::Load { to: *register, from: Operand::Memory(*address) })?;
            }
        }
        self.mark(Label::NextRow);
        self.push(Instruction::with2(Name::Cmp_r64_rm64, ROW, ROWS_END)?);
        self.jump(Name::Jae_rel32_64, Label::Done)?;
        self.begin_row()?;
        self.partners()?;
        self.end_row()?;
        self.mark(Label::Done);
        self.push(Instruction::with(Name::VEX_Vzeroupper));
        self.push(Instruction::with(Name::Retnq));
        let block = InstructionBlock::new(&self.instructions, 0);
        Ok(BlockEncoder::encode(64, block, BlockEncoderOptions::NONE)?.code_buffer)
    }

    /// Coordinate of the row's atom at this slot.
    fn center(address: Address) -> Option<u16> {
        match address {
            Address::Slot(k) if k < slot::CENTER + 3 => Some(k - slot::CENTER),
            _ => None,
        }
    }

    /// Reads a field of the row.
    fn field(&mut self, to: Register, k: usize) -> Result<(), IcedError> {
        let field = MemoryOperand::with_base_displ_size(ROW, 8 * k as i64, 1);
        self.push(Instruction::with2(Name::Mov_r64_rm64, to, field)?);
        Ok(())
    }

    fn partners(&mut self) -> Result<(), IcedError> {
        let bytes = self.place_bytes();
        let narrow = Register::EAX;
        self.mark(Label::NextPartner);
        self.push(Instruction::with2(Name::Cmp_r64_rm64, PARTNER, PARTNERS_END)?);
        self.jump(Name::Jae_rel32_64, Label::NextPart)?;
        let partner = MemoryOperand::with_base(PARTNER);
        self.push(Instruction::with2(Name::Movzx_r32_rm8, narrow, partner)?);
        self.push(Instruction::with2(Name::Add_rm64_imm8, PARTNER, 1)?);
        self.push(Instruction::with3(Name::Imul_r32_rm32_imm32, narrow, narrow, bytes as i32)?);
        let place = MemoryOperand::with_base_index_scale_displ_size(TILE, PLACE, 1, bytes as i64, 1);
        self.push(Instruction::with2(Name::Lea_r64_m, PLACE, place)?);
        self.mark(Label::Interact);
        for step in &self.code.instructions {
            self.step(*step)?;
        }
        self.jump(Name::Jmp_rel32_64, Label::NextPartner)?;
        self.mark(Label::NextPart);
        let parts_end = MemoryOperand::with_base_displ_size(ROW, 24, 1);
        self.push(Instruction::with2(Name::Cmp_r64_rm64, PART, parts_end)?);
        self.jump(Name::Jae_rel32_64, Label::RowDone)?;
        self.push(Instruction::with2(Name::Mov_r64_rm64, PLACE, MemoryOperand::with_base(PART))?);
        self.push(Instruction::with2(Name::Add_r64_rm64, PLACE, TILE)?);
        self.select_atoms(MemoryOperand::with_base_displ(PART, 8))?;
        self.push(Instruction::with2(Name::Add_rm64_imm8, PART, 16)?);
        self.jump(Name::Jmp_rel32_64, Label::Interact)
    }

    fn begin_row(&mut self) -> Result<(), IcedError> {
        for (k, register) in [PARTNER, PARTNERS_END, PART].into_iter().enumerate() {
            self.field(register, k)?;
        }
        self.field(TABLE, 4)?;
        // Coordinates of the row's atom, whose address is in PLACE for now.
        self.field(PLACE, 5)?;
        for k in 0..3 {
            let offset = usize::from(k) * self.target.width() * self.target.size();
            let from = MemoryOperand::with_base_displ_size(PLACE, offset as i64, 1);
            let fixed = self.code.fixed.iter().find(|(_, address)| Self::center(*address) == Some(k));
            let to = fixed.map_or(0, |(register, _)| *register);
            self.push(Instruction::with2(choose(SPREAD, self.target), self.vector(to), from)?);
            if fixed.is_none() {
                self.step(Step::Store { from: to, to: Address::Slot(slot::CENTER + k) })?;
            }
        }
        for k in 0..N_GATHERED as u8 {
            let zero = codes::binary(Binary::ExclusiveOr);
            let register = self.vector(k);
            self.push(Instruction::with3(choose(zero, self.target), register, register, register)?);
        }
        if self.is_512 {
            self.push(Instruction::with3(
                Name::VEX_Kxnorw_kr_kr_kr,
                PARTNERS_MASK,
                PARTNERS_MASK,
                PARTNERS_MASK,
            )?);
            return Ok(());
        }
        self.all_lanes()?;
        self.step(Step::Store { from: MASK, to: Address::Slot(slot::PARTNERS) })
    }

    fn end_row(&mut self) -> Result<(), IcedError> {
        self.mark(Label::RowDone);
        for k in 0..N_GATHERED {
            self.field(PLACE, 6 + k)?;
            let to = MemoryOperand::with_base(PLACE);
            self.push(Instruction::with2(choose(STORE, self.target), to, self.vector(k as u8))?);
        }
        self.push(Instruction::with2(Name::Add_rm64_imm8, ROW, size_of::<RowArguments>() as i32)?);
        self.jump(Name::Jmp_rel32_64, Label::NextRow)
    }

    /// Makes the atoms whose bits are set the row's partners.
    fn select_atoms(&mut self, atoms: MemoryOperand) -> Result<(), IcedError> {
        if self.is_512 {
            self.push(Instruction::with2(Name::VEX_Kmovw_kr_km16, PARTNERS_MASK, atoms)?);
            return Ok(());
        }
        let mask = self.vector(MASK);
        let bits = self.address(Address::Slot(slot::BITS));
        self.push(Instruction::with2(choose(SPREAD_BITS, self.target), mask, atoms)?);
        let and = choose(codes::binary(Binary::And), self.target);
        self.push(Instruction::with3(and, mask, mask, bits)?);
        self.push(Instruction::with3(choose(EQUAL_BITS, self.target), mask, mask, bits)?);
        self.step(Step::Store { from: MASK, to: Address::Slot(slot::PARTNERS) })
    }

    /// AVX2: mask of all lanes.
    fn all_lanes(&mut self) -> Result<(), IcedError> {
        let mask = self.vector(MASK);
        self.push(Instruction::with3(choose(EQUAL_BITS, self.target), mask, mask, mask)?);
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<(), IcedError> {
        let target = self.target;
        match step {
            Step::Load { to, from: Operand::Register(from) } => {
                let (to, from) = (self.vector(to), self.vector(from));
                self.push(Instruction::with2(choose(MOVE, target), to, from)?);
            }
            Step::Load { to, from: Operand::Memory(from) } => {
                let is_single = self.is_512 && matches!(from, Address::Pool(_));
                let mut memory = self.address(from);
                memory.is_broadcast = false;
                let code = choose(if is_single { SPREAD } else { LOAD }, target);
                self.push(Instruction::with2(code, self.vector(to), memory)?);
            }
            Step::Store { from, to } => {
                let to = self.address(to);
                self.push(Instruction::with2(choose(STORE, target), to, self.vector(from))?);
            }
            Step::Unary { operation, to, from } => self.unary(operation, to, from)?,
            Step::Binary { operation, to, first, second } => {
                self.three(choose(codes::binary(operation), target), to, first, second)?;
            }
            Step::MultiplyAdd { form, signs, to, first, second } => {
                self.three(choose(codes::multiply_add(form, signs), target), to, first, second)?;
            }
            Step::Compare { among, first, second } => self.compare(among, first, second)?,
            Step::Choose { to, yes, no } if self.is_512 => {
                self.three(choose(BLEND, target), to, no, yes)?.set_op_mask(LESS);
            }
            Step::Choose { to, yes, no } => {
                let (to, no, mask) = (self.vector(to), self.vector(no), self.vector(MASK));
                let code = choose(BLEND, target);
                self.push(match yes {
                    Operand::Register(yes) => Instruction::with4(code, to, no, self.vector(yes), mask)?,
                    Operand::Memory(yes) => Instruction::with4(code, to, no, self.address(yes), mask)?,
                });
            }
            Step::Keep { to, yes } if self.is_512 => {
                let instruction = match yes {
                    Operand::Register(yes) => {
                        Instruction::with2(choose(MOVE, target), self.vector(to), self.vector(yes))?
                    }
                    // The masked form sets all other lanes to zero, whatever the second operand is.
                    Operand::Memory(yes) => {
                        let to = self.vector(to);
                        Instruction::with3(choose(BLEND, target), to, to, self.address(yes))?
                    }
                };
                let instruction = self.push(instruction);
                instruction.set_op_mask(LESS);
                instruction.set_zeroing_masking(true);
            }
            Step::Keep { to, yes } => {
                let and = choose(codes::binary(Binary::And), target);
                self.three(and, to, MASK, yes)?;
            }
            Step::Permute { to, index, row } => {
                let memory = MemoryOperand::with_base_displ_size(TABLE, self.row(row), 1);
                let (to, index) = (self.vector(to), self.vector(index));
                self.push(Instruction::with3(choose(PERMUTE, target), to, index, memory)?);
            }
            Step::Gather { to, index, row } => self.gather(to, index, row)?,
        }
        Ok(())
    }

    fn unary(&mut self, operation: Unary, to: u8, from: Operand) -> Result<(), IcedError> {
        let code = choose(codes::unary(operation), self.target);
        let is_double = self.target.precision == Precision::Double;
        let immediate = match operation {
            // Rounding to the nearest; AVX2 has a bit of its own against the inexact exception.
            Unary::Round => Some(if self.is_512 { 0 } else { 8 }),
            // Difference from the next lower whole number.
            Unary::Fraction => Some(1),
            // Mantissa from 1 to 2, without its sign.
            Unary::Mantissa => Some(4),
            Unary::ShiftLeft | Unary::ShiftRight => Some(if is_double { 52 } else { 23 }),
            _ => None,
        };
        if operation == Unary::ToInteger && is_double && !self.is_512 {
            // Conversion to integers of 32 bits, which are made longer.
            let half = Register::XMM0 + u32::from(to);
            self.push(match from {
                Operand::Register(from) => Instruction::with2(code, half, self.vector(from))?,
                Operand::Memory(from) => Instruction::with2(code, half, self.address(from))?,
            });
            self.push(Instruction::with2(Name::VEX_Vpmovsxdq_ymm_xmmm128, self.vector(to), half)?);
            return Ok(());
        }
        let to = self.vector(to);
        self.push(match (from, immediate) {
            (Operand::Register(from), None) => Instruction::with2(code, to, self.vector(from))?,
            (Operand::Register(from), Some(x)) => Instruction::with3(code, to, self.vector(from), x)?,
            (Operand::Memory(from), None) => Instruction::with2(code, to, self.address(from))?,
            (Operand::Memory(from), Some(x)) => Instruction::with3(code, to, self.address(from), x)?,
        });
        Ok(())
    }

    fn compare(&mut self, among: Among, first: u8, second: Operand) -> Result<(), IcedError> {
        let to = if self.is_512 { LESS } else { self.vector(MASK) };
        let (code, first) = (choose(COMPARE, self.target), self.vector(first));
        let instruction = match second {
            Operand::Register(second) => Instruction::with4(code, to, first, self.vector(second), LESS_THAN)?,
            Operand::Memory(second) => Instruction::with4(code, to, first, self.address(second), LESS_THAN)?,
        };
        let instruction = self.push(instruction);
        match among {
            Among::Partners if to == LESS => instruction.set_op_mask(PARTNERS_MASK),
            Among::Partners => {
                let and = choose(codes::binary(Binary::And), self.target);
                self.three(and, MASK, MASK, Operand::Memory(Address::Slot(slot::PARTNERS)))?;
            }
            Among::All => {}
        }
        Ok(())
    }

    fn gather(&mut self, to: u8, index: u8, row: u16) -> Result<(), IcedError> {
        let (to, index, scale) = (self.vector(to), self.vector(index), self.target.size() as u32);
        let memory = MemoryOperand::with_base_index_scale_displ_size(TABLE, index, scale, self.row(row), 1);
        let code = choose(GATHER, self.target);
        // Gathers clear their mask.
        if self.is_512 {
            self.push(Instruction::with3(Name::VEX_Kxnorw_kr_kr_kr, LESS, LESS, LESS)?);
            self.push(Instruction::with2(code, to, memory)?).set_op_mask(LESS);
            return Ok(());
        }
        self.all_lanes()?;
        self.push(Instruction::with3(code, to, memory, self.vector(MASK))?);
        Ok(())
    }

    /// Adds an instruction with a result and two operands, of which the second may be in memory.
    fn three(
        &mut self,
        code: Name,
        to: u8,
        first: u8,
        second: Operand,
    ) -> Result<&mut Instruction, IcedError> {
        let (to, first) = (self.vector(to), self.vector(first));
        let instruction = match second {
            Operand::Register(second) => Instruction::with3(code, to, first, self.vector(second))?,
            Operand::Memory(second) => Instruction::with3(code, to, first, self.address(second))?,
        };
        Ok(self.push(instruction))
    }

    fn push(&mut self, mut instruction: Instruction) -> &mut Instruction {
        instruction.set_ip(std::mem::take(&mut self.label));
        let place = self.instructions.len();
        self.instructions.push(instruction);
        &mut self.instructions[place]
    }

    /// Gives the next instruction a label.
    fn mark(&mut self, label: Label) {
        self.label = label as u64;
    }

    fn jump(&mut self, code: Name, label: Label) -> Result<(), IcedError> {
        self.push(Instruction::with_branch(code, label as u64)?);
        Ok(())
    }

    fn vector(&self, register: u8) -> Register {
        let first = if self.is_512 { Register::ZMM0 } else { Register::YMM0 };
        first + u32::from(register)
    }

    fn place_bytes(&self) -> usize {
        self.layout.place * self.target.width() * self.target.size()
    }

    /// Address of a coefficient in the table.
    fn row(&self, row: u16) -> i64 {
        (usize::from(row) * self.layout.row * self.target.size()) as i64
    }

    fn address(&self, address: Address) -> MemoryOperand {
        let register = self.target.width() * self.target.size();
        let (base, offset) = match address {
            Address::Tile(k) => (PLACE, usize::from(k) * register),
            Address::Slot(k) => (MEMORY, usize::from(k) * register),
            Address::Pool(k) => {
                let stride = pool_stride(self.target) * self.target.size();
                (MEMORY, usize::from(self.code.n_slots) * register + usize::from(k) * stride)
            }
        };
        let mut memory = MemoryOperand::with_base_displ_size(base, offset as i64, 1);
        memory.is_broadcast = self.is_512 && matches!(address, Address::Pool(_));
        memory
    }
}
