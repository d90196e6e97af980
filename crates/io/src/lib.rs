//! Files: the input, structures, trajectories.

pub mod input;

pub use input::Input;
