//! R. A. Buckingham, "The classical equation of state of gaseous helium, neon and argon", Proc. R.
//! Soc. A 168 (1938) 264.

use super::{Absent, MixesAs, PairFunction, PairPotential, Parameter, Range, distance, tail};
use jostle_core::{Dimension, Real};

/// u(r) = a exp(-r / rho) - c / r^6. At very short distances the attraction wins and the energy
/// falls without bound: configurations must not start there.
#[derive(Debug, Clone, Copy)]
pub struct Buckingham;

impl PairFunction for Buckingham {
    const N_COEFFICIENTS: usize = 5;

    /// c = [a, -1 / rho, c, a / rho, 6 c]
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let inv = r2.rsqrt();
        let inv2 = inv * inv;
        let inv6 = inv2 * inv2 * inv2;
        let e = (c[1] * distance(r2, inv)).exp();
        let energy = c[0].mul_add(e, -(c[2] * inv6));
        let force_over_r = (c[3] * inv).mul_add(e, -(c[4] * (inv6 * inv2)));
        (energy, force_over_r)
    }
}

impl PairPotential for Buckingham {
    const KIND: &'static str = "buckingham";
    const ABOUT: &'static str = "Buckingham exp-6: oxides, molten salts; unbounded below at r = 0";
    const FORMULA: &'static str = "a exp(-r/rho) - c / r^6";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "a",
            dimension: Dimension::ENERGY,
            about: "strength of the repulsion",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::NonNegative,
            example: 1e5,
        },
        Parameter {
            name: "rho",
            dimension: Dimension::LENGTH,
            about: "distance over which the repulsion falls by 1/e",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Positive,
            example: 0.09,
        },
        Parameter {
            name: "c",
            dimension: Dimension::ENERGY_LENGTH6,
            about: "strength of the dispersion",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::NonNegative,
            example: 2.0,
        },
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        let (a, rho, c) = (p[0], p[1], p[2]);
        vec![a, -1.0 / rho, c, a / rho, 6.0 * c]
    }

    fn tail(p: &[f64], cutoff: f64) -> Option<f64> {
        let (a, rho, c) = (p[0], p[1], p[2]);
        let repulsion = a * (-cutoff / rho).exp() * tail::exponential(1.0 / rho, cutoff);
        Some(repulsion - c / (3.0 * cutoff.powi(3)))
    }
}
