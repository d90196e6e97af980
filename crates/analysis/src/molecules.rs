//! Structures made whole: molecules along their bonds, and atoms that nothing joins in images that lie together.
//!
//! Only bonds tell how an atom continues another one further than half the box away. Atoms without bonds have no such order:
//! where each one follows the one before it in a list, the list of a crystal leads many edges of the box away, and what it
//! leads to grows with the box by as many times its change.

use jostle_core::{SimBox, Vec3};
use std::collections::HashMap;

/// Molecules of the atoms of a frame.
#[derive(Debug, Clone, Copy)]
pub struct MoleculeView<'a> {
    /// Molecule of each atom.
    pub of_atoms: &'a [u32],
    /// Vector to each atom from the first one of its molecule, along bonds.
    pub arms: &'a [Vec3],
}

impl MoleculeView<'_> {
    /// Returns true where all atoms are of one molecule.
    pub(crate) fn are_one(&self) -> bool {
        self.of_atoms.windows(2).all(|pair| pair[0] == pair[1])
    }
}

/// Positions with each molecule along its bonds from the first of these atoms that is of it; positions themselves where
/// molecules are not known.
pub(crate) fn along_bonds(positions: &[Vec3], molecules: Option<MoleculeView>) -> Vec<Vec3> {
    let Some(MoleculeView { of_atoms, arms }) = molecules else { return positions.to_vec() };
    let mut first_of: HashMap<u32, (Vec3, Vec3)> = HashMap::new();
    let atoms = positions.iter().zip(arms).zip(of_atoms);
    let place = |((r, arm), molecule): ((&Vec3, &Vec3), &u32)| {
        let (start, first_arm) = *first_of.entry(*molecule).or_insert((*r, *arm));
        start + (*arm - first_arm)
    };
    atoms.map(place).collect()
}

/// Whole edges of the box that bring molecules together, for each of their atoms: into one box, whose faces are where the
/// widest gaps between the centres of molecules are along each periodic axis. Positions are those of [`along_bonds`]; each
/// atom is one molecule where these are not known.
pub(crate) fn shifts_together(simbox: &SimBox, whole: &[Vec3], of_atoms: Option<&[u32]>) -> Vec<[i32; 3]> {
    let mut index_of = HashMap::new();
    let index: Vec<usize> = match of_atoms {
        None => (0..whole.len()).collect(),
        Some(of_atoms) => {
            let one = |molecule: &u32| {
                let next = index_of.len();
                *index_of.entry(*molecule).or_insert(next)
            };
            of_atoms.iter().map(one).collect()
        }
    };
    let count = index.iter().max().map_or(0, |last| last + 1);
    let (mut centers, mut sizes) = (vec![Vec3::ZERO; count], vec![0.0; count]);
    for (r, molecule) in whole.iter().zip(&index) {
        centers[*molecule] += simbox.to_fractional(*r);
        sizes[*molecule] += 1.0;
    }
    centers.iter_mut().zip(&sizes).for_each(|(center, size)| *center /= *size);
    let mut shifts = vec![[0; 3]; count];
    for axis in (0..3).filter(|axis| simbox.periodic()[*axis]) {
        let face = widest_gap(centers.iter().map(|center| center[axis]));
        for (shift, center) in shifts.iter_mut().zip(&centers) {
            shift[axis] = -((center[axis] - face).floor() as i32);
        }
    }
    index.into_iter().map(|molecule| shifts[molecule]).collect()
}

/// Middle of the widest gap between numbers on a circle of circumference 1.
fn widest_gap(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.map(|s| s - s.floor()).collect();
    numbers.sort_by(f64::total_cmp);
    let Some(first) = numbers.first().copied() else { return 0.0 };
    let next = numbers.iter().skip(1).copied().chain([first + 1.0]);
    let gaps = numbers.iter().zip(next).map(|(s, next)| (next - s, 0.5 * (next + s)));
    gaps.reduce(|widest, gap| if gap.0 > widest.0 { gap } else { widest }).map_or(0.0, |(_, middle)| middle)
}
