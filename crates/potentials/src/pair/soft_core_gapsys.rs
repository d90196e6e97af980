//! V. Gapsys, D. Seeliger and B. L. de Groot, "New soft-core potential function for molecular dynamics based
//! alchemical free energy calculations", J. Chem. Theory Comput. 8 (2012) 2373, eqs. 7 to 9: Lennard-Jones whose force
//! is a straight line at short distances.

use super::{Absent, LennardJones, MixesAs, PairFunction, PairPotential, Parameter, Range};
use jostle_core::{Dimension, Dual, Real};

/// Lennard-Jones from the distance `linear_below` on, and its second-order Taylor polynomial about this distance within
/// it. Along a free-energy path epsilon is lambda times that of the pair, and `linear_below`
/// alpha (26/7 sigma^6 (1 - lambda))^(1/6) ([`crate::alchemy`]).
#[derive(Debug, Clone, Copy)]
pub struct SoftCoreGapsys;

impl PairFunction for SoftCoreGapsys {
    const N_COEFFICIENTS: usize = 6;

    /// c = [48 epsilon sigma^12, 24 epsilon sigma^6, l, and u(l), -u'(l), u''(l)] with l = `linear_below`
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let (energy, force_over_r) = LennardJones::evaluate(r2, c);
        let inverse = r2.rsqrt();
        let beyond = r2.mul_add(inverse, -c[2]);
        let bent = R::lit(0.5) * c[5] * beyond;
        let within = beyond.mul_add(bent - c[4], c[3]);
        let force_within = c[5].mul_add(-beyond, c[4]) * inverse;
        let linear = r2.lt(c[2] * c[2]);
        (R::select(linear, within, energy), R::select(linear, force_within, force_over_r))
    }
}

impl SoftCoreGapsys {
    /// Coefficients for any type of number; `linear_below` is `None` where there is no such distance.
    pub fn coefficients_of<R: Real>(epsilon: R, sigma: f64, linear_below: Option<R>) -> [R; 6] {
        let sigma6 = sigma.powi(6);
        let (a, b) = (R::lit(48.0 * sigma6 * sigma6) * epsilon, R::lit(24.0 * sigma6) * epsilon);
        let Some(l) = linear_below else {
            let none = R::lit(0.0);
            return [a, b, none, none, none, none];
        };
        let l2 = l * l;
        let (energy, force_over_r) =
            LennardJones::evaluate(Dual::variable(l2), &[Dual::constant(a), Dual::constant(b)]);
        // u' = -r g with g(r^2) = force over distance, so that u'' = -g - 2 r^2 g'.
        let curvature = -force_over_r.value - R::lit(2.0) * l2 * force_over_r.slope;
        [a, b, l, energy.value, force_over_r.value * l, curvature]
    }
}

impl PairPotential for SoftCoreGapsys {
    const KIND: &'static str = "soft-core-gapsys";
    const ABOUT: &'static str =
        "Lennard-Jones with Gapsys' soft core: a straight line of the force at short distances";
    const FORMULA: &'static str = "if(r < linear_below, 4 epsilon [(sigma/linear_below)^12 (1 - 12 (r/linear_below - 1) + 78 (r/linear_below - 1)^2) \
         - (sigma/linear_below)^6 (1 - 6 (r/linear_below - 1) + 21 (r/linear_below - 1)^2)], 4 epsilon [(sigma/r)^12 - (sigma/r)^6])";
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
        Parameter {
            name: "linear_below",
            dimension: Dimension::LENGTH,
            about: "distance within which the force is a straight line",
            absent: Absent::Refused,
            mixes_as: MixesAs::Size,
            range: Range::Positive,
            example: 0.9,
        },
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        let linear_below = (p[2] > 0.0).then_some(p[2]);
        SoftCoreGapsys::coefficients_of(p[0], p[1], linear_below).to_vec()
    }

    fn tail(p: &[f64], cutoff: f64) -> Option<f64> {
        (p[2] <= cutoff).then(|| LennardJones::tail(&p[..2], cutoff)).flatten()
    }
}
