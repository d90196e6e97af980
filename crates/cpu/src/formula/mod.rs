//! Pair forces of formulas, which are only known at run time: compiled to machine code where the
//! processor has AVX2 or AVX-512, else interpreted. Both give the same numbers, bit by bit.
//!
//! The operations on a row of the lists and a register of atoms are recorded (`trace`), given
//! registers (`registers`) and assembled (`assemble`) to a function that goes along the rows of a block
//! (`compiled`).

#[cfg(target_arch = "x86_64")]
mod assemble;
#[cfg(target_arch = "x86_64")]
mod codes;
#[cfg(target_arch = "x86_64")]
mod compiled;
#[cfg(target_arch = "x86_64")]
mod instructions;
mod interpret;
#[cfg(target_arch = "x86_64")]
mod registers;
#[cfg(target_arch = "x86_64")]
mod trace;

use crate::interaction::PairKernel;
use crate::simd::{Level, Scalar};
use jostle_potentials::{Formula, PairTerm};

#[cfg(target_arch = "x86_64")]
pub use compiled::prepare as compile;
pub use interpret::prepare as interpret;

/// Makes a formula ready for registers of a level: compiled if that is possible.
pub fn prepare<S: Scalar>(formula: &Formula, term: &PairTerm, level: Level) -> Box<dyn PairKernel<S>> {
    compile(formula, term, level).unwrap_or_else(|| interpret(formula, term))
}

/// Compiles a formula: there is no code for this processor.
#[cfg(not(target_arch = "x86_64"))]
pub fn compile<S: Scalar>(_: &Formula, _: &PairTerm, _: Level) -> Option<Box<dyn PairKernel<S>>> {
    None
}
