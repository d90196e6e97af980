//! Files: the input, structures, trajectories.

pub mod input;
pub mod structure;
pub mod trajectory;

pub use input::Input;
pub use structure::Structure;
pub use trajectory::{Frame, Subject, TrajectoryWriter};
