//! Averages with errors. Values along a simulation are correlated, so the error of their mean is
//! not the standard deviation over the square root of their number.
//!
//! The rule for errors is one: neighbours are joined to blocks that double in length, and the
//! largest error counts that [`MANY`] or more blocks give. [`BlockAverage`] follows it for the mean of
//! a single quantity, from its first value on; [`crate::Blocks`] for any function of the means of
//! many, which is why it keeps blocks and not single values.

use serde::{Deserialize, Serialize};

/// A mean and how far it may be from the true one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error, correlations included.
    pub error: f64,
    /// Number of values.
    pub samples: u64,
    /// Number of values that count as one independent value.
    pub inefficiency: f64,
    /// Confidence in the error.
    pub confidence: Confidence,
}

/// Confidence in an error, by the number of independent values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Blocks are long enough to be independent.
    Good,
    /// Too few of the values are independent: the error may be larger.
    Poor,
}

/// Fewer blocks say nothing about an error: it is itself good to 1 / sqrt(2 (n - 1)), with eight of
/// them to a quarter.
pub const MANY: u64 = 8;

/// An average by growing blocks (H. Flyvbjerg and H. G. Petersen, J. Chem. Phys. 91 (1989) 461).
/// The error that blocks of 2^k values give, were they independent, grows with k until they are.
/// Taken is the largest that at least [`MANY`] blocks give: on series of known correlation it covers
/// the truth as often as a standard error should, or a little more often. Memory grows with the
/// logarithm of the number of values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockAverage {
    levels: Vec<BlockLevel>,
}

/// Statistics of the means of blocks of one length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct BlockLevel {
    blocks: u64,
    mean: f64,
    /// Sum of squared deviations from the mean (Welford 1962).
    square: f64,
    /// A block that waits for its partner to make one of the next level.
    waiting: Option<f64>,
}

impl BlockLevel {
    /// The squared error of the mean if the blocks were independent.
    fn error_square(&self) -> f64 {
        self.square / (self.blocks as f64 * (self.blocks - 1) as f64)
    }
}

impl BlockAverage {
    /// Adds the next value.
    pub fn add(&mut self, value: f64) {
        let mut value = value;
        for k in 0.. {
            if k == self.levels.len() {
                self.levels.push(BlockLevel::default());
            }
            let level = &mut self.levels[k];
            level.blocks += 1;
            let off = value - level.mean;
            level.mean += off / level.blocks as f64;
            level.square += off * (value - level.mean);
            match level.waiting.take() {
                Some(partner) => value = 0.5 * (partner + value),
                None => {
                    level.waiting = Some(value);
                    return;
                }
            }
        }
    }

    /// The mean and its error; `None` before the second value, because a mean without an error is
    /// not worth having.
    pub fn estimate(&self) -> Option<Estimate> {
        let first = self.levels.first().filter(|l| l.blocks > 1)?;
        let naive = first.error_square();
        let many = self.levels.iter().filter(|level| level.blocks >= MANY);
        let largest = many.map(BlockLevel::error_square).fold(naive, f64::max);
        let inefficiency = if naive > 0.0 { largest / naive } else { 1.0 };
        let independent = first.blocks as f64 / inefficiency;
        Some(Estimate {
            mean: first.mean,
            error: largest.sqrt(),
            samples: first.blocks,
            inefficiency,
            confidence: if independent >= ENOUGH { Confidence::Good } else { Confidence::Poor },
        })
    }
}

/// Independent values from which an error is trustworthy: good to some 15%.
const ENOUGH: f64 = 25.0;

/// A straight line through values over time: how fast a quantity drifts that should stay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    count: u64,
    mean: [f64; 2],
    /// Sums of products of deviations: time-time, time-value, value-value.
    products: [f64; 3],
}

/// A slope and its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slope {
    /// Change per unit of time.
    pub slope: f64,
    /// Its standard error, for independent deviations from the line.
    pub error: f64,
}

impl Trend {
    /// Adds a value at a time.
    pub fn add(&mut self, time: f64, value: f64) {
        self.count += 1;
        let n = self.count as f64;
        let before = [time - self.mean[0], value - self.mean[1]];
        self.mean[0] += before[0] / n;
        self.mean[1] += before[1] / n;
        let after = [time - self.mean[0], value - self.mean[1]];
        self.products[0] += before[0] * after[0];
        self.products[1] += before[0] * after[1];
        self.products[2] += before[1] * after[1];
    }

    /// The slope by least squares; `None` below three values.
    pub fn slope(&self) -> Option<Slope> {
        let [tt, tv, vv] = self.products;
        if self.count < 3 || tt <= 0.0 {
            return None;
        }
        let slope = tv / tt;
        let residual = (vv - slope * tv).max(0.0);
        Some(Slope { slope, error: (residual / ((self.count - 2) as f64 * tt)).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::random::{Purpose, Stream};

    /// x_{n+1} = a x_n + noise: variance 1, inefficiency (1 + a) / (1 - a).
    fn autoregressive(a: f64, n: usize, seed: u64) -> BlockAverage {
        let mut stream = Stream::new(seed, Purpose::Test, 0, 0);
        let mut average = BlockAverage::default();
        let mut x = stream.normal();
        for _ in 0..n {
            average.add(x);
            x = a * x + (1.0 - a * a).sqrt() * stream.normal();
        }
        average
    }

    /// The largest of several noisy estimates is on average a little larger than the exact error,
    /// never smaller.
    #[test]
    fn error_of_a_correlated_series_is_the_exact_one() {
        for a in [0.0, 0.5, 0.9] {
            let n = 1 << 15;
            let exact = ((1.0 + a) / (1.0 - a) / n as f64).sqrt();
            let estimates: Vec<Estimate> =
                (0..20).filter_map(|seed| autoregressive(a, n, seed).estimate()).collect();
            let mean = estimates.iter().map(|e| e.error).sum::<f64>() / 20.0;
            assert!((0.95..1.25).contains(&(mean / exact)), "a = {a}: {mean} {exact}");
            for e in estimates {
                assert_eq!(e.confidence, Confidence::Good);
                assert!(e.mean.abs() < 4.0 * exact);
            }
        }
    }

    /// Over many short series the mean lies within one error of the truth about 68% of the time.
    #[test]
    fn errors_cover_the_truth() {
        let series = 400;
        let estimate = |seed| autoregressive(0.8, 3000, seed).estimate().unwrap();
        let inside = (0..series).map(estimate).filter(|e| e.mean.abs() < e.error).count();
        let share = inside as f64 / series as f64;
        assert!((0.58..0.75).contains(&share), "{share}");
    }

    #[test]
    fn too_few_values_have_no_error_or_a_poor_one() {
        assert_eq!(BlockAverage::default().estimate(), None);
        let mut average = BlockAverage::default();
        average.add(1.0);
        assert_eq!(average.estimate(), None);
        for (a, n) in [(0.999, 100), (0.99, 400), (0.0, 4), (0.0, 20)] {
            let mut good = 0;
            for seed in 0..100 {
                let estimate = autoregressive(a, n, seed).estimate().unwrap();
                good += usize::from(estimate.confidence == Confidence::Good);
                assert!(estimate.inefficiency >= 1.0);
            }
            assert!(good <= 5, "{n} values correlated by {a}: {good} of 100 are called good");
        }
        (0..100).for_each(|_| average.add(1.0));
        let constant = average.estimate().unwrap();
        assert_eq!((constant.mean, constant.error), (1.0, 0.0));
    }

    #[test]
    fn trends_are_found_with_their_error() {
        let mut stream = Stream::new(2, Purpose::Test, 0, 0);
        let mut trend = Trend::default();
        let n = 10_000;
        for k in 0..n {
            let t = 0.01 * f64::from(k);
            trend.add(t, 5.0 + 0.3 * t + stream.normal());
        }
        let slope = trend.slope().unwrap();
        // sigma / (spacing sqrt(n^3 / 12))
        let exact = 1.0 / (0.01 * (f64::from(n).powi(3) / 12.0).sqrt());
        assert!((slope.error / exact - 1.0).abs() < 0.05);
        assert!((slope.slope - 0.3).abs() < 4.0 * exact);
        assert_eq!(Trend::default().slope(), None);
    }
}
