//! Allocation of registers for the numbers of a trace, in one pass over its operations. Where there are too
//! few registers, the number that is needed again last goes to memory.

use super::instructions::{
    Address, Instruction, InstructionList, N_GATHERED, Operand, OperandForm, Pooled, slot,
};
use super::trace::{Binary, Operation, OperationIndex, Signs, Trace, TraceInput, Unary};

impl InstructionList {
    /// Gives the numbers of a trace registers.
    pub fn new(trace: &Trace) -> InstructionList {
        // Registers that nothing else needs hold numbers that do not change.
        let bare = Allocator::new(trace, &[]).run();
        let n_left = (trace.target.n_registers() - N_GATHERED).saturating_sub(bare.peak);
        let mut constants = Allocator::new(trace, &[]).constants();
        constants.truncate(n_left);
        Allocator::new(trace, &constants).run()
    }
}

/// Location of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Location {
    Nowhere,
    Register(u8),
    Memory(Address),
}

struct Allocator<'a> {
    trace: &'a Trace,
    /// Location of each number.
    location: Vec<Location>,
    /// Operations that still need each number, the next one last.
    uses: Vec<Vec<usize>>,
    /// Number in each register.
    holds: Vec<Option<OperationIndex>>,
    free: Vec<u8>,
    /// Registers of the current operation: its operands, and numbers loaded for it.
    busy: Vec<u8>,
    loaded: Vec<u8>,
    code: InstructionList,
}

impl<'a> Allocator<'a> {
    fn new(trace: &'a Trace, constants: &[OperationIndex]) -> Self {
        let n = trace.operations.len();
        let n_registers = trace.target.n_registers();
        let code = InstructionList {
            target: trace.target,
            instructions: Vec::new(),
            fixed: Vec::new(),
            pool: Vec::new(),
            n_slots: slot::FREE,
            peak: 0,
        };
        let mut this = Allocator {
            trace,
            location: vec![Location::Nowhere; n],
            uses: uses(trace),
            holds: vec![None; n_registers],
            free: (N_GATHERED as u8..n_registers as u8).rev().collect(),
            busy: Vec::new(),
            loaded: Vec::new(),
            code,
        };
        for (place, operation) in trace.operations.iter().enumerate() {
            if !this.uses[place].is_empty() {
                this.location[place] = this.found(*operation);
            }
        }
        for &place in constants {
            if let (Location::Memory(address), Some(register)) =
                (this.location[place as usize], this.free.pop())
            {
                this.code.fixed.push((register, address));
                this.location[place as usize] = Location::Register(register);
            }
        }
        this
    }

    /// Location of an input.
    fn found(&mut self, operation: Operation) -> Location {
        let address = match operation {
            Operation::Input(TraceInput::Gathered(k)) if usize::from(k) < N_GATHERED => {
                return Location::Register(k);
            }
            Operation::Input(input) => match input {
                TraceInput::Center(k) => Address::Slot(slot::CENTER + u16::from(k)),
                TraceInput::Gathered(k) => Address::Slot(u16::from(k) - N_GATHERED as u16 + slot::SUMS),
                TraceInput::Position(k) => Address::Tile(k.into()),
                TraceInput::Accumulated(k) => Address::Tile(3 + u16::from(k)),
                TraceInput::Species => Address::Tile(6),
                TraceInput::Coefficient(k) => self.pooled(Pooled::Coefficient(k)),
            },
            Operation::Literal(bits) => self.pooled(Pooled::Literal(bits)),
            _ => return Location::Nowhere,
        };
        Location::Memory(address)
    }

    fn pooled(&mut self, number: Pooled) -> Address {
        self.code.pool.push(number);
        Address::Pool((self.code.pool.len() - 1) as u16)
    }

    /// Numbers that are the same for all partners of a row, the most often needed first.
    fn constants(&self) -> Vec<OperationIndex> {
        let is_constant = |place: &OperationIndex| {
            use Operation::{Input as Found, Literal};
            let operation = self.trace.operations[*place as usize];
            matches!(operation, Literal(_) | Found(TraceInput::Center(_) | TraceInput::Coefficient(_)))
                && !self.uses[*place as usize].is_empty()
        };
        let mut constants: Vec<OperationIndex> =
            (0..self.trace.operations.len() as OperationIndex).filter(is_constant).collect();
        constants.sort_by_key(|place| std::cmp::Reverse(self.uses[*place as usize].len()));
        constants
    }

    fn run(mut self) -> InstructionList {
        let trace = self.trace;
        for (k, operation) in trace.operations.iter().enumerate() {
            let is_found = matches!(operation, Operation::Input(_) | Operation::Literal(_));
            if is_found || self.uses[k].is_empty() {
                continue;
            }
            for place in operation.operands() {
                if let Location::Register(register) = self.location[place as usize] {
                    self.busy.push(register);
                }
            }
            let to = self.compute(k, *operation);
            self.location[k] = Location::Register(to);
            self.holds[usize::from(to)] = Some(k as OperationIndex);
            self.leave(k as OperationIndex, to);
            for register in std::mem::take(&mut self.loaded) {
                if register != to {
                    self.free.push(register);
                }
            }
            self.busy.clear();
        }
        self.code
    }

    /// Stores a result at its final address, if it has one.
    fn leave(&mut self, place: OperationIndex, register: u8) {
        for (k, accumulated) in self.trace.accumulated.iter().enumerate() {
            if *accumulated == place {
                self.emit(Instruction::Store { from: register, to: Address::Tile(3 + k as u16) });
            }
        }
        for (k, gathered) in self.trace.gathered.iter().enumerate() {
            if *gathered != place {
                continue;
            }
            match k.checked_sub(N_GATHERED) {
                Some(k) => {
                    let to = Address::Slot(slot::SUMS + k as u16);
                    self.emit(Instruction::Store { from: register, to });
                }
                None if usize::from(register) != k => {
                    self.emit(Instruction::Load { to: k as u8, from: Operand::Register(register) });
                }
                None => {}
            }
        }
        self.used(place, self.trace.operations.len());
    }

    /// Notes that a number was needed, and frees its register where that was the last time.
    fn used(&mut self, place: OperationIndex, by: usize) {
        let uses = &mut self.uses[place as usize];
        while uses.last().is_some_and(|next| *next == by) {
            uses.pop();
        }
        if !uses.is_empty() {
            return;
        }
        if let Location::Register(register) = self.location[place as usize]
            && self.holds[usize::from(register)] == Some(place)
        {
            self.holds[usize::from(register)] = None;
            if usize::from(register) >= N_GATHERED {
                self.free.push(register);
            }
            self.location[place as usize] = Location::Nowhere;
        }
    }

    fn emit(&mut self, instruction: Instruction) {
        self.code.instructions.push(instruction);
    }

    fn operand(&self, place: OperationIndex) -> Operand {
        match self.location[place as usize] {
            Location::Register(register) => Operand::Register(register),
            Location::Memory(address) => Operand::Memory(address),
            Location::Nowhere => unreachable!("operands come before what needs them"),
        }
    }

    fn is_in_register(&self, place: OperationIndex) -> bool {
        matches!(self.location[place as usize], Location::Register(_))
    }

    /// Register with a number, loaded for the current operation if it is in memory.
    fn register(&mut self, place: OperationIndex) -> u8 {
        match self.operand(place) {
            Operand::Register(register) => register,
            from => {
                let to = self.new_register();
                self.loaded.push(to);
                self.emit(Instruction::Load { to, from });
                to
            }
        }
    }

    /// Register for the current operation; if all are taken, the number that is needed last goes to memory.
    fn new_register(&mut self) -> u8 {
        let register = self.free.pop().unwrap_or_else(|| self.vacate());
        self.busy.push(register);
        let in_use = self.holds[N_GATHERED..].iter().filter(|held| held.is_some()).count();
        let others = self.loaded.len() + 1;
        self.code.peak = self.code.peak.max(in_use + others);
        register
    }

    fn vacate(&mut self) -> u8 {
        let next_use =
            |place: OperationIndex| self.uses[place as usize].last().copied().unwrap_or(usize::MAX);
        let candidates = self.holds.iter().enumerate().skip(N_GATHERED).filter_map(|(register, held)| {
            let free = !self.busy.contains(&(register as u8));
            held.filter(|_| free).map(|place| (next_use(place), register as u8, place))
        });
        let Some((_, register, place)) = candidates.max() else {
            unreachable!("there are more registers than an operation has operands");
        };
        let to = Address::Slot(self.code.n_slots);
        self.code.n_slots += 1;
        self.emit(Instruction::Store { from: register, to });
        self.location[place as usize] = Location::Memory(to);
        self.holds[usize::from(register)] = None;
        register
    }

    /// Register of a result, which may be that of an operand that is not needed any more.
    fn result(&mut self, k: usize) -> u8 {
        self.release_operands(k);
        self.new_register()
    }

    /// Frees the registers of operands that nothing else needs.
    fn release_operands(&mut self, k: usize) {
        for place in self.trace.operations[k].operands() {
            self.used(place, k);
        }
    }

    /// Adds the instructions for an operation; returns the location of its result.
    fn compute(&mut self, k: usize, operation: Operation) -> u8 {
        match operation {
            Operation::Input(_) | Operation::Literal(_) => unreachable!("it is found, not computed"),
            Operation::Unary(operation, a) => {
                // Shifts do not read memory.
                let from = match operation {
                    Unary::ShiftLeft | Unary::ShiftRight => Operand::Register(self.register(a)),
                    _ => self.operand(a),
                };
                let to = self.result(k);
                self.emit(Instruction::Unary { operation, to, from });
                to
            }
            Operation::Binary(operation, a, b) => {
                use Binary::*;
                let commutes = matches!(operation, Add | Multiply | And | Or | ExclusiveOr | AddIntegers);
                let (a, b) = if commutes && !self.is_in_register(a) { (b, a) } else { (a, b) };
                let (first, second) = (self.register(a), self.operand(b));
                let to = self.result(k);
                self.emit(Instruction::Binary { operation, to, first, second });
                to
            }
            Operation::MultiplyAdd(signs, places) => self.multiply_add(k, signs, places),
            Operation::Choose(among, [a, b, yes, no]) => {
                let (first, second) = (self.register(a), self.operand(b));
                self.emit(Instruction::Compare { among, first, second });
                let yes = self.operand(yes);
                if self.trace.operations[no as usize] == Operation::Literal(0) {
                    let to = self.result(k);
                    self.emit(Instruction::Keep { to, yes });
                    return to;
                }
                let no = self.register(no);
                let to = self.result(k);
                self.emit(Instruction::Choose { to, yes, no });
                to
            }
            Operation::LookUp(row, index) => {
                let target = self.trace.target;
                // No instruction permutes four numbers of 64 bits by a register.
                let is_permuted = self.trace.n_species <= target.width() && target.width() > 4;
                let index = self.register(index);
                if is_permuted {
                    let to = self.result(k);
                    self.emit(Instruction::Permute { to, index, row });
                    return to;
                }
                // The index must not be overwritten.
                let to = self.new_register();
                self.release_operands(k);
                self.emit(Instruction::Gather { to, index, row });
                to
            }
        }
    }

    /// Adds a product and sum, whose result takes the place of one of three operands: of one that is not
    /// needed any more, or of one that is in memory and has to be loaded anyway, or of a copy.
    fn multiply_add(&mut self, k: usize, signs: Signs, [a, b, c]: [OperationIndex; 3]) -> u8 {
        let last = |this: &Self, place: OperationIndex| {
            let Location::Register(register) = this.location[place as usize] else { return false };
            let is_held = this.holds[usize::from(register)] == Some(place) || is_gathered(this.trace, place);
            is_held && this.uses[place as usize].iter().all(|by| *by == k)
        };
        let dying = [c, a, b].into_iter().find(|place| last(self, *place));
        let in_memory = [c, a, b].into_iter().find(|place| !self.is_in_register(*place));
        let replaced = dying.or(in_memory).unwrap_or(c);
        // Only one of the others may be in memory.
        let (form, first, second) = match replaced {
            place if place == c => {
                if self.is_in_register(a) {
                    (OperandForm::Sum231, a, b)
                } else {
                    (OperandForm::Sum231, b, a)
                }
            }
            place => {
                let other = if place == a { b } else { a };
                if self.is_in_register(other) {
                    (OperandForm::Product213, other, c)
                } else {
                    (OperandForm::Product132, c, other)
                }
            }
        };
        let first = self.register(first);
        let second = self.operand(second);
        if dying.is_some() {
            let to = self.register(replaced);
            self.release_operands(k);
            self.free.retain(|register| *register != to);
            self.emit(Instruction::MultiplyAdd { form, signs, to, first, second });
            return to;
        }
        let from = self.operand(replaced);
        let to = self.new_register();
        self.emit(Instruction::Load { to, from });
        self.release_operands(k);
        self.emit(Instruction::MultiplyAdd { form, signs, to, first, second });
        to
    }
}

fn is_gathered(trace: &Trace, place: OperationIndex) -> bool {
    matches!(trace.operations[place as usize], Operation::Input(TraceInput::Gathered(_)))
}

/// Operations that lead to results and need a number, for each number, the first one last. Results
/// themselves are needed at the end.
fn uses(trace: &Trace) -> Vec<Vec<usize>> {
    let n = trace.operations.len();
    let mut uses = vec![Vec::new(); n];
    for place in trace.accumulated.iter().chain(&trace.gathered) {
        uses[*place as usize].push(n);
    }
    for (k, operation) in trace.operations.iter().enumerate().rev() {
        if !uses[k].is_empty() {
            operation.operands().for_each(|place| uses[place as usize].push(k));
        }
    }
    uses
}
