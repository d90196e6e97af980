//! Files: the input, structures, trajectories.

pub mod input;
pub mod trajectory;

pub use input::Input;
pub use trajectory::{Frame, Subject, TrajectoryWriter};
