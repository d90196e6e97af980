//! The simulation.

pub mod averages;
pub mod build;
pub mod freedom;
pub mod minimize;
pub mod observe;
pub mod step;
pub mod thermo;
pub mod thermostat;

pub use build::Mixture;
pub use jostle_io::input::model;
pub use observe::{Context, Observer};
pub use thermo::{Quantity, Thermo};
