//! Building systems: atoms on lattices or at random, species, velocities.

pub mod chains;
pub mod composition;
pub mod extraction;
mod first_positions;
mod grid;
mod input;
pub mod lattice;
mod mixture;
pub mod molecules;
mod overlap;
pub mod placement;
mod push_off;
pub mod solvation;
pub mod system_files;
mod velocities;
pub mod water;

pub use first_positions::begin_on_constraints;
pub use input::system_from_input;
pub(crate) use input::{check_reciprocal_memory, forces_from_input, parts_from_input, plain_system};
pub use mixture::Mixture;
pub use overlap::check_atoms;
pub use velocities::assign_velocities;
