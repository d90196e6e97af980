//! Enhanced sampling: collective variables ([`variable`]) and biases on them ([`bias`]).
//!
//! A variable is a function of positions with its exact derivative; functions of a few vectors are written once for
//! every kind of number ([`derivative`]). Groups of atoms are whole across periodic boundaries ([`group`]). The biases
//! of a run ([`Biases`]) turn derivatives with variables into forces on atoms; nothing here runs a simulation.

pub mod bias;
mod biases;
pub mod definition;
pub mod derivative;
mod formula;
pub mod frame;
pub mod free_energy;
pub mod grid;
pub mod group;
pub mod linear;
mod on_device;
pub mod rotation;
pub mod variable;
mod variables;

pub use biases::{BiasColumn, Biases, Follows, NamedBias, StageCourse};
pub use formula::{VariableFormula, with_slopes};
pub use rotation::best_rotation;
pub use variables::{AtomForces, Evaluated, VariableDefinition, Variables, VariablesStart};
