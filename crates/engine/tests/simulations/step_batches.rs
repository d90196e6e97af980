//! A device that makes many steps on its own gives the same run, bit for bit, as one that is driven
//! step by step, however the run is cut into batches.

use jostle_core::backend::{Descent, NeighborFacts, Timings};
use jostle_core::{
    Backend, ClosingKick, Energies, Evaluate, Kinetic, NoiseKey, Result, Sample, Settings, SimBox, Species,
    State, StepBatch, System, Thermostat, UnitSystem, Vec3,
};
use jostle_engine::model::{
    Barostat, Coupling, DensityInput, Distribution, Lattice, LatticeExtent, StageInput, ThermostatInput,
    TrajectoryFormat, TrajectoryInput,
};
use jostle_engine::step::{StepContext, step};
use jostle_engine::{Context, Existing, Mixture, Observer, Outcome, Simulation, assign_velocities};
use jostle_potentials::{PairKind, PairTerm, Truncation};
use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

/// The CPU, made to look like a device that makes steps on its own.
struct Alone {
    cpu: Box<dyn Backend>,
    /// The length of every batch it was asked for.
    batches: Arc<Mutex<Vec<u64>>>,
}

impl Backend for Alone {
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
                let (energies, kinetic) = (self.cpu.energies().clone(), self.cpu.kinetic());
                samples.push(Sample { energies, kinetic, thermostat: thermostat.clone() });
            }
        }
        Ok(Some(samples))
    }

    fn describe(&self) -> String {
        self.cpu.describe()
    }
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
    fn kick(&mut self, dt: f64) {
        self.cpu.kick(dt);
    }
    fn drift(&mut self, dt: f64) {
        self.cpu.drift(dt);
    }
    fn update_neighbors(&mut self) -> Result<()> {
        self.cpu.update_neighbors()
    }
    fn add_constraint_virial(&mut self, kick: ClosingKick) {
        self.cpu.add_constraint_virial(kick);
    }
    fn set_long_range_weight(&mut self, weight: f64) {
        self.cpu.set_long_range_weight(weight);
    }
    fn compute_forces(&mut self, evaluate: Evaluate) -> Result<()> {
        self.cpu.compute_forces(evaluate)
    }
    fn energies(&self) -> &Energies {
        self.cpu.energies()
    }
    fn kinetic(&mut self) -> Kinetic {
        self.cpu.kinetic()
    }
    fn scale_velocities(&mut self, factor: f64) {
        self.cpu.scale_velocities(factor);
    }
    fn shift_velocities(&mut self, delta: Vec3) {
        self.cpu.shift_velocities(delta);
    }
    fn ornstein_uhlenbeck(&mut self, decay: f64, thermal_energy: f64, noise: NoiseKey) {
        self.cpu.ornstein_uhlenbeck(decay, thermal_energy, noise);
    }
    fn descent(&mut self) -> Descent {
        self.cpu.descent()
    }
    fn mix_velocities(&mut self, keep: f64, along: f64) {
        self.cpu.mix_velocities(keep, along);
    }
    fn timings(&self) -> Timings {
        self.cpu.timings()
    }
    fn neighbor_facts(&self) -> NeighborFacts {
        self.cpu.neighbor_facts()
    }
}

/// Tells the step, the time and the energy it sees.
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

/// How steps are made.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    ByVerbs,
    /// In batches; interrupted after every so many of them.
    InBatches {
        interval: u64,
    },
}

/// What came of a run.
struct Ran {
    simulation: Simulation,
    seen: Vec<(u64, f64, Option<f64>)>,
    batches: Vec<u64>,
}

fn system() -> System {
    let argon = Species { name: "Ar".into(), mass: 1.0, charge: 0.0 };
    let (extent, density) = (LatticeExtent::Atoms(108), DensityInput::Number(0.8));
    let mixture = Mixture::new(UnitSystem::Lj).with(argon, None);
    let mut system = mixture.lattice(Lattice::Fcc, extent, density, 1).unwrap();
    assign_velocities(&mut system, 1.4, Distribution::Maxwell, 1);
    system
}

fn run(stages: &[StageInput], way: Way, folder: &Path) -> Ran {
    let (seen, batches) = (channel(), Arc::new(Mutex::new(Vec::new())));
    let build = || {
        let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Shifted, &[1.0, 1.0], 2.2);
        let settings = Settings { threads: Some(1), reproducible: true, ..Settings::default() };
        let mut builder = Simulation::builder(UnitSystem::Lj, system()).force(lj).seed(7).settings(settings);
        for stage in stages {
            builder = builder.stage(stage.clone());
        }
        for (every, requested) in [(6, Evaluate::Forces), (11, Evaluate::ForcesAndEnergies)] {
            builder = builder.observer(Witness { every, requested, seen: seen.0.clone() });
        }
        let batches = batches.clone();
        match way {
            Way::ByVerbs => builder,
            Way::InBatches { .. } => builder.open_with(move |system, terms, settings| {
                Ok(Box::new(Alone { cpu: jostle_cpu::open(system, terms, settings)?, batches }))
            }),
        }
    };
    let mut simulation = build().build().unwrap();
    simulation.write_to(folder, Existing::Refuse).unwrap();
    loop {
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            matches!(way, Way::InBatches { interval } if asked.get() >= interval)
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

/// Compares a run by verbs with runs in batches, uninterrupted and in pieces.
fn check(stages: &[StageInput]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut whole = run(stages, Way::ByVerbs, &path.join("verbs"));
    assert!(whole.batches.is_empty());
    for interval in [u64::MAX, 4] {
        let name = format!("batches {interval}");
        let mut other = run(stages, Way::InBatches { interval }, &path.join(&name));
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
        for file in fs::read_dir(path.join("verbs")).unwrap() {
            let file = file.unwrap().file_name();
            let text = file.to_string_lossy().into_owned();
            if text.ends_with(".csv") || text.ends_with(".xyz") {
                let read = |folder: &str| fs::read(path.join(folder).join(&file)).unwrap();
                assert!(read("verbs") == read(&name), "{name}: {text}");
                compared += 1;
            }
        }
        let frames = stages.iter().filter(|s| s.trajectory.is_some()).count();
        // Tables, and single numbers where so few frames give any.
        let measured = stages.iter().map(|s| s.measures.len()).sum::<usize>();
        assert!((measured..=2 * measured).contains(&(compared - 1 - frames)), "{name}: {compared}");
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

/// Measures see the atoms of their steps, whatever else there is.
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

/// A batch ends where the volume may change, and energies are known there.
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

/// Those that see the system as a whole are told of their steps without a stop.
#[test]
fn pressures_at_steps_of_their_own() {
    let viscosity = jostle_analysis::kinds::find("viscosity").unwrap();
    let settings =
        jostle_analysis::MeasureSettings::of(viscosity.settings, |s| (s.name == "to").then_some(0.1));
    let measured = |name: &str, rows, every| stage(name, rows).measure(every, viscosity, settings.clone());
    check(&[measured("dense", 5, 1), frames(measured("none", 0, 3), 7), measured("rare", 4, 6)]);
}

/// A minimiser looks at every step itself.
#[test]
fn minimisation_goes_by_verbs() {
    check(&[stage("heat", 10), StageInput::minimize("relax", 40, 1e-9, 0.002), stage("run", 10)]);
}
