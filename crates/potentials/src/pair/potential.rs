//! Descriptions of pair potentials: names, formulas and parameters.

use super::PairFunction;
use jostle_core::{Dimension, UnitSystem};

/// A pair potential of the input file: a name, parameters and a formula.
pub trait PairPotential: PairFunction {
    /// The name in the input file, `kind = "..."`.
    const KIND: &'static str;
    /// Description of one line for help and documentation.
    const ABOUT: &'static str;
    /// u(r), as text.
    const FORMULA: &'static str;
    /// Parameters, in the order that [`PairPotential::coefficients`] takes them.
    const PARAMETERS: &'static [Parameter];
    /// Published sets of them.
    const PRESETS: &'static [Preset] = &[];

    /// Turns the parameters of one pair of species into the coefficients of `evaluate`
    /// ([`PairFunction::N_COEFFICIENTS`] numbers), so that nothing is computed twice per pair.
    fn coefficients(parameters: &[f64]) -> Vec<f64>;

    /// Distance at which the potential ends by itself, for potentials that do (WCA).
    fn natural_cutoff(_parameters: &[f64]) -> Option<f64> {
        None
    }

    /// The integral of r^2 u(r) from `cutoff` to infinity, for long-range corrections of energy
    /// and pressure. `None` if it does not exist or is not known.
    fn tail(_parameters: &[f64], _cutoff: f64) -> Option<f64> {
        None
    }
}

/// A parameter of a potential.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Key in the input file.
    pub name: &'static str,
    /// Dimension of the value.
    pub dimension: Dimension,
    /// Description of one line for help and documentation.
    pub about: &'static str,
    /// Treatment of an absent value.
    pub absent: Absent,
    /// Role in mixing rules.
    pub mixes_as: MixesAs,
    /// The values that make sense.
    pub range: Range,
    /// A sensible value in reduced units, for documentation and tests.
    pub example: f64,
}

/// A published set of parameters, the same for all pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preset {
    /// The name in the input file, `preset = "..."`.
    pub name: &'static str,
    /// Description of one line for help and documentation.
    pub about: &'static str,
    /// The units its values are in.
    pub units: UnitSystem,
    /// Parameters by name.
    pub values: &'static [(&'static str, f64)],
}

/// Treatment of a parameter that is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// An error, unless a mixing rule gives the value.
    Refused,
    /// The Coulomb constant times the charges of the two species; both must have one.
    FromCharges,
    /// The product of the two species' isospins: 1 for a species with a charge (protons), -1 for one without
    /// (neutrons).
    FromIsospin,
}

/// The role of a parameter in mixing rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MixesAs {
    /// A well depth: geometric mean (sixth-power rule: with the sigma factor).
    Energy,
    /// A diameter: arithmetic, geometric or sixth-power mean.
    Size,
    /// A property of the medium: the same for all pairs.
    Shared,
    /// Never mixed: unlike pairs must give it.
    Never,
}

/// The values of a parameter that make sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// Greater than zero.
    Positive,
    /// Zero or greater.
    NonNegative,
    /// Any finite number.
    Any,
    /// A whole number from 1 to [`Range::MOST_TURNS`].
    Turns,
}

impl Range {
    /// The largest multiplicity of a dihedral.
    pub const MOST_TURNS: u8 = 6;
}
