//! Excluded pairs of a molecule: those that follow from its bonds, and the others by name.

use super::super::exclusions::excluded_by_bonds;
use jostle_core::Result;
use std::collections::BTreeSet;

/// Number of bonds up to which pairs are excluded, at most; no force field excludes more.
const MOST_BONDS: usize = 3;

/// Excluded pairs as a topology has them.
pub(super) struct Exclusions {
    /// Number of bonds up to which pairs are excluded.
    pub bonds: usize,
    /// All other pairs.
    pub others: Vec<[u32; 2]>,
}

/// Excluded pairs of `n` atoms. Programs differ in whether constraints count as bonds: pairs up to so many bonds
/// apart are excluded where they do, and the pairs that follow where they do not need no name.
///
/// # Errors
/// If there are more pairs than memory holds.
pub(super) fn exclusions(
    n: usize,
    excluded: &BTreeSet<[u32; 2]>,
    bonds: &[[u32; 2]],
    constraints: &[[u32; 2]],
) -> Result<Exclusions> {
    let all = [bonds, constraints].concat();
    let mut reach = 0;
    for next in (1..=MOST_BONDS).rev() {
        if excluded_by_bonds(n, &all, next)?.iter().all(|pair| excluded.contains(pair)) {
            reach = next;
            break;
        }
    }
    let known: BTreeSet<[u32; 2]> = excluded_by_bonds(n, bonds, reach)?.into_iter().collect();
    let others = excluded.iter().filter(|pair| !known.contains(*pair)).copied().collect();
    Ok(Exclusions { bonds: reach, others })
}
