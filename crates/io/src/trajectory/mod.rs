//! Trajectories that VMD, OVITO, MDAnalysis and ASE open as they are.
//!
//! A format is one file in `formats` and one line of its registry, from which the words of the input file,
//! reading, writing, help and the lists in messages follow. It turns frames into bytes and bytes into frames
//! in the file's own numbers; files, their errors, units and going on after a restart are the same for all
//! formats ([`TrajectoryWriter`], [`TrajectoryReader`]).
//!
//! Units in files of formats that have units of their own (angstrom or nm, ps) are these, whatever the units
//! of the run. Reduced units and `nuclear` have no sensible angstrom: their numbers are written as they are,
//! one unit of length as one of the format's and one unit of time as a picosecond.

mod format;
mod formats;
mod frame;
mod frame_times;
mod reader;
mod source;
mod step_times;
mod title;
mod units;
mod writer;

pub use format::Precision;
pub use formats::TrajectoryFormat;
pub(crate) use formats::{first_of_mmcif, write_xyz_frame};
pub use frame::{Frame, Snapshot, TrajectoryHeader, WrittenSoFar};
pub use reader::{Open, TrajectoryReader};
pub use step_times::stage_in_name;
pub use writer::TrajectoryWriter;
