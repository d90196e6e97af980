//! The operations on a row and a register of atoms, as instructions.

use super::trace::{Among, Binary, RegisterTarget, Signs, Unary};
use crate::simd::Level;
use jostle_core::Precision;

/// Registers that hold the force on the row's atom from one register of partners to the next.
pub const N_GATHERED: usize = 3;

/// Slots that have a meaning of their own; see [`Address::Slot`].
pub mod slot {
    /// The first of those with the coordinates of the row's atom.
    pub const CENTER: u16 = 0;
    /// The first of those with energy and virial.
    pub const SUMS: u16 = 3;
    /// AVX2: the lanes of the row's partners.
    pub const MET: u16 = 10;
    /// AVX2: a bit for each lane.
    pub const BITS: u16 = 11;
    /// The first free one.
    pub const FREE: u16 = 12;
}

/// Where a number is in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// A register at a place of the tile.
    Tile(u16),
    /// The same number for all lanes, by its number in [`InstructionList::pool`].
    Pool(u16),
    /// A register in working memory.
    Slot(u16),
}

/// What an instruction reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    Register(u8),
    Memory(Address),
}

/// Which operand of a product and sum is overwritten, and where the others stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandForm {
    /// to = to * second + first
    Product132,
    /// to = first * to + second
    Product213,
    /// to = first * second + to
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
    /// Remembers where the first is less than the second, for the next choice.
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
    /// From the row of a table that has the length of a register.
    Permute {
        to: u8,
        index: u8,
        row: u16,
    },
    /// From a longer one.
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
    /// How many registers were in use at once, besides those that hold the same all the time.
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

    /// Registers that may hold anything. The last one of AVX2 is for masks.
    pub fn n_registers(self) -> usize {
        if self.level == Level::Avx512 { 32 } else { 15 }
    }
}
