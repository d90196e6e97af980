//! Errors from the spread over atoms. Atoms are divided into parts, each with an equal portion of every species, and
//! the jackknife leaves out one part after the other: parts are independent where atoms are, or the molecules that
//! they make, however few frames there are. Atoms of a species that follow each other in the order of their ids,
//! which are mostly those of a molecule, are in the same part; where numbers of atoms say that the system is so many
//! copies of a molecule, or of a formula unit, none is cut.

use crate::averages::MANY;
use crate::blocks::{BlockSums, jackknife, means_without, total};
use jostle_core::arithmetic::greatest_common_divisor;
use serde::{Deserialize, Serialize};

/// Largest number of parts: their error is good to an eighth.
const MOST: usize = 32;

/// Division of atoms into parts.
#[derive(Debug)]
pub(crate) struct AtomParts {
    /// The part of each atom and its species: `part * species + its own`.
    cells: Vec<usize>,
    /// Number of atoms in each of these.
    counts: Vec<f64>,
    /// Number of parts that have atoms of a species.
    occupied: Vec<usize>,
}

impl AtomParts {
    /// Parts of atoms of these species, of which there are so many.
    pub fn new(species: &[u16], of_species: &[usize]) -> Self {
        let width = of_species.len();
        let copies = of_species.iter().fold(0, |a, b| greatest_common_divisor(a, *b as u64));
        let units = |atoms: usize| if copies >= MANY { copies as usize } else { atoms };
        let mut ranks = vec![0; width];
        let mut counts = vec![0.0; MOST * width];
        let cell = |s: &u16| {
            let s = usize::from(*s);
            let units = units(of_species[s]);
            let unit = ranks[s] / (of_species[s] / units);
            let cell = unit * units.min(MOST) / units * width + s;
            ranks[s] += 1;
            counts[cell] += 1.0;
            cell
        };
        let cells = species.iter().map(cell).collect();
        let occupied = of_species.iter().map(|atoms| units(*atoms).min(MOST)).collect();
        AtomParts { cells, counts, occupied }
    }

    /// Sums of so many numbers of each atom, by part and species.
    pub fn sum<const N: usize>(&self, numbers: impl Iterator<Item = [f64; N]>) -> Vec<[f64; N]> {
        let mut sums = vec![[0.0; N]; self.counts.len()];
        for (cell, numbers) in self.cells.iter().zip(numbers) {
            sums[*cell].iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
        }
        sums
    }

    /// Numbers of atoms, by part and species.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Number of parts that have atoms of a species, or of any.
    pub fn occupied(&self, species: Option<usize>) -> usize {
        let most = || self.occupied.iter().copied().max().unwrap_or(0);
        species.map_or_else(most, |s| self.occupied[s])
    }
}

/// Averages of several quantities over the atoms of each part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PartAverages(Vec<BlockSums>);

impl PartAverages {
    /// Averages of so many quantities.
    pub fn new(width: usize) -> Self {
        PartAverages(vec![BlockSums::new(width); MOST])
    }

    /// Adds the sum of so many samples of a quantity.
    pub fn add(&mut self, part: usize, quantity: usize, sum: f64, count: f64) {
        self.0[part].add(quantity, sum, count);
    }

    /// Errors of a function of the means over the first so many parts; `None` below two of them.
    pub fn errors(&self, occupied: usize, function: impl Fn(&[f64]) -> Vec<f64>) -> Vec<Option<f64>> {
        let parts = &self.0[..occupied];
        let total = total(parts);
        let without = |part| function(&means_without(&total, Some(part)));
        let left: Vec<Vec<f64>> = parts.iter().map(without).collect();
        let values = left.first().map_or(0, Vec::len);
        (0..values).map(|k| jackknife(&left, k)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Water as H, O, H, ...: no molecule is cut, and every part has two H for an O.
    #[test]
    fn molecules_are_not_cut() {
        let species: Vec<u16> = (0..300).map(|k| u16::from(k % 3 == 1)).collect();
        let parts = AtomParts::new(&species, &[200, 100]);
        let part = |atom: usize| parts.cells[atom] / 2;
        assert!((0..100).all(|k| part(3 * k) == part(3 * k + 1) && part(3 * k) == part(3 * k + 2)));
        assert!((0..MOST).all(|k| parts.counts[2 * k] == 2.0 * parts.counts[2 * k + 1]));
        assert_eq!(parts.occupied(None), MOST);
    }

    /// Three ions among water are three parts of their own.
    #[test]
    fn few_atoms_are_as_many_parts() {
        let species: Vec<u16> = (0..300).map(|k| u16::from(k < 3)).collect();
        let parts = AtomParts::new(&species, &[297, 3]);
        assert_eq!((parts.occupied(Some(1)), parts.occupied(None)), (3, MOST));
        let sums = parts.sum((0..300).map(|k| [f64::from(k)]));
        assert_eq!([sums[1][0], sums[3][0], sums[5][0]], [0.0, 1.0, 2.0]);
        let mut averages = PartAverages::new(1);
        (0..3).for_each(|k| averages.add(k, 0, sums[2 * k + 1][0], 1.0));
        // The standard deviation of 0, 1, 2 over the root of their number.
        assert!((averages.errors(3, <[f64]>::to_vec)[0].unwrap() - 1.0 / 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(averages.errors(1, <[f64]>::to_vec), [None]);
    }
}
