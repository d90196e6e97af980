//! Errors of what is computed from averages: the frames are divided into blocks, and the jackknife
//! over blocks gives the error of any function of the means (B. Efron, The Jackknife, the Bootstrap
//! and Other Resampling Plans, SIAM 1982). Blocks are joined by the rule of [`crate::averages`]:
//! frames that follow soon after each other do not make an error too small. Samples that compare two frames
//! overlap in time with all that begin between them, so that blocks tell their error only where they are as long
//! ([`Blocks::derive_spanning`]).

use crate::averages::MANY;
use crate::limits;
use jostle_core::Result;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Number of blocks at which neighbouring ones are joined: memory does not grow with the frames.
const MOST: usize = 32;

/// Averages of several quantities over frames.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Blocks {
    width: usize,
    /// Frames in a block.
    length: u64,
    blocks: Vec<BlockSums>,
    frames: u64,
}

/// Sums over the frames of a block. Each quantity counts its own samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BlockSums {
    sums: Vec<f64>,
    counts: Vec<f64>,
}

impl BlockSums {
    /// No samples of so many quantities.
    pub fn new(width: usize) -> Self {
        BlockSums { sums: vec![0.0; width], counts: vec![0.0; width] }
    }

    /// Adds the sum of so many samples of a quantity.
    pub fn add(&mut self, quantity: usize, sum: f64, count: f64) {
        self.sums[quantity] += sum;
        self.counts[quantity] += count;
    }

    fn join(&mut self, other: &BlockSums) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
    }
}

/// Neighbours together; a last one that is alone is left out.
fn joined(blocks: &[BlockSums]) -> Vec<BlockSums> {
    let pair = |[a, b]: &[BlockSums; 2]| {
        let mut both = a.clone();
        both.join(b);
        both
    };
    blocks.as_chunks::<2>().0.iter().map(pair).collect()
}

/// Sums over all blocks.
pub(crate) fn total(blocks: &[BlockSums]) -> BlockSums {
    let mut total = BlockSums::new(blocks.first().map_or(0, |block| block.sums.len()));
    blocks.iter().for_each(|block| total.join(block));
    total
}

/// The means without a block that is left out; NaN where nothing remains.
pub(crate) fn means_without(total: &BlockSums, left: Option<&BlockSums>) -> Vec<f64> {
    let mean = |k: usize| {
        let (sum, count) = left.map_or((0.0, 0.0), |b| (b.sums[k], b.counts[k]));
        (total.sums[k] - sum) / (total.counts[k] - count)
    };
    (0..total.sums.len()).map(mean).collect()
}

/// A mean and its standard error, which is `None` below two blocks.
pub type BlockEstimate = (f64, Option<f64>);

impl Blocks {
    /// Averages of so many quantities.
    pub fn new(width: usize) -> Self {
        Blocks { width, length: 1, blocks: Vec::new(), frames: 0 }
    }

    /// Averages of `width` quantities, with a check of their memory.
    ///
    /// # Errors
    /// If they would not fit into memory; the hint says what would make them fewer.
    pub(crate) fn fitting(width: usize, hint: &str) -> Result<Self> {
        let bytes = (MOST * 2 * size_of::<f64>()) as f64 * width as f64;
        limits::memory(bytes, &format!("averages of {width} quantities with their errors"), hint)?;
        Ok(Blocks::new(width))
    }

    /// Begins a frame.
    pub fn frame(&mut self) {
        if self.frames.is_multiple_of(self.length) {
            if self.blocks.len() == MOST {
                self.blocks = joined(&self.blocks);
                self.length *= 2;
            }
            self.blocks.push(BlockSums::new(self.width));
        }
        self.frames += 1;
    }

    /// Adds a sample of a quantity to the frame under way, which [`Blocks::frame`] began.
    pub fn add(&mut self, quantity: usize, value: f64) {
        self.add_weighted(quantity, value, 1.0);
    }

    /// Adds the sum of so many samples.
    pub fn add_weighted(&mut self, quantity: usize, sum: f64, count: f64) {
        if let Some(block) = self.blocks.last_mut() {
            block.add(quantity, sum, count);
        }
    }

    /// Adds a frame with one sample of each quantity.
    pub fn add_frame(&mut self, values: &[f64]) {
        self.frame();
        values.iter().enumerate().for_each(|(k, v)| self.add(k, *v));
    }

    /// Number of frames.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// A function of the means of all quantities, each value with its error. The mean of a
    /// quantity without samples is NaN.
    pub fn derive(&self, function: impl Fn(&[f64]) -> Vec<f64>) -> Vec<BlockEstimate> {
        self.derive_from(0..self.blocks.len(), &[], function)
    }

    /// A function of the means of all quantities like [`Blocks::derive`], each value of samples that span so many
    /// frames: its error is that of blocks at least as long, `None` where there are not two of them.
    pub(crate) fn derive_spanning(
        &self,
        spans: &[u64],
        function: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Vec<BlockEstimate> {
        self.derive_from(0..self.blocks.len(), spans, function)
    }

    /// A function of the means of the first half of the frames, and of those of the second, each value with its error.
    pub(crate) fn halves(&self, function: impl Fn(&[f64]) -> Vec<f64>) -> [Vec<BlockEstimate>; 2] {
        let (middle, end) = (self.blocks.len() / 2, self.blocks.len());
        [0..middle, middle..end].map(|half| self.derive_from(half, &[], &function))
    }

    /// A function of the means of the frames after the first block, a part of 1/32 to 1/17 of many, each value with its
    /// error; of all frames where they are one block.
    pub(crate) fn after_beginning(&self, function: impl Fn(&[f64]) -> Vec<f64>) -> Vec<BlockEstimate> {
        self.derive_from(usize::from(self.blocks.len() > 1)..self.blocks.len(), &[], function)
    }

    fn derive_from(
        &self,
        range: Range<usize>,
        spans: &[u64],
        function: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Vec<BlockEstimate> {
        let blocks = &self.blocks[range.clone()];
        let total = if blocks.is_empty() { BlockSums::new(self.width) } else { total(blocks) };
        let without = |left: Option<&BlockSums>| function(&means_without(&total, left));
        let whole = without(None);
        // A last block that has just begun says nothing.
        let full = range.end as u64 * self.length <= self.frames + self.length / 2;
        let mut blocks = if full { blocks.to_vec() } else { blocks[..blocks.len() - 1].to_vec() };
        let mut length = self.length;
        let mut errors = vec![None; whole.len()];
        while blocks.len() > 1 {
            let left: Vec<Vec<f64>> = blocks.iter().map(|block| without(Some(block))).collect();
            let many = blocks.len() as u64 >= MANY;
            for (k, error) in errors.iter_mut().enumerate() {
                let span = spans.get(k).copied().unwrap_or(0);
                if span <= length && (many || error.is_none()) {
                    // The first block lacks samples that span more than half of it.
                    let lacking = usize::from(2 * span > length);
                    *error = larger(*error, jackknife(&left[lacking..], k));
                }
            }
            blocks = joined(&blocks);
            length *= 2;
        }
        whole.into_iter().zip(errors).collect()
    }

    /// The means with their errors.
    pub fn means(&self) -> Vec<BlockEstimate> {
        self.derive(<[f64]>::to_vec)
    }
}

/// The larger of two errors, or the one that is known.
pub(crate) fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

/// The error of value `k`, given what all values are without each of the blocks; `None` below two blocks.
pub(crate) fn jackknife(without: &[Vec<f64>], k: usize) -> Option<f64> {
    let n = without.len() as f64;
    // Blocks without samples of what a value is made of leave it as it is or undefined.
    let values: Vec<f64> = without.iter().map(|v| v[k]).filter(|v| v.is_finite()).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    (values.len() > 1).then(|| ((n - 1.0) / n * square).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::random::{Purpose, Stream};

    /// Means of white noise, and a ratio of two means, are off by their errors on average.
    #[test]
    fn errors_are_those_of_the_scatter() {
        let (series, frames) = (300, 1000);
        let (mut means, mut ratios) = (0.0, 0.0);
        for seed in 0..series {
            let mut stream = Stream::new(seed, Purpose::Test, 0, 0);
            let mut blocks = Blocks::new(2);
            for _ in 0..frames {
                let x = stream.normal();
                blocks.add_frame(&[1.0 + 0.1 * x, 2.0 + 0.1 * stream.normal()]);
            }
            assert!(blocks.blocks.len() <= MOST);
            let (mean, error) = blocks.means()[0];
            means += ((mean - 1.0) / error.unwrap()).powi(2) / series as f64;
            let (ratio, error) = blocks.derive(|m| vec![m[0] / m[1]])[0];
            ratios += ((ratio - 0.5) / error.unwrap()).powi(2) / series as f64;
        }
        // chi square over its degrees of freedom; of t-distributed values somewhat above 1.
        assert!((0.8..1.45).contains(&means), "{means}");
        assert!((0.8..1.45).contains(&ratios), "{ratios}");
    }

    /// Frames of which about nine count as one, in blocks of eight: blocks that are
    /// joined further tell more, and together they are not far from right.
    #[test]
    fn frames_that_follow_soon_do_not_hide_their_error() {
        let (series, frames, keep) = (300, 256, 0.8f64);
        let mut square = 0.0;
        for seed in 0..series {
            let mut stream = Stream::new(seed, Purpose::Test, 1, 0);
            let mut blocks = Blocks::new(1);
            let mut x = stream.normal();
            for _ in 0..frames {
                blocks.add_frame(&[x]);
                x = keep * x + (1.0 - keep * keep).sqrt() * stream.normal();
            }
            let (mean, error) = blocks.means()[0];
            square += (mean / error.unwrap()).powi(2) / series as f64;
        }
        // 2.0 by blocks of eight frames alone, 1.3 by the rule; four standard errors are 0.5.
        assert!((0.8..1.8).contains(&square), "{square}");
    }

    #[test]
    fn one_frame_has_no_error() {
        let mut blocks = Blocks::new(1);
        blocks.add_frame(&[3.0]);
        assert_eq!(blocks.means(), [(3.0, None)]);
        blocks.add_frame(&[5.0]);
        assert_eq!(blocks.means(), [(4.0, Some(1.0))]);
    }
}
