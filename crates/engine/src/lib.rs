//! Jostle as a library: systems, forces, simulations and their results.
//!
//! ```
//! use jostle_core::{Result, Species, UnitSystem, Vec3};
//! use jostle_engine::model::{DensityInput, Distribution, Lattice, LatticeExtent, StageInput, ThermostatInput};
//! use jostle_engine::{Context, Mixture, Observer, Simulation, assign_velocities};
//! use jostle_potentials::{PairKind, PairTerm, Truncation};
//! use std::sync::mpsc::{Sender, channel};
//!
//! // A Lennard-Jones fluid in reduced units: 256 atoms at density 0.8 and temperature 1.
//! let argon = Species { name: "Ar".into(), mass: 1.0, charge: 0.0 };
//! let (extent, density) = (LatticeExtent::Atoms(256), DensityInput::Number(0.8));
//! let mut system = Mixture::new(UnitSystem::Lj)
//!     .with(argon, None)
//!     .lattice(Lattice::Fcc, extent, density, 1)?;
//! assign_velocities(&mut system, 1.0, Distribution::Maxwell, 1);
//!
//! // An observer that sends the position of the first atom.
//! struct FirstAtom(Sender<Vec3>);
//! impl Observer for FirstAtom {
//!     fn every(&self) -> u64 {
//!         50
//!     }
//!     fn observe(&mut self, context: &mut Context) -> Result<()> {
//!         let state = context.state()?;
//!         let index = state.id.iter().position(|id| *id == 0);
//!         index.map(|index| self.0.send(state.position[index]));
//!         Ok(())
//!     }
//! }
//!
//! let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Shifted, &[1.0, 1.0], 2.5);
//! let (sender, seen) = channel();
//! let bussi = ThermostatInput::bussi(1.0, 0.5);
//! let mut simulation = Simulation::builder(UnitSystem::Lj, system)
//!     .force(lj)
//!     .stage(StageInput::dynamics("equilibrate", 200, 0.005).thermostat(bussi))
//!     .stage(StageInput::dynamics("sample", 500, 0.005).thermo(10))
//!     .observer(FirstAtom(sender))
//!     .build()?;
//! simulation.run()?;
//!
//! assert_eq!(seen.try_iter().count(), 1 + 200 / 50 + 500 / 50);
//! assert_eq!(simulation.positions()?.len(), 256);
//! let sample = &simulation.reports()[1];
//! for average in &sample.averages {
//!     if let Some(e) = average.estimate {
//!         println!("{}: {} +- {}", average.quantity, e.mean, e.error);
//!     }
//! }
//! # Ok::<(), jostle_core::Error>(())
//! ```
//!
//! An input file becomes a simulation by [`Simulation::from_input`]; [`Simulation::write_to`] makes it write
//! a folder, and [`Simulation::resume`] continues the run of a folder.

mod alchemy;
mod atomic_file;
mod barostat;
pub mod biasing;
mod body_energies;
pub mod build;
mod checkpoint;
mod checkpoint_difference;
mod clock;
pub mod commands;
pub mod custom_force;
mod deformation;
pub mod degrees_of_freedom;
pub mod device;
mod device_biases;
mod device_potential;
mod device_with_forces;
pub mod dipole;
mod equipartition;
mod exchange_folder;
pub mod external_work;
pub mod fluctuations;
mod force_context;
mod frames;
mod heat_current;
mod heat_flux;
mod input_text;
pub mod interaction;
pub mod kernel_profile;
mod measure;
pub mod minimize;
pub mod observe;
pub mod peak_flops;
mod plausibility;
pub mod progress;
mod ramp;
pub mod ranks;
pub mod replicas;
pub mod report;
mod run_files;
mod run_folder;
mod run_handle;
pub mod side_by_side;
mod simulation;
mod single_point;
mod stage;
pub mod step;
pub mod summary;
mod summary_units;
pub mod thermo;
pub mod thermostat;
mod walkers;
pub mod warnings;

pub use atomic_file::{replace_file, replace_files};
pub use build::{Mixture, assign_velocities, begin_on_constraints, system_from_input};
pub use checkpoint::Checkpoint;
pub use commands::RunCommand;
pub use custom_force::CustomForce;
pub use dipole::Dipoles;
pub use heat_current::HeatCurrent;
pub use jostle_analysis::averages;
pub use jostle_core::AtomVector;
pub use jostle_io::input::model;
pub use observe::{Context, Observer};
pub use progress::{Progress, StageStart};
pub use report::{StageReport, Warning, WarningKind};
pub use run_files::{CHECKPOINT, INPUT, SUMMARY};
pub use run_folder::Existing;
pub use run_handle::RunHandle;
pub use simulation::{
    Evaluated, Extent, Outcome, Overrides, SavePoint, Simulation, SimulationBuilder, default_folder,
};
pub use single_point::{SinglePoint, single_point, single_point_by, single_point_with};
pub use summary_units::SUMMARY_VERSION;
pub use thermo::{BodyEnergies, Mean, Quantity, Thermo};

/// The Rust code of the README, so that it is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
