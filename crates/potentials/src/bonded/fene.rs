//! K. Kremer and G. S. Grest, "Dynamics of entangled linear polymer melts: a molecular-dynamics
//! simulation", J. Chem. Phys. 92 (1990) 5057, after Bird, Armstrong and Hassager.

use super::{BondPotential, Bonded};
use crate::pair::{Absent, MixesAs, PairFunction, Parameter, Range};
use jostle_core::{Dimension, Real};

/// u(r) = -stiffness/2 longest^2 ln(1 - (r/longest)^2): the attraction alone. The repulsion that
/// keeps bound beads apart is the pair force between all beads.
#[derive(Debug, Clone, Copy)]
pub struct Fene;

impl PairFunction for Fene {
    const N_COEFFICIENTS: usize = 3;

    /// c = [1 / longest^2, -stiffness longest^2 / 2, -stiffness]
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let left = R::lit(1.0) - r2 * c[0];
        (c[1] * left.ln(), c[2] / left)
    }
}

impl Bonded for Fene {
    const KIND: &'static str = "fene";
    const TERM: &'static str = "bond-fene";
    const ABOUT: &'static str = "finitely extensible bond of bead-spring chains (Kremer and Grest 1990)";
    const FORMULA: &'static str = "-stiffness/2 longest^2 ln(1 - (r/longest)^2)";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "stiffness",
            dimension: Dimension::STIFFNESS,
            about: "spring constant of a short bond",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Positive,
            example: 30.0,
        },
        Parameter {
            name: "longest",
            dimension: Dimension::LENGTH,
            about: "length that it never reaches",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Positive,
            example: 1.5,
        },
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        let (stiffness, longest) = (p[0], p[1]);
        vec![1.0 / (longest * longest), -0.5 * stiffness * longest * longest, -stiffness]
    }

    fn longest(p: &[f64]) -> Option<f64> {
        Some(p[1])
    }
}

impl BondPotential for Fene {}
