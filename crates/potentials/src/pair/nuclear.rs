//! C. J. Horowitz, M. A. Perez-Garcia and J. Piekarewicz, "Neutrino-pasta scattering: The opacity
//! of nonuniform neutron-rich matter", Phys. Rev. C 69 (2004) 045804; D. K. Berry, J. Schuchart
//! and R. Henschel, "Experiences porting a molecular dynamics code to GPUs on a Cray XK7" (2013),
//! equation 4.

use super::{Absent, MixesAs, PairFunction, PairPotential, Parameter, Preset, Range, tail};
use jostle_core::{Dimension, Real, UnitSystem};

/// u(r) = a exp(-r^2 / lambda) + (b + c isospin) exp(-r^2 / (2 lambda)): the nuclear force between
/// nucleons as classical particles. Protons repel each other electrically, too, which is a force
/// of its own ([`super::Yukawa`]).
#[derive(Debug, Clone, Copy)]
pub struct Nuclear;

impl PairFunction for Nuclear {
    const N_COEFFICIENTS: usize = 4;

    /// c = [a, b + c isospin, -1 / (2 lambda), 1 / lambda]
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        // The shorter range is the square of the longer one.
        let e = (c[2] * r2).exp();
        let repulsion = c[0] * e;
        let energy = e * (repulsion + c[1]);
        let force_over_r = e * c[3] * (repulsion + repulsion + c[1]);
        (energy, force_over_r)
    }
}

impl PairPotential for Nuclear {
    const KIND: &'static str = "nuclear";
    const ABOUT: &'static str = "nuclear force between classical nucleons: nuclear matter, pasta";
    const FORMULA: &'static str = "a exp(-r^2/lambda) + (b + c isospin) exp(-r^2/(2 lambda))";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "a",
            dimension: Dimension::ENERGY,
            about: "strength of the repulsion at short range",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Any,
            example: 11.0,
        },
        Parameter {
            name: "b",
            dimension: Dimension::ENERGY,
            about: "strength of the force at longer range; negative for an attraction",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Any,
            example: -2.6,
        },
        Parameter {
            name: "c",
            dimension: Dimension::ENERGY,
            about: "what like nucleons have more of it, and unlike ones less",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Any,
            example: 2.4,
        },
        Parameter {
            name: "lambda",
            dimension: Dimension::AREA,
            about: "square of the shorter range",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Positive,
            example: 0.5,
        },
        Parameter {
            name: "isospin",
            dimension: Dimension::NUMBER,
            about: "product of tau_z: 1 for like nucleons, -1 for a proton and a neutron",
            absent: Absent::FromIsospin,
            mixes_as: MixesAs::Never,
            range: Range::Any,
            example: -1.0,
        },
    ];
    const PRESETS: &'static [Preset] = &[Preset {
        name: "horowitz-2004",
        about: "a = 110 MeV, b = -26 MeV, c = 24 MeV, lambda = 1.25 fm^2 (Horowitz 2004)",
        units: UnitSystem::Nuclear,
        values: &[("a", 110.0), ("b", -26.0), ("c", 24.0), ("lambda", 1.25)],
    }];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        let (a, b, c, lambda, isospin) = (p[0], p[1], p[2], p[3], p[4]);
        vec![a, b + c * isospin, -0.5 / lambda, 1.0 / lambda]
    }

    fn tail(p: &[f64], cutoff: f64) -> Option<f64> {
        let (a, b, c, lambda, isospin) = (p[0], p[1], p[2], p[3], p[4]);
        let [short, long] = [lambda, 2.0 * lambda].map(|width2| tail::gaussian(width2.sqrt(), cutoff));
        Some(a * short + (b + c * isospin) * long)
    }
}
