//! A simulation: stages that run one after another.

mod builder;
mod checkpoints;
mod commands;
mod run;
mod step_batch;

pub use builder::SimulationBuilder;

use crate::build::{forces_from_input, system_from_input};
use crate::checkpoint::{Clock, InputText};
use crate::degrees_of_freedom::{DegreesOfFreedom, degrees_of_freedom};
use crate::measure::{Measures, inside, unbroken};
use crate::minimize::ConstraintProjection;
use crate::observe::Observer;
use crate::plausibility::Scales;
use crate::progress::Progress;
use crate::ramp::Springs;
use crate::report::StageReport;
use crate::run_folder::{Existing, RunFolder, newest_checkpoint};
use crate::stage::StageRun;
use crate::summary_units::{SUMMARY_VERSION, summary_units};
use crate::thermo::{Quantity, Reported, Thermo};
use crate::warnings::{Role, Warning};
use checkpoints::Checkpoints;
use jostle_core::{
    Backend, Error, Group, Molecules, Names, Result, SimBox, Species, State, System, Topology, UnitSystem,
    Vec3,
};
use jostle_io::Input;
use jostle_io::input::model::{Action, DeviceInput, StageInput, Strictness};
use std::path::{Path, PathBuf};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All stages are over.
    Finished,
    /// It was asked to stop; running again goes on.
    Interrupted,
}

/// What a command line may change about an input without editing it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Overrides {
    /// CPU threads.
    pub threads: Option<usize>,
    /// The device.
    pub device: Option<DeviceInput>,
    /// No stage takes more steps than this.
    pub most_steps: Option<u64>,
    /// What becomes of warnings: errors, if this or the input says so.
    pub strictness: Strictness,
}

/// A simulation. See the [crate] documentation for an example.
pub struct Simulation {
    units: UnitSystem,
    seed: u64,
    species: Vec<Species>,
    topology: Topology,
    /// What a barostat moves; none before it is asked for.
    molecules: Molecules,
    /// What constraints bear, if there are any.
    projection: Option<ConstraintProjection>,
    charges: Vec<f64>,
    names: Names,
    groups: Vec<Group>,
    reference_positions: Vec<Vec3>,
    reference_box: Option<SimBox>,
    /// Those whose temperatures are columns of `thermo.csv`.
    reported: Vec<Reported>,
    /// How many atoms of each species there are.
    counts: Vec<usize>,
    stages: Vec<StageInput>,
    quantities: Vec<Quantity>,
    total_mass: f64,
    /// The volume of the box that the run began with.
    first_volume: f64,
    shortest_cutoff: f64,
    /// Without restraints, which are those of stages.
    degrees: DegreesOfFreedom,
    springs: Springs,
    backend: Box<dyn Backend>,
    /// Why that is the CPU, where a GPU was looked for.
    missed: Option<String>,
    observers: Vec<Box<dyn Observer>>,
    folder: Option<RunFolder>,
    source: Option<InputText>,
    title: String,
    clock: Clock,
    /// The stage under way.
    run: Option<StageRun>,
    /// What is measured in it.
    measures: Measures,
    /// CPU threads; `None`: all cores.
    threads: Option<usize>,
    reports: Vec<StageReport>,
    thermo: Option<Thermo>,
    /// The step of the last checkpoint.
    saved: Option<u64>,
    checkpoints: Checkpoints,
    scales: Scales,
    strictness: Strictness,
    /// What was doubtful about stages before they began, by their place.
    doubts: Vec<(usize, Warning)>,
    /// What is to be said as soon as somebody listens.
    notes: Vec<String>,
}

impl Simulation {
    /// Starts to put a simulation together from a system of one's own.
    pub fn builder(units: UnitSystem, system: System) -> SimulationBuilder {
        SimulationBuilder::new(units, system)
    }

    /// The simulation an input describes. Nothing is written until [`Simulation::write_to`] says
    /// where.
    ///
    /// # Errors
    /// If the input asks for something impossible; the error points at the line.
    pub fn from_input(input: &Input, overrides: &Overrides) -> Result<Self> {
        let (system, forces) = system_from_input(input)?;
        SimulationBuilder::from_input(input, overrides, system, forces).build()
    }

    /// Goes on with the run in a folder from its last checkpoint. What was written after the
    /// checkpoint is cut off, so that the files come out as if the run had never stopped.
    ///
    /// # Errors
    /// If the folder holds no run, its checkpoints are damaged or its files shorter than they
    /// were.
    pub fn resume(folder: &Path, overrides: &Overrides) -> Result<Self> {
        let (checkpoint, note) = newest_checkpoint(folder)?;
        let Some(source) = checkpoint.header.input.clone() else {
            return Err(Error::file(folder, "this run was put together by a program, not by an input file")
                .hint("only that program can go on with it, by SimulationBuilder::resume"));
        };
        let input = Input::parse(&source.path, &source.text)?;
        let overrides = Overrides { most_steps: source.most_steps, ..*overrides };
        let mut system = checkpoint.clone().into_system()?;
        system.driven = input.driven(&system)?;
        let forces = forces_from_input(&input, &system, checkpoint.header.first_volume)?;
        SimulationBuilder::from_input(&input, &overrides, system, forces).go_on(folder, checkpoint, note)
    }

    /// Writes `thermo.csv`, trajectories, checkpoints, `summary.json` and a log to a folder; for
    /// trajectories that do not name the atoms, `start.xyz` as well.
    ///
    /// # Errors
    /// If the folder cannot be made or written, or has something in it (see [`Existing`]).
    pub fn write_to(&mut self, folder: &Path, existing: Existing) -> Result<()> {
        let input = self.source.as_ref().map(|s| s.text.as_str());
        let mut folder = RunFolder::create(folder, existing, self.units, &self.quantities, input)?;
        folder.log(&format!("jostle {}", env!("CARGO_PKG_VERSION")))?;
        folder.log(&self.backend.describe())?;
        if let Some(missed) = &self.missed {
            folder.log(missed)?;
        }
        folder.log(&format!("{} atoms; {}", self.backend.n_atoms(), self.title))?;
        self.folder = Some(folder);
        self.write_start()
    }

    /// Adds an observer.
    pub fn observe(&mut self, observer: impl Observer + 'static) {
        self.observers.push(Box::new(observer));
    }

    /// Adds a stage after the others.
    pub fn add_stage(&mut self, stage: StageInput) {
        self.stages.push(stage);
    }

    /// Runs all stages to their end.
    ///
    /// # Errors
    /// If a force or a position is not finite any more, an observer fails, or a file cannot be
    /// written. The last checkpoint stays as it is.
    pub fn run(&mut self) -> Result<Outcome> {
        self.run_with(&mut (), &|| false)
    }

    /// The same, telling `progress` and asking `stop` after every step, or about ten times a second
    /// where the device makes many steps on its own. When asked to stop it writes a checkpoint;
    /// running again goes on.
    ///
    /// # Errors
    /// See [`Simulation::run`].
    pub fn run_with(&mut self, progress: &mut dyn Progress, stop: &dyn Fn() -> bool) -> Result<Outcome> {
        for note in std::mem::take(&mut self.notes) {
            self.note(progress, &note)?;
        }
        self.checkpoints = Checkpoints::begin(self.backend.n_atoms());
        let outcome = self.look_ahead(progress).and_then(|()| self.run_stages(progress, stop));
        let status = match &outcome {
            Ok(Outcome::Finished) => "finished".to_string(),
            Ok(Outcome::Interrupted) => "interrupted".to_string(),
            Err(error) => format!("failed: {error}"),
        };
        if let (Err(_), Some(step)) = (&outcome, self.saved) {
            progress.note(&format!("the last checkpoint is that of step {step}"));
        }
        let written = match (self.stage_under_way(), self.run.take()) {
            (Some(stage), Some(run)) => {
                let written = self.summarize(&status, Some((&stage, &run)));
                self.run = Some(run);
                written
            }
            _ => self.summarize(&status, None),
        };
        // A failure to write about a failure is not the one to report.
        outcome.and_then(|outcome| written.map(|()| outcome))
    }

    /// Says what is doubtful about the stages to come.
    ///
    /// # Errors
    /// If nothing may be.
    fn look_ahead(&mut self, progress: &mut dyn Progress) -> Result<()> {
        // As velocities are drawn: constraints have not taken anything from them yet.
        let degrees = degrees_of_freedom(self.degrees.free_atoms, self.degrees.momentum).max(1) as f64;
        let mut temperature = 2.0 * self.backend.kinetic()?.energy() / (self.units.boltzmann() * degrees);
        let volume = self.backend.simbox().volume();
        let mut doubts = Vec::new();
        for (k, stage) in self.stages.iter().enumerate().skip(self.clock.stage) {
            if let Action::Dynamics { thermostat: Some(thermostat), .. } = &stage.action {
                temperature = thermostat.temperature();
            }
            let found = self.scales.of_stage(stage, temperature, volume, self.units);
            doubts.extend(found.into_iter().map(|warning| (k, warning)));
        }
        doubts.retain(|doubt| !self.doubts.contains(doubt));
        for (_, warning) in &doubts {
            self.warn(progress, warning)?;
        }
        let warnings: Vec<Warning> = doubts.iter().map(|(_, warning)| warning.clone()).collect();
        self.doubts.extend(doubts);
        self.refuse(&warnings)
    }

    /// Looks at the places of the atoms before the first step of the run: of time, for a minimisation is
    /// there to change them.
    ///
    /// # Errors
    /// If nothing may be doubtful, or the device failed.
    fn look_at_places(&mut self, stage: &StageInput, progress: &mut dyn Progress) -> Result<()> {
        let moves = |s: &StageInput| matches!(s.action, Action::Dynamics { .. });
        if !moves(stage) || self.stages[..self.clock.stage].iter().any(moves) {
            return Ok(());
        }
        let simbox = *self.backend.simbox();
        let Some(warning) = self.scales.spacing(&stage.name, &simbox, self.backend.state()?) else {
            return Ok(());
        };
        self.warn(progress, &warning)?;
        self.doubts.push((self.clock.stage, warning.clone()));
        self.refuse(&[warning])
    }

    /// Refuses what is doubtful where nothing may be.
    fn refuse(&self, warnings: &[Warning]) -> Result<()> {
        let (Strictness::Strict, [first, others @ ..]) = (self.strictness, warnings) else { return Ok(()) };
        let more = match others.len() {
            0 => String::new(),
            n => format!(" (and {n} more)"),
        };
        Err(Error::simulation(format!("{}{more}", first.message)).hint(
            "warnings are errors here: mend the cause, or leave out strict = true in [run] and --strict",
        ))
    }

    /// What a stage has amounted to so far, with all that is doubtful about it.
    fn report(&mut self, stage: &StageInput, run: &StageRun) -> Result<StageReport> {
        let index = self.clock.stage;
        let role = if index + 1 < self.stages.len() { Role::Preparation } else { Role::Production };
        let backend = &mut *self.backend;
        let mut report =
            run.report(stage, role, backend, &self.quantities, self.units, self.projection.as_ref())?;
        let before = self.doubts.iter().filter(|(k, _)| *k == index).map(|(_, warning)| warning.clone());
        report.warnings.splice(0..0, before);
        Ok(report)
    }

    /// Writes the summary, with the stage under way, if there is one.
    fn summarize(&mut self, status: &str, under_way: Option<(&StageInput, &StageRun)>) -> Result<()> {
        if self.folder.is_none() {
            return Ok(());
        }
        let summary = self.summary(status, under_way);
        self.folder.as_mut().map_or(Ok(()), |folder| folder.summarize(&summary))
    }

    /// What `summary.json` says.
    fn summary(&mut self, status: &str, under_way: Option<(&StageInput, &StageRun)>) -> serde_json::Value {
        let target = under_way.and_then(|(_, run)| run.temperature(self.units));
        let under_way = under_way
            .filter(|(_, run)| run.stage_step > 0)
            .and_then(|(stage, run)| self.report(stage, run).ok());
        let facts = self.backend.neighbor_facts();
        let counts = self.species.iter().zip(&self.counts);
        let species = counts.map(|(s, n)| serde_json::json!({ "name": s.name, "count": n }));
        let species: Vec<_> = species.collect();
        serde_json::json!({
            "version": SUMMARY_VERSION,
            "jostle": env!("CARGO_PKG_VERSION"),
            "title": self.title,
            "status": status,
            "input": self.source.as_ref().map(|s| s.path.clone()),
            "units": self.units.name(),
            "unit_of": summary_units(self.units),
            "device": self.backend.describe(),
            "seed": self.seed,
            "atoms": self.backend.n_atoms(),
            "species": species,
            "step": self.clock.step,
            "time": self.clock.time,
            "stages": self.reports,
            "under_way": under_way,
            "target_temperature": target,
            "neighbors": { "builds": facts.builds, "skin": facts.skin, "bytes": facts.bytes },
            "files": self.folder.as_ref().map(|f| f.files()),
        })
    }

    /// The stage under way, if the run stopped in the middle of one.
    fn stage_under_way(&self) -> Option<StageInput> {
        self.run.as_ref().and(self.stages.get(self.clock.stage)).cloned()
    }

    /// Whether all stages are over.
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
        &self.species
    }

    /// Bonds and angles.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The stages, over and to come.
    pub fn stages(&self) -> &[StageInput] {
        &self.stages
    }

    /// What the stages that are over amounted to.
    pub fn reports(&self) -> &[StageReport] {
        &self.reports
    }

    /// The names and units of [`Thermo::values`].
    pub fn quantities(&self) -> &[Quantity] {
        &self.quantities
    }

    /// The last measurement, if energies were evaluated at the last step anything was due.
    pub fn thermo(&self) -> Option<&Thermo> {
        self.thermo.as_ref()
    }

    /// The device, for its description, its timings and facts about its lists.
    pub fn backend(&mut self) -> &mut dyn Backend {
        &mut *self.backend
    }

    /// Why the device is the CPU, where a GPU was looked for and not found.
    pub fn missed_device(&self) -> Option<&str> {
        self.missed.as_deref()
    }

    /// The box.
    pub fn simbox(&self) -> &SimBox {
        self.backend.simbox()
    }

    /// Positions inside the box, by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn positions(&mut self) -> Result<Vec<Vec3>> {
        let simbox = *self.backend.simbox();
        self.by_id(|state, index| inside(&simbox, state, index))
    }

    /// Positions as if atoms had never been put back into the box, by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn unwrapped_positions(&mut self) -> Result<Vec<Vec3>> {
        let simbox = *self.backend.simbox();
        self.by_id(|state, index| unbroken(&simbox, state, index))
    }

    /// Velocities, by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn velocities(&mut self) -> Result<Vec<Vec3>> {
        self.by_id(|state, index| state.velocity[index])
    }

    /// Angular velocities of grains, by id; all zero where nothing turns.
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

/// The folder a run of an input goes to unless told otherwise: what the input says, else its name
/// without the extension, in the working folder.
pub fn default_folder(input: &Input) -> PathBuf {
    let stem = || PathBuf::from(input.source.path.file_stem().unwrap_or("jostle".as_ref()));
    input.run.output.clone().unwrap_or_else(stem)
}
