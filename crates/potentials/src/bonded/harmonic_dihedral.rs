//! Hooke's law for a dihedral angle, which keeps groups flat or handed (CHARMM's impropers).

use super::dihedral::angle;
use super::{Bonded, Conditioning, DihedralFunction};
use crate::pair::{Absent, MixesAs, Parameter, Range};
use jostle_core::{Dimension, Real};

/// u = stiffness/2 (phi - angle)^2, the difference taken the shorter way round
#[derive(Debug, Clone, Copy)]
pub struct HarmonicDihedral;

impl DihedralFunction for HarmonicDihedral {
    const N_COEFFICIENTS: usize = 3;

    /// c = [stiffness, cos(angle), sin(angle)]
    #[inline(always)]
    fn evaluate<R: Real>(cosine: R, sine: R, c: &[R]) -> (R, R) {
        let from_rest = angle(cosine.mul_add(c[1], sine * c[2]), sine * c[1] - cosine * c[2]);
        let slope = c[0] * from_rest;
        (R::lit(0.5) * slope * from_rest, slope)
    }
}

impl Bonded for HarmonicDihedral {
    const KIND: &'static str = "harmonic";
    const TERM: &'static str = "dihedral-harmonic";
    const ABOUT: &'static str = "spring that turns; impropers of CHARMM";
    const FORMULA: &'static str = "stiffness/2 (phi - angle)^2, phi in radians, the shorter way round";
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
            range: Range::Any,
            example: 35.0,
        },
    ];
    const CONDITIONING: Conditioning = Conditioning::Poor;

    fn coefficients(p: &[f64]) -> Vec<f64> {
        let (sine, cosine) = p[1].to_radians().sin_cos();
        vec![p[0], cosine, sine]
    }
}
