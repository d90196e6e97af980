//! A simulation: stages that run one after another.

use crate::build::system_from_input;
use crate::checkpoint::{Checkpoint, Clock, Header, InputText};
use crate::device;
use crate::observe::{Context, Observer};
use crate::progress::{Progress, StageStart};
use crate::report::StageReport;
use crate::run_folder::{Existing, RunFolder};
use crate::stage::StageRun;
use crate::step::Tick;
use crate::summary;
use crate::thermo::{Gauge, Quantity, Thermo, quantities};
use jostle_core::{
    Backend, Error, ErrorKind, Evaluate, Result, Settings, SimBox, Species, State, System, UnitSystem, Vec3,
};
use jostle_io::Input;
use jostle_io::input::model::{Action, DeviceInput, StageInput};
use jostle_potentials::PairTerm;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A checkpoint is written at least this often.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(600);
/// Progress is told about this often.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

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
}

/// A simulation. See the [crate] documentation for an example.
pub struct Simulation {
    units: UnitSystem,
    seed: u64,
    species: Vec<Species>,
    stages: Vec<StageInput>,
    quantities: Vec<Quantity>,
    total_mass: f64,
    shortest_cutoff: f64,
    backend: Box<dyn Backend>,
    observers: Vec<Box<dyn Observer>>,
    folder: Option<RunFolder>,
    source: Option<InputText>,
    title: String,
    clock: Clock,
    /// The stage under way.
    run: Option<StageRun>,
    reports: Vec<StageReport>,
    thermo: Option<Thermo>,
    /// What is to be said as soon as somebody listens.
    notes: Vec<String>,
}

/// Puts a [`Simulation`] together.
pub struct SimulationBuilder {
    units: UnitSystem,
    system: System,
    terms: Vec<PairTerm>,
    stages: Vec<StageInput>,
    seed: u64,
    device: DeviceInput,
    settings: Settings,
    observers: Vec<Box<dyn Observer>>,
    source: Option<InputText>,
    title: String,
}

impl SimulationBuilder {
    /// Adds a pair force.
    pub fn force(mut self, term: PairTerm) -> Self {
        self.terms.push(term);
        self
    }

    /// Adds a stage.
    pub fn stage(mut self, stage: StageInput) -> Self {
        self.stages.push(stage);
        self
    }

    /// Adds an observer.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Chooses the seed of everything random; 0 otherwise.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Chooses how it is computed.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Chooses where it is computed.
    pub fn device(mut self, device: DeviceInput) -> Self {
        self.device = device;
        self
    }

    /// The simulation, ready to run.
    ///
    /// # Errors
    /// If there are no atoms, or the system, the forces and the device do not fit together.
    pub fn build(self) -> Result<Simulation> {
        if self.system.state.is_empty() {
            return Err(Error::input("there are no atoms"));
        }
        let species = self.system.species.clone();
        let counts = self.system.counts();
        let total_mass = species.iter().zip(counts).map(|(s, n)| s.mass * n as f64).sum();
        let quantities = quantities(self.units, &self.terms);
        let shortest_cutoff = shortest_cutoff(&self.terms, &self.system.simbox);
        let backend = device::open(self.device, self.system, self.terms, self.settings)?;
        Ok(Simulation {
            units: self.units,
            seed: self.seed,
            species,
            stages: self.stages,
            quantities,
            total_mass,
            shortest_cutoff,
            backend,
            observers: self.observers,
            folder: None,
            source: self.source,
            title: self.title,
            clock: Clock::default(),
            run: None,
            reports: Vec::new(),
            thermo: None,
            notes: Vec::new(),
        })
    }
}

/// The shortest cut-off of any pair of species; for atoms without forces, the size of the box.
fn shortest_cutoff(terms: &[PairTerm], simbox: &SimBox) -> f64 {
    let mut shortest = simbox.volume().cbrt();
    for term in terms {
        for a in 0..term.n_species() {
            for b in a..term.n_species() {
                shortest = term.get(a, b).map_or(shortest, |e| shortest.min(e.cutoff));
            }
        }
    }
    shortest
}

impl Simulation {
    /// Starts to put a simulation together from a system of one's own.
    pub fn builder(units: UnitSystem, system: System) -> SimulationBuilder {
        SimulationBuilder {
            units,
            system,
            terms: Vec::new(),
            stages: Vec::new(),
            seed: 0,
            device: DeviceInput::Auto,
            settings: Settings::default(),
            observers: Vec::new(),
            source: None,
            title: String::new(),
        }
    }

    /// The simulation an input describes. Nothing is written until [`Simulation::write_to`] says
    /// where.
    ///
    /// # Errors
    /// If the input asks for something impossible; the error points at the line.
    pub fn from_input(input: &Input, overrides: &Overrides) -> Result<Self> {
        let (system, terms) = system_from_input(input)?;
        builder_from_input(input, overrides, system, terms).build().map_err(|e| at_force(input, e))
    }

    /// Goes on with the run in a folder from its last checkpoint. What was written after the
    /// checkpoint is cut off, so that the files come out as if the run had never stopped.
    ///
    /// # Errors
    /// If the folder holds no run, its checkpoints are damaged or its files shorter than they
    /// were.
    pub fn resume(folder: &Path, overrides: &Overrides) -> Result<Self> {
        let (folder, checkpoint, note) = RunFolder::resume(folder)?;
        let header = &checkpoint.header;
        let Some(source) = header.input.clone() else {
            return Err(Error::file(
                folder.path(),
                "this run was put together by a program, not by an input file",
            )
            .hint("only that program can go on with it"));
        };
        let input = Input::parse(&source.path, &source.text)?;
        let overrides = Overrides { most_steps: source.most_steps, ..*overrides };
        let (simbox, species) = (checkpoint.simbox()?, checkpoint.species());
        let terms = input.pair_terms(&species)?;
        let system = System { simbox, species, state: checkpoint.state.clone() };
        let mut simulation = builder_from_input(&input, &overrides, system, terms).build()?;
        let Checkpoint { header, state, list_positions } = checkpoint;
        simulation.backend.restore(state, list_positions, header.skin)?;
        simulation.clock = header.clock;
        simulation.run = header.run;
        simulation.reports = header.reports;
        simulation.folder = Some(folder);
        simulation.notes.extend(note);
        Ok(simulation)
    }

    /// Writes `thermo.csv`, trajectories, checkpoints, `summary.json` and a log to a folder.
    ///
    /// # Errors
    /// If the folder cannot be made or written, or has something in it (see [`Existing`]).
    pub fn write_to(&mut self, folder: &Path, existing: Existing) -> Result<()> {
        let input = self.source.as_ref().map(|s| s.text.as_str());
        let mut folder = RunFolder::create(folder, existing, self.units, &self.quantities, input)?;
        folder.log(&format!("jostle {}", env!("CARGO_PKG_VERSION")))?;
        folder.log(&self.backend.describe())?;
        folder.log(&format!("{} atoms; {}", self.backend.n_atoms(), self.title))?;
        self.folder = Some(folder);
        Ok(())
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

    /// The same, telling `progress` and asking `stop` after every step. When asked to stop it
    /// writes a checkpoint; running again goes on.
    ///
    /// # Errors
    /// See [`Simulation::run`].
    pub fn run_with(&mut self, progress: &mut dyn Progress, stop: &dyn Fn() -> bool) -> Result<Outcome> {
        for note in std::mem::take(&mut self.notes) {
            self.say(progress, &note)?;
        }
        let outcome = self.run_stages(progress, stop);
        let status = match &outcome {
            Ok(Outcome::Finished) => "finished".to_string(),
            Ok(Outcome::Interrupted) => "interrupted".to_string(),
            Err(error) => format!("failed: {error}"),
        };
        let written = self.summarize(&status);
        // A failure to write about a failure is not the one to report.
        outcome.and_then(|outcome| written.map(|()| outcome))
    }

    fn run_stages(&mut self, progress: &mut dyn Progress, stop: &dyn Fn() -> bool) -> Result<Outcome> {
        while let Some(stage) = self.stages.get(self.clock.stage).cloned() {
            let outcome = self.run_stage(&stage, progress, stop);
            let in_stage = |e: Error| e.context(format!("stage '{}'", stage.name));
            if outcome.map_err(in_stage)? == Outcome::Interrupted {
                return Ok(Outcome::Interrupted);
            }
        }
        Ok(Outcome::Finished)
    }

    fn run_stage(
        &mut self,
        stage: &StageInput,
        progress: &mut dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<Outcome> {
        let begun = self.run.is_some();
        let mut run = match self.run.take() {
            Some(run) => run,
            None => StageRun::begin(
                stage,
                &mut *self.backend,
                self.units,
                self.clock.time,
                self.total_mass,
                self.shortest_cutoff,
            )?,
        };
        progress.stage_begins(&self.describe(stage, &run));
        let evaluate = self.evaluate_at(stage, run.stage_step);
        self.backend.update_neighbors()?;
        self.backend.compute_forces(evaluate)?;
        if !begun && self.clock == Clock::default() {
            self.measure(stage, &mut run, progress)?;
        }
        let outcome = self.make_steps(stage, &mut run, progress, stop);
        if outcome.is_err() || matches!(outcome, Ok(Outcome::Interrupted)) {
            self.run = Some(run);
            return outcome;
        }
        let report = run.report(stage, &mut *self.backend, &self.quantities, self.units)?;
        run.end(&mut *self.backend)?;
        progress.stage_ends(&report);
        self.log(&summary::lines(&report, self.units))?;
        self.reports.push(report);
        self.clock.stage += 1;
        self.save(None, progress)?;
        Ok(Outcome::Finished)
    }

    /// The steps that are left of a stage.
    fn make_steps(
        &mut self,
        stage: &StageInput,
        run: &mut StageRun,
        progress: &mut dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<Outcome> {
        let timestep = timestep(stage);
        let (mut told, mut saved) = (Instant::now(), Instant::now());
        let mut lap = Lap::begin(&*self.backend);
        while !run.is_over(stage, &mut *self.backend) {
            let (step, stage_step) = (self.clock.step + 1, run.stage_step + 1);
            let tick = Tick { seed: self.seed, step, stage_step, timestep };
            let evaluate = self.evaluate_at(stage, stage_step);
            run.advance(&mut *self.backend, &tick, evaluate).map_err(|e| self.at_step(e, step))?;
            self.clock.step = step;
            self.clock.time = run.time_at(stage, stage_step);
            if self.anything_due(stage, stage_step) {
                self.measure(stage, run, progress)?;
            }
            let now = Instant::now();
            if now - told > PROGRESS_INTERVAL {
                told = now;
                progress.advanced(stage_step);
            }
            let interrupted = stop();
            if interrupted || due(stage.checkpoint_every, stage_step) || now - saved > CHECKPOINT_INTERVAL {
                saved = now;
                lap.end(run, &*self.backend);
                lap = Lap::begin(&*self.backend);
                self.save(Some(run), progress)?;
            }
            if interrupted {
                return Ok(Outcome::Interrupted);
            }
        }
        lap.end(run, &*self.backend);
        Ok(Outcome::Finished)
    }

    /// What a step has to evaluate: energies only where somebody looks at them.
    fn evaluate_at(&self, stage: &StageInput, stage_step: u64) -> Evaluate {
        let looks = |o: &dyn Observer| due(o.every(), stage_step) && o.wants() == Evaluate::ForcesAndEnergies;
        if due(stage.thermo_every, stage_step) || self.observers.iter().any(|o| looks(&**o)) {
            return Evaluate::ForcesAndEnergies;
        }
        Evaluate::Forces
    }

    fn anything_due(&self, stage: &StageInput, stage_step: u64) -> bool {
        due(stage.thermo_every, stage_step)
            || stage.trajectory.is_some_and(|t| due(t.every, stage_step))
            || self.observers.iter().any(|o| due(o.every(), stage_step))
    }

    /// Everything that is due now: the row of `thermo.csv`, the frame, the observers.
    fn measure(&mut self, stage: &StageInput, run: &mut StageRun, progress: &mut dyn Progress) -> Result<()> {
        let stage_step = run.stage_step;
        let Clock { step, time, .. } = self.clock;
        self.thermo = None;
        if self.evaluate_at(stage, stage_step) == Evaluate::ForcesAndEnergies {
            let degrees_of_freedom = run.degrees_of_freedom;
            let gauge = Gauge { units: self.units, degrees_of_freedom, atoms: run.atoms(), step, time };
            self.thermo = Some(gauge.read(&mut *self.backend));
        }
        if let Some(thermo) = self.thermo.as_ref().filter(|_| due(stage.thermo_every, stage_step)) {
            run.record(thermo);
            progress.measured(thermo);
            if let Some(folder) = &mut self.folder {
                folder.row(&stage.name, thermo)?;
            }
        }
        let mut context = Context {
            backend: &mut *self.backend,
            step,
            time,
            stage: &stage.name,
            units: self.units,
            species: &self.species,
            thermo: self.thermo.as_ref(),
        };
        for observer in &mut self.observers {
            if due(observer.every(), stage_step) {
                observer.observe(&mut context)?;
            }
        }
        Ok(())
    }

    /// Writes a checkpoint if there is a folder to write to.
    fn save(&mut self, run: Option<&StageRun>, progress: &mut dyn Progress) -> Result<()> {
        let Some(folder) = &mut self.folder else { return Ok(()) };
        let simbox = *self.backend.simbox();
        let state = self.backend.state()?.clone();
        let finite = |v: &[Vec3]| v.as_flattened().iter().all(|x| x.is_finite());
        if !(finite(&state.position) && finite(&state.velocity)) {
            return Err(Error::simulation("an atom's position or velocity is not finite"));
        }
        let header = Header {
            program: env!("CARGO_PKG_VERSION").into(),
            units: self.units.name().into(),
            origin: simbox.origin(),
            lengths: simbox.lengths(),
            tilts: simbox.tilts(),
            periodic: simbox.periodic(),
            species: self.species.iter().map(|s| (s.name.clone(), s.mass, s.charge)).collect(),
            atoms: state.len() as u64,
            skin: self.backend.neighbor_facts().skin,
            clock: self.clock,
            run: run.cloned(),
            reports: self.reports.clone(),
            input: self.source.clone(),
            files: folder.settle()?,
        };
        let list_positions = self.backend.list_positions()?.to_vec();
        let path = folder.save(&Checkpoint { header, state, list_positions })?;
        folder.log(&format!("checkpoint at step {}", self.clock.step))?;
        progress.saved(&path);
        Ok(())
    }

    fn say(&mut self, progress: &mut dyn Progress, message: &str) -> Result<()> {
        progress.note(message);
        self.log(message)
    }

    fn log(&mut self, text: &str) -> Result<()> {
        match &mut self.folder {
            Some(folder) => folder.log(text),
            None => Ok(()),
        }
    }

    fn summarize(&mut self, status: &str) -> Result<()> {
        let summary = self.summary(status);
        match &mut self.folder {
            Some(folder) => folder.summarize(&summary),
            None => Ok(()),
        }
    }

    /// What `summary.json` says.
    fn summary(&mut self, status: &str) -> serde_json::Value {
        let facts = self.backend.neighbor_facts();
        serde_json::json!({
            "jostle": env!("CARGO_PKG_VERSION"),
            "title": self.title,
            "status": status,
            "input": self.source.as_ref().map(|s| s.path.clone()),
            "units": self.units.name(),
            "device": self.backend.describe(),
            "seed": self.seed,
            "atoms": self.backend.n_atoms(),
            "species": self.species.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
            "step": self.clock.step,
            "time": self.clock.time,
            "stages": self.reports,
            "neighbors": { "builds": facts.builds, "skin": facts.skin, "bytes": facts.bytes },
        })
    }

    fn describe<'a>(&self, stage: &'a StageInput, run: &StageRun) -> StageStart<'a> {
        StageStart {
            name: &stage.name,
            index: self.clock.stage,
            stages: self.stages.len(),
            steps: steps(stage),
            done: run.stage_step,
            timestep: timestep(stage),
            degrees_of_freedom: run.degrees_of_freedom,
        }
    }

    /// Adds the step and what is left to a failure of the simulation.
    fn at_step(&self, error: Error, step: u64) -> Error {
        let error = error.context(format!("step {step}"));
        match (&self.folder, error.kind()) {
            (Some(folder), ErrorKind::Simulation) => error.hint(format!(
                "try a shorter timestep, or a minimize stage first; checkpoints are in {}",
                folder.path().display()
            )),
            (None, ErrorKind::Simulation) => error.hint("try a shorter timestep, or minimise first"),
            _ => error,
        }
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
        let wrapped = |state: &State, place: usize| {
            let (mut position, mut image) = (state.position[place], state.image[place]);
            simbox.wrap(&mut position, &mut image);
            position
        };
        self.by_id(wrapped)
    }

    /// Positions as if atoms had never been put back into the box, by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn unwrapped_positions(&mut self) -> Result<Vec<Vec3>> {
        let simbox = *self.backend.simbox();
        self.by_id(|state, place| {
            let (position, shift) = (state.position[place], simbox.shift(state.image[place]));
            [0, 1, 2].map(|k| position[k] + shift[k])
        })
    }

    /// Velocities, by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn velocities(&mut self) -> Result<Vec<Vec3>> {
        self.by_id(|state, place| state.velocity[place])
    }

    /// Forces of the last evaluation, by id; all zero before the first step.
    ///
    /// # Errors
    /// If the device failed.
    pub fn forces(&mut self) -> Result<Vec<Vec3>> {
        self.by_id(|state, place| state.force[place])
    }

    fn by_id(&mut self, value: impl Fn(&State, usize) -> Vec3) -> Result<Vec<Vec3>> {
        let state = self.backend.state()?;
        Ok(state.order().into_iter().map(|place| value(state, place)).collect())
    }
}

/// The folder a run of an input goes to unless told otherwise: what the input says, else its name
/// without the extension, in the working folder.
pub fn default_folder(input: &Input) -> PathBuf {
    let stem = || PathBuf::from(input.source.path.file_stem().unwrap_or("jostle".as_ref()));
    input.run.output.clone().unwrap_or_else(stem)
}

fn builder_from_input(
    input: &Input,
    overrides: &Overrides,
    system: System,
    terms: Vec<PairTerm>,
) -> SimulationBuilder {
    let stage = |s: &StageInput| {
        let mut stage = s.clone();
        let (Action::Dynamics { steps, .. } | Action::Minimize { steps, .. }) = &mut stage.action;
        *steps = overrides.most_steps.map_or(*steps, |most| most.min(*steps));
        stage
    };
    let mut settings = input.run.settings;
    settings.threads = overrides.threads.or(settings.threads);
    SimulationBuilder {
        units: input.units,
        system,
        terms,
        stages: input.stages.iter().map(|s| stage(&s.value)).collect(),
        seed: input.system.seed,
        device: overrides.device.unwrap_or(input.run.device),
        settings,
        observers: Vec::new(),
        source: Some(InputText {
            path: input.source.path.clone(),
            text: input.source.text.to_string(),
            most_steps: overrides.most_steps,
        }),
        title: input.title.clone(),
    }
}

/// A device refuses an input mostly for its cut-off: points at the longest one.
fn at_force(input: &Input, error: Error) -> Error {
    if error.kind() != ErrorKind::Input {
        return error;
    }
    let reach = |f: &jostle_io::input::model::ForceInput| f.cutoff.unwrap_or(0.0);
    match input.forces.iter().max_by(|a, b| reach(&a.value).total_cmp(&reach(&b.value))) {
        Some(force) => error.at_span(&input.source.path, &input.source.text, force.span.clone()),
        None => error,
    }
}

fn due(every: u64, stage_step: u64) -> bool {
    every > 0 && stage_step.is_multiple_of(every)
}

fn timestep(stage: &StageInput) -> f64 {
    match stage.action {
        Action::Dynamics { timestep, .. } | Action::Minimize { timestep, .. } => timestep,
    }
}

fn steps(stage: &StageInput) -> u64 {
    match stage.action {
        Action::Dynamics { steps, .. } | Action::Minimize { steps, .. } => steps,
    }
}

/// The time between two looks at the clock.
struct Lap {
    begin: Instant,
    timings: jostle_core::backend::Timings,
}

impl Lap {
    fn begin(backend: &dyn Backend) -> Self {
        Lap { begin: Instant::now(), timings: backend.timings() }
    }

    fn end(self, run: &mut StageRun, backend: &dyn Backend) {
        run.time.total += self.begin.elapsed().as_secs_f64();
        run.time.add(&self.timings, &backend.timings());
    }
}
