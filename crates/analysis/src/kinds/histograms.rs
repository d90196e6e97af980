//! How many pairs of atoms there are at each distance, by their species.

use super::shells::Shells;
use crate::cells::{Around, ROW, fold_around};
use jostle_core::{SimBox, Vec3};
use multiversion::multiversion;
use std::num::Wrapping;

/// Pairs beyond the last shell are counted in so many more by turns: a count that has just been
/// changed has to be waited for.
const BEYOND: usize = 16;

/// Whole numbers stand in the last bits of a number this large.
const WHOLE: f32 = (3 << 22) as f32;

/// Histograms of distances.
pub(super) struct Histograms {
    shells: Shells,
    species: usize,
    /// Which histogram each pair of species has, in both orders.
    which: Vec<usize>,
    /// How many histograms there are.
    count: usize,
}

impl Histograms {
    pub fn new(shells: Shells, species: usize, which: impl Fn(usize, usize) -> usize) -> Self {
        let which: Vec<usize> = (0..species * species).map(|k| which(k / species, k % species)).collect();
        let count = which.iter().max().map_or(0, |most| most + 1);
        Histograms { shells, species, which, count }
    }

    /// The shells of each, one after the other, for atoms of these species. Single precision puts a
    /// pair in a hundred thousand into the shell beside its own.
    pub fn of(&self, simbox: &SimBox, positions: &[Vec3], species: &[u32]) -> Vec<f64> {
        let (bins, room) = (self.shells.bins, self.shells.bins + BEYOND);
        let begin = |which: &usize| ((which * room) as u32).wrapping_sub(WHOLE.to_bits());
        let kernel = Kernel {
            per_length: bins as f32 / self.shells.cutoff as f32,
            last: std::array::from_fn(|k| (bins + k % BEYOND) as f32),
            species: self.species,
            begin: self.which.iter().map(begin).collect(),
        };
        let counts = fold_around(
            (simbox, positions, species),
            self.shells.cutoff,
            || vec![Wrapping(0u32); 2 * self.count * room],
            |counts, around| count(&kernel, counts, around),
            |mut a, b| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                a
            },
        );
        let (even, odd) = counts.split_at(counts.len() / 2);
        let histograms = even.chunks(room).zip(odd.chunks(room));
        let shells = histograms.flat_map(|(even, odd)| even[..bins].iter().zip(&odd[..bins]));
        shells.map(|(even, odd)| f64::from(even.0) + f64::from(odd.0)).collect()
    }
}

struct Kernel {
    per_length: f32,
    /// Where distances end that are too large.
    last: [f32; ROW],
    species: usize,
    /// Where the histogram of each pair of species begins, less the bits of [`WHOLE`].
    begin: Vec<u32>,
}

/// Counts all that a block of cells meets. Every other pair goes to a second set of histograms, for
/// the reason of [`BEYOND`].
#[multiversion(targets("x86_64+avx2"))]
fn count(kernel: &Kernel, counts: &mut [Wrapping<u32>], around: &Around) {
    let Kernel { per_length, last, species, begin } = kernel;
    let (even, odd) = counts.split_at_mut(counts.len() / 2);
    let [x, y, z] = &around.place;
    for (of, begin) in begin.chunks(*species).enumerate() {
        let own = (0..around.own).filter(|atom| around.labels[*atom] as usize == of);
        let begins: Vec<u32> = match begin {
            [one] => vec![*one; around.labels.len()],
            _ => around.labels.iter().map(|label| begin[*label as usize]).collect(),
        };
        for atom in own {
            let from = [x[atom], y[atom], z[atom]];
            let [x, y, z] = [x, y, z].map(|x| x[atom + 1..].as_chunks::<ROW>().0);
            let begins = begins[atom + 1..].as_chunks::<ROW>().0;
            for (((x, y), z), begin) in x.iter().zip(y).zip(z).zip(begins) {
                let mut places = [0u32; ROW];
                for k in 0..ROW {
                    let d = [x[k] - from[0], y[k] - from[1], z[k] - from[2]];
                    let r = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                    let shell = r * per_length - 0.5;
                    let shell = if shell < last[k] { shell } else { last[k] };
                    places[k] = (shell + WHOLE).to_bits().wrapping_add(begin[k]);
                }
                for [a, b] in places.as_chunks::<2>().0 {
                    even[*a as usize] += 1;
                    odd[*b as usize] += 1;
                }
            }
        }
    }
}
