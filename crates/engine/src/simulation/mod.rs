//! Simulations: stages that run one after another.

mod batch_size;
mod builder;
mod checkpoint_clock;
mod checkpoints;
mod commands;
mod custom_forces;
mod facts;
mod measuring;
mod output;
mod prechecks;
mod run;
mod schedule;
mod summary;
mod trajectory;

pub use builder::SimulationBuilder;
pub(crate) use custom_forces::SavedForce;
pub use run::Outcome;

use crate::checkpoint::InputText;
use crate::clock::Clock;
use crate::custom_force::DeviceWithForces;
use crate::measure::Measures;
use crate::observe::Observer;
use crate::positions::{unwrapped_position, wrapped_position};
use crate::report::{StageReport, Warning};
use crate::run_folder::{Existing, RunFolder};
use crate::run_handle::RunHandle;
use crate::stage::StageRun;
use crate::thermo::{Quantity, Thermo};
use facts::{AtomTables, Columns, SystemFacts};
use jostle_core::{
    AtomStorage, Backend, DeviceReport, Molecules, Result, SimBox, Species, State, Topology, UnitSystem, Vec3,
};
use jostle_io::Input;
use jostle_io::input::model::{DeviceInput, StageInput, Strictness};
use output::Output;
use std::path::{Path, PathBuf};

/// Settings of a command line that take precedence over those of an input.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Overrides {
    /// Number of CPU threads.
    pub threads: Option<usize>,
    /// Device.
    pub device: Option<DeviceInput>,
    /// Largest number of steps of a stage.
    pub most_steps: Option<u64>,
    /// Treatment of warnings: errors, if this or the input says so.
    pub strictness: Strictness,
}

/// A simulation. See the [crate] documentation for an example.
pub struct Simulation {
    units: UnitSystem,
    origin: Origin,
    tables: AtomTables,
    facts: SystemFacts,
    columns: Columns,
    stages: Vec<StageInput>,
    backend: Box<DeviceWithForces>,
    /// Reason why the device is the CPU, where a GPU was looked for.
    missed: Option<String>,
    observers: Vec<Box<dyn Observer>>,
    output: Output,
    clock: Clock,
    /// The stage under way.
    run: Option<StageRun>,
    /// Molecules, which a barostat moves; empty before the first stage with a barostat.
    molecules: Molecules,
    /// Measures of the stage under way.
    measures: Measures,
    /// The last measurement.
    thermo: Option<Thermo>,
    /// Reports of the stages that are finished.
    reports: Vec<StageReport>,
    /// Warnings about stages before their first step, with the index of the stage.
    early_warnings: Vec<(usize, Warning)>,
    /// Messages for the listener of the next run.
    notes: Vec<String>,
    /// States of custom forces in the checkpoint of a resumed run that have not been added again.
    saved_forces: Vec<SavedForce>,
    /// Holds, ends and notes of other threads.
    handle: RunHandle,
}

/// Origin and settings of a run.
struct Origin {
    title: String,
    /// The input; `None` for a simulation built by a program.
    source: Option<InputText>,
    /// Seed of all random numbers.
    seed: u64,
    /// Number of CPU threads; `None`: all cores.
    threads: Option<usize>,
    strictness: Strictness,
}

impl Simulation {
    /// Writes `thermo.csv`, trajectories, checkpoints, `summary.json` and a log to a folder; for
    /// trajectories that do not name the atoms, `start.xyz` as well.
    ///
    /// # Errors
    /// If the folder cannot be made or written, or is not empty (see [`Existing`]).
    pub fn write_to(&mut self, folder: &Path, existing: Existing) -> Result<()> {
        let input = self.origin.source.as_ref().map(|s| s.text.as_str());
        let mut folder = RunFolder::create(folder, existing, self.units, &self.columns.quantities, input)?;
        folder.log(&format!("jostle {}", env!("CARGO_PKG_VERSION")))?;
        folder.log(&self.backend.describe())?;
        if let Some(missed) = &self.missed {
            folder.log(missed)?;
        }
        folder.log(&format!("{} atoms; {}", self.backend.n_atoms(), self.origin.title))?;
        self.output.open(folder, self.output.last_checkpoint());
        self.write_start()
    }

    /// Adds an observer.
    pub fn observe(&mut self, observer: impl Observer + 'static) {
        self.observers.push(Box::new(observer));
    }

    /// A handle by which other threads hold the run, let it go on and end it.
    pub fn handle(&self) -> RunHandle {
        self.handle.clone()
    }

    /// Adds a stage after the others.
    pub fn add_stage(&mut self, stage: StageInput) {
        self.stages.push(stage);
    }

    /// The stage under way, if the run stopped in the middle of a stage.
    fn stage_under_way(&self) -> Option<StageInput> {
        self.run.as_ref().and(self.stages.get(self.clock.stage)).cloned()
    }

    /// True if all stages are finished.
    pub fn is_finished(&self) -> bool {
        self.clock.stage >= self.stages.len()
    }

    /// Steps made so far, over all stages.
    pub fn step(&self) -> u64 {
        self.clock.step
    }

    /// The simulated time.
    pub fn time(&self) -> f64 {
        self.clock.time
    }

    /// The unit system.
    pub fn units(&self) -> UnitSystem {
        self.units
    }

    /// The kinds of atoms.
    pub fn species(&self) -> &[Species] {
        &self.tables.species
    }

    /// Bonds and angles.
    pub fn topology(&self) -> &Topology {
        &self.tables.topology
    }

    /// The stages, finished and to come.
    pub fn stages(&self) -> &[StageInput] {
        &self.stages
    }

    /// Reports of the stages that are finished.
    pub fn reports(&self) -> &[StageReport] {
        &self.reports
    }

    /// The names and units of [`Thermo::values`].
    pub fn quantities(&self) -> &[Quantity] {
        &self.columns.quantities
    }

    /// The last measurement, if energies were evaluated at the last step with output.
    pub fn thermo(&self) -> Option<&Thermo> {
        self.thermo.as_ref()
    }

    /// The device, for its description, its timings and facts about its neighbour lists.
    pub fn backend(&mut self) -> &mut dyn Backend {
        &mut *self.backend
    }

    /// Reason why the device is the CPU, where a GPU was looked for and not found.
    pub fn missed_device(&self) -> Option<&str> {
        self.missed.as_deref()
    }

    /// The box.
    pub fn simbox(&self) -> &SimBox {
        self.backend.simbox()
    }

    /// Positions in the box, by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn positions(&mut self) -> Result<Vec<Vec3>> {
        let simbox = *self.backend.simbox();
        self.by_id(|state, index| wrapped_position(&simbox, state, index))
    }

    /// Unwrapped positions, of atoms that have never been wrapped into the box, by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn unwrapped_positions(&mut self) -> Result<Vec<Vec3>> {
        let simbox = *self.backend.simbox();
        self.by_id(|state, index| unwrapped_position(&simbox, state, index))
    }

    /// Velocities, by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn velocities(&mut self) -> Result<Vec<Vec3>> {
        self.by_id(|state, index| state.velocity[index])
    }

    /// Angular velocities of grains, by id; all zero without grains.
    ///
    /// # Errors
    /// If the device failed.
    pub fn angular_velocities(&mut self) -> Result<Vec<Vec3>> {
        self.by_id(|state, index| state.angular_velocity.get(index).copied().unwrap_or_default())
    }

    /// Forces of the last evaluation, by id; all zero before the first step.
    ///
    /// # Errors
    /// If the device failed.
    pub fn forces(&mut self) -> Result<Vec<Vec3>> {
        self.by_id(|state, index| state.force[index])
    }

    fn by_id(&mut self, value: impl Fn(&State, usize) -> Vec3) -> Result<Vec<Vec3>> {
        let state = self.backend.state()?;
        Ok(state.index_by_id().into_iter().map(|index| value(state, index)).collect())
    }
}

/// The default folder of the run of an input: the one that the input names, else the name of the input
/// without its extension, in the working folder.
pub fn default_folder(input: &Input) -> PathBuf {
    let stem = || PathBuf::from(input.source.path.file_stem().unwrap_or("jostle".as_ref()));
    input.run.output.clone().unwrap_or_else(stem)
}
