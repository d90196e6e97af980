//! Pairs that have no pair force because bonds join them (`nrexcl`).

use crate::memory;
use jostle_core::{Bond, Exclude, Result, Topology};
use std::collections::HashSet;

/// Pairs of a molecule's atoms that are at most this number of bonds apart.
///
/// # Errors
/// If there are more of them than memory holds.
pub(super) fn excluded_by_bonds(n: usize, bound: &[[u32; 2]], reach: usize) -> Result<Vec<[u32; 2]>> {
    let bonds = bound.iter().map(|atoms| Bond { kind: 0, atoms: *atoms }).collect();
    let partners = Topology { bonds, ..Topology::default() }.exclusions(n, Exclude::Bonded);
    let mut pairs = Vec::new();
    for atom in 0..n as u32 {
        let mut seen = HashSet::from([atom]);
        let mut edge = vec![atom];
        for _ in 0..reach {
            if edge.is_empty() {
                break;
            }
            let next = edge.iter().filter_map(|a| partners.get(*a as usize)).flatten();
            edge = next.copied().filter(|other| seen.insert(*other)).collect();
        }
        let mut others: Vec<u32> = seen.into_iter().filter(|other| *other > atom).collect();
        others.sort_unstable();
        if pairs.capacity() - pairs.len() < others.len() {
            let more = pairs.len().max(others.len());
            memory::reserve(&mut pairs, more, &format!("excluding pairs up to {reach} bonds apart"))?;
        }
        pairs.extend(others.into_iter().map(|other| [atom, other]));
    }
    Ok(pairs)
}
