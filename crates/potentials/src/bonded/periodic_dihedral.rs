//! Dihedrals with one term of a Fourier series, as in AMBER and CHARMM (and GROMACS, types 1, 4, 9).

use super::{Bonded, DihedralFunction};
use crate::pair::{Absent, MixesAs, Parameter, Range};
use jostle_core::{Dimension, Real};

/// u = stiffness (1 + cos(multiplicity phi - phase))
#[derive(Debug, Clone, Copy)]
pub struct PeriodicDihedral;

impl DihedralFunction for PeriodicDihedral {
    const N_COEFFICIENTS: usize = 4;

    /// c = [stiffness, multiplicity, cos(phase), sin(phase)]
    #[inline(always)]
    fn evaluate<R: Real>(cosine: R, sine: R, c: &[R]) -> (R, R) {
        // cos and sin of 2 phi, 3 phi, ..., of which the one that is meant is kept.
        let (mut x, mut y) = (cosine, sine);
        let mut kept = (x, y);
        for n in 2..=Range::MOST_TURNS {
            (x, y) = (x * cosine - y * sine, x * sine + y * cosine);
            let meant = R::lit(f64::from(n) - 0.5).lt(c[1]);
            kept = (R::select(meant, x, kept.0), R::select(meant, y, kept.1));
        }
        let (x, y) = kept;
        let energy = c[0] * (R::lit(1.0) + x.mul_add(c[2], y * c[3]));
        (energy, c[0] * c[1] * (x * c[3] - y * c[2]))
    }
}

impl Bonded for PeriodicDihedral {
    const KIND: &'static str = "periodic";
    const TERM: &'static str = "dihedral-periodic";
    const ABOUT: &'static str = "one term of a Fourier series (AMBER, CHARMM)";
    const FORMULA: &'static str = "stiffness (1 + cos(multiplicity phi - phase))";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "stiffness",
            dimension: Dimension::ENERGY,
            about: "half the barrier; may be negative",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Any,
            example: 1.5,
        },
        Parameter {
            name: "multiplicity",
            dimension: Dimension::NUMBER,
            about: "how many minima a full turn has",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Turns,
            example: 3.0,
        },
        Parameter {
            name: "phase",
            dimension: Dimension::NUMBER,
            about: "multiplicity times the angle at which the energy is largest, in degrees",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Any,
            example: 25.0,
        },
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        let (sine, cosine) = p[2].to_radians().sin_cos();
        vec![p[0], p[1], cosine, sine]
    }
}
