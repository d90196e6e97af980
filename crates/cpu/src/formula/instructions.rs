//! The operations on a row and a register of atoms, as instructions.

use super::trace::{Among, Binary, RegisterTarget, Signs, Unary};
use crate::simd::Level;
use jostle_core::Precision;

/// Registers that hold the force on the row's atom from one register of partners to the next.
pub const N_GATHERED: usize = 3;

/// Slots with a meaning of their own, see [`Address::Slot`].
pub mod slot {
    /// First slot of the coordinates of the row's atom.
    pub const CENTER: u16 = 0;
    /// First slot of energy and virial.
    pub const SUMS: u16 = 3;
    /// AVX2: lanes of the row's partners.
    pub const PARTNERS: u16 = 10;
    /// AVX2: a bit for each lane.
    pub const BITS: u16 = 11;
    /// First free slot.
    pub const FREE: u16 = 12;
}

/// Address of a number in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// A register at a place of the tile.
    Tile(u16),
    /// A number for all lanes, by its index in [`InstructionList::pool`].
    Pool(u16),
    /// A register in working memory.
    Slot(u16),
}

/// Operand of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    Register(u8),
    Memory(Address),
}

/// Order of the operands of a product and sum, of which one is overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandForm {
    /// Result overwrites the first factor: to = to * second + first.
    Product132,
    /// Result overwrites the second factor: to = first * to + second.
    Product213,
    /// Result overwrites the addend: to = first * second + to.
    Sum231,
}

/// One instruction, or few.
#[derive(Debug, Clone, Copy)]
pub enum Instruction {
    Load {
        to: u8,
        from: Operand,
    },
    Store {
        from: u8,
        to: Address,
    },
    Unary {
        operation: Unary,
        to: u8,
        from: Operand,
    },
    Binary {
        operation: Binary,
        to: u8,
        first: u8,
        second: Operand,
    },
    MultiplyAdd {
        form: OperandForm,
        signs: Signs,
        to: u8,
        first: u8,
        second: Operand,
    },
    /// Comparison of the first with the second, for the next choice.
    Compare {
        among: Among,
        first: u8,
        second: Operand,
    },
    /// One of two numbers.
    Choose {
        to: u8,
        yes: Operand,
        no: u8,
    },
    /// A number, or zero.
    Keep {
        to: u8,
        yes: Operand,
    },
    /// Look-up in the row of a table that has the length of a register.
    Permute {
        to: u8,
        index: u8,
        row: u16,
    },
    /// Look-up in a longer row.
    Gather {
        to: u8,
        index: u8,
        row: u16,
    },
}

/// A number of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooled {
    /// The bits of a number.
    Literal(u64),
    /// The square cut-off (0) or a coefficient of the only species.
    Coefficient(u16),
}

/// The instructions for every register of partners.
#[derive(Debug)]
pub struct InstructionList {
    pub target: RegisterTarget,
    pub instructions: Vec<Instruction>,
    /// Registers whose numbers are the same for all partners of a row.
    pub fixed: Vec<(u8, Address)>,
    pub pool: Vec<Pooled>,
    pub n_slots: u16,
    /// Largest number of registers in use at once, besides those with constant contents.
    pub peak: usize,
}

impl RegisterTarget {
    /// Lanes of a register.
    pub fn width(self) -> usize {
        match self.level {
            Level::Avx512 => 64 / self.size(),
            _ => 32 / self.size(),
        }
    }

    /// Bytes of a number.
    pub fn size(self) -> usize {
        match self.precision {
            Precision::Mixed => 4,
            Precision::Double => 8,
        }
    }

    /// Registers for any number. The last one of AVX2 is for masks.
    pub fn n_registers(self) -> usize {
        if self.level == Level::Avx512 { 32 } else { 15 }
    }
}
