//! First maximum of a radial distribution function: the nearest one that rises out of its noise and falls again by more
//! than its noise. The highest would be another in simple cubic and diamond lattices, and in mixtures.
//!
//! In many bins chance makes maxima, too, so that rise and fall must be larger than what white noise in as many bins has;
//! and in narrow bins noise hides a wide maximum, so that bins are also joined.

use crate::blocks::BlockEstimate;
use std::ops::Range;

/// Numbers of neighbouring bins that are joined; the first that is enough is used.
pub(super) const JOINED: [usize; 4] = [1, 2, 4, 8];
/// Reaches of the parabola that is fitted to a maximum, in parts of its width at half its height, until one fits: the whole
/// reach of a steep flank and a flat one would shift it, and less has more noise, by which the top may be flat.
const REACHES: [f64; 4] = [0.4, 0.5, 0.65, 0.8];
/// Least reach, in bins: three of them or more.
const SHORTEST: f64 = 2.0;
/// Reach from which on wider bins resolve a maximum as well.
const RESOLVED: f64 = 3.0;
/// Fits, each about the vertex of the one before.
const ROUNDS: usize = 8;

/// A function in bins.
pub(super) struct Binned {
    /// Number of narrow bins that are one of these.
    pub joined: usize,
    /// Values and their standard errors.
    pub values: Vec<(f64, f64)>,
}

/// A maximum that is significant.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Maximum {
    joined: usize,
    /// Bins from the minimum before it to the one after it.
    within: Range<usize>,
    /// Its place, about, and how far from there on both sides it is fitted.
    about: f64,
    reach: f64,
    rounds: usize,
}

impl Binned {
    /// Values with the larger of two errors: those by blocks, and those of counts that are independent. `per_count` is the
    /// contribution of one count to each value.
    pub fn new(joined: usize, values: &[BlockEstimate], per_count: impl Fn(usize) -> f64) -> Self {
        let with_error = |(k, (value, error)): (usize, &BlockEstimate)| {
            let one = per_count(k);
            let counts = value / one + 1.0;
            (*value, error.unwrap_or(0.0).max(one * counts.sqrt()))
        };
        Binned { joined, values: values.iter().enumerate().map(with_error).collect() }
    }

    /// The first maximum that rises and falls by more than chance, if there is one.
    pub fn first_maximum(&self) -> Option<Maximum> {
        let values = &self.values;
        // The range of n normal numbers is hardly more than 2 sqrt(2 ln n) of their standard deviation; differences of two
        // have errors larger by a root of 2.
        let least = 2.0 * (values.len() as f64).ln().sqrt();
        let above = |a: usize, b: usize| values[a].0 - values[b].0 > least * values[a].1.hypot(values[b].1);
        let (mut low, mut high) = (0, None::<usize>);
        for k in 1..values.len() {
            match high {
                Some(top) if values[k].0 > values[top].0 => high = Some(k),
                Some(top) if above(top, k) => {
                    // On to the minimum after it.
                    let mut least = k;
                    for later in k + 1..values.len() {
                        if above(later, least) {
                            break;
                        }
                        least = if values[later].0 < values[least].0 { later } else { least };
                    }
                    return Some(self.maximum(top, low..least + 1));
                }
                Some(_) => {}
                None if above(k, low) => high = Some(k),
                // Later minima are nearer to the maximum; higher ones within noise are no minima.
                None if values[k].0 <= values[low].0 => low = k,
                None => {}
            }
        }
        None
    }

    /// The maximum with this highest bin.
    fn maximum(&self, highest: usize, within: Range<usize>) -> Maximum {
        let values: Vec<f64> = self.values.iter().map(|(value, _)| *value).collect();
        let floor = values[within.start].max(values[within.end - 1]);
        let half = |k: &usize| values[*k] >= 0.5 * (floor + values[highest]);
        let left = (within.start..highest).rev().take_while(half).count();
        let right = (highest + 1..within.end).take_while(half).count();
        let about = highest as f64 + 0.5 * (right as f64 - left as f64);
        let width = (left + right + 1) as f64;
        let fitted = |part: &f64| Maximum {
            joined: self.joined,
            within: within.clone(),
            about,
            reach: (part * width).max(SHORTEST),
            rounds: ROUNDS,
        };
        let fits = |maximum: &Maximum| maximum.place_and_height(&values)[0].is_finite();
        let found = REACHES.iter().map(fitted).find(fits);
        // Where none fits, the parabola through the highest bin and its neighbours.
        found.unwrap_or(Maximum {
            joined: self.joined,
            about: highest as f64,
            reach: SHORTEST,
            rounds: 1,
            within,
        })
    }
}

impl Maximum {
    /// Number of narrow bins that are one of those it was found in.
    pub fn joined(&self) -> usize {
        self.joined
    }

    /// Returns true where the minimum after it is before the other one: noise may hide a maximum in narrow bins, but not the
    /// next.
    pub fn is_before(&self, other: &Maximum) -> bool {
        ((self.within.end - 1) * self.joined) as f64 <= other.about * other.joined as f64
    }

    /// Returns true where it is the other one in wider bins that still resolve it: these have less noise.
    pub fn is_smoother(&self, other: &Maximum) -> bool {
        let place = (other.about * other.joined as f64 / self.joined as f64) as usize;
        self.reach >= RESOLVED && self.within.contains(&place)
    }

    /// Place in narrow bins, from the beginning of the first one, and height, given values in bins joined like those it
    /// was found in: the vertex of the parabola that fits best about itself. NaN where there is none.
    pub fn place_and_height(&self, values: &[f64]) -> [f64; 2] {
        let mut found = Some((self.about, f64::NAN));
        for _ in 0..self.rounds {
            found = found.and_then(|(place, _)| parabola(values, place, self.reach));
        }
        let inside =
            |(place, _): &(f64, f64)| (place - self.about).abs() <= self.reach.max(self.within.len() as f64);
        let (place, height) = found.filter(inside).unwrap_or((f64::NAN, f64::NAN));
        [(place + 0.5) * self.joined as f64, height]
    }

    /// Error of its place by the width of bins, in narrow bins, where few bins are its top.
    pub fn coarseness(&self) -> f64 {
        if self.reach > SHORTEST { 0.0 } else { self.joined as f64 / 12f64.sqrt() }
    }
}

/// The vertex of a parabola that is fitted to the values within reach of a place, those near it most; `None` where it opens
/// upwards or has its vertex elsewhere.
fn parabola(values: &[f64], place: f64, reach: f64) -> Option<(f64, f64)> {
    let first = (place - reach).ceil().max(0.0) as usize;
    let last = ((place + reach).floor().max(0.0) as usize).min(values.len() - 1);
    // Sums of the weight 1 - (x / reach)^2 times powers of x, and times these and the value.
    let (mut powers, mut products) = ([0.0; 5], [0.0; 3]);
    for (k, value) in values.iter().enumerate().take(last + 1).skip(first) {
        let x = (k as f64 - place) / reach;
        let weight = 1.0 - x * x;
        powers.iter_mut().enumerate().for_each(|(n, sum)| *sum += weight * x.powi(n as i32));
        products.iter_mut().enumerate().for_each(|(n, sum)| *sum += weight * x.powi(n as i32) * value);
    }
    let [s0, s1, s2, s3, s4] = powers;
    let [y0, y1, y2] = products;
    // Cramer's rule for height, slope and curvature.
    let determinant = s0 * (s2 * s4 - s3 * s3) - s1 * (s1 * s4 - s2 * s3) + s2 * (s1 * s3 - s2 * s2);
    let height = y0 * (s2 * s4 - s3 * s3) - s1 * (y1 * s4 - y2 * s3) + s2 * (y1 * s3 - y2 * s2);
    let slope = s0 * (y1 * s4 - y2 * s3) - y0 * (s1 * s4 - s2 * s3) + s2 * (s1 * y2 - s2 * y1);
    let curvature = s0 * (s2 * y2 - s3 * y1) - s1 * (s1 * y2 - s2 * y1) + y0 * (s1 * s3 - s2 * s2);
    let off = -0.5 * slope / curvature;
    let is_top = curvature / determinant < 0.0 && off.abs() <= 1.0;
    is_top.then(|| (place + off * reach, (height + 0.5 * slope * off) / determinant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::random::{Purpose, Stream};

    /// Counts in bins, as if each were worth a hundredth.
    fn binned(values: impl Iterator<Item = f64>) -> Binned {
        let values: Vec<BlockEstimate> = values.map(|value| (value, None)).collect();
        Binned::new(1, &values, |_| 0.01)
    }

    #[test]
    fn the_first_maximum_need_not_be_the_highest() {
        let peak = |k: usize, at: f64, height: f64| height * (-0.02 * (k as f64 - at).powi(2)).exp();
        let found = binned((0..100).map(|k| peak(k, 30.3, 2.0) + peak(k, 70.0, 9.0)));
        let maximum = found.first_maximum().unwrap();
        let values: Vec<f64> = found.values.iter().map(|value| value.0).collect();
        let [place, height] = maximum.place_and_height(&values);
        assert!((place - 30.8).abs() < 0.1 && (height - 2.0).abs() < 0.03, "{place} {height}");
        assert_eq!(binned((0..100).map(|k| 0.03 * k as f64)).first_maximum(), None, "nothing but a rise");
        assert_eq!(binned((0..100).map(|_| 0.0)).first_maximum(), None);
    }

    /// Noise makes no maximum, in few bins or many.
    #[test]
    fn noise_has_no_maximum() {
        for bins in [50, 200, 5000] {
            let found = (0..400).filter(|seed| {
                let mut stream = Stream::new(*seed, Purpose::Test, 0, 0);
                binned((0..bins).map(|_| 1.0 + 0.1 * stream.normal())).first_maximum().is_some()
            });
            let found = found.count();
            assert!(found <= 4, "{found} of 400 in {bins} bins");
        }
    }
}
