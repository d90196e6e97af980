//! Averages with errors. Values along a simulation are correlated, so the error of their mean is
//! not the standard deviation over the square root of their number.

use serde::{Deserialize, Serialize};

/// A mean and how far it may be from the true one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error, correlations included.
    pub error: f64,
    /// How many values went in.
    pub samples: u64,
    /// How many of them count as one independent value.
    pub inefficiency: f64,
    /// Whether the values suffice to know the error.
    pub confidence: Confidence,
}

/// Whether the values suffice to know an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Blocks are long enough to be independent.
    Good,
    /// The run is too short against the correlation time: the error may be larger.
    Poor,
}

/// An average by growing blocks (H. Flyvbjerg and H. G. Petersen, J. Chem. Phys. 91 (1989) 461):
/// the error is that of blocks of 2^k values, with the k of Lee et al. (Phys. Rev. E 83 (2011)
/// 066706), B^3 > 2 N (e_k / e_0)^4, as long as there are blocks enough. Memory grows with the logarithm of the number of values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockAverage {
    levels: Vec<Level>,
}

/// Statistics of the means of blocks of one length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Level {
    blocks: u64,
    mean: f64,
    /// Sum of squared deviations from the mean (Welford 1962).
    square: f64,
    /// A block that waits for its partner to make one of the next level.
    waiting: Option<f64>,
}

impl Level {
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
                self.levels.push(Level::default());
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
        // Blocks that vary less than single values do so by chance.
        let ratio = |level: &Level| if naive > 0.0 { (level.error_square() / naive).max(1.0) } else { 1.0 };
        let long_enough =
            |k: usize, level: &Level| 8f64.powi(k as i32) > 2.0 * first.blocks as f64 * ratio(level).powi(2);
        let levels = || self.levels.iter().enumerate();
        let mut many = levels().filter(|(_, level)| level.blocks >= MANY);
        let (inefficiency, confidence) = match many.find(|(k, level)| long_enough(*k, level)) {
            Some((_, level)) => (ratio(level), Confidence::Good),
            None => {
                let usable = levels().filter(|(_, level)| level.blocks >= FEW);
                (usable.map(|(_, level)| ratio(level)).fold(1.0, f64::max), Confidence::Poor)
            }
        };
        Some(Estimate {
            mean: first.mean,
            error: (naive * inefficiency).sqrt(),
            samples: first.blocks,
            inefficiency,
            confidence,
        })
    }
}

/// So many blocks give an error that is itself good to a fifth: 1 / sqrt(2 (n - 1)).
const MANY: u64 = 16;
/// With fewer blocks than this an error is mere noise.
const FEW: u64 = 4;

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
        let mut stream = Stream::new(seed, Purpose::Thermostat, 0, 0);
        let mut average = BlockAverage::default();
        let mut x = stream.normal();
        for _ in 0..n {
            average.add(x);
            x = a * x + (1.0 - a * a).sqrt() * stream.normal();
        }
        average
    }

    #[test]
    fn error_of_a_correlated_series_is_the_exact_one() {
        for a in [0.0, 0.5, 0.9] {
            let n = 1 << 17;
            let estimate = autoregressive(a, n, 1).estimate().unwrap();
            let exact = ((1.0 + a) / (1.0 - a) / n as f64).sqrt();
            assert_eq!(estimate.confidence, Confidence::Good);
            assert!((estimate.error / exact - 1.0).abs() < 0.1, "a = {a}: {} {exact}", estimate.error);
            assert!(estimate.mean.abs() < 4.0 * exact);
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
        for (a, n) in [(0.999, 100), (0.0, 4), (0.0, 30)] {
            for seed in 0..100 {
                let estimate = autoregressive(a, n, seed).estimate().unwrap();
                assert_eq!(estimate.confidence, Confidence::Poor, "{n} values: {estimate:?}");
                assert!(estimate.inefficiency >= 1.0);
            }
        }
        (0..100).for_each(|_| average.add(1.0));
        let constant = average.estimate().unwrap();
        assert_eq!((constant.mean, constant.error), (1.0, 0.0));
    }

    #[test]
    fn trends_are_found_with_their_error() {
        let mut stream = Stream::new(2, Purpose::Thermostat, 0, 0);
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
