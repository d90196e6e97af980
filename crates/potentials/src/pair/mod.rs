//! Pair potentials. Each is one file here and one line in the list below, which declares its module.

mod coulomb;
mod function;
mod potential;
mod registry;
mod tail;

pub use coulomb::Coulomb;
pub(crate) use function::{At, distance};
pub use function::{MAX_COEFFICIENTS, PairFunction, PairVisitor};
pub use potential::{Absent, MixesAs, PairPotential, Parameter, Preset, Range};

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
    soft_core::SoftCore,
    soft_core_gapsys::SoftCoreGapsys,
}
