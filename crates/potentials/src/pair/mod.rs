//! Pair potentials. Each is one file here and one line in the list below, which declares its module.

mod coulomb;
mod registry;
mod tail;

pub use coulomb::Coulomb;
pub(crate) use registry::At;
pub use registry::PairVisitor;

use jostle_core::{Dimension, Real, UnitSystem};

// Potentials are listed in the order of the documentation.
registry::pair_potentials! {
    lennard_jones::LennardJones,
    mie::Mie,
    soft_sphere::SoftSphere,
    yukawa::Yukawa,
    morse::Morse,
    buckingham::Buckingham,
    gaussian_core::GaussianCore,
    nuclear::Nuclear,
    pak_doyama::PakDoyama,
    soft_repulsion::SoftRepulsion,
}

/// An energy and a force as a function of the squared distance: what a kernel is made from.
pub trait PairFunction: Copy + Send + Sync + 'static {
    /// Number of coefficients that [`PairFunction::evaluate`] reads; at most [`MAX_COEFFICIENTS`].
    const N_COEFFICIENTS: usize;

    /// Energy u(r) and force over distance, -(du/dr) / r, at the squared distance `r2`.
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R);
}

/// The distance to the last digit, from its square and its inverse, by a step of Newton's: an exponential of
/// many times the distance makes much of the units in the last place by which their product is wrong.
#[inline(always)]
pub(crate) fn distance<R: Real>(r2: R, inverse: R) -> R {
    let r = r2 * inverse;
    (R::lit(0.5) * inverse).mul_add((-r).mul_add(r, r2), r)
}

/// The most coefficients that a potential with its truncation may have.
pub const MAX_COEFFICIENTS: usize = 12;

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
