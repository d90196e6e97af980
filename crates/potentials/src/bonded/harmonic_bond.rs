//! Hooke's law.

use super::{BondPotential, Bonded, Conditioning};
use crate::pair::{Absent, MixesAs, PairFunction, Parameter, Range};
use jostle_core::{Dimension, Real};

/// u(r) = stiffness/2 (r - length)^2
#[derive(Debug, Clone, Copy)]
pub struct HarmonicBond;

impl PairFunction for HarmonicBond {
    const N_COEFFICIENTS: usize = 2;

    /// c = [stiffness, length]
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let inv = r2.rsqrt();
        let stretch = r2 * inv - c[1];
        let force = c[0] * stretch;
        (R::lit(0.5) * force * stretch, -force * inv)
    }
}

impl Bonded for HarmonicBond {
    const KIND: &'static str = "harmonic";
    const TERM: &'static str = "bond-harmonic";
    const ABOUT: &'static str = "spring";
    const FORMULA: &'static str = "stiffness/2 (r - length)^2";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "stiffness",
            dimension: Dimension::STIFFNESS,
            about: "spring constant: twice the K of LAMMPS and CHARMM",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::NonNegative,
            example: 50.0,
        },
        Parameter {
            name: "length",
            dimension: Dimension::LENGTH,
            about: "length at rest",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::NonNegative,
            example: 1.1,
        },
    ];
    const CONDITIONING: Conditioning = Conditioning::Poor;

    fn coefficients(p: &[f64]) -> Vec<f64> {
        p.to_vec()
    }
}

impl BondPotential for HarmonicBond {}
