//! The bending stiffness of bead-spring chains: R. Faller, F. Müller-Plathe and A. Heuer,
//! Macromolecules 33 (2000) 6602, and the semiflexible Kremer-Grest models since.

use super::{AngleFunction, Bonded};
use crate::pair::{Absent, MixesAs, Parameter, Range};
use jostle_core::{Dimension, Real};

/// u = stiffness (1 + cos theta): smallest where the three atoms are in a line.
#[derive(Debug, Clone, Copy)]
pub struct CosineAngle;

impl AngleFunction for CosineAngle {
    const N_COEFFICIENTS: usize = 1;

    /// The one coefficient is the stiffness.
    #[inline(always)]
    fn evaluate<R: Real>(cosine: R, c: &[R]) -> (R, R) {
        (c[0] * (R::lit(1.0) + cosine), c[0])
    }
}

impl Bonded for CosineAngle {
    const KIND: &'static str = "cosine";
    const TERM: &'static str = "angle-cosine";
    const ABOUT: &'static str = "bending stiffness of a chain, at rest where it is straight";
    const FORMULA: &'static str = "stiffness (1 + cos theta)";
    const PARAMETERS: &'static [Parameter] = &[Parameter {
        name: "stiffness",
        dimension: Dimension::ENERGY,
        about: "energy of a right angle",
        absent: Absent::Refused,
        mixes_as: MixesAs::Never,
        range: Range::Any,
        example: 1.5,
    }];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        p.to_vec()
    }
}
