//! The simulation.

pub mod averages;
pub mod build;
mod checkpoint;
pub mod device;
mod disk;
pub mod freedom;
pub mod minimize;
pub mod observe;
pub mod progress;
pub mod report;
mod run_folder;
mod simulation;
mod single_point;
mod stage;
pub mod step;
pub mod summary;
pub mod thermo;
pub mod thermostat;

pub use build::{Mixture, system_from_input};
pub use checkpoint::Checkpoint;
pub use jostle_io::input::model;
pub use observe::{Context, Observer};
pub use progress::{Progress, StageStart};
pub use report::StageReport;
pub use run_folder::{CHECKPOINT, Existing};
pub use simulation::{Outcome, Overrides, Simulation, SimulationBuilder, default_folder};
pub use single_point::{SinglePoint, single_point};
pub use thermo::{Quantity, Thermo};
