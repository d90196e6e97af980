//! Equality of runs on the CPU and on the emulated GPU, and runs that change between them.

use crate::fixtures::{Open, Steps, argon, emulated, stop_every, thermo_csv};
use jostle_core::{
    ErrorKind, Group, Precision, Settings, Species, Topology, UnitSystem, Vec3, WaterShape, WholeGroups,
};
use jostle_cuda::driver::Device;
use jostle_engine::model::{
    Action, Axis, DensityInput, DeviceInput, Distribution, HeatFluxInput, Minimizer, RegionInput, StageInput,
    ThermostatInput, TrajectoryFormat, TrajectoryInput,
};
use jostle_engine::{
    CHECKPOINT, Checkpoint, Existing, Mixture, Outcome, Simulation, SimulationBuilder, assign_velocities,
};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::restraint::{Anchor, Center, Distance, Restraints, Spring};
use jostle_potentials::{Electrostatics, PairEntry, PairKind, PairTerm, Truncation};
use std::cell::Cell;
use std::path::Path;

fn fluid() -> SimulationBuilder {
    let system = argon(1372, 0.8, 1.5, 1);
    let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Shifted, &[1.0, 1.0], 2.0);
    let precision = Precision::Double;
    let settings = Settings { threads: Some(1), reproducible: true, precision, ..Settings::default() };
    Simulation::builder(UnitSystem::Lj, system).force(lj).seed(3).settings(settings)
}

fn builder(thermostat: ThermostatInput) -> SimulationBuilder {
    // A checkpoint in the middle ends a batch there.
    let mut stage = StageInput::dynamics("run", STEPS, 0.005).thermostat(thermostat).thermo(10);
    stage.checkpoint_every = STEPS / 2;
    fluid().stage(stage)
}

const STEPS: u64 = 40;

/// The positions at the end of a run that changes from one device to another in the middle.
fn positions(thermostat: ThermostatInput, first: Open, then: Open, folder: &Path) -> Vec<Vec3> {
    let mut simulation = builder(thermostat).open_with(first).build().unwrap();
    simulation.write_to(folder, Existing::Refuse).unwrap();
    let step = Cell::new(0);
    let outcome = simulation.run_with(&mut Steps(&step), &|| step.get() == STEPS / 2);
    assert_eq!((outcome.unwrap(), simulation.step()), (Outcome::Interrupted, STEPS / 2));
    drop(simulation);
    let mut simulation = builder(thermostat).open_with(then).resume(folder).unwrap();
    assert_eq!(simulation.run().unwrap(), Outcome::Finished);
    let rows = thermo_csv(folder);
    assert_eq!(rows.lines().count() as u64, 2 + STEPS / 10, "{rows}");
    simulation.unwrapped_positions().unwrap()
}

/// Frozen atoms, a group whose temperature is reported, restraints, and a minimiser on the host give the same
/// rows on the GPU as on the CPU. Rows fall between frames, where no other output ends a batch.
#[test]
fn groups_are_the_same_on_every_device() {
    let folder = tempfile::tempdir().unwrap();
    let run = |open: Open, name: &str| {
        let mut system = argon(1372, 0.8, 1.5, 1);
        let frozen: Vec<u32> = (0..1372).filter(|id| id % 5 == 0).collect();
        system.driven = system.driven.with(&system.state, &frozen, Vec3::ZERO);
        frozen.iter().for_each(|id| system.state.velocity[*id as usize] = Vec3::ZERO);
        let group = |name: &str, atoms| Group { name: name.into(), selection: name.into(), atoms };
        system.groups = vec![group("some", (100..400).collect())];
        let places = system.state.position.clone();
        let start = WholeGroups::of_start(&system);
        let center = |atoms: &[u32]| Center::new(&system, &start, atoms);
        let restraints = Restraints {
            springs: [9.0, 4.0].map(Spring::new).to_vec(),
            anchors: (600..650)
                .map(|atom| Anchor { atom, place: places[atom as usize], spring: 0 })
                .collect(),
            distances: vec![Distance {
                centers: [center(&[1, 2, 3]), center(&[801])],
                range: [2.0, 3.0],
                spring: 1,
            }],
        };
        let settings = Settings { threads: Some(1), precision: Precision::Double, ..Settings::default() };
        let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::ForceShifted, &[1.0, 1.0], 2.0);
        let mut simulation = Simulation::builder(UnitSystem::Lj, system)
            .force(lj)
            .restraints(restraints)
            .report("some")
            .settings(settings)
            .stage(StageInput::dynamics("run", 24, 0.004).thermo(6).trajectory(16, TrajectoryFormat::Xyz))
            .stage(StageInput::minimize("relax", 12, 1e-6, 0.005).minimizer(Minimizer::Lbfgs).thermo(4))
            .stage(
                StageInput::minimize("more", 8, 1e-6, 0.005)
                    .minimizer(Minimizer::ConjugateGradient)
                    .thermo(4),
            )
            .open_with(open)
            .build()
            .unwrap();
        let folder = folder.path().join(name);
        simulation.write_to(&folder, Existing::Refuse).unwrap();
        simulation.run().unwrap();
        let rows = thermo_csv(&folder);
        let header = rows.lines().next().unwrap();
        let column = |name: &str| header.split(',').position(|c| c == name).unwrap();
        let columns = ["potential", "restraint", "temperature_some", "x_some", "pressure"].map(column);
        let row = |line: &str| {
            let values: Vec<&str> = line.split(',').collect();
            columns.map(|k| values[k].parse::<f64>().unwrap())
        };
        rows.lines().skip(1).map(row).collect::<Vec<_>>()
    };
    let (right, found) = (run(jostle_cpu::open, "cpu"), run(emulated, "gpu"));
    assert_eq!((right.len(), found.len()), (5 + 3 + 2, 5 + 3 + 2));
    for (a, b) in right.iter().flatten().zip(found.iter().flatten()) {
        assert!((a - b).abs() < 1e-6 * b.abs().max(1.0), "{a} {b}: {right:?} {found:?}");
    }
    assert!(right[1][2] > 0.5 && right[4][1] > 1.0, "{right:?}");
    assert!(right[9][0] < right[5][0], "{right:?}");
}

#[test]
fn a_run_changes_devices() {
    let langevin = ThermostatInput::langevin(1.0, 1.0);
    let bussi = ThermostatInput::bussi(1.0, 0.2);
    for (name, thermostat) in [("langevin", langevin), ("bussi", bussi)] {
        let folder = tempfile::tempdir().unwrap();
        let cpu: Open = jostle_cpu::open;
        let wanted = positions(thermostat, cpu, cpu, &folder.path().join("cpu"));
        for (change, first, then) in [("to gpu", cpu, emulated as Open), ("to cpu", emulated as Open, cpu)] {
            let got = positions(thermostat, first, then, &folder.path().join(change));
            // Rounding, grown by collisions for a third of a time unit.
            let far = |(a, b): (&Vec3, &Vec3)| (0..3).map(|k| (a[k] - b[k]).abs()).fold(0.0, f64::max);
            let farthest = wanted.iter().zip(&got).map(far).fold(0.0, f64::max);
            assert!(farthest < 1e-9, "{name} {change}: {farthest}");
        }
    }
}

/// With `reproducible = true` an interrupted run on the GPU equals the uninterrupted one, bit for bit.
#[test]
fn resumed_runs_equal_uninterrupted_ones_on_the_gpu() {
    for precision in [Precision::Mixed, Precision::Double] {
        let build = || {
            let nose_hoover = ThermostatInput::nose_hoover(1.0, 0.5, 2);
            let settings = Settings { reproducible: true, precision, ..Settings::default() };
            let stage = |name: &str| StageInput::dynamics(name, 50, 0.005).thermo(7);
            let (first, second) = (stage("nvt").thermostat(nose_hoover), stage("nve"));
            fluid().settings(settings).open_with(emulated).stage(first).stage(second)
        };
        let folder = tempfile::tempdir().unwrap();
        let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
        let mut a = build().build().unwrap();
        a.write_to(&whole, Existing::Refuse).unwrap();
        a.run().unwrap();
        let mut b = build().build().unwrap();
        b.write_to(&parts, Existing::Refuse).unwrap();
        let stop = stop_every(3);
        let mut resumed = 0;
        while b.run_with(&mut (), &stop).unwrap() == Outcome::Interrupted {
            drop(b);
            b = build().resume(&parts).unwrap();
            resumed += 1;
        }
        assert!(resumed > 1, "{resumed}");
        assert_eq!(a.unwrapped_positions().unwrap(), b.unwrapped_positions().unwrap(), "{precision:?}");
        assert_eq!(a.velocities().unwrap(), b.velocities().unwrap(), "{precision:?}");
        assert_eq!(thermo_csv(&whole), thermo_csv(&parts), "{precision:?}");
    }
}

/// Rows and frames of a minimisation and of every thermostat are the same on the GPU as on the CPU.
#[test]
fn every_stage_on_both_devices() {
    let every = |name: &str, thermostat: Option<ThermostatInput>| {
        let mut stage = StageInput::dynamics(name, 24, 0.005).thermo(4);
        if let Action::Dynamics { thermostat: wanted, .. } = &mut stage.action {
            *wanted = thermostat;
        }
        stage.trajectory = Some(TrajectoryInput { every: 6, format: TrajectoryFormat::Xyz });
        stage
    };
    let stages = [
        StageInput::minimize("relax", 12, 1e-9, 0.002).thermo(4),
        every("rescale", Some(ThermostatInput::rescale(1.2, 5))),
        every("langevin", Some(ThermostatInput::langevin(1.0, 1.0))),
        every("nose-hoover", Some(ThermostatInput::nose_hoover(1.0, 0.5, 3))),
        every("bussi", Some(ThermostatInput::bussi(1.0, 0.2))),
        every("free", None),
        every("heat", None).heat_flux(HeatFluxInput { axis: Axis::Z, slabs: 8, every: 8, swaps: 2 }),
    ];
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, open: Open| {
        let mut builder = fluid().open_with(open);
        for stage in &stages {
            builder = builder.stage(stage.clone());
        }
        let mut simulation = builder.build().unwrap();
        simulation.write_to(&folder.path().join(name), Existing::Refuse).unwrap();
        simulation.run().unwrap();
    };
    run("cpu", jostle_cpu::open);
    run("gpu", emulated);
    let mut compared = 0;
    for stage in
        ["thermo.csv", "rescale.xyz", "langevin.xyz", "nose-hoover.xyz", "bussi.xyz", "free.xyz", "heat.xyz"]
    {
        let words = |device: &str| {
            let text = std::fs::read_to_string(folder.path().join(device).join(stage)).unwrap();
            text.split([',', ' ', '\n', '"']).map(str::to_string).collect::<Vec<_>>()
        };
        let (cpu, gpu) = (words("cpu"), words("gpu"));
        assert_eq!(cpu.len(), gpu.len(), "{stage}");
        for (a, b) in cpu.iter().zip(&gpu) {
            match (a.parse::<f64>(), b.parse::<f64>()) {
                // Rounding, grown by collisions for half a time unit.
                (Ok(x), Ok(y)) => assert!((x - y).abs() < 1e-8 * x.abs().max(1.0), "{stage}: {a} {b}"),
                _ => assert_eq!(a, b, "{stage}"),
            }
            compared += 1;
        }
    }
    assert!(compared > 5 * 4 * 1372 * 6, "{compared}");
}

/// An error in the middle of a batch names its step, atom and force.
#[test]
fn a_blow_up_on_the_gpu_names_the_step() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut simulation = fluid()
        .settings(Settings::default())
        .open_with(emulated)
        .stage(StageInput::dynamics("fine", 20, 0.005))
        .stage(StageInput::dynamics("wild", 1000, 0.5))
        .build()
        .unwrap();
    simulation.write_to(&run, Existing::Refuse).unwrap();
    let error = simulation.run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Simulation, "{error}");
    for word in ["stage 'wild'", "step 2", "atom", "lennard-jones"] {
        assert!(error.message().contains(word), "{error}");
    }
    assert!(error.help().unwrap().contains("time step"), "{error}");
    assert_eq!(Checkpoint::read(&run.join(CHECKPOINT)).unwrap().step(), 20);
}

#[test]
fn algorithms_belong_to_devices() {
    use jostle_core::Algorithm::{AllPairs, Cells, Clusters, List, Reference, Tiles};
    let refused = |algorithm, open: Open| {
        let settings = Settings { algorithm, ..Settings::default() };
        let langevin = ThermostatInput::langevin(1.0, 1.0);
        let built = builder(langevin).settings(settings).open_with(open).build();
        built.map(|_| ()).unwrap_err()
    };
    for algorithm in [Tiles, List, Cells, AllPairs] {
        let error = refused(algorithm, jostle_cpu::open);
        assert!(error.message().contains(algorithm.name()) && error.message().contains("GPU"), "{error}");
        assert!(error.help().unwrap().contains("cuda"), "{error}");
    }
    for algorithm in [Clusters, Reference] {
        let error = refused(algorithm, emulated);
        assert!(error.message().contains(algorithm.name()) && error.message().contains("CPU"), "{error}");
        assert!(error.help().unwrap().contains("cpu"), "{error}");
    }
}

/// Without a GPU an input that requests one is refused, and `auto` chooses the CPU.
#[test]
fn no_gpu() {
    if Device::open(0).is_ok() {
        println!("skipped: there is a GPU");
        return;
    }
    let langevin = ThermostatInput::langevin(1.0, 1.0);
    let open = |device| builder(langevin).device(device).build();
    let error = open(DeviceInput::gpu(0)).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    let mut found = open(DeviceInput::Auto).unwrap();
    assert!(found.backend().describe().starts_with("CPU"));
    assert!(found.device_note().unwrap().contains(error.message()));
}

/// A checkpoint only reads the state of the device: runs with checkpoints after every step or batch, or with
/// none, are equal, also where corrections of rigid molecules are pending.
#[test]
fn checkpoints_change_no_bit() {
    let water = || {
        let units = UnitSystem::Nano;
        let species = |name: &str, mass, charge| Species {
            name: name.into(),
            mass: units.mass_from_user(mass),
            charge,
        };
        let shape = WaterShape::new(0.1, 109.47);
        let mut system = Mixture::new(units)
            .with(species("O", 15.9994, -0.8476), None)
            .with(species("H", 1.008, 0.4238), None)
            .water(64, RegionInput::Density(DensityInput::Number(100.0)), &shape, 7)
            .unwrap();
        system.topology = Topology::rigid_water(64, &shape);
        assign_velocities(&mut system, units.boltzmann() * 300.0, Distribution::Maxwell, 7);
        let mut core = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 2);
        core.set(0, 0, PairEntry { parameters: vec![0.65, 0.3166], cutoff: 0.55 });
        let settings = Settings { threads: Some(1), reproducible: true, ..Settings::default() };
        Simulation::builder(units, system)
            .force(core)
            .electrostatics(Electrostatics::new(Method::pme(0.55, 5e-4, 5), units.coulomb(), 0.55))
            .settings(settings)
    };
    let folder = tempfile::tempdir().unwrap();
    let run = |builder: SimulationBuilder, timestep, open: Open, every: u64, name: &str| {
        let mut stage = StageInput::dynamics("run", 60, timestep).thermo(20);
        stage.checkpoint_every = every;
        let mut simulation = builder.stage(stage).open_with(open).build().unwrap();
        simulation.write_to(&folder.path().join(name), Existing::Refuse).unwrap();
        simulation.run().unwrap();
        let rows = thermo_csv(&folder.path().join(name));
        (simulation.unwrapped_positions().unwrap(), simulation.velocities().unwrap(), rows)
    };
    let cpu: Open = |system, forces, settings| jostle_cpu::open(system, forces, settings);
    for (device, open) in [("cpu", cpu), ("gpu", emulated)] {
        let often = run(water(), 0.001, open, 1, &format!("water {device} often"));
        assert_eq!(often, run(water(), 0.001, open, 0, &format!("water {device}")), "{device}");
        let often = run(fluid(), 0.005, open, 7, &format!("fluid {device} often"));
        assert_eq!(often, run(fluid(), 0.005, open, 0, &format!("fluid {device}")), "{device}");
    }
}
