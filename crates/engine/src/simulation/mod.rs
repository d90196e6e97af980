//! Simulations: stages that run one after another.

mod advance;
mod batch_size;
mod builder;
mod checkpoint_clock;
mod checkpoints;
mod commands;
mod configuration;
mod custom_forces;
mod densities;
mod exchange;
mod facts;
mod measuring;
mod output;
mod prechecks;
mod run;
mod schedule;
mod summary;
mod trajectory;

pub use advance::Extent;
pub use builder::SimulationBuilder;
pub use checkpoints::SavePoint;
pub use configuration::Evaluated;
pub use run::Outcome;

use crate::clock::Clock;
use crate::device_with_forces::DeviceWithForces;
use crate::force_context::SavedForce;
use crate::input_text::InputText;
use crate::kernel_profile::Profiler;
use crate::measure::Measures;
use crate::observe::Observer;
use crate::report::{StageReport, Warning};
use crate::run_folder::{Existing, RunFolder, must_be_text};
use crate::run_handle::RunHandle;
use crate::stage::StageRun;
use crate::thermo::{Quantity, Thermo};
use batch_size::BatchSize;
use facts::{AtomTables, Columns, SystemFacts};
use jostle_analysis::Record;
use jostle_core::{
    AtomStorage, Backend, DeviceReport, Molecules, Names, Result, SimBox, Species, Topology, UnitSystem,
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
    /// Number of ranks as threads of this process; `None`: one, or the processes that MPI has started.
    pub ranks: Option<usize>,
    /// Rows and columns of a force matrix of ranks, see [`Settings::force_matrix`](jostle_core::Settings::force_matrix);
    /// `None`: ranks divide space, whatever the input or a checkpoint says.
    pub force_matrix: Option<[usize; 2]>,
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
    /// Reason for the choice of the device, where it is not obvious.
    device_note: Option<String>,
    observers: Vec<Box<dyn Observer>>,
    output: Output,
    clock: Clock,
    /// The stage under way.
    run: Option<StageRun>,
    readiness: Readiness,
    /// Step in the middle of which an error has left the atoms.
    failed_at: Option<u64>,
    batch_size: BatchSize,
    /// Wish of an observer to pause the run.
    paused: bool,
    /// Quantities of the present configuration, if they have been evaluated on request.
    evaluated: Option<Evaluated>,
    /// Molecules, which a barostat moves; empty before the first stage with a barostat.
    molecules: Molecules,
    /// Measures of the stage under way.
    measures: Measures,
    /// The last measurement.
    thermo: Option<Thermo>,
    /// Reports of the stages that are finished.
    reports: Vec<StageReport>,
    /// Results of the measures of the stages that have finished since the simulation was made.
    results: Vec<(String, Record)>,
    /// Warnings about stages before their first step, with the index of the stage.
    early_warnings: Vec<(usize, Warning)>,
    /// Warnings about the system, which hold for all stages.
    warnings_of_system: Vec<Warning>,
    /// Messages for the listener of the next run.
    notes: Vec<String>,
    /// States of custom forces in the checkpoint of a resumed run that have not been added again.
    saved_forces: Vec<SavedForce>,
    /// Holds, ends and notes of other threads.
    handle: RunHandle,
    /// Profiles of the device in each stage.
    profiler: Profiler,
}

/// State of the device between two calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readiness {
    /// Forces, neighbour list and restraints are those with which the next step of the stage under way begins.
    Ready,
    /// They must be evaluated before the next step.
    Stale,
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
    /// trajectories that do not name the atoms, `start.xyz` as well. A folder that the run has written to so far is left
    /// with a checkpoint.
    ///
    /// # Errors
    /// If the folder cannot be made or written, or is not empty (see [`Existing`]); as for [`Simulation::leave_folder`].
    pub fn write_to(&mut self, folder: &Path, existing: Existing) -> Result<()> {
        self.origin.source.as_ref().map_or(Ok(()), |source| must_be_text(&source.path))?;
        let input = self.origin.source.as_ref().map(|s| s.text.as_str());
        let mut folder = RunFolder::create(folder, existing, self.units, &self.columns.quantities, input)?;
        if self.output.has_folder() {
            self.leave_folder()?;
        }
        folder.log(&format!("jostle {}", env!("CARGO_PKG_VERSION")))?;
        folder.log(&self.backend.describe())?;
        if let Some(note) = &self.device_note {
            folder.log(note)?;
        }
        folder.log(&format!("{} atoms; {}", self.backend.n_atoms(), self.origin.title))?;
        if let Some(place) = &self.backend.place_of_biases {
            folder.log(place)?;
        }
        self.output.open(folder, self.output.last_checkpoint());
        self.write_start()?;
        // A stage under way goes on in the new folder.
        match self.stage_under_way() {
            Some(stage) => self.begin_trajectory(&stage),
            None => Ok(()),
        }
    }

    /// The folder that results are written to.
    pub fn folder(&self) -> Option<&Path> {
        self.output.path()
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

    /// Largest number of steps of a stage, where the run was asked for fewer than its input says
    /// ([`Overrides::most_steps`]).
    pub fn most_steps(&self) -> Option<u64> {
        self.origin.source.as_ref().and_then(|source| source.most_steps)
    }

    /// Returns true for a file that is there and is not the input of this run.
    pub fn has_other_input(&self, path: &Path) -> bool {
        let own = self.origin.source.as_ref();
        own.is_some_and(|own| std::fs::read_to_string(path).is_ok_and(|text| text != own.text))
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

    /// Ids of atoms that are frozen or driven at a velocity, in ascending order: no force moves them.
    pub fn driven(&self) -> &[u32] {
        &self.tables.driven
    }

    /// The stages, finished and to come.
    pub fn stages(&self) -> &[StageInput] {
        &self.stages
    }

    /// Reports of the stages that are finished.
    pub fn reports(&self) -> &[StageReport] {
        &self.reports
    }

    /// Results of measures, with the beginning of the names of their files: of the stages that have finished since
    /// the simulation was made or resumed, and of the one under way, as far as something is known.
    pub fn results(&self) -> Vec<(String, Record)> {
        let present = self.measures.records(self.units).into_iter();
        let present = present.filter_map(|(name, record)| Some((name, record.ok()?)));
        self.results.iter().cloned().chain(present).collect()
    }

    /// Makes a profile of the kernels of the GPU in each stage to come, as `STAGE.profile.json` in the folder of the run:
    /// some of its steps are made with each kernel alone, slower, with the same results.
    ///
    /// # Errors
    /// If the device is not one GPU of this process.
    pub fn profile_kernels(&mut self) -> Result<()> {
        self.profiler = Profiler::of(&mut *self.backend)?;
        Ok(())
    }

    /// Path and text of the input; `None` for a simulation built by a program.
    pub fn input(&self) -> Option<(&Path, &str)> {
        self.origin.source.as_ref().map(|source| (source.path.as_path(), source.text.as_str()))
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
        self.disturb();
        &mut *self.backend
    }

    /// Description of the device, for people.
    pub fn device(&self) -> String {
        self.backend.describe()
    }

    /// Number of atoms.
    pub fn n_atoms(&self) -> usize {
        self.backend.n_atoms()
    }

    /// The title of the run.
    pub fn title(&self) -> &str {
        &self.origin.title
    }

    /// Names of atoms and residues.
    pub fn names(&self) -> &Names {
        &self.tables.names
    }

    /// Charge of each atom, by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn charges(&mut self) -> Result<Vec<f64>> {
        if !self.tables.charges.is_empty() {
            return Ok(self.tables.charges.clone());
        }
        let species = self.species_by_id()?;
        Ok(species.into_iter().map(|s| self.tables.species[usize::from(s)].charge).collect())
    }

    /// Species of each atom, as an index into [`Simulation::species`], by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn species_by_id(&mut self) -> Result<Vec<u16>> {
        let state = self.backend.state()?;
        Ok(state.index_by_id().into_iter().map(|index| state.species[index]).collect())
    }

    /// Reason for the choice of the device, where it is not obvious.
    pub fn device_note(&self) -> Option<&str> {
        self.device_note.as_deref()
    }

    /// Place where the biases of the stage under way are evaluated, and the reason where it is not the device.
    pub fn place_of_biases(&self) -> Option<&str> {
        self.backend.place_of_biases.as_deref()
    }

    /// The box.
    pub fn simbox(&self) -> &SimBox {
        self.backend.simbox()
    }
}

/// The default folder of the run of an input: the one that the input names, else the name of the input
/// without its extension, in the working folder.
pub fn default_folder(input: &Input) -> PathBuf {
    let stem = || PathBuf::from(input.source.path.file_stem().unwrap_or("jostle".as_ref()));
    input.run.output.clone().unwrap_or_else(stem)
}
