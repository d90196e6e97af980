//! Forces between atoms three bonds apart ("1-4"), which molecular force fields scale or give parameters of
//! their own, and other exceptions from the rule for pairs.

use super::{BondPotential, Bonded};
use crate::pair::{Absent, Coulomb, LennardJones, MixesAs, PairFunction, PairPotential, Parameter, Range};
use jostle_core::{Dimension, Real};

/// u(r) = 4 epsilon [(sigma/r)^12 - (sigma/r)^6] + strength / r
#[derive(Debug, Clone, Copy)]
pub struct ScaledPair;

impl PairFunction for ScaledPair {
    const N_COEFFICIENTS: usize = LennardJones::N_COEFFICIENTS + 1;

    /// c = [those of Lennard-Jones, strength]
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let (lj, lj_force) = LennardJones::evaluate(r2, c);
        let (coulomb, coulomb_force) = Coulomb::evaluate(r2, &c[LennardJones::N_COEFFICIENTS..]);
        (lj + coulomb, lj_force + coulomb_force)
    }
}

impl Bonded for ScaledPair {
    const KIND: &'static str = "scaled-pair";
    const TERM: &'static str = "scaled-pair";
    const ABOUT: &'static str = "Lennard-Jones and Coulomb force of two atoms by name (1-4 pairs)";
    const FORMULA: &'static str = "4 epsilon [(sigma/r)^12 - (sigma/r)^6] + strength/r";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "epsilon",
            dimension: Dimension::ENERGY,
            about: "depth of the well",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::NonNegative,
            example: 1.0,
        },
        Parameter {
            name: "sigma",
            dimension: Dimension::LENGTH,
            about: "distance at which the first part is zero",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::NonNegative,
            example: 1.0,
        },
        Parameter {
            name: "strength",
            dimension: Dimension::ENERGY_LENGTH,
            about: "Coulomb constant times both charges, times what scales them",
            absent: Absent::Refused,
            mixes_as: MixesAs::Never,
            range: Range::Any,
            example: -2.0,
        },
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        let mut c = LennardJones::coefficients(&p[..2]);
        c.push(p[2]);
        c
    }
}

impl BondPotential for ScaledPair {}
