//! R. D. Groot and P. B. Warren, "Dissipative particle dynamics: bridging the gap between atomistic
//! and mesoscopic simulation", J. Chem. Phys. 107 (1997) 4423, eq. 5: the conservative force.

use super::{Absent, MixesAs, PairFunction, PairPotential, Parameter, Range};
use jostle_core::{Dimension, Real};

/// u(r) = strength size/2 (1 - r/size)^2 up to r = size: a force that falls linearly from
/// `strength` at contact to nothing.
#[derive(Debug, Clone, Copy)]
pub struct SoftRepulsion;

impl PairFunction for SoftRepulsion {
    const N_COEFFICIENTS: usize = 3;

    /// c = [strength size / 2, -1 / size, strength]
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let inv = r2.rsqrt();
        let left = c[1].mul_add(r2 * inv, R::lit(1.0));
        (c[0] * left * left, c[2] * left * inv)
    }
}

impl PairPotential for SoftRepulsion {
    const KIND: &'static str = "soft-repulsion";
    const ABOUT: &'static str =
        "linear repulsion of dissipative particle dynamics; finite at r = 0, ends at size";
    const FORMULA: &'static str = "strength size (1 - r/size)^2 / 2, r < size";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "strength",
            dimension: Dimension::FORCE,
            about: "force at zero distance",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::NonNegative,
            example: 25.0,
        },
        Parameter {
            name: "size",
            dimension: Dimension::LENGTH,
            about: "distance at which the force ends",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Positive,
            example: 1.0,
        },
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        vec![0.5 * p[0] * p[1], -1.0 / p[1], p[0]]
    }

    fn natural_cutoff(p: &[f64]) -> Option<f64> {
        Some(p[1])
    }
}
