//! Pictures of runs: what a run or an analysis has found becomes [`Figure`]s, and these become SVG
//! and PNG.

mod csv;
mod draw;
mod figure;
mod figures;
mod run;
mod words;

pub use draw::{png, svg};
pub use figure::{Axis, Curve, Figure, Point, Scale};
pub use figures::{of_finding, of_run, of_thermo};
pub use run::{Finding, Run, StageRows, Thermo};
