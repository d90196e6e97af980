//! Long-range forces that act at some steps only (`long_range_every`), on the CPU and the emulated GPU.

use crate::fixtures::{Open, emulated, stop_every, thermo_csv};
use jostle_core::thermostat::Langevin;
use jostle_core::{
    Energies, Evaluate, Precision, RespaSchedule, Result, Settings, State, System, Thermostat, UnitSystem,
    Vec3,
};
use jostle_engine::model::{Barostat, Coupling, DeviceInput, StageInput, ThermostatInput};
use jostle_engine::step::{StepContext, evaluate_forces, step};
use jostle_engine::{Context, Existing, Observer, Outcome, Simulation, SimulationBuilder, system_from_input};
use jostle_io::Input;
use jostle_potentials::Forces;
use std::path::Path;

const DEVICES: [(&str, Open); 2] = [("cpu", jostle_cpu::open), ("gpu", emulated)];

/// Water of three sites, or of four (TIP4P/2005), and one stage.
fn text(sites: usize, molecules: usize, cutoff: f64, stage: &str) -> String {
    let (shape, charges, site, pairs) = match sites {
        3 => ("bond_length = 0.1\nbond_angle = 109.47", ["-0.8476", "0.4238"], "", ""),
        _ => (
            "bond_length = 0.09572\nbond_angle = 104.52\nsite_distance = 0.01546",
            ["0", "0.5564"],
            "[species.M]\ncharge = -1.1128\n",
            "pairs.\"O-M\" = \"none\"\npairs.\"H-M\" = \"none\"\npairs.\"M-M\" = \"none\"\n",
        ),
    };
    let [oxygen, hydrogen] = charges;
    format!(
        "units = \"nano\"\n[system]\nplace = \"water\"\nmolecules = {molecules}\n{shape}\n\
         density = \"0.99 g/cm3\"\ntemperature = 300\nseed = 3\n\
         [species.O]\nmass = 15.9994\ncharge = {oxygen}\n[species.H]\nmass = 1.008\ncharge = {hydrogen}\n{site}\
         [[force]]\nkind = \"lennard-jones\"\ncutoff = {cutoff}\ntruncation = \"force-shifted\"\n\
         pairs.\"O-O\" = {{ epsilon = 0.65, sigma = 0.3166 }}\npairs.\"O-H\" = \"none\"\n\
         pairs.\"H-H\" = \"none\"\n{pairs}[electrostatics]\nkind = \"pme\"\n{stage}"
    )
}

fn settings() -> Settings {
    Settings { threads: Some(1), precision: Precision::Double, reproducible: true, ..Settings::default() }
}

/// Water in equilibrium.
fn settled(sites: usize, molecules: usize, cutoff: f64) -> (System, Forces) {
    let input = Input::parse(Path::new("water.toml"), &text(sites, molecules, cutoff, "")).unwrap();
    let (mut system, forces) = system_from_input(&input).unwrap();
    let langevin = ThermostatInput::langevin(300.0, 20.0);
    let mut simulation = builder(&system, &forces)
        .stage(StageInput::dynamics("settle", 1500, 0.0005).thermostat(langevin))
        .device(DeviceInput::Cpu)
        .build()
        .unwrap();
    simulation.run().unwrap();
    system.state.position = simulation.unwrapped_positions().unwrap();
    system.state.velocity = simulation.velocities().unwrap();
    (system, forces)
}

fn builder(system: &System, forces: &Forces) -> SimulationBuilder {
    let builder = Simulation::builder(UnitSystem::Nano, system.clone()).settings(settings()).seed(5);
    let builder = forces.pairs.iter().fold(builder, |builder, pair| builder.force(pair.clone()));
    forces.electrostatics.iter().fold(builder, |builder, term| builder.electrostatics(*term))
}

/// Unwrapped positions and velocities, by id.
fn by_id(system: &System, state: &State) -> [Vec<Vec3>; 2] {
    let index_by_id = state.index_by_id();
    let at = |index: usize| state.position[index] + system.simbox.shift(state.image[index]);
    [index_by_id.iter().map(at).collect(), index_by_id.iter().map(|index| state.velocity[index]).collect()]
}

/// Positions and velocities after some time at constant energy.
fn go(
    [position, velocity]: &[Vec<Vec3>; 2],
    of: &(System, Forces),
    timestep: f64,
    every: u64,
    steps: u64,
) -> [Vec<Vec3>; 2] {
    let mut system = of.0.clone();
    (system.state.position, system.state.velocity) = (position.clone(), velocity.clone());
    let mut backend = jostle_cpu::open(system.clone(), of.1.clone(), settings()).unwrap();
    let schedule = RespaSchedule { every, done: 0 };
    backend.constrain_velocities(None).unwrap();
    backend.update_neighbors().unwrap();
    evaluate_forces(&mut *backend, Evaluate::Forces, schedule.after(0), None).unwrap();
    for k in 1..=steps {
        let context = StepContext { seed: 0, step: k, timestep, long_range_weight: schedule.after(k) };
        step(&mut *backend, &mut Thermostat::Isolated, &context, Evaluate::Forces).unwrap();
    }
    by_id(&system, backend.state().unwrap())
}

fn distance(a: &[Vec3], b: &[Vec3]) -> f64 {
    let square = |(a, b): (&Vec3, &Vec3)| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>();
    (a.iter().zip(b).map(square).sum::<f64>() / a.len() as f64).sqrt()
}

/// Half the time step gives a quarter of the error, and reversed velocities lead back to the start, also from
/// the middle of an impulse.
#[test]
fn trajectories_converge_and_are_reversible() {
    let of = settled(3, 125, 0.7);
    let start = [of.0.state.position.clone(), of.0.state.velocity.clone()];
    for every in [2, 3] {
        let [exact, _] = go(&start, &of, 0.000_125, 1, 384);
        let errors = [0.002, 0.001, 0.0005].map(|timestep: f64| {
            let steps = (0.048 / timestep).round() as u64;
            distance(&go(&start, &of, timestep, every, steps)[0], &exact)
        });
        println!("every {every}: {errors:?}");
        for pair in errors.windows(2) {
            let ratio = pair[0] / pair[1];
            assert!((3.0..5.5).contains(&ratio), "every {every}: errors {errors:?}");
        }
        let [plain, _] = go(&start, &of, 0.002, 1, 24);
        assert!(distance(&plain, &exact) < errors[0], "long-range forces acted at every step");

        let mut turned = go(&start, &of, 0.002, every, 60);
        assert!(distance(&turned[0], &start[0]) > 0.01);
        turned[1].iter_mut().flatten().for_each(|v| *v = -*v);
        let back = distance(&go(&turned, &of, 0.002, every, 60)[0], &start[0]);
        assert!(back < 1e-9, "every {every}: {back:e} from the start");
    }
}

/// Energy is conserved, and averages equal those with long-range forces at every step.
#[test]
fn averages_do_not_depend_on_the_interval() {
    let (system, forces) = settled(3, 125, 0.7);
    let bussi = ThermostatInput::bussi(300.0, 0.1);
    let run = |every: u64| {
        let stage = |name: &str, steps| StageInput::dynamics(name, steps, 0.002).thermo(4).long_range(every);
        let mut simulation = builder(&system, &forces)
            .settings(Settings { precision: Precision::Mixed, ..settings() })
            .stage(stage("warm", 2000).thermostat(bussi))
            .stage(stage("sample", 4000).thermostat(bussi))
            .stage(stage("alone", 2000))
            .device(DeviceInput::Cpu)
            .build()
            .unwrap();
        simulation.run().unwrap();
        simulation.reports().to_vec()
    };
    let [plain, pulsed] = [1, 2].map(run);
    for quantity in ["temperature", "potential", "pressure"] {
        let [a, b] = [&plain, &pulsed].map(|reports| {
            reports[1].averages.iter().find(|a| a.quantity == quantity).unwrap().estimate.unwrap()
        });
        println!("{quantity}: {a:?} {b:?}");
        let error = a.error.hypot(b.error);
        assert!((a.mean - b.mean).abs() < 4.0 * error, "{quantity}: {} and {}, {error}", a.mean, b.mean);
    }
    for reports in [plain, pulsed] {
        let drift = reports[2].drift.as_ref().unwrap();
        println!("{drift:?}");
        assert!(drift.of_kinetic.abs() < 5e-3, "{drift:?}");
    }
}

/// Energies, virial and forces after one step at whose end long-range forces have this weight.
fn one_step(
    open: Open,
    of: &(System, Forces),
    thermostat: &Thermostat,
    long_range_weight: f64,
) -> (Energies, Vec<Vec3>) {
    let mut backend = open(of.0.clone(), of.1.clone(), settings()).unwrap();
    backend.constrain_velocities(None).unwrap();
    backend.update_neighbors().unwrap();
    backend.compute_forces(Evaluate::Forces).unwrap();
    let context = StepContext { seed: 4, step: 1, timestep: 0.002, long_range_weight };
    step(&mut *backend, &mut thermostat.clone(), &context, Evaluate::ForcesAndEnergies).unwrap();
    let energies = backend.energies().clone();
    let state = backend.state().unwrap();
    (energies, state.index_by_id().into_iter().map(|index| state.force[index]).collect())
}

/// Energies and virial take long-range forces at weight 1, constraints and virtual sites included; forces
/// take them at the weight of the step.
#[test]
fn energies_do_not_depend_on_the_weight() {
    for sites in [3, 4] {
        let of = settled(sites, 64, 0.6);
        let langevin = Thermostat::Langevin(Langevin::new(2.5, 10.0, 0.002));
        for ((device, open), thermostat) in DEVICES
            .into_iter()
            .flat_map(|device| [(device, Thermostat::Isolated), (device, langevin.clone())])
        {
            let (energies, plain) = one_step(open, &of, &thermostat, 1.0);
            let (again, threefold) = one_step(open, &of, &thermostat, 3.0);
            let (without, near) = one_step(open, &of, &thermostat, 0.0);
            let scale = energies.virial.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
            for other in [again, without] {
                for (a, b) in energies.terms.iter().zip(&other.terms) {
                    assert!((a - b).abs() < 1e-9 * a.abs(), "{device}: {energies:?} {other:?}");
                }
                for (a, b) in energies.virial.iter().zip(other.virial) {
                    assert!((a - b).abs() < 1e-8 * scale, "{device} {sites}: {energies:?} {other:?}");
                }
            }
            let long_range = |near: &[Vec3], all: &[Vec3], weight: f64| -> Vec<Vec3> {
                let one = |(a, b): (&Vec3, &Vec3)| (*b - *a) / weight;
                near.iter().zip(all).map(one).collect()
            };
            let (once, thrice) = (long_range(&near, &plain, 1.0), long_range(&near, &threefold, 3.0));
            let size = distance(&once, &vec![Vec3::ZERO; once.len()]);
            assert!(
                size > 1.0 && distance(&once, &thrice) < 1e-9 * size,
                "{device}: long-range forces of {size}"
            );
        }
    }
}

/// A run interrupted anywhere equals the uninterrupted one to the last bit, barostats included, and so does a
/// run without rows; the GPU reproduces the run of the CPU.
#[test]
fn resumed_runs_equal_uninterrupted_ones_on_every_device() {
    let of = settled(3, 64, 0.55);
    let bussi = ThermostatInput::bussi(300.0, 0.1);
    let langevin = ThermostatInput::langevin(300.0, 5.0);
    let trials = Barostat::MonteCarlo { pressure: 6.0, coupling: Coupling::Isotropic, every: 12 };
    let walk = Barostat::CellRescaling { pressure: 6.0, time: 10.0, compressibility: 1e-6, every: 10 };
    let moving = Barostat::MartynaTobiasKlein { pressure: 6.0, time: 2.0, every: 6 };
    let stage =
        |name: &str, every, thermo| StageInput::dynamics(name, 60, 0.002).long_range(every).thermo(thermo);
    let build_with = |open: Open, rows: [u64; 3]| {
        builder(&of.0, &of.1)
            .stage(stage("trials", 2, rows[0]).thermostat(langevin).barostat(trials))
            .stage(stage("walk", 2, rows[1]).thermostat(bussi).barostat(walk))
            .stage(stage("moving", 2, rows[1]).thermostat(bussi).barostat(moving))
            .stage(stage("alone", 3, rows[2]))
            .open_with(open)
    };
    let build = |open| build_with(open, [12, 10, 15]);
    let folder = tempfile::tempdir().unwrap();
    let rows = |name: &str| {
        let text = thermo_csv(&folder.path().join(name));
        text.lines().skip(1).map(str::to_string).collect::<Vec<_>>()
    };
    let mut ends = Vec::new();
    for (device, open) in DEVICES {
        let mut whole = build(open).build().unwrap();
        whole.write_to(&folder.path().join(device), Existing::Refuse).unwrap();
        whole.run().unwrap();
        let parts = format!("{device} in parts");
        let path = folder.path().join(&parts);
        let mut cut = build(open).build().unwrap();
        cut.write_to(&path, Existing::Refuse).unwrap();
        let stop = stop_every(if device == "cpu" { 13 } else { 3 });
        let mut stops = Vec::new();
        while cut.run_with(&mut (), &stop).unwrap() == Outcome::Interrupted {
            stops.push(cut.step());
            drop(cut);
            cut = build(open).resume(&path).unwrap();
        }
        assert!(stops.len() > 3, "{stops:?}");
        assert_eq!(
            whole.unwrapped_positions().unwrap(),
            cut.unwrapped_positions().unwrap(),
            "{parts}: {stops:?}"
        );
        assert_eq!(whole.velocities().unwrap(), cut.velocities().unwrap(), "{parts}");
        assert_eq!(rows(device), rows(&parts), "{parts}");
        let mut unseen = build_with(open, [0, 30, 0]).build().unwrap();
        unseen.run().unwrap();
        assert_eq!(whole.unwrapped_positions().unwrap(), unseen.unwrapped_positions().unwrap(), "{device}");
        ends.push(whole.unwrapped_positions().unwrap());
    }
    // Rounding, grown for a third of a picosecond.
    let apart = distance(&ends[0], &ends[1]);
    assert!(apart < 1e-7, "{apart:e}");
    for (a, b) in rows("cpu").iter().zip(rows("gpu")) {
        for (a, b) in a.split(',').zip(b.split(',')) {
            if let (Ok(a), Ok(b)) = (a.parse::<f64>(), b.parse::<f64>()) {
                assert!((a - b).abs() < 1e-4 * a.abs().max(1.0), "{a} {b}");
            }
        }
    }
}

/// Observer at odd steps.
struct Odd;

impl Observer for Odd {
    fn every(&self) -> u64 {
        7
    }
    fn observe(&mut self, _: &mut Context) -> Result<()> {
        Ok(())
    }
}

/// Intervals that are no multiples of `long_range_every` are refused at their line.
#[test]
fn odd_intervals_are_refused() {
    let stage = "[[stage]]\nsteps = 100\ntimestep = 0.002\nthermo = { every = 10 }\nlong_range_every = 2\n";
    let refused = |text: String| {
        let error = Input::parse(Path::new("water.toml"), &text).unwrap_err();
        let line = error.place().and_then(|place| place.line).unwrap();
        (error.message().to_string(), text.lines().nth(line - 1).unwrap().to_string())
    };
    let good = text(3, 64, 0.6, stage);
    Input::parse(Path::new("water.toml"), &good).unwrap();
    for (from, to, message) in [
        ("steps = 100", "steps = 101", "steps = 101 is no multiple of long_range_every = 2"),
        ("{ every = 10 }", "{ every = 25 }", "thermo: every = 25 is no multiple of long_range_every = 2"),
        ("every = 2\n", "every = 2\ntrajectory = { every = 5 }\n", "trajectory: every = 5 is no multiple"),
        ("every = 2\n", "every = 2\nmeasure = [{ kind = \"rdf\", every = 9 }]\n", "measure: every = 9 is no"),
        ("kind = \"pme\"", "kind = \"reaction-field\"", "no reciprocal-space sum of charges"),
        ("every = 2\n", "every = 0\n", "long_range_every"),
    ] {
        let (found, line) = refused(good.replace(from, to));
        assert!(found.contains(message), "{found}");
        assert!(
            line.contains(message.split([':', ' ']).next().unwrap()) || line.contains("long_range"),
            "{line}"
        );
    }
    let minimize = "[[stage]]\nminimize = { force_tolerance = 1 }\nlong_range_every = 2\n";
    assert!(refused(text(3, 64, 0.6, minimize)).0.contains("long_range_every"));
    let (system, forces) = system_from_input(&Input::parse(Path::new("water.toml"), &good).unwrap()).unwrap();
    let odd = StageInput::dynamics("odd", 9, 0.002).long_range(2);
    let error = builder(&system, &forces).stage(odd).build().map(drop).unwrap_err();
    assert!(error.message().contains("stage 'odd': steps = 9 is no multiple"), "{error}");
    let even = StageInput::dynamics("even", 10, 0.002).long_range(2);
    let mut seen =
        builder(&system, &forces).stage(even).observer(Odd).device(DeviceInput::Cpu).build().unwrap();
    let error = seen.run().map(drop).unwrap_err();
    assert!(error.message().contains("looks every 7 steps"), "{error}");
}
