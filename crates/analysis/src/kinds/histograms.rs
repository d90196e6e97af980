//! Histograms of the distances of pairs of atoms, by their species.

use super::shells::Shells;
use crate::cells::{CellSurroundings, ROW, fold_around};
use jostle_core::{Result, SimBox, Vec3};
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
    /// Index of the histogram of each pair of species, in both orders.
    which: Vec<usize>,
    /// Number of histograms.
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
    pub fn of(&self, simbox: &SimBox, positions: &[Vec3], species: &[u32]) -> Result<Vec<f64>> {
        let (bins, room) = (self.shells.bins, self.shells.bins + BEYOND);
        let begin = |which: &usize| ((which * room) as u32).wrapping_sub(WHOLE.to_bits());
        let kernel = HistogramKernel {
            per_length: bins as f32 / self.shells.cutoff as f32,
            last: std::array::from_fn(|k| (bins + k % BEYOND) as f32),
            species: self.species,
            begin: self.which.iter().map(begin).collect(),
        };
        let counts = fold_around(
            (simbox, positions, species),
            self.shells.cutoff,
            || Counts::new(self.count * room),
            |counts, around| count(&kernel, counts, around),
            Counts::joined,
        )?;
        let totals = counts.joined(Counts::new(0)).totals;
        Ok(totals.chunks(room).flat_map(|histogram| &histogram[..bins]).copied().collect())
    }
}

/// Histograms that are being filled.
struct Counts {
    /// Counts of even and of odd pairs by turns: a count that has just been changed has to be waited
    /// for.
    recent: [Vec<Wrapping<u32>>; 2],
    /// More than the recent ones hold in one shell.
    at_most: usize,
    /// Sums of earlier counts.
    totals: Vec<f64>,
}

impl Counts {
    fn new(shells: usize) -> Self {
        let recent = [0; 2].map(|_| vec![Wrapping(0); shells]);
        Counts { recent, at_most: 0, totals: vec![0.0; shells] }
    }

    /// Makes sure that the recent counts can hold so many more.
    #[inline(always)]
    fn reserve(&mut self, pairs: usize) {
        if self.at_most + pairs > u32::MAX as usize {
            self.settle();
        }
        self.at_most += pairs;
    }

    #[cold]
    fn settle(&mut self) {
        for recent in &mut self.recent {
            for (total, count) in self.totals.iter_mut().zip(recent) {
                *total += f64::from(std::mem::take(count).0);
            }
        }
        self.at_most = 0;
    }

    fn joined(mut self, mut other: Counts) -> Counts {
        self.settle();
        other.settle();
        self.totals.iter_mut().zip(other.totals).for_each(|(a, b)| *a += b);
        self
    }
}

struct HistogramKernel {
    per_length: f32,
    /// Bin for distances that are too large.
    last: [f32; ROW],
    species: usize,
    /// Beginning of the histogram of each pair of species, less the bits of [`WHOLE`].
    begin: Vec<u32>,
}

/// Counts all atoms within reach of a block of cells.
#[multiversion(targets("x86_64+avx2"))]
fn count(kernel: &HistogramKernel, counts: &mut Counts, around: &CellSurroundings) {
    let HistogramKernel { per_length, last, species, begin } = kernel;
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
            counts.reserve(around.labels.len());
            let [even, odd] = &mut counts.recent;
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
