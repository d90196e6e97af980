//! Every force term, each written once in [`jostle_core::Real`].
//!
//! A pair potential is one file in [`pair`] and one line in [`pair::registry`]; parser, help,
//! documentation table and tests follow from that line. Truncations wrap a potential and are
//! potentials themselves ([`truncation`]).

pub mod mixing;
pub mod pair;
pub mod resolve;
pub mod term;
pub mod truncation;

pub use mixing::Mixing;
pub use pair::{PairFunction, PairKind, PairPotential, PairVisitor, Parameter};
pub use resolve::{PairChoice, PairTermBuilder};
pub use term::{PairEntry, PairTerm};
pub use truncation::Truncation;
