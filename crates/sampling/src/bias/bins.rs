//! Samples in the bins of a grid, all together or in blocks.

use jostle_core::backend::SAMPLE_BLOCKS;
use serde::{Deserialize, Serialize};

/// Sums over samples in the bins of a grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Bins {
    pub count: Vec<u64>,
    /// Sum for each variable, bin after bin.
    pub sum: Vec<f64>,
}

impl Bins {
    /// Bins without samples.
    pub fn new(bins: usize, dimensions: usize) -> Self {
        Bins { count: vec![0; bins], sum: vec![0.0; bins * dimensions] }
    }

    pub fn add(&mut self, bin: usize, values: &[f64]) {
        self.count[bin] += 1;
        let own = &mut self.sum[bin * values.len()..(bin + 1) * values.len()];
        own.iter_mut().zip(values).for_each(|(sum, x)| *sum += x);
    }

    /// Samples of both.
    pub fn and(&self, other: &Bins) -> Bins {
        let count = self.count.iter().zip(&other.count).map(|(a, b)| a + b).collect();
        Bins { count, sum: self.sum.iter().zip(&other.sum).map(|(a, b)| a + b).collect() }
    }

    /// Its numbers for a device: counts, then sums.
    pub fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        self.count.iter().map(|count| *count as f64).chain(self.sum.iter().copied())
    }

    /// Takes these numbers; gives those that are left.
    pub fn take<'a>(&mut self, numbers: &'a [f64]) -> &'a [f64] {
        let (counts, rest) = numbers.split_at(self.count.len());
        let (sums, rest) = rest.split_at(self.sum.len());
        self.count = counts.iter().map(|count| *count as u64).collect();
        self.sum.copy_from_slice(sums);
        rest
    }
}

/// Bins of consecutive blocks of samples, all of one length but the last; they double in length when all are full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Blocks {
    /// Number of samples in all blocks.
    pub samples: u64,
    pub parts: Vec<Bins>,
}

impl Blocks {
    /// Blocks without samples.
    pub fn new(bins: usize, dimensions: usize) -> Self {
        Blocks { samples: 0, parts: vec![Bins::new(bins, dimensions); SAMPLE_BLOCKS] }
    }

    /// Length of blocks that have so many samples before another one.
    fn length(samples: u64) -> u64 {
        (samples / SAMPLE_BLOCKS as u64 + 1).next_power_of_two()
    }

    pub fn add(&mut self, bin: usize, values: &[f64]) {
        let length = Self::length(self.samples);
        if length > 1 && self.samples * 2 == length * SAMPLE_BLOCKS as u64 {
            for k in 0..SAMPLE_BLOCKS {
                self.parts[k] = match 2 * k < SAMPLE_BLOCKS {
                    true => self.parts[2 * k].and(&self.parts[2 * k + 1]),
                    false => Bins::new(self.parts[k].count.len(), values.len()),
                };
            }
        }
        self.parts[(self.samples / length) as usize].add(bin, values);
        self.samples += 1;
    }

    /// Bins of all samples.
    pub fn total(&self) -> Bins {
        self.parts[1..].iter().fold(self.parts[0].clone(), |sum, part| sum.and(part))
    }

    /// Bins of all samples but those of one block, for each block; a last block that is less than half full belongs to
    /// the one before it.
    pub fn left_out(&self) -> Vec<Bins> {
        let length = Self::length(self.samples);
        let full = (self.samples + length / 2) / length;
        let count = (full as usize).min(SAMPLE_BLOCKS);
        let without = |k: usize| {
            let own = |j: usize| j == k || (k + 1 == count && j > k);
            let empty =
                Bins::new(self.parts[0].count.len(), self.parts[0].sum.len() / self.parts[0].count.len());
            let others = self.parts.iter().enumerate().filter(|(j, _)| !own(*j));
            others.fold(empty, |sum, (_, part)| sum.and(part))
        };
        (0..count).map(without).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks double in length, keep all samples in their order, and leave out each part once.
    #[test]
    fn blocks_double_and_keep_all_samples() {
        let mut blocks = Blocks::new(1, 1);
        for k in 0..100u64 {
            blocks.add(0, &[k as f64]);
            let total = blocks.total();
            assert_eq!((total.count[0], total.sum[0]), (k + 1, (k * (k + 1) / 2) as f64));
        }
        // 100 samples in blocks of 8: the last one has four.
        let counts: Vec<u64> = blocks.parts.iter().map(|part| part.count[0]).collect();
        assert_eq!(counts[..14], [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 0]);
        assert_eq!(blocks.parts[1].sum[0], (8..16).sum::<u64>() as f64);
        let left_out = blocks.left_out();
        assert_eq!((left_out.len(), left_out[0].count[0], left_out[12].count[0]), (13, 92, 96));
        blocks.samples = 98;
        assert_eq!((blocks.left_out().len(), blocks.left_out()[11].count[0]), (12, 88));
    }
}
