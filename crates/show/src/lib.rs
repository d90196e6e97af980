//! Pictures of runs: what a run or an analysis has found becomes [`Figure`]s, and these become SVG
//! and PNG, or a page that needs nothing but a browser.

mod canvas;
mod csv;
mod draw;
mod figure;
mod figures;
mod frame_cache;
mod html;
mod kernels;
mod labels;
mod live;
mod report;
mod run;
mod scene;
mod server;
mod view;
mod warnings;

pub use csv::complete_lines;
pub use draw::{png, svg};
pub use figure::{AxisScale, Curve, Figure, PlotAxis, Point};
pub use figures::{of_finding, of_run, of_thermo};
pub use live::LiveRun;
pub use report::report;
pub use run::{Finding, RunFiles, StageRows, ThermoTable, trajectories};
pub use view::{Framing, Viewer};
