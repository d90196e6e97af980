//! Putting a simulation together.

use super::checkpoints::Checkpoints;
use super::{Overrides, Simulation};
use crate::barostat::check_barostat;
use crate::build::{check_atoms, check_reciprocal_memory};
use crate::checkpoint::{Checkpoint, Clock, InputText};
use crate::degrees_of_freedom::DegreesOfFreedom;
use crate::device::{self, Opened};
use crate::measure::Measures;
use crate::minimize::ConstraintProjection;
use crate::observe::Observer;
use crate::plausibility::Scales;
use crate::ramp::Springs;
use crate::run_folder::{RunFolder, newest_checkpoint};
use crate::stage::{check_constraints, check_stage};
use crate::thermo::{Reported, quantities};
use jostle_core::quantity::unit_name;
use jostle_core::{Backend, Dimension, Error, Molecules, Result, Settings, SimBox, System, UnitSystem};
use jostle_io::Input;
use jostle_io::input::model::{Action, DeviceInput, StageInput, Strictness};
use jostle_potentials::external::{Field, Wall};
use jostle_potentials::restraint::Restraints;
use jostle_potentials::{Dispersion, Electrostatics, Embedded, Forces, Grains, PairTerm};
use std::path::Path;

/// What puts a system on a device.
type OpenDevice = dyn FnOnce(System, Forces, Settings) -> Result<Opened>;

/// Puts a [`Simulation`] together.
pub struct SimulationBuilder {
    units: UnitSystem,
    system: System,
    forces: Forces,
    stages: Vec<StageInput>,
    seed: u64,
    open: Box<OpenDevice>,
    settings: Settings,
    observers: Vec<Box<dyn Observer>>,
    source: Option<InputText>,
    title: String,
    /// Names of groups that are columns of `thermo.csv`.
    reported: Vec<String>,
    strictness: Strictness,
}

impl SimulationBuilder {
    pub(super) fn new(units: UnitSystem, system: System) -> Self {
        SimulationBuilder {
            units,
            system,
            forces: Forces::default(),
            stages: Vec::new(),
            seed: 0,
            open: known(DeviceInput::Auto),
            settings: Settings::default(),
            observers: Vec::new(),
            source: None,
            title: String::new(),
            reported: Vec::new(),
            strictness: Strictness::default(),
        }
    }

    /// A builder with what an input says; the system and the forces are made from it already.
    pub(super) fn from_input(input: &Input, overrides: &Overrides, system: System, forces: Forces) -> Self {
        let stage = |s: &StageInput| {
            let mut stage = s.clone();
            let (Action::Dynamics { steps, .. } | Action::Minimize { steps, .. }) = &mut stage.action;
            if let Some(most) = overrides.most_steps.filter(|most| most < steps) {
                // The stage is to end where long-range forces act.
                *steps = most - most % stage.long_range_every.max(1);
            }
            stage
        };
        let mut settings = input.run.settings;
        settings.threads = overrides.threads.or(settings.threads);
        SimulationBuilder {
            units: input.units,
            system,
            forces,
            stages: input.stages.iter().map(|s| stage(&s.value)).collect(),
            seed: input.system.seed,
            open: known(overrides.device.unwrap_or(input.run.device)),
            settings,
            observers: Vec::new(),
            source: Some(InputText {
                path: input.source.path.clone(),
                text: input.source.text.to_string(),
                most_steps: overrides.most_steps,
            }),
            title: input.title.clone(),
            reported: input.reported_groups(),
            strictness: input.run.strictness.max(overrides.strictness),
        }
    }

    /// Adds a pair force.
    pub fn force(mut self, term: PairTerm) -> Self {
        self.forces.pairs.push(term);
        self
    }

    /// Adds an external force, the same everywhere.
    pub fn field(mut self, field: Field) -> Self {
        self.forces.fields.push(field);
        self
    }

    /// Adds a wall.
    pub fn wall(mut self, wall: Wall) -> Self {
        self.forces.walls.push(wall);
        self
    }

    /// Makes the atoms grains; their push is one of the pair forces.
    pub fn grains(mut self, grains: Grains) -> Self {
        self.forces.pairs.push(grains.springs());
        self.forces.grains = Some(grains);
        self
    }

    /// Chooses the many-body force of a metal.
    pub fn metal(mut self, term: Embedded) -> Self {
        self.forces.embedded = Some(term);
        self
    }

    /// Sums dispersion over all images, beyond the cut-off of a Lennard-Jones force.
    pub fn dispersion(mut self, term: Dispersion) -> Self {
        self.forces.dispersion = Some(term);
        self
    }

    /// Chooses what charges do to each other.
    pub fn electrostatics(mut self, term: Electrostatics) -> Self {
        self.forces.electrostatics = Some(term);
        self
    }

    /// Adds temperature, kinetic energy and centre of mass of a group of the system to `thermo.csv`.
    pub fn report(mut self, group: impl Into<String>) -> Self {
        self.reported.push(group.into());
        self
    }

    /// Adds what holds atoms at places or distances.
    pub fn restraints(mut self, restraints: Restraints) -> Self {
        self.forces.restraints = restraints;
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

    /// Chooses what becomes of warnings; they are told otherwise.
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Chooses how it is computed.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Chooses where it is computed.
    pub fn device(mut self, device: DeviceInput) -> Self {
        self.open = known(device);
        self
    }

    /// Chooses a device of one's own: `open` puts the system on it.
    pub fn open_with<F>(mut self, open: F) -> Self
    where
        F: FnOnce(System, Forces, Settings) -> Result<Box<dyn Backend>> + 'static,
    {
        self.open = Box::new(|system, forces, settings| {
            Ok(Opened { backend: open(system, forces, settings)?, missed: None })
        });
        self
    }

    /// The simulation, ready to run.
    ///
    /// # Errors
    /// If there are no atoms or two at the same place, a stage makes no sense, or the system, the
    /// forces and the device do not fit together.
    pub fn build(self) -> Result<Simulation> {
        check_atoms(&self.system)?;
        self.open()
    }

    /// The simulation as it was at the last checkpoint in a folder that
    /// [`Simulation::write_to`] made; everything else must be as it was then.
    ///
    /// # Errors
    /// Those of [`SimulationBuilder::build`] and [`Simulation::resume`], and if the checkpoint is
    /// that of another system.
    pub fn resume(self, folder: &Path) -> Result<Simulation> {
        let (checkpoint, note) = newest_checkpoint(folder)?;
        let changes = |stage: &StageInput| stage.barostat.is_some() || stage.deformation.is_some();
        let same_box = checkpoint.simbox()? == self.system.simbox || self.stages.iter().any(changes);
        let same_atoms = checkpoint.state.len() == self.system.state.len();
        let same_bonds = checkpoint.topology == self.system.topology
            && checkpoint.charges == self.system.charges
            && checkpoint.names == self.system.names
            && (&checkpoint.groups, &checkpoint.reference_positions)
                == (&self.system.groups, &self.system.reference_positions)
            && checkpoint.reference_box == self.system.reference_box;
        if !(same_box && same_atoms && same_bonds && checkpoint.species() == self.system.species) {
            return Err(Error::file(folder, "the checkpoint is that of another system")
                .hint("give the builder the system that the run began with"));
        }
        self.go_on(folder, checkpoint, note)
    }

    /// Goes on from a checkpoint.
    pub(super) fn go_on(
        mut self,
        folder: &Path,
        from: Checkpoint,
        note: Option<String>,
    ) -> Result<Simulation> {
        self.system.simbox = from.simbox()?;
        let Checkpoint {
            header,
            state,
            topology,
            charges,
            names,
            groups,
            reference_positions,
            reference_box,
            list_positions,
        } = from;
        self.system.state = state.clone();
        self.system.topology = topology;
        self.system.charges = charges;
        self.system.names = names;
        self.system.groups = groups;
        self.system.reference_positions = reference_positions;
        self.system.reference_box = reference_box;
        let mut simulation = self.open()?;
        simulation.backend.restore(state, list_positions, header.skin)?;
        simulation.first_volume = header.first_volume;
        simulation.clock = header.clock;
        simulation.saved = Some(header.clock.step);
        simulation.run = header.run;
        simulation.reports = header.reports;
        simulation.notes.extend(note);
        let change = simulation.run.as_ref().and_then(|run| run.changes.last());
        let unit = unit_name(simulation.units, Dimension::TEMPERATURE);
        simulation.notes.extend(change.map(|change| change.describe(&unit)));
        // Last, because it cuts off what was written after the checkpoint.
        simulation.folder = Some(RunFolder::resume(folder, header.thermo_bytes)?);
        if let (Some(stage), Some(run)) = (simulation.stage_under_way(), &simulation.run) {
            let simbox = run.first_box(simulation.backend.simbox())?;
            simulation.begin_measures(&stage, simbox)?;
            simulation.measures.restore(&header.measures)?;
        }
        if let (Some(stage), Some(written)) = (simulation.stage_under_way(), header.trajectory) {
            simulation.resume_trajectory(&stage, written)?;
        }
        Ok(simulation)
    }

    fn open(self) -> Result<Simulation> {
        if self.system.state.is_empty() {
            return Err(Error::input("there are no atoms"));
        }
        if !self.system.topology.fits(self.system.state.len()) {
            return Err(Error::input("something is bound to an atom that does not exist"));
        }
        check_reciprocal_memory(&self.system, &self.forces)?;
        check_threads(&self.settings)?;
        check_skin(&self.settings, &self.system.simbox, &self.forces)?;
        let springs = Springs::new(&self.forces.restraints);
        for stage in &self.stages {
            springs.check(stage).map_err(|e| e.context(format!("stage '{}'", stage.name)))?;
            check_stage(stage, &self.system.simbox)
                .map_err(|e| e.context(format!("stage '{}'", stage.name)))?;
            stage
                .check_long_range(self.forces.has_reciprocal_sum())
                .map_err(|e| e.context(format!("stage '{}'", stage.name)))?;
            check_constraints(stage, &self.system.topology)
                .map_err(|e| e.context(format!("stage '{}'", stage.name)))?;
            check_barostat(stage, &self.system, &self.forces, &springs)
                .map_err(|e| e.context(format!("stage '{}'", stage.name)))?;
        }
        let species = self.system.species.clone();
        let System { topology, charges, names, groups, reference_positions, reference_box, .. } =
            self.system.clone();
        // Points that follow atoms have no mass; the device looks for other atoms without.
        if let Some(s) = species.iter().find(|s| !(s.mass >= 0.0 && s.mass.is_finite())) {
            return Err(Error::input(format!("the mass of {} is {}, which is no mass", s.name, s.mass)));
        }
        let moves = |index: &usize| self.system.driven(*index).is_some_and(|v| v != [0.0; 3]);
        if let Some(index) = (0..self.system.state.len()).find(moves)
            && self.stages.iter().any(|stage| matches!(stage.action, Action::Minimize { .. }))
        {
            let id = self.system.state.id[index];
            let message = format!("{} cannot be driven while energy is minimised", names.describe(id));
            return Err(Error::input(message).hint("minimise with frozen atoms, in a run of its own"));
        }
        let counts = self.system.counts();
        let total_mass = species.iter().zip(&counts).map(|(s, n)| s.mass * *n as f64).sum();
        let reported = self.system.groups.iter().filter(|group| self.reported.contains(&group.name));
        let reported: Vec<Reported> = reported.map(|group| Reported::new(group, &self.system)).collect();
        let names_of = reported.iter().map(|group| group.name.as_str());
        let quantities = quantities(self.units, &self.forces, names_of);
        let projection = ConstraintProjection::new(&self.system)?;
        let degrees = DegreesOfFreedom::without_restraints(&self.system, &self.forces);
        let first_volume = self.system.simbox.volume();
        let shortest_cutoff = shortest_cutoff(&self.forces, &self.system.simbox);
        let threads = self.settings.threads;
        let idle = springs.idle(&self.stages).into_iter().zip(1..).filter(|(idle, _)| *idle);
        let idle = idle.filter(|_| !self.stages.is_empty());
        let idle = idle.map(|(_, number)| format!("restraint {number} of the input acts in no stage"));
        let notes = about_tables(&self.forces).into_iter().chain(idle).collect();
        let (scales, atoms) = (Scales::new(&self.system, &self.forces), self.system.state.len());
        let Opened { backend, missed } = (self.open)(self.system, self.forces, self.settings)?;
        Ok(Simulation {
            units: self.units,
            seed: self.seed,
            species,
            topology,
            molecules: Molecules::default(),
            projection,
            charges,
            names,
            groups,
            reference_positions,
            reference_box,
            reported,
            counts,
            stages: self.stages,
            quantities,
            total_mass,
            first_volume,
            shortest_cutoff,
            degrees,
            springs,
            backend,
            missed,
            observers: self.observers,
            folder: None,
            source: self.source,
            title: self.title,
            clock: Clock::default(),
            run: None,
            measures: Measures::default(),
            threads,
            reports: Vec::new(),
            thermo: None,
            saved: None,
            checkpoints: Checkpoints::begin(atoms),
            scales,
            strictness: self.strictness,
            doubts: Vec::new(),
            notes,
        })
    }
}

/// What puts a system on a device that has a name.
fn known(device: DeviceInput) -> Box<OpenDevice> {
    Box::new(move |system, forces, settings| device::open(device, system, forces, settings))
}

/// Threads at most: more than any machine has cores.
const MOST_THREADS: usize = 1024;

/// Refuses threads that the system would be busy making.
fn check_threads(settings: &Settings) -> Result<()> {
    match settings.threads.filter(|threads| *threads > MOST_THREADS) {
        Some(threads) => {
            Err(Error::input(format!("threads = {threads}, but at most {MOST_THREADS} make sense"))
                .hint("leave it out: there is one for each core"))
        }
        None => Ok(()),
    }
}

/// A skin has at most so many times the longest cut-off.
const LONGEST_SKIN: f64 = 10.0;

/// Refuses a skin so long that lists would hold atoms several times over.
fn check_skin(settings: &Settings, simbox: &SimBox, forces: &Forces) -> Result<()> {
    let (Some(skin), cutoff) = (settings.skin, forces.largest_cutoff()) else { return Ok(()) };
    let most = (LONGEST_SKIN * cutoff).min(2.0 * simbox.largest_cutoff() - cutoff);
    if cutoff == 0.0 || skin <= most {
        return Ok(());
    }
    Err(Error::input(format!("skin = {skin:?} is longer than lists can reach, {most:.6} here"))
        .hint("leave it out: it is tuned while the run goes"))
}

/// Where forces begin that are looked up instead of computed.
fn about_tables(forces: &Forces) -> Vec<String> {
    let about = |term: &PairTerm| {
        let (name, from) = (term.potential.name(), term.table_begins()?);
        Some(format!("the table of '{name}' begins at {from:.4}: no two atoms may come nearer"))
    };
    forces.pairs.iter().filter_map(about).collect()
}

/// The shortest cut-off of any pair of species; for atoms without forces, the size of the box.
fn shortest_cutoff(forces: &Forces, simbox: &SimBox) -> f64 {
    let metal = forces.embedded.iter().map(Embedded::cutoff);
    let mut shortest = metal.fold(simbox.volume().cbrt(), f64::min);
    for term in &forces.pairs {
        for a in 0..term.n_species() {
            for b in a..term.n_species() {
                shortest = term.get(a, b).map_or(shortest, |e| shortest.min(e.cutoff));
            }
        }
    }
    shortest
}
