//! F. H. Stillinger, "Phase transitions in the Gaussian core system", J. Chem. Phys. 65 (1976)
//! 3968.

use super::{Absent, MixesAs, PairFunction, PairPotential, Parameter, Range, tail};
use jostle_core::{Dimension, Real};

/// u(r) = epsilon exp(-(r / sigma)^2)
#[derive(Debug, Clone, Copy)]
pub struct GaussianCore;

impl PairFunction for GaussianCore {
    const N_COEFFICIENTS: usize = 3;

    /// c = [epsilon, -1 / sigma^2, 2 epsilon / sigma^2]
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let e = (c[1] * r2).exp();
        (c[0] * e, c[2] * e)
    }
}

impl PairPotential for GaussianCore {
    const KIND: &'static str = "gaussian-core";
    const ABOUT: &'static str = "Gaussian core: polymer coils, nuclear matter; finite at r = 0";
    const FORMULA: &'static str = "epsilon exp(-(r/sigma)^2)";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "epsilon",
            dimension: Dimension::ENERGY,
            about: "energy at zero distance; negative for an attraction",
            absent: Absent::Refused,
            mixes_as: MixesAs::Energy,
            range: Range::Any,
            example: 1.0,
        },
        Parameter {
            name: "sigma",
            dimension: Dimension::LENGTH,
            about: "distance at which the energy has fallen by 1/e",
            absent: Absent::Refused,
            mixes_as: MixesAs::Size,
            range: Range::Positive,
            example: 1.0,
        },
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        let (epsilon, inv2) = (p[0], 1.0 / (p[1] * p[1]));
        vec![epsilon, -inv2, 2.0 * epsilon * inv2]
    }

    fn tail(p: &[f64], cutoff: f64) -> Option<f64> {
        let (epsilon, sigma) = (p[0], p[1]);
        Some(epsilon * tail::gaussian(sigma, cutoff))
    }
}
