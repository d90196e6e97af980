//! Forces between atoms that are bound to each other: bonds, angles, dihedrals.
//!
//! A bond is a [`PairFunction`] of the squared length, an angle an [`AngleFunction`] of its cosine, a
//! dihedral a [`DihedralFunction`] of cosine and sine; each is one file here and one line in the
//! registry, as pair potentials are. [`Cmap`] is a map over two dihedral angles.

pub mod cmap;
mod cosine_angle;
pub(crate) mod dihedral;
mod fene;
mod harmonic_angle;
mod harmonic_bond;
mod harmonic_dihedral;
mod periodic_dihedral;
mod registry;
mod ryckaert_bellemans;
mod scaled_pair;
mod soft_pair;
mod term;
mod unsigned_harmonic_dihedral;

pub use cmap::Cmap;
pub use cosine_angle::CosineAngle;
pub use dihedral::{DihedralAngle, DihedralFunction, dihedral_forces};
pub use fene::Fene;
pub use harmonic_angle::HarmonicAngle;
pub use harmonic_bond::HarmonicBond;
pub use harmonic_dihedral::HarmonicDihedral;
pub use periodic_dihedral::PeriodicDihedral;
pub use registry::{AngleKind, AngleVisitor, BondKind, DihedralKind, DihedralVisitor};
pub use ryckaert_bellemans::RyckaertBellemans;
pub use scaled_pair::ScaledPair;
pub use soft_pair::{SoftPair, SoftPairGapsys};
pub use term::{AngleTerm, BondTerm, BondedTerm, DihedralTerm};
pub use unsigned_harmonic_dihedral::UnsignedHarmonicDihedral;

use crate::pair::{PairFunction, Parameter};
use jostle_core::{Real, Vector};
use std::fmt;

/// The growth of relative errors from coordinates to a force: decides the arithmetic of the force on a device that
/// has f32 otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conditioning {
    /// The force has about the relative error of the coordinates.
    Good,
    /// A large stiffness times a small difference: the force of a bond stretched by 5% has twenty times the relative
    /// error of its length, and more where the forces of several bonds cancel.
    Poor,
}

/// A bonded term: a name, parameters and a formula.
pub trait Bonded: Copy + Send + Sync + 'static {
    /// The name in the input file, `kind = "..."`.
    const KIND: &'static str;
    /// The name of its energy: with the kind of term before it.
    const TERM: &'static str;
    /// Description of one line for help and documentation.
    const ABOUT: &'static str;
    /// u, as text.
    const FORMULA: &'static str;
    /// Parameters, in the order that [`Bonded::coefficients`] takes them.
    const PARAMETERS: &'static [Parameter];
    /// The growth of errors from coordinates to its force.
    const CONDITIONING: Conditioning = Conditioning::Good;

    /// Turns the parameters of one type into the coefficients of `evaluate`.
    fn coefficients(parameters: &[f64]) -> Vec<f64>;

    /// The length at which a bond breaks.
    fn longest(_parameters: &[f64]) -> Option<f64> {
        None
    }
}

/// A bond: energy and -(du/dr)/r as a function of the squared length.
pub trait BondPotential: PairFunction + Bonded {}

/// An angle: energy and slope as a function of its cosine.
pub trait AngleFunction: Copy + Send + Sync + 'static {
    /// Number of coefficients that [`AngleFunction::evaluate`] reads.
    const N_COEFFICIENTS: usize;

    /// Energy u and du/d(cos theta).
    fn evaluate<R: Real>(cosine: R, c: &[R]) -> (R, R);
}

/// Energy of an angle and forces on the atoms at its ends; the force on the atom in the middle is the
/// opposite of both. The vectors `a` and `b` lead from the middle to the ends.
#[inline(always)]
pub fn angle_forces<F: AngleFunction, R: Real>(
    a: Vector<R>,
    b: Vector<R>,
    c: &[R],
) -> (R, Vector<R>, Vector<R>) {
    let (inv_a, inv_b) = (a.norm_squared().rsqrt(), b.norm_squared().rsqrt());
    let both = inv_a * inv_b;
    let one = R::lit(1.0);
    // Rounding must not take the cosine out of its range.
    let cosine = a.dot(b) * both;
    let cosine = R::select(cosine.lt(one), cosine, one);
    let cosine = R::select((-one).lt(cosine), cosine, -one);
    let (energy, slope) = F::evaluate(cosine, c);
    let across = -slope * both;
    let along = [slope * cosine * inv_a * inv_a, slope * cosine * inv_b * inv_b];
    let force = |u: Vector<R>, v: Vector<R>, along: R| {
        Vector([across * v[0] + along * u[0], across * v[1] + along * u[1], across * v[2] + along * u[2]])
    };
    (energy, force(a, b, along[0]), force(b, a, along[1]))
}

/// The kinds of bonds, of angles, or of dihedrals.
pub trait BondedKind: Copy + fmt::Debug + PartialEq + 'static {
    /// Name of the term: "bond", "angle" or "dihedral".
    const WHAT: &'static str;
    /// All kinds, in the order of the documentation.
    const ALL: &'static [Self];

    /// The name in the input file.
    fn name(self) -> &'static str;
    /// The name of the energy.
    fn term(self) -> &'static str;
    /// Description of one line for help and documentation.
    fn about(self) -> &'static str;
    /// u, as text.
    fn formula(self) -> &'static str;
    /// The parameters of a type.
    fn parameters(self) -> &'static [Parameter];
    /// Coefficients of the function for these parameters.
    fn coefficients(self, parameters: &[f64]) -> Vec<f64>;
    /// The length at which it breaks.
    fn longest(self, parameters: &[f64]) -> Option<f64>;
    /// The growth of errors from coordinates to its force.
    fn conditioning(self) -> Conditioning;

    /// The kind with this name in the input file.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}
