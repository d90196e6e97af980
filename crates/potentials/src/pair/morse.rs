//! P. M. Morse, "Diatomic molecules according to the wave mechanics. II", Phys. Rev. 34 (1929) 57.

use super::{Absent, MixesAs, PairFunction, PairPotential, Parameter, Range, distance, tail};
use jostle_core::{Dimension, Real};

/// u(r) = depth [exp(-2 steepness (r - r0)) - 2 exp(-steepness (r - r0))]
#[derive(Debug, Clone, Copy)]
pub struct Morse;

impl PairFunction for Morse {
    const N_COEFFICIENTS: usize = 4;

    /// c = [depth, -steepness, steepness r0, 2 depth steepness]
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let inv = r2.rsqrt();
        let e = c[1].mul_add(distance(r2, inv), c[2]).exp();
        let energy = c[0] * e * (e - R::lit(2.0));
        let force_over_r = c[3] * e * (e - R::lit(1.0)) * inv;
        (energy, force_over_r)
    }
}

impl PairPotential for Morse {
    const KIND: &'static str = "morse";
    const ABOUT: &'static str = "Morse: metals, diatomic molecules; finite at r = 0";
    const FORMULA: &'static str = "depth [exp(-2 steepness (r - r0)) - 2 exp(-steepness (r - r0))]";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "depth",
            dimension: Dimension::ENERGY,
            about: "depth of the well",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::NonNegative,
            example: 1.0,
        },
        Parameter {
            name: "steepness",
            dimension: Dimension::INVERSE_LENGTH,
            about: "inverse width of the well",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Positive,
            example: 5.0,
        },
        Parameter {
            name: "r0",
            dimension: Dimension::LENGTH,
            about: "distance of the minimum",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Positive,
            example: 1.1,
        },
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        let (depth, steepness, r0) = (p[0], p[1], p[2]);
        vec![depth, -steepness, steepness * r0, 2.0 * depth * steepness]
    }

    fn tail(p: &[f64], cutoff: f64) -> Option<f64> {
        let (depth, steepness, r0) = (p[0], p[1], p[2]);
        let e = (-steepness * (cutoff - r0)).exp();
        let squared = tail::exponential(2.0 * steepness, cutoff);
        Some(depth * e * (e * squared - 2.0 * tail::exponential(steepness, cutoff)))
    }
}
