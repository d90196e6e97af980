//! Lennard-Jones forces with a soft core between two atoms by name: those within a molecule whose own energy is scaled
//! along a path ([`crate::alchemy`]).

use super::{BondPotential, Bonded};
use crate::pair::{PairFunction, PairPotential, Parameter, Range, SoftCore, SoftCoreGapsys};
use jostle_core::Real;

/// [`SoftCore`] of two atoms by name.
#[derive(Debug, Clone, Copy)]
pub struct SoftPair;

/// [`SoftCoreGapsys`] of two atoms by name.
#[derive(Debug, Clone, Copy)]
pub struct SoftPairGapsys;

impl PairFunction for SoftPair {
    const N_COEFFICIENTS: usize = SoftCore::N_COEFFICIENTS;

    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        SoftCore::evaluate(r2, c)
    }
}

impl Bonded for SoftPair {
    const KIND: &'static str = "soft-pair";
    const TERM: &'static str = "soft-pair";
    const ABOUT: &'static str = "Lennard-Jones force with Beutler's soft core of two atoms by name";
    const FORMULA: &'static str = SoftCore::FORMULA;
    const PARAMETERS: &'static [Parameter] = SoftCore::PARAMETERS;

    fn coefficients(p: &[f64]) -> Vec<f64> {
        <SoftCore as PairPotential>::coefficients(p)
    }
}

impl BondPotential for SoftPair {}

impl PairFunction for SoftPairGapsys {
    const N_COEFFICIENTS: usize = SoftCoreGapsys::N_COEFFICIENTS;

    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        SoftCoreGapsys::evaluate(r2, c)
    }
}

impl Bonded for SoftPairGapsys {
    const KIND: &'static str = "soft-pair-gapsys";
    const TERM: &'static str = "soft-pair";
    const ABOUT: &'static str = "Lennard-Jones force with Gapsys' soft core of two atoms by name";
    const FORMULA: &'static str = SoftCoreGapsys::FORMULA;
    /// At the coupled end of a path nothing is a straight line.
    const PARAMETERS: &'static [Parameter] = &[
        SoftCoreGapsys::PARAMETERS[0],
        SoftCoreGapsys::PARAMETERS[1],
        Parameter { range: Range::NonNegative, ..SoftCoreGapsys::PARAMETERS[2] },
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        <SoftCoreGapsys as PairPotential>::coefficients(p)
    }
}

impl BondPotential for SoftPairGapsys {}
