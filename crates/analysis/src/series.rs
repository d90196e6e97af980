//! A series in constant memory: what can be asked of all its values together with what can be asked of
//! its halves.

use crate::blocks::Blocks;
use serde::{Deserialize, Serialize};

/// With so many means, neighbours are joined.
const MOST: usize = 256;

/// The values of a quantity along a run, as means of equally many neighbours: at least 128 of them, once
/// there were so many values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    means: Vec<f64>,
    /// Binary logarithm of how many values make a mean.
    level: u32,
    /// Sum and number of the values of the mean under way.
    open: (f64, u64),
}

impl Series {
    /// Adds the next value.
    pub fn add(&mut self, value: f64) {
        self.open.0 += value;
        self.open.1 += 1;
        let length = 1 << self.level;
        if self.open.1 < length {
            return;
        }
        self.means.push(self.open.0 / length as f64);
        self.open = (0.0, 0);
        if self.means.len() == MOST {
            self.means = self.means.as_chunks::<2>().0.iter().map(|[a, b]| 0.5 * (a + b)).collect();
            self.level += 1;
        }
    }

    /// The means, in order.
    pub fn means(&self) -> &[f64] {
        &self.means
    }
}

/// The mean of each half of a series with its standard error, correlations included; `None` where a half
/// has fewer than two values.
pub fn halves(values: &[f64]) -> Option<[(f64, f64); 2]> {
    let (first, second) = values.split_at(values.len() / 2);
    let mean = |half: &[f64]| {
        let mut blocks = Blocks::new(1);
        half.iter().for_each(|v| blocks.add_frame(&[*v]));
        blocks.means().first().and_then(|(mean, error)| Some((*mean, (*error)?)))
    };
    Some([mean(first)?, mean(second)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::random::{Purpose, Stream};

    #[test]
    fn means_are_those_of_neighbours() {
        for n in [3, 255, 256, 1000, 5000] {
            let mut series = Series::default();
            (0..n).for_each(|k| series.add(f64::from(k)));
            let length = f64::from(1 << series.level);
            assert!(series.means().len() < MOST && (n < 128 || series.means().len() >= MOST / 2));
            for (k, mean) in series.means().iter().enumerate() {
                assert_eq!(*mean, k as f64 * length + 0.5 * (length - 1.0), "{n}");
            }
            assert_eq!(series.means().len() as u64 * (1 << series.level) + series.open.1, n as u64);
        }
    }

    /// Halves of a series that goes on as it began are as far apart as their errors say.
    #[test]
    fn halves_differ_by_their_errors() {
        let (runs, mut square) = (300, 0.0);
        for seed in 0..runs {
            let (mut stream, mut series) = (Stream::new(seed, Purpose::Thermostat, 0, 0), Series::default());
            (0..1500).for_each(|_| series.add(7.0 + stream.normal()));
            let [(a, ea), (b, eb)] = halves(series.means()).unwrap();
            square += (a - b).powi(2) / (ea * ea + eb * eb) / runs as f64;
        }
        // As for one mean, see `blocks`.
        assert!((0.8..1.45).contains(&square), "{square}");
        assert_eq!(halves(&[1.0, 2.0, 3.0]), None);
    }
}
