//! J. E. Jones, "On the determination of molecular fields. II", Proc. R. Soc. A 106 (1924) 463.

use super::{Absent, MixesAs, PairFunction, PairPotential, Parameter, Range};
use jostle_core::{Dimension, Real};

/// u(r) = 4 epsilon [(sigma/r)^12 - (sigma/r)^6]
#[derive(Debug, Clone, Copy)]
pub struct LennardJones;

impl PairFunction for LennardJones {
    const N_COEFFICIENTS: usize = 2;

    /// c = [48 epsilon sigma^12, 24 epsilon sigma^6]
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let inv2 = r2.recip();
        let inv6 = inv2 * inv2 * inv2;
        let energy = (c[0] * R::lit(1.0 / 12.0)).mul_add(inv6, -(c[1] * R::lit(1.0 / 6.0))) * inv6;
        let [a, b] = LennardJones::force_factors([inv2, inv6], c);
        (energy, a * b)
    }
}

impl LennardJones {
    /// Factors of the force over distance, from 1/r^2 and 1/r^6.
    #[inline(always)]
    pub fn force_factors<R: Real>([inv2, inv6]: [R; 2], c: &[R]) -> [R; 2] {
        [c[0].mul_add(inv6, -c[1]), inv6 * inv2]
    }
}

impl PairPotential for LennardJones {
    const KIND: &'static str = "lennard-jones";
    const ABOUT: &'static str = "Lennard-Jones 12-6: noble gases, simple fluids";
    const FORMULA: &'static str = "4 epsilon [(sigma/r)^12 - (sigma/r)^6]";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "epsilon",
            dimension: Dimension::ENERGY,
            about: "depth of the well",
            absent: Absent::Refused,
            mixes_as: MixesAs::Energy,
            range: Range::NonNegative,
            example: 1.0,
        },
        Parameter {
            name: "sigma",
            dimension: Dimension::LENGTH,
            about: "distance at which the energy is zero",
            absent: Absent::Refused,
            mixes_as: MixesAs::Size,
            range: Range::Positive,
            example: 1.0,
        },
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        let (epsilon, sigma6) = (p[0], p[1].powi(6));
        vec![48.0 * epsilon * sigma6 * sigma6, 24.0 * epsilon * sigma6]
    }

    fn tail(p: &[f64], cutoff: f64) -> Option<f64> {
        let s3 = (p[1] / cutoff).powi(3);
        Some(4.0 * p[0] * p[1].powi(3) * (s3.powi(3) / 9.0 - s3 / 3.0))
    }
}
