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
    Some([mean_and_error(first)?, mean_and_error(second)?])
}

/// The mean with its standard error; `None` of fewer than two values.
fn mean_and_error(values: &[f64]) -> Option<(f64, f64)> {
    let mut blocks = Blocks::new(1);
    values.iter().for_each(|v| blocks.add_frame(&[*v]));
    blocks.means().first().and_then(|(mean, error)| Some((*mean, (*error)?)))
}

/// Fewest values by which a series can be called settled.
const LEAST_SETTLED: usize = 128;
/// Largest error of the mean of a quarter over the scatter of its values: it has as many as sixteen independent values
/// then, and is not one slow motion whose errors cannot be known.
const MOST_CORRELATED: f64 = 0.25;
/// Relative rounding of means: a constant, such as the density of a box of constant volume, has settled.
const ROUNDING: f64 = 1e-12;

/// Returns true where the average of a series does not change any more: the means of its second and its third quarter
/// differ from that of the last by no more than twice the errors of these differences, and the errors can be trusted,
/// because the values of a quarter are not one slow motion. The first quarter may be anything.
pub fn is_settled(values: &[f64]) -> bool {
    let quarter = values.len() / 4;
    if values.len() < LEAST_SETTLED {
        return false;
    }
    let late: Vec<&[f64]> = values[values.len() - 3 * quarter..].chunks_exact(quarter).collect();
    let means: Option<Vec<(f64, f64)>> = late.iter().map(|part| mean_and_error(part)).collect();
    let Some([second, third, last]) = means.as_deref().and_then(|means| means.first_chunk::<3>()) else {
        return false;
    };
    let rounding = ROUNDING * last.0.abs();
    let agree = |(a, a_error): (f64, f64), (b, b_error): (f64, f64)| {
        (a - b).abs() <= (2.0 * a_error.hypot(b_error)).max(rounding)
    };
    let trusted = late.iter().zip([second, third, last]).all(|(part, (mean, error))| {
        let square = part.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / part.len() as f64;
        *error <= (MOST_CORRELATED * square.sqrt()).max(rounding)
    });
    trusted && agree(*second, *last) && agree(*third, *last)
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
            let (mut stream, mut series) = (Stream::new(seed, Purpose::Test, 0, 0), Series::default());
            (0..1500).for_each(|_| series.add(7.0 + stream.normal()));
            let [(a, ea), (b, eb)] = halves(series.means()).unwrap();
            square += (a - b).powi(2) / (ea * ea + eb * eb) / runs as f64;
        }
        // As for one mean, see `blocks`.
        assert!((0.8..1.45).contains(&square), "{square}");
        assert_eq!(halves(&[1.0, 2.0, 3.0]), None);
    }

    /// Number of values after which a series is called settled, where it is asked after every eighth more.
    fn settles_after(values: impl Iterator<Item = f64>) -> Option<usize> {
        let mut series = Series::default();
        let mut due = LEAST_SETTLED;
        for (n, value) in (1..).zip(values) {
            series.add(value);
            if n == due {
                due += due / 8;
                if is_settled(series.means()) {
                    return Some(n);
                }
            }
        }
        None
    }

    #[test]
    fn a_series_settles_when_its_beginning_is_forgotten() {
        const RUNS: u64 = 100;
        for relaxation in [50.0_f64, 300.0] {
            let mut late = 0;
            for seed in 0..RUNS {
                let mut stream = Stream::new(seed, Purpose::Test, 0, 0);
                // From ten standard deviations away, with noise that is correlated over some ten values.
                let mut noise = 0.0;
                let values = (0..20_000).map(|k| {
                    noise = 0.9 * noise + 0.19_f64.sqrt() * stream.normal();
                    10.0 * (-f64::from(k) / relaxation).exp() + noise
                });
                let n = settles_after(values).expect("it settles");
                late += u64::from(10.0 * (-(n as f64) / relaxation).exp() < 1.0);
            }
            assert!(late * 100 >= 90 * RUNS, "{late} of {RUNS} ended when less than one deviation was left");
        }
        assert_eq!(settles_after((0..5000).map(f64::from)), None, "a straight line never settles");
        assert_eq!(
            settles_after(std::iter::repeat_n(0.7, 200)),
            Some(LEAST_SETTLED),
            "a constant has settled"
        );
    }
}
