//! Sums of Chebyshev polynomials and of powers in place of smooth functions that are expensive to evaluate.

use jostle_core::{Precision, Real};
use std::f64::consts::PI;

/// A smooth function of r^2, and its force over distance, as sums of Chebyshev polynomials up to a cut-off.
#[derive(Debug, Clone, PartialEq)]
pub struct ChebyshevSeries {
    /// The polynomials' argument is r^2 times this less 1.
    pub scale: f64,
    /// The coefficients of the energy.
    pub energy: Vec<f64>,
    /// Coefficients of force over distance.
    pub force: Vec<f64>,
}

impl ChebyshevSeries {
    /// A series as exact as numbers of a precision, for a function of r^2 that has a Gaussian's width at the
    /// most (alpha cutoff up to 4 in single precision, up to 6 in double precision).
    pub fn new(cutoff: f64, precision: Precision, smooth: impl Fn(f64) -> (f64, f64)) -> ChebyshevSeries {
        let n = match precision {
            Precision::Mixed => 20,
            Precision::Double => 40,
        };
        let nodes: Vec<f64> = (0..n).map(|k| (k as f64 + 0.5) * PI / n as f64).collect();
        let values = nodes.iter().map(|node| smooth(0.5 * (1.0 + node.cos()) * cutoff * cutoff));
        let (energies, forces): (Vec<f64>, Vec<f64>) = values.unzip();
        let coefficients = |values: &[f64]| {
            let coefficient = |m: usize| {
                let terms = values.iter().zip(&nodes).map(|(v, node)| v * (m as f64 * node).cos());
                terms.sum::<f64>() * if m == 0 { 1.0 } else { 2.0 } / n as f64
            };
            (0..n).map(coefficient).collect()
        };
        ChebyshevSeries {
            scale: 2.0 / (cutoff * cutoff),
            energy: coefficients(&energies),
            force: coefficients(&forces),
        }
    }
}

/// A sum of Chebyshev polynomials as one of powers of their argument, the highest first: as many as numbers of a
/// precision can tell from the largest value.
pub fn powers(coefficients: &[f64], precision: Precision) -> Vec<f64> {
    // Errors of the sum have one sign at a distance, unlike those of rounding, and must be smaller; in double precision
    // coefficients have errors of this size.
    let part = match precision {
        Precision::Mixed => f64::from(f32::EPSILON) / 16.0,
        Precision::Double => 8.0 * f64::EPSILON,
    };
    let least = part * coefficients.iter().map(|c| c.abs()).sum::<f64>();
    let n = coefficients.iter().rposition(|c| c.abs() > least).map_or(1, |last| last + 1);
    // Powers of two polynomials that follow each other, the lowest first.
    let (mut before, mut last) = (vec![0.0; n], vec![0.0; n]);
    let mut sum = vec![0.0; n];
    for (k, c) in coefficients[..n].iter().enumerate() {
        let raised = |m: usize| if m == 0 { 0.0 } else { last[m - 1] };
        let power = |m: usize| match k {
            0 => f64::from(u8::from(m == 0)),
            1 => raised(m),
            _ => 2.0 * raised(m) - before[m],
        };
        let next = Vec::from_iter((0..n).map(power));
        (0..n).for_each(|m| sum[n - 1 - m] += c * next[m]);
        (before, last) = (last, next);
    }
    sum
}

/// A sum of powers of t, the highest first.
#[inline(always)]
pub fn horner<R: Real>(t: R, mut coefficients: impl Iterator<Item = R>) -> R {
    let first = coefficients.next().unwrap_or(R::lit(0.0));
    coefficients.fold(first, |sum, c| sum.mul_add(t, c))
}

/// A sum of Chebyshev polynomials at t, by Clenshaw's recurrence.
#[inline(always)]
pub fn chebyshev<R: Real>(t: R, coefficients: impl DoubleEndedIterator<Item = R>) -> R {
    let (mut last, mut before) = (R::lit(0.0), R::lit(0.0));
    for c in coefficients.rev() {
        (last, before) = ((t + t).mul_add(last, c - before), last);
    }
    // The recurrence ends with twice the argument once too often.
    last - t * before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::electrostatics::KaiserBessel;

    #[test]
    fn powers_are_the_same_sum() {
        let cutoff = 8f64.sqrt();
        let smooth = |r2| KaiserBessel { beta: 12.6, radius: cutoff }.within(r2);
        for (precision, most, number) in
            [(Precision::Mixed, 1e-8, 9..=12), (Precision::Double, 1e-14, 14..=18)]
        {
            let series = ChebyshevSeries::new(cutoff, precision, smooth);
            let powers = powers(&series.force, precision);
            assert!(number.contains(&powers.len()), "{}", powers.len());
            for k in 0..=100 {
                let r2 = 8.0 * f64::from(k) / 100.0;
                let error = horner(r2 * series.scale - 1.0, powers.iter().copied()) - smooth(r2).1;
                assert!(error.abs() < most * smooth(0.0).1, "{r2}: {error:e}");
            }
        }
    }
}
