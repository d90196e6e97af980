//! Equality, bit for bit, of runs on a device that makes many steps on its own with runs step by step,
//! however the run is divided into batches.

use crate::fixtures::argon;
use jostle_core::backend::{BiasPlace, Descent, NeighborFacts, StageTime, Timings};
use jostle_core::thermostat::Dissipative;
use jostle_core::topology::Constraint;
use jostle_core::{
    AddedForces, AtomStorage, Backend, ClosingKick, DeviceReport, Energies, Evaluate, ForceEvaluation,
    Kinetic, NoiseKey, Result, Sample, Settings, SimBox, State, StepBatch, SubSteps, System, Thermostat,
    UnitSystem, Vec3, Vector, VolumeMove,
};
use jostle_engine::custom_force::{AtomChoice, AtomForces, Configuration, EnergyColumn, ForceSums};
use jostle_engine::degrees_of_freedom::Momentum;
use jostle_engine::model::{
    Action, Barostat, Coupling, StageInput, ThermostatInput, TrajectoryFormat, TrajectoryInput,
};
use jostle_engine::step::{StepContext, step};
use jostle_engine::{Context, CustomForce, Existing, Observer, Outcome, Simulation};
use jostle_potentials::{PairKind, PairTerm, Truncation};
use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

/// The CPU, made to look like a device that makes steps on its own.
struct BatchDevice {
    cpu: Box<dyn Backend>,
    /// The length of every batch it was asked for.
    batches: Arc<Mutex<Vec<u64>>>,
}

impl AtomStorage for BatchDevice {
    fn simbox(&self) -> &SimBox {
        self.cpu.simbox()
    }

    fn n_atoms(&self) -> usize {
        self.cpu.n_atoms()
    }

    fn state(&mut self) -> Result<&State> {
        self.cpu.state()
    }

    fn set_state(&mut self, state: State) -> Result<()> {
        self.cpu.set_state(state)
    }

    fn list_positions(&mut self) -> Result<&[Vec3]> {
        self.cpu.list_positions()
    }

    fn restore(&mut self, state: State, list_positions: Vec<Vec3>, skin: f64) -> Result<()> {
        self.cpu.restore(state, list_positions, skin)
    }

    fn set_box(&mut self, simbox: SimBox, state: State) -> Result<()> {
        self.cpu.set_box(simbox, state)
    }
}

impl ForceEvaluation for BatchDevice {
    fn set_stiffness(&mut self, stiffness: &[f64]) -> Result<()> {
        self.cpu.set_stiffness(stiffness)
    }
    fn set_time(&mut self, time: StageTime) -> Result<()> {
        self.cpu.set_time(time)
    }

    fn update_neighbors(&mut self) -> Result<()> {
        self.cpu.update_neighbors()
    }

    fn add_constraint_virial(&mut self, kick: ClosingKick) -> Result<()> {
        self.cpu.add_constraint_virial(kick)
    }

    fn set_long_range_weight(&mut self, weight: f64) -> Result<()> {
        self.cpu.set_long_range_weight(weight)
    }

    fn compute_forces(&mut self, evaluate: Evaluate) -> Result<()> {
        self.cpu.compute_forces(evaluate)
    }

    fn energies_with_charges(&mut self, charges: &[f64]) -> Result<Energies> {
        self.cpu.energies_with_charges(charges)
    }

    fn add_forces(&mut self, added: &AddedForces) -> Result<()> {
        self.cpu.add_forces(added)
    }

    fn energies(&self) -> &Energies {
        self.cpu.energies()
    }
}

impl SubSteps for BatchDevice {
    fn constrain_positions(&mut self, dt: f64) -> Result<()> {
        self.cpu.constrain_positions(dt)
    }
    fn constrain_velocities(&mut self, kick: Option<ClosingKick>) -> Result<()> {
        self.cpu.constrain_velocities(kick)
    }
    fn apply_dpd_thermostat(&mut self, thermostat: &Dissipative, noise: NoiseKey) -> Result<()> {
        self.cpu.apply_dpd_thermostat(thermostat, noise)
    }
    fn check_dpd_thermostat(&self, thermostat: &Dissipative) -> Result<()> {
        self.cpu.check_dpd_thermostat(thermostat)
    }
    fn has_contacts(&self) -> bool {
        self.cpu.has_contacts()
    }
    fn apply_contact_friction(&mut self, dt: f64) -> Result<()> {
        self.cpu.apply_contact_friction(dt)
    }
    fn has_reflecting_walls(&self) -> bool {
        self.cpu.has_reflecting_walls()
    }
    fn reflect(&mut self, part: f64) -> Result<()> {
        self.cpu.reflect(part)
    }
    fn kick(&mut self, dt: f64) -> Result<()> {
        self.cpu.kick(dt)
    }

    fn drift(&mut self, dt: f64) -> Result<()> {
        self.cpu.drift(dt)
    }

    fn kinetic(&mut self) -> Result<Kinetic> {
        self.cpu.kinetic()
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<()> {
        self.cpu.scale_velocities(factor)
    }

    fn shift_velocities(&mut self, delta: Vec3) -> Result<()> {
        self.cpu.shift_velocities(delta)
    }

    fn ornstein_uhlenbeck(&mut self, decay: f64, thermal_energy: f64, noise: NoiseKey) -> Result<()> {
        self.cpu.ornstein_uhlenbeck(decay, thermal_energy, noise)
    }

    fn descent(&mut self) -> Result<Descent> {
        self.cpu.descent()
    }

    fn mix_velocities(&mut self, keep: f64, along: f64) -> Result<()> {
        self.cpu.mix_velocities(keep, along)
    }
}

impl VolumeMove for BatchDevice {}

impl DeviceReport for BatchDevice {
    fn describe(&self) -> String {
        self.cpu.describe()
    }

    fn timings(&self) -> Timings {
        self.cpu.timings()
    }

    fn neighbor_facts(&self) -> NeighborFacts {
        self.cpu.neighbor_facts()
    }
}

impl Backend for BatchDevice {
    fn run_steps(&mut self, batch: &StepBatch, thermostat: &mut Thermostat) -> Result<Option<Vec<Sample>>> {
        self.batches.lock().unwrap().push(batch.steps);
        let mut samples = Vec::new();
        for k in 1..=batch.steps {
            let sampled = batch.sample_every > 0 && k % batch.sample_every == 0;
            let evaluate = match sampled {
                true => Evaluate::ForcesAndEnergies,
                false if k == batch.steps => batch.evaluate,
                false => Evaluate::Forces,
            };
            let context = StepContext {
                seed: batch.seed,
                step: batch.first_step + k - 1,
                timestep: batch.timestep,
                long_range_weight: batch.long_range.after(k),
            };
            step(&mut *self.cpu, thermostat, &context, evaluate)?;
            if sampled {
                let (energies, kinetic) = (self.cpu.energies().clone(), self.cpu.kinetic()?);
                samples.push(Sample { energies, kinetic, thermostat: thermostat.clone(), biases: None });
            }
        }
        Ok(Some(samples))
    }

    fn bias_place(&mut self) -> BiasPlace<'_> {
        self.cpu.bias_place()
    }
}

/// Observer of step, time and conserved quantity.
struct Witness {
    every: u64,
    requested: Evaluate,
    seen: Sender<(u64, f64, Option<f64>)>,
}

impl Observer for Witness {
    fn every(&self) -> u64 {
        self.every
    }
    fn requested(&self) -> Evaluate {
        self.requested
    }
    fn observe(&mut self, context: &mut Context) -> Result<()> {
        let conserved = context.thermo().and_then(|t| t.conserved);
        // The receiver lives as long as the simulation.
        let _ = self.seen.send((context.step(), context.time(), conserved));
        Ok(())
    }
}

/// Driving of a device.
#[derive(Clone, Copy, PartialEq)]
enum Driving {
    StepByStep,
    /// Batches, with an interruption after every `interval` of them.
    InBatches {
        interval: u64,
    },
}

/// Result of a run.
struct Ran {
    simulation: Simulation,
    seen: Vec<(u64, f64, Option<f64>)>,
    batches: Vec<u64>,
}

fn system() -> System {
    argon(108, 0.8, 1.4, 1)
}

/// Argon in pairs at a constrained distance: the pairs would separate if a device that makes steps on its own
/// omitted the constraints.
fn dumbbells() -> System {
    let mut system = system();
    let nearest = (2f64.sqrt() / 0.8).cbrt();
    for first in (0..108).step_by(2) {
        let atoms = [first, first + 1];
        system.topology.constraints.push(Constraint { atoms, length: nearest });
    }
    system
}

fn run(system: &System, stages: &[StageInput], driving: Driving, folder: &Path) -> Ran {
    let (seen, batches) = (channel(), Arc::new(Mutex::new(Vec::new())));
    let build = || {
        let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Shifted, &[1.0, 1.0], 2.2);
        let settings = Settings { threads: Some(1), reproducible: true, ..Settings::default() };
        let mut builder =
            Simulation::builder(UnitSystem::Lj, system.clone()).force(lj).seed(7).settings(settings);
        for stage in stages {
            builder = builder.stage(stage.clone());
        }
        for (every, requested) in [(6, Evaluate::Forces), (11, Evaluate::ForcesAndEnergies)] {
            builder = builder.observer(Witness { every, requested, seen: seen.0.clone() });
        }
        let batches = batches.clone();
        match driving {
            Driving::StepByStep => builder,
            Driving::InBatches { .. } => builder.open_with(move |system, terms, settings| {
                Ok(Box::new(BatchDevice { cpu: jostle_cpu::open(system, terms, settings)?, batches }))
            }),
        }
    };
    let mut simulation = build().build().unwrap();
    simulation.write_to(folder, Existing::Refuse).unwrap();
    loop {
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            matches!(driving, Driving::InBatches { interval } if asked.get() >= interval)
        };
        if simulation.run_with(&mut (), &stop).unwrap() == Outcome::Finished {
            break;
        }
        drop(simulation);
        simulation = build().resume(folder).unwrap();
    }
    let batches = batches.lock().unwrap().clone();
    Ran { simulation, seen: seen.1.try_iter().collect(), batches }
}

fn check(stages: &[StageInput]) {
    check_system(&system(), stages);
}

/// Compares a run step by step with runs in batches, uninterrupted and interrupted.
fn check_system(system: &System, stages: &[StageInput]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut whole = run(system, stages, Driving::StepByStep, &path.join("steps"));
    assert!(whole.batches.is_empty());
    for interval in [u64::MAX, 4] {
        let name = format!("batches {interval}");
        let mut other = run(system, stages, Driving::InBatches { interval }, &path.join(&name));
        assert!(other.batches.iter().any(|n| *n > 1), "{name}: {:?}", other.batches);
        let (a, b) = (&mut whole.simulation, &mut other.simulation);
        assert_eq!((a.step(), a.time()), (b.step(), b.time()), "{name}");
        assert_eq!(a.unwrapped_positions().unwrap(), b.unwrapped_positions().unwrap(), "{name}");
        assert_eq!(a.velocities().unwrap(), b.velocities().unwrap(), "{name}");
        if interval == u64::MAX {
            // The last measurement is not kept in checkpoints.
            assert_eq!(a.thermo(), b.thermo());
        }
        assert_eq!(whole.seen, other.seen, "{name}");
        for (a, b) in a.reports().iter().zip(b.reports()) {
            assert_eq!((&a.averages, &a.drift, a.steps), (&b.averages, &b.drift, b.steps), "{name}");
        }
        let mut compared = 0;
        for file in fs::read_dir(path.join("steps")).unwrap() {
            let file = file.unwrap().file_name();
            let text = file.to_string_lossy().into_owned();
            if text.ends_with(".csv") || text.ends_with(".xyz") {
                let read = |folder: &str| fs::read(path.join(folder).join(&file)).unwrap();
                assert!(read("steps") == read(&name), "{name}: {text}");
                compared += 1;
            }
        }
        let frames = stages.iter().filter(|s| s.trajectory.is_some()).count();
        // A measure has one table or two and, where there are enough frames, a file of single numbers.
        let measured = stages.iter().map(|s| s.measures.len()).sum::<usize>();
        assert!((measured..=3 * measured).contains(&(compared - 1 - frames)), "{name}: {compared}");
    }
}

fn stage(name: &str, rows: u64) -> StageInput {
    StageInput::dynamics(name, 130, 0.005).thermo(rows)
}

fn frames(mut stage: StageInput, every: u64) -> StageInput {
    stage.trajectory = Some(TrajectoryInput { every, format: TrajectoryFormat::Xyz });
    stage
}

#[test]
fn rows_and_frames_at_steps_of_their_own() {
    let mut saving = stage("saving", 4);
    saving.checkpoint_every = 9;
    check(&[frames(stage("dense", 1), 7), stage("none", 0), frames(saving, 50), stage("rare", 100)]);
}

/// Measures get the atoms of their steps, whatever other output there is.
#[test]
fn measures_at_steps_of_their_own() {
    let msd = jostle_analysis::kinds::find("msd").unwrap();
    let measured = |name: &str, rows, every| {
        stage(name, rows).measure(every, msd, jostle_analysis::MeasureSettings::default())
    };
    check(&[measured("dense", 5, 1), frames(measured("none", 0, 3), 7), measured("rare", 4, 6)]);
}

#[test]
fn every_thermostat() {
    for thermostat in [
        ThermostatInput::rescale(1.0, 8),
        ThermostatInput::langevin(1.0, 1.0),
        ThermostatInput::nose_hoover(1.0, 0.5, 3),
        ThermostatInput::bussi(1.0, 0.5),
    ] {
        check(&[stage("first", 5).thermostat(thermostat), stage("second", 3).thermostat(thermostat)]);
    }
}

/// Constraints are satisfied in steps of a batch, with noise in the middle of a step, too.
#[test]
fn constraints_are_kept_in_batches() {
    let langevin = ThermostatInput::langevin(1.0, 1.0);
    check_system(&dumbbells(), &[stage("free", 5), stage("noise", 3).thermostat(langevin)]);
}

/// A batch ends where the volume may change, and energies are evaluated there.
#[test]
fn every_barostat() {
    let bussi = ThermostatInput::bussi(1.0, 0.5);
    let chain = ThermostatInput::nose_hoover(1.0, 0.5, 3);
    let trials = Barostat::MonteCarlo { pressure: 1.0, coupling: Coupling::Isotropic, every: 7 };
    let walk = Barostat::CellRescaling { pressure: 1.0, time: 2.5, compressibility: 0.1, every: 10 };
    let moving = Barostat::MartynaTobiasKlein { pressure: 1.0, time: 2.5, every: 10 };
    check(&[
        frames(stage("trials", 5).thermostat(bussi).barostat(trials), 7),
        stage("no rows", 0).thermostat(bussi).barostat(trials),
        stage("walk", 3).thermostat(chain).barostat(walk),
        stage("moving", 3).thermostat(chain).barostat(moving),
    ]);
}

/// Measures of the whole system get samples without ending a batch.
#[test]
fn pressures_at_steps_of_their_own() {
    let viscosity = jostle_analysis::kinds::find("viscosity").unwrap();
    let settings =
        jostle_analysis::MeasureSettings::of(viscosity.settings, |s| (s.name == "to").then_some(0.1));
    let measured = |name: &str, rows, every| stage(name, rows).measure(every, viscosity, settings.clone());
    check(&[measured("dense", 5, 1), frames(measured("none", 0, 3), 7), measured("rare", 4, 6)]);
}

/// A minimisation is never made in batches.
#[test]
fn minimisation_is_step_by_step() {
    check(&[stage("heat", 10), StageInput::minimize("relax", 40, 1e-9, 0.002), stage("run", 10)]);
}

/// Shared state of a visitor: the interval of its observations, and whether it pulls.
#[derive(Default)]
struct Visit {
    every: AtomicU64,
    pulls: AtomicBool,
}

/// Observer that pulls from step 40 to step 60 and looks more seldom from then on.
struct Visitor(Arc<Visit>, Sender<u64>);

impl Observer for Visitor {
    fn every(&self) -> u64 {
        self.0.every.load(Ordering::Relaxed)
    }
    fn requested(&self) -> Evaluate {
        Evaluate::Forces
    }
    fn observe(&mut self, context: &mut Context) -> Result<()> {
        let step = context.step();
        self.0.pulls.store((40..60).contains(&step), Ordering::Relaxed);
        self.0.every.store(if step < 60 { 10 } else { 30 }, Ordering::Relaxed);
        // The receiver lives as long as the simulation.
        let _ = self.1.send(step);
        Ok(())
    }
}

/// Force without energy on an atom while the visitor pulls.
struct VisitorForce(Arc<Visit>, &'static [u32]);

impl CustomForce for VisitorForce {
    fn name(&self) -> &str {
        "visitor"
    }
    fn energy_column(&self) -> EnergyColumn {
        EnergyColumn::Absent
    }
    fn atoms(&self) -> AtomChoice<'_> {
        AtomChoice::Ids(self.1)
    }
    fn momentum(&self) -> Momentum {
        Momentum::Conserved
    }
    fn prepare(&mut self, _action: &Action) -> Result<()> {
        self.1 = if self.0.pulls.load(Ordering::Relaxed) { &[5] } else { &[] };
        Ok(())
    }
    fn evaluate(&mut self, _now: &Configuration, forces: &mut AtomForces) -> Result<ForceSums> {
        forces[0] = Vector([3.0, 0.0, 0.0]);
        Ok(ForceSums::default())
    }
}

/// A force that acts for a while costs a device its batches for this while alone, and has no column; an observer may
/// change its interval.
#[test]
fn steps_are_single_only_while_a_force_acts() {
    let (seen, batches) = (channel(), Arc::new(Mutex::new(Vec::new())));
    let visit = Arc::new(Visit { every: 10.into(), ..Visit::default() });
    let device = batches.clone();
    let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Shifted, &[1.0, 1.0], 2.2);
    let mut simulation = Simulation::builder(UnitSystem::Lj, system())
        .force(lj)
        .stage(StageInput::dynamics("visited", 120, 0.005).thermo(20))
        .observer(Visitor(visit.clone(), seen.0))
        .custom_force(VisitorForce(visit, &[]))
        .open_with(move |system, terms, settings| {
            Ok(Box::new(BatchDevice { cpu: jostle_cpu::open(system, terms, settings)?, batches: device }))
        })
        .build()
        .unwrap();
    assert!(simulation.quantities().iter().all(|quantity| quantity.name != "visitor"));
    simulation.run().unwrap();
    assert_eq!(seen.1.try_iter().collect::<Vec<u64>>(), [0, 10, 20, 30, 40, 50, 60, 90, 120]);
    assert_eq!(batches.lock().unwrap().iter().sum::<u64>(), 100, "all steps but those from 41 to 60");
    let thermo = simulation.thermo().unwrap();
    assert_eq!(thermo.values().count(), simulation.quantities().len());
}
