//! Pictures of runs: what a run or an analysis has found becomes [`Figure`]s, and these become SVG
//! and PNG, or a page that needs nothing but a browser.

mod csv;
mod draw;
mod figure;
mod figures;
mod reel;
mod report;
mod run;
mod scene;
mod server;
mod view;
mod warnings;
mod words;

pub use draw::{png, svg};
pub use figure::{Axis, Curve, Figure, Point, Scale};
pub use figures::{of_finding, of_run, of_thermo};
pub use report::report;
pub use run::{Finding, Run, StageRows, Thermo, trajectories};
pub use view::Viewer;
