//! Force terms, each written once in [`jostle_core::Real`].
//!
//! A pair potential is one file in [`pair`] and one line in its registry; parser, help,
//! documentation table and tests follow from that line. Truncations wrap a potential and are
//! potentials themselves ([`truncation`]). [`PairTermBuilder`] turns what an input file says about
//! pairs of species, with [mixing rules](Mixing) and charges, into a [`PairTerm`]; an engine
//! builds its kernels from that with [`PairKind::visit`]. All terms of a system are its [`Forces`].
//!
//! # Adding a pair potential
//!
//! 1. Write a file like the one below in `src/pair/`. [`PairFunction::evaluate`] gives the energy
//!    and -(du/dr)/r from r^2 and the coefficients. It is inlined into every kernel, so that what
//!    does not depend on r belongs into [`PairPotential::coefficients`], divisions become
//!    [`recip`](jostle_core::Real::recip) or [`rsqrt`](jostle_core::Real::rsqrt), and energy and
//!    force share what they can. Kernels also call it beyond the cut-off and mask the result: it
//!    must stay finite up to r = 1e5 in single precision.
//! 2. Describe it: name, formula with the parameters' names, parameters with their dimension,
//!    range, role in mixing rules and an example value in reduced units.
//! 3. If the integral of r^2 u(r) beyond the cut-off exists in closed form, give it as
//!    [`PairPotential::tail`]; long-range corrections become possible.
//! 4. Add a line `file::Type` to `pair_potentials!` in `src/pair/mod.rs`.
//!
//! The tests of `cargo test -p jostle-potentials` then compare the force with the exact derivative of the
//! energy under every truncation, the tail with its quadrature, and check that lanes beyond the cut-off are
//! finite in single precision. Numbers of another engine belong into `crates/cpu/tests/reference_values.rs`.
//!
//! ```
//! use jostle_core::{Dimension, Dual, Real};
//! use jostle_potentials::pair::{Absent, MixesAs, Range};
//! use jostle_potentials::{PairFunction, PairPotential, Parameter};
//!
//! /// u(r) = epsilon (sigma / r)^4
//! #[derive(Debug, Clone, Copy)]
//! pub struct Quartic;
//!
//! impl PairFunction for Quartic {
//!     const N_COEFFICIENTS: usize = 1;
//!
//!     /// c = [epsilon sigma^4]
//!     #[inline(always)]
//!     fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
//!         let inv2 = r2.recip();
//!         let energy = c[0] * inv2 * inv2;
//!         (energy, R::lit(4.0) * energy * inv2)
//!     }
//! }
//!
//! impl PairPotential for Quartic {
//!     const KIND: &'static str = "quartic";
//!     const ABOUT: &'static str = "inverse fourth power: ion and induced dipole";
//!     const FORMULA: &'static str = "epsilon (sigma/r)^4";
//!     const PARAMETERS: &'static [Parameter] = &[
//!         Parameter {
//!             name: "epsilon",
//!             dimension: Dimension::ENERGY,
//!             about: "energy at the distance sigma",
//!             absent: Absent::Refused,
//!             mixes_as: MixesAs::Energy,
//!             range: Range::Any,
//!             example: 1.0,
//!         },
//!         Parameter {
//!             name: "sigma",
//!             dimension: Dimension::LENGTH,
//!             about: "distance at which the energy is epsilon",
//!             absent: Absent::Refused,
//!             mixes_as: MixesAs::Size,
//!             range: Range::Positive,
//!             example: 1.0,
//!         },
//!     ];
//!
//!     fn coefficients(p: &[f64]) -> Vec<f64> {
//!         vec![p[0] * p[1].powi(4)]
//!     }
//!
//!     fn tail(p: &[f64], cutoff: f64) -> Option<f64> {
//!         Some(p[0] * p[1].powi(4) / cutoff)
//!     }
//! }
//!
//! // The force is the exact derivative of the energy: -(du/dr)/r = -2 du/d(r^2).
//! let c = Quartic::coefficients(&[1.0, 1.5]).into_iter().map(Dual::constant).collect::<Vec<_>>();
//! let (energy, force_over_r) = Quartic::evaluate(Dual::variable(1.7), &c);
//! assert!((force_over_r.value + 2.0 * energy.slope).abs() < 1e-14);
//! ```

pub mod alchemy;
pub mod bonded;
pub mod check;
pub mod diagnose;
pub mod dispersion;
pub mod electrostatics;
pub mod embedded;
pub mod external;
pub mod forces;
pub mod formula;
pub mod grains;
pub mod lattice_sum;
mod memory;
pub mod mixing;
pub mod pair;
pub mod potential;
pub mod resolve;
pub mod restraint;
pub mod screening;
mod serial;
pub mod spectrum;
pub mod table;
pub mod tail;
pub mod term;
pub mod three_body;
pub mod truncation;
pub mod vacuum;

pub use bonded::{AngleKind, AngleTerm, BondKind, BondTerm, BondedKind, Cmap, DihedralKind, DihedralTerm};
pub use dispersion::Dispersion;
pub use electrostatics::Electrostatics;
pub use embedded::{Embedded, EmbeddedKind, SuttonChen};
pub use forces::Forces;
pub use formula::Formula;
pub use grains::Grains;
pub use lattice_sum::LatticeSum;
pub use mixing::Mixing;
pub use pair::{Absent, PairFunction, PairKind, PairPotential, PairVisitor, Parameter, Preset};
pub use potential::Potential;
pub use resolve::{PairChoice, PairTermBuilder};
pub use screening::Screening;
pub use spectrum::Spectrum;
pub use tail::Tail;
pub use term::{PairEntry, PairTerm};
pub use three_body::{ThreeBody, ThreeBodyKind};
pub use truncation::Truncation;
pub use vacuum::Vacuum;
