//! A table of a function of r^2, a polynomial for each quarter of an octave: with registers that can be
//! permuted by 32 indices it takes fewer operations than a root and one polynomial for all.

use crate::simd::{Lanes, Scalar, quarter};
use jostle_potentials::Electrostatics;
use jostle_potentials::electrostatics::{Splitting, direct};
use std::f64::consts::PI;

/// Number of coefficients of a polynomial, enough for single precision over a quarter of an octave, if the
/// function is a power or smoother.
const N: usize = 6;

/// The table up to a cut-off. Its rows are aligned, so that each register is read from one cache line.
#[derive(Debug, Clone, PartialEq)]
#[repr(C, align(64))]
pub struct ForceTable<S> {
    /// Coefficients by power, the highest first, and by quarter.
    powers: [[S; 32]; N],
    /// Least r^2 of the table.
    pub least: S,
}

impl<S: Scalar> ForceTable<S> {
    /// Table of the force over distance of two unit charges that nothing screens; none where it cannot be as exact as single
    /// precision.
    pub fn of_charges(term: &Electrostatics) -> Option<Self> {
        // The last polynomial reaches beyond the cut-off, where the force of a charge spread up to there has a kink.
        let smooth = |r2| match term.splitting() {
            Some(Splitting::KaiserBessel(charge)) => charge.within(r2),
            _ => term.smooth(r2),
        };
        Self::new(term.cutoff, |r2| direct(r2, 1.0, smooth(r2)).1, |r2| r2.powf(-1.5))
    }

    /// Table of a function of r^2, as exact as single precision is for numbers of some size; none where that
    /// cannot be.
    pub fn new(cutoff: f64, function: impl Fn(f64) -> f64, size: impl Fn(f64) -> f64) -> Option<Self> {
        let mut powers = [[S::default(); 32]; N];
        let mut least = quarter_start(cutoff * cutoff);
        for _ in 0..31 {
            // A little into the quarter below.
            least = quarter_start(least * (1.0 - 1e-9));
        }
        let mut start = least;
        for _ in 0..32 {
            let (which, _) = quarter(start);
            let end = quarter_end(start);
            let octave = octave_start(start);
            let at = |t: f64| function(0.5 * (start + end) + t * octave);
            let polynomial = interpolated(at);
            for k in 0..=10 {
                let t = (f64::from(k) / 10.0 - 0.5) / 4.0;
                let value = polynomial.iter().fold(0.0, |sum, c| sum * t + c);
                let r2 = 0.5 * (start + end) + t * octave;
                if (value - at(t)).abs() > 2.0 * f64::from(f32::EPSILON) * size(r2) {
                    return None;
                }
            }
            for (power, c) in powers.iter_mut().zip(polynomial) {
                power[which] = S::from_f64(c);
            }
            start = end;
        }
        Some(ForceTable { powers, least: S::from_f64(least) })
    }

    /// The function, from [`ForceTable::least`] to the cut-off.
    #[inline(always)]
    pub fn at<L: Lanes<Scalar = S>>(&self, r2: L) -> L {
        let (index, t) = r2.quarter();
        let mut value = L::lookup(&self.powers[0], 32, index);
        for power in &self.powers[1..] {
            value = value.mul_add(t, L::lookup(power, 32, index));
        }
        value
    }
}

/// The power of two at or below a number.
fn octave_start(x: f64) -> f64 {
    f64::from_bits(x.to_bits() >> 52 << 52)
}

/// Beginning of the quarter of an octave that contains a number.
fn quarter_start(x: f64) -> f64 {
    f64::from_bits(x.to_bits() >> 50 << 50)
}

/// End of the quarter of an octave that begins here.
fn quarter_end(x: f64) -> f64 {
    quarter_start(x) + octave_start(x) / 4.0
}

/// The polynomial, the highest power first, that has a function's values at the Chebyshev nodes of
/// -1/8 to 1/8.
fn interpolated(function: impl Fn(f64) -> f64) -> [f64; N] {
    let nodes: [f64; N] = std::array::from_fn(|k| ((k as f64 + 0.5) * PI / N as f64).cos() / 8.0);
    // Newton's divided differences, then powers.
    let mut differences = nodes.map(function);
    for level in 1..N {
        for k in (level..N).rev() {
            differences[k] = (differences[k] - differences[k - 1]) / (nodes[k] - nodes[k - level]);
        }
    }
    let mut powers = [0.0; N];
    for k in (0..N).rev() {
        // Times (t - node), plus the next difference; the lowest power is the last.
        for m in 0..N {
            let lower = if m + 1 < N { powers[m + 1] } else { 0.0 };
            powers[m] = lower - nodes[k] * powers[m];
        }
        powers[N - 1] += differences[k];
    }
    powers
}
