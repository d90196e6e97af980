//! Hooke's law for an angle.

use super::{AngleFunction, Bonded, Conditioning};
use crate::pair::{Absent, MixesAs, Parameter, Range};
use jostle_core::{Dimension, Real};

/// u = stiffness/2 (theta - angle)^2
#[derive(Debug, Clone, Copy)]
pub struct HarmonicAngle;

/// Smallest sine that counts: du/d(cos theta) is without bounds at a straight line unless that is the angle
/// at rest.
const SMALLEST_SINE: f64 = 1e-3;

impl AngleFunction for HarmonicAngle {
    const N_COEFFICIENTS: usize = 2;

    /// c = [stiffness, angle in radians]
    #[inline(always)]
    fn evaluate<R: Real>(cosine: R, c: &[R]) -> (R, R) {
        let bend = cosine.acos() - c[1];
        let least = R::lit(SMALLEST_SINE * SMALLEST_SINE);
        let sine2 = R::lit(1.0) - cosine * cosine;
        let torque = c[0] * bend;
        let inv_sine = R::select(least.lt(sine2), sine2, least).rsqrt();
        (R::lit(0.5) * torque * bend, -torque * inv_sine)
    }
}

impl Bonded for HarmonicAngle {
    const KIND: &'static str = "harmonic";
    const TERM: &'static str = "angle-harmonic";
    const ABOUT: &'static str = "spring that bends";
    const FORMULA: &'static str = "stiffness/2 (theta - angle)^2, theta in radians";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "stiffness",
            dimension: Dimension::ENERGY,
            about: "energy per square radian: twice the K of LAMMPS and CHARMM",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::NonNegative,
            example: 20.0,
        },
        Parameter {
            name: "angle",
            dimension: Dimension::NUMBER,
            about: "angle at rest, in degrees",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::NonNegative,
            example: 109.5,
        },
    ];
    const CONDITIONING: Conditioning = Conditioning::Poor;

    fn coefficients(p: &[f64]) -> Vec<f64> {
        vec![p[0], p[1].to_radians()]
    }
}
