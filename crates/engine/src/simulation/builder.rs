//! Construction of simulations from systems and checkpoints; from inputs in [`of_input`].

mod of_input;

use super::batch_size::BatchSize;
use super::facts::{AtomTables, Columns, SystemFacts};
use super::output::Output;
use super::{Origin, Readiness, Simulation};
use crate::build::{check_atoms, check_reciprocal_memory};
use crate::checkpoint::Checkpoint;
use crate::clock::Clock;
use crate::custom_force::CustomForce;
use crate::device::{self, Opened};
use crate::device_with_forces::DeviceWithForces;
use crate::force_context::FieldsInTime;
use crate::input_text::InputText;
use crate::interaction::Interaction;
use crate::kernel_profile::Profiler;
use crate::measure::Measures;
use crate::observe::Observer;
use crate::plausibility::idle_charges;
use crate::ramp::Springs;
use crate::report::Warning;
use crate::run_folder::{RunFolder, newest_checkpoint};
use crate::run_handle::RunHandle;
use crate::thermo::term_names;
use crate::warnings::ExternalWork;
use jostle_core::quantity::unit_name;
use jostle_core::{
    AtomStorage, Backend, Dimension, Error, Molecules, Result, Settings, SimBox, System, UnitSystem,
};
use jostle_io::input::model::{Action, DeviceInput, StageInput, Strictness, ThermostatKind};
use jostle_potentials::external::{Field, FormulaField, ReflectingWall, Wall, check_meeting};
use jostle_potentials::restraint::Restraints;
use jostle_potentials::{Dispersion, Electrostatics, Embedded, Forces, Grains, PairTerm, ThreeBody};
use std::path::Path;

/// Function that puts a system on a device.
type OpenDevice = dyn FnOnce(System, Forces, Settings) -> Result<Opened>;

/// Builder of a [`Simulation`].
pub struct SimulationBuilder {
    units: UnitSystem,
    system: System,
    forces: Forces,
    stages: Vec<StageInput>,
    seed: u64,
    open: Box<OpenDevice>,
    settings: Settings,
    observers: Vec<Box<dyn Observer>>,
    custom_forces: Vec<Box<dyn CustomForce>>,
    source: Option<InputText>,
    title: String,
    /// Names of groups that are columns of `thermo.csv`.
    reported: Vec<String>,
    /// Interactions by name, between two groups of ids.
    interactions: Vec<(String, [Vec<u32>; 2])>,
    strictness: Strictness,
    /// Warnings about the system, which hold for all stages.
    warnings: Vec<Warning>,
    /// Work of fields and walls that change with time, where there are such.
    work_in_time: ExternalWork,
}

impl Simulation {
    /// Begins to build a simulation from a system.
    pub fn builder(units: UnitSystem, system: System) -> SimulationBuilder {
        SimulationBuilder::new(units, system)
    }
}

impl SimulationBuilder {
    fn new(units: UnitSystem, system: System) -> Self {
        SimulationBuilder {
            units,
            system,
            forces: Forces::default(),
            stages: Vec::new(),
            seed: 0,
            open: known(DeviceInput::Auto, None),
            settings: Settings::default(),
            observers: Vec::new(),
            custom_forces: Vec::new(),
            source: None,
            title: String::new(),
            reported: Vec::new(),
            interactions: Vec::new(),
            strictness: Strictness::default(),
            warnings: Vec::new(),
            work_in_time: ExternalWork::InTime,
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

    /// Adds a field by a formula.
    pub fn formula_field(mut self, field: FormulaField) -> Self {
        self.forces.formula_fields.push(field);
        self
    }

    /// Adds a wall that reflects atoms.
    pub fn reflecting_wall(mut self, wall: ReflectingWall) -> Self {
        self.forces.reflecting_walls.push(wall);
        self
    }

    /// Adds a wall with a force.
    pub fn wall(mut self, wall: Wall) -> Self {
        self.forces.walls.push(wall);
        self
    }

    /// Makes the atoms grains, whose repulsion is one of the pair forces.
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

    /// Chooses the force of atoms whose bonds prefer angles.
    pub fn three_body(mut self, term: ThreeBody) -> Self {
        self.forces.three_body = Some(term);
        self
    }

    /// Adds the lattice sum of dispersion, beyond the cut-off of a Lennard-Jones force.
    pub fn dispersion(mut self, term: Dispersion) -> Self {
        self.forces.dispersion = Some(term);
        self
    }

    /// Chooses the forces between charges.
    pub fn electrostatics(mut self, term: Electrostatics) -> Self {
        self.forces.electrostatics = Some(term);
        self
    }

    /// Adds temperature, kinetic energy and centre of mass of a group of the system to `thermo.csv`.
    pub fn report(mut self, group: impl Into<String>) -> Self {
        self.reported.push(group.into());
        self
    }

    /// Adds the energies of interaction of two groups, by ids, to `thermo.csv`, in columns that begin with a name.
    pub fn interaction(mut self, name: impl Into<String>, groups: [Vec<u32>; 2]) -> Self {
        self.interactions.push((name.into(), groups));
        self
    }

    /// Adds restraints of positions and distances.
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

    /// Adds a force that the host computes.
    pub fn custom_force(mut self, force: impl CustomForce + 'static) -> Self {
        self.custom_forces.push(Box::new(force));
        self
    }

    /// Chooses the seed of all random numbers; the default is 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Chooses the treatment of warnings; by default they are no errors.
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Chooses the settings of the computation.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Chooses the device.
    pub fn device(mut self, device: DeviceInput) -> Self {
        self.open = known(device, None);
        self
    }

    /// Chooses a custom device: `open` puts the system on it.
    pub fn open_with<F>(mut self, open: F) -> Self
    where
        F: FnOnce(System, Forces, Settings) -> Result<Box<dyn Backend>> + 'static,
    {
        self.open = Box::new(|system, forces, settings| {
            Ok(Opened { backend: open(system, forces, settings)?, note: None })
        });
        self
    }

    /// The simulation, ready to run.
    ///
    /// # Errors
    /// If there are no atoms or two at the same position, a stage makes no sense, or the system, the
    /// forces and the device do not fit together.
    pub fn build(mut self) -> Result<Simulation> {
        self.system.driven.hold(&mut self.system.state);
        check_atoms(&self.system)?;
        self.forces.reflecting_walls.iter().try_for_each(|wall| wall.check_beginning(&self.system))?;
        check_meeting(&self.forces.reflecting_walls, StageInput::certain_time(self.stages.iter()))?;
        let mut simulation = self.open()?;
        // Velocities of files may have components along constraints, which no run begins with.
        simulation.constrain_present_velocities()?;
        Ok(simulation)
    }

    /// The simulation at the last checkpoint in a folder that [`Simulation::write_to`] made; the content of
    /// the builder must be that of the first run.
    ///
    /// # Errors
    /// As for [`SimulationBuilder::build`] and [`Simulation::resume`], and if the checkpoint is
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
        self.resume_from(folder, checkpoint, note)
    }

    /// The simulation at a checkpoint.
    fn resume_from(mut self, folder: &Path, from: Checkpoint, note: Option<String>) -> Result<Simulation> {
        self.system.simbox = from.simbox()?;
        let Checkpoint {
            header,
            mut state,
            topology,
            charges,
            names,
            groups,
            reference_positions,
            reference_box,
            list_positions,
        } = from;
        self.system.driven.hold(&mut state);
        self.system.state = state.clone();
        self.system.topology = topology;
        self.system.charges = charges;
        self.system.names = names;
        self.system.groups = groups;
        self.system.reference_positions = reference_positions;
        self.system.reference_box = reference_box;
        let mut simulation = self.open()?;
        simulation.backend.restore(state, list_positions, header.skin)?;
        simulation.restore_forces(header.forces)?;
        simulation.facts.first_volume = header.first_volume;
        for (group, degrees) in simulation.columns.groups.iter_mut().zip(header.group_degrees) {
            group.degrees_of_freedom = degrees;
        }
        simulation.clock = header.clock;
        simulation.run = header.run;
        simulation.reports = header.reports;
        simulation.notes.extend(note);
        let change = simulation.run.as_ref().and_then(|run| run.changes.last());
        let unit = unit_name(simulation.units, Dimension::TEMPERATURE);
        simulation.notes.extend(change.map(|change| change.describe(&unit)));
        // The folder is opened last, because rows after the checkpoint are cut off then.
        let mut folder = RunFolder::resume(folder, header.thermo_bytes)?;
        if !simulation.is_finished() {
            let device = simulation.device();
            folder.log(&format!("going on after step {} on {device}", header.clock.step))?;
        }
        simulation.output.open(folder, Some(header.clock.step));
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
        let SimulationBuilder { units, system, forces, stages, settings, custom_forces, .. } = self;
        check_system(&system, &forces, &settings)?;
        check_force_matrix(&settings, &stages)?;
        check_masses(&system)?;
        let mut facts = SystemFacts::new(&system, &forces)?;
        if facts.scales.work == ExternalWork::InTime {
            facts.scales.work = self.work_in_time;
        }
        for stage in &stages {
            let parts = (&system.topology, &system.species[..], &system.state);
            let fits = facts.check_stage(stage, &system.simbox, parts);
            fits.and_then(|()| stage.check_walls(&forces.reflecting_walls))
                .map_err(|e| e.context(format!("stage '{}'", stage.name)))?;
        }
        let interactions = self
            .interactions
            .iter()
            .map(|(name, [a, b])| Interaction::new(name, &system, &forces, [a, b], settings));
        let interactions = interactions.collect::<Result<Vec<_>>>()?;
        let columns = Columns::new(units, (&system, &forces), &self.reported, interactions)?;
        let tables = AtomTables::new(&system);
        let notes =
            notes_about_tables(&forces).chain(notes_about_restraints(&facts.springs, &stages)).collect();
        let idle = self.source.as_ref().and_then(|_| idle_charges(&system, &forces));
        let (atoms, threads) = (system.state.len(), settings.threads);
        let sites = system.topology.virtual_sites.iter().map(|v| v.site).collect();
        let own = (FieldsInTime::of(&forces), term_names(&forces));
        let Opened { backend, note } = (self.open)(system, forces, settings)?;
        let mut simulation = Simulation {
            units,
            origin: Origin {
                title: self.title,
                source: self.source,
                seed: self.seed,
                threads,
                strictness: self.strictness,
            },
            tables,
            facts,
            columns,
            stages,
            backend: Box::new(DeviceWithForces::new(backend, sites, own)),
            device_note: note,
            observers: self.observers,
            output: Output::none(atoms),
            clock: Clock::default(),
            run: None,
            readiness: Readiness::Stale,
            batch_size: BatchSize::new(),
            paused: false,
            failed_at: None,
            evaluated: None,
            molecules: Molecules::default(),
            measures: Measures::default(),
            thermo: None,
            reports: Vec::new(),
            results: Vec::new(),
            early_warnings: Vec::new(),
            warnings_of_system: self.warnings.into_iter().chain(idle).collect(),
            notes,
            saved_forces: Vec::new(),
            handle: RunHandle::default(),
            profiler: Profiler::default(),
        };
        custom_forces.into_iter().try_for_each(|force| simulation.add_boxed_force(force))?;
        simulation.check_conditions()?;
        simulation.stages.iter().try_for_each(|stage| simulation.check_thermostat(stage))?;
        Ok(simulation)
    }
}

/// Refuses systems without atoms or with bonds to unknown atoms, and settings that do not fit the system.
fn check_system(system: &System, forces: &Forces, settings: &Settings) -> Result<()> {
    if system.state.is_empty() {
        return Err(Error::input("there are no atoms"));
    }
    if !system.topology.fits(system.state.len()) {
        return Err(Error::input("something is bound to an atom that does not exist"));
    }
    check_reciprocal_memory(system, forces)?;
    check_threads(settings)?;
    check_skin(settings, &system.simbox, forces)
}

/// Refuses masses that are negative or not finite. Virtual sites have no mass; the device refuses other atoms
/// without.
fn check_masses(system: &System) -> Result<()> {
    match system.species.iter().find(|s| !(s.mass >= 0.0 && s.mass.is_finite())) {
        Some(s) => Err(Error::input(format!("the mass of {} is {}, which is no mass", s.name, s.mass))),
        None => Ok(()),
    }
}

/// Notes about tabulated forces: the distance at which each table begins.
fn notes_about_tables(forces: &Forces) -> impl Iterator<Item = String> + use<> {
    let about = |term: &PairTerm| {
        let (name, from) = (term.potential.name(), term.table_begins()?);
        Some(format!("the table of '{name}' begins at {from:.4}: no two atoms may come nearer"))
    };
    forces.pairs.iter().filter_map(about).collect::<Vec<_>>().into_iter()
}

/// Notes about restraints that act in none of the stages.
fn notes_about_restraints(springs: &Springs, stages: &[StageInput]) -> impl Iterator<Item = String> + use<> {
    let idle = if stages.is_empty() { Vec::new() } else { springs.idle(stages) };
    let numbers = idle.into_iter().zip(1..).filter_map(|(idle, number)| idle.then_some(number));
    numbers.map(|number| format!("restraint {number} of the input acts in no stage"))
}

/// Function that puts a system on a device of the input, or on so many ranks of this process.
fn known(device: DeviceInput, ranks: Option<usize>) -> Box<OpenDevice> {
    Box::new(move |system, forces, settings| device::open_on((device, ranks), system, forces, settings))
}

/// Most threads: more than any machine has cores.
const MOST_THREADS: usize = 1024;

/// Refuses numbers of threads that no machine could use.
fn check_threads(settings: &Settings) -> Result<()> {
    match settings.threads.filter(|threads| *threads > MOST_THREADS) {
        Some(threads) => {
            Err(Error::input(format!("threads = {threads}, but at most {MOST_THREADS} make sense"))
                .hint("leave it out: there is one for each core"))
        }
        None => Ok(()),
    }
}

/// Longest skin over the longest cut-off.
const LONGEST_SKIN: f64 = 10.0;

/// Refuses a force matrix where a stage has friction and noise of pairs, which are not divided so.
fn check_force_matrix(settings: &Settings, stages: &[StageInput]) -> Result<()> {
    let of_pairs = |stage: &StageInput| match &stage.action {
        Action::Dynamics { thermostat: Some(thermostat), .. } => {
            thermostat.kind == ThermostatKind::Dissipative
        }
        Action::Dynamics { .. } | Action::Minimize { .. } => false,
    };
    if settings.force_matrix.is_some() && stages.iter().any(of_pairs) {
        return Err(Error::input("a force matrix of ranks does not divide friction and noise of pairs")
            .hint("leave out --force-matrix"));
    }
    Ok(())
}

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
