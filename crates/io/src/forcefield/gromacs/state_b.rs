//! State B of a topology, at the other end of a path of free energies: atoms and terms that differ from those of state A
//! are refused, since nothing leads there.

use super::preprocess::SourceLine;
use jostle_core::{Error, Result};

/// Type, charge and mass of an atom.
pub(super) type AtomState<'a> = (&'a str, f64, f64);

/// Refuses an atom whose type, charge or mass is another one in the second state.
pub(super) fn check_atom(line: &SourceLine, name: &str, [a, b]: [AtomState; 2]) -> Result<()> {
    let changes = [(a.0 != b.0, "type"), (a.1 != b.1, "charge"), (a.2 != b.2, "mass")];
    match changes.iter().find(|(changes, _)| *changes) {
        Some((_, what)) => Err(refusal(line, &format!("atom {name} has another {what}"))),
        None => Ok(()),
    }
}

/// Refuses parameters of a term that are others in state B, which follows the `n` of state A.
pub(super) fn check_term(line: &SourceLine, what: &str, parameters: &[f64], n: usize) -> Result<()> {
    let Some((a, b)) = parameters.split_at_checked(n) else { return Ok(()) };
    if a.starts_with(b) { Ok(()) } else { Err(refusal(line, &format!("this {what} has other parameters"))) }
}

fn refusal(line: &SourceLine, what: &str) -> Error {
    line.error(format!("{what} in state B, which [alchemy] has no path to")).hint(
        "write the atoms of both ends apart, and exchange them by [alchemy] appearing = \"...\"; or leave state B out",
    )
}
