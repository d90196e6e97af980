//! H. Yukawa, Proc. Phys.-Math. Soc. Japan 17 (1935) 48; P. Debye and E. Hückel, Phys. Z. 24
//! (1923) 185.

use super::{Absent, MixesAs, PairFunction, PairPotential, Parameter, Preset, Range};
use jostle_core::{Dimension, Real, UnitSystem};

/// u(r) = amplitude exp(-r / screening_length) / r
#[derive(Debug, Clone, Copy)]
pub struct Yukawa;

impl PairFunction for Yukawa {
    const N_COEFFICIENTS: usize = 2;

    /// c = [amplitude, 1 / screening_length]
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let inv = r2.rsqrt();
        let energy = c[0] * inv * (-(c[1] * (r2 * inv))).exp();
        let force_over_r = energy * inv * (inv + c[1]);
        (energy, force_over_r)
    }
}

impl PairPotential for Yukawa {
    const KIND: &'static str = "yukawa";
    const ABOUT: &'static str = "screened Coulomb: plasmas, colloids, nuclear matter";
    const FORMULA: &'static str = "amplitude exp(-r/screening_length) / r";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "amplitude",
            dimension: Dimension::ENERGY_LENGTH,
            about: "strength; left out, the Coulomb constant times the charges of the two species",
            absent: Absent::FromCharges,
            mixes_as: MixesAs::Energy,
            range: Range::Any,
            example: 1.0,
        },
        Parameter {
            name: "screening_length",
            dimension: Dimension::LENGTH,
            about: "distance over which the interaction falls by 1/e, the inverse of kappa",
            absent: Absent::Refused,
            mixes_as: MixesAs::Shared,
            range: Range::Positive,
            example: 0.7,
        },
    ];
    const PRESETS: &'static [Preset] = &[Preset {
        name: "horowitz-2004",
        about: "screening_length = 10 fm, between protons in nuclear matter (Horowitz 2004)",
        units: UnitSystem::Nuclear,
        values: &[("screening_length", 10.0)],
    }];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        vec![p[0], 1.0 / p[1]]
    }

    fn tail(p: &[f64], cutoff: f64) -> Option<f64> {
        let (amplitude, length) = (p[0], p[1]);
        Some(amplitude * length * (cutoff + length) * (-cutoff / length).exp())
    }
}
