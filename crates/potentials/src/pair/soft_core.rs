//! T. C. Beutler, A. E. Mark, R. C. van Schaik, P. R. Gerber and W. F. van Gunsteren, "Avoiding singularities and
//! numerical instabilities in free energy calculations based on molecular simulations", Chem. Phys. Lett. 222 (1994)
//! 529, eq. 3: Lennard-Jones particles that can be where others are.

use super::{Absent, MixesAs, PairFunction, PairPotential, Parameter, Range};
use jostle_core::{Dimension, Real};

/// u(r) = 4 epsilon [1/(softness + (r/sigma)^6)^2 - 1/(softness + (r/sigma)^6)]: Lennard-Jones without softness, and
/// finite at r = 0 with it. Along a free-energy path epsilon is lambda times that of the pair, and softness
/// alpha (1 - lambda)^power ([`crate::alchemy`]).
#[derive(Debug, Clone, Copy)]
pub struct SoftCore;

impl PairFunction for SoftCore {
    const N_COEFFICIENTS: usize = 3;

    /// c = [48 epsilon sigma^12, 24 epsilon sigma^6, softness sigma^6]
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let r4 = r2 * r2;
        let inverse = r4.mul_add(r2, c[2]).recip();
        let energy = (c[0] * R::lit(1.0 / 12.0)).mul_add(inverse, -(c[1] * R::lit(1.0 / 6.0))) * inverse;
        let force_over_r = c[0].mul_add(inverse, -c[1]) * inverse * (inverse * r4);
        (energy, force_over_r)
    }
}

impl SoftCore {
    /// Coefficients for any type of number.
    pub fn coefficients_of<R: Real>(epsilon: R, sigma: f64, softness: R) -> [R; 3] {
        let sigma6 = sigma.powi(6);
        [R::lit(48.0 * sigma6 * sigma6) * epsilon, R::lit(24.0 * sigma6) * epsilon, R::lit(sigma6) * softness]
    }
}

/// Terms of the series of a tail: each is smaller than the one before by the factor softness (sigma/cutoff)^6.
const SERIES: i32 = 60;

/// The largest such factor.
const LARGEST_STEP: f64 = 0.5;

impl PairPotential for SoftCore {
    const KIND: &'static str = "soft-core";
    const ABOUT: &'static str = "Lennard-Jones with Beutler's soft core: finite where atoms overlap";
    const FORMULA: &'static str = "4 epsilon [1/(softness + (r/sigma)^6)^2 - 1/(softness + (r/sigma)^6)]";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "epsilon",
            dimension: Dimension::ENERGY,
            about: "depth of the well",
            absent: Absent::Refused,
            mixes_as: MixesAs::Energy,
            range: Range::NonNegative,
            example: 1.0,
        },
        Parameter {
            name: "sigma",
            dimension: Dimension::LENGTH,
            about: "distance at which the energy is zero without softness",
            absent: Absent::Refused,
            mixes_as: MixesAs::Size,
            range: Range::Positive,
            example: 1.0,
        },
        Parameter {
            name: "softness",
            dimension: Dimension::NUMBER,
            about: "0 for Lennard-Jones; the energy at r = 0 is 4 epsilon (1 - softness)/softness^2",
            absent: Absent::Refused,
            mixes_as: MixesAs::Shared,
            range: Range::NonNegative,
            example: 0.25,
        },
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        SoftCore::coefficients_of(p[0], p[1], p[2]).to_vec()
    }

    /// With s = r^3, a = softness sigma^6 and S = cutoff^3, the integrals of 1/(a + s^2) and of its square from S on
    /// are series in t = a/S^2.
    fn tail(p: &[f64], cutoff: f64) -> Option<f64> {
        let (epsilon, sigma6, end) = (p[0], p[1].powi(6), cutoff.powi(3));
        let t = p[2] * sigma6 / (end * end);
        if t > LARGEST_STEP {
            return None;
        }
        let terms = || (0..SERIES).map(|k| (f64::from(k), (-t).powi(k)));
        let attraction: f64 = terms().map(|(k, power)| power / (2.0 * k + 1.0)).sum();
        let repulsion: f64 = terms().map(|(k, power)| (k + 1.0) * power / (2.0 * k + 3.0)).sum();
        let ratio = sigma6 / end;
        Some(4.0 / 3.0 * epsilon * ratio * (ratio / end * repulsion - attraction))
    }
}
