//! Beginnings and ends of stages.

use crate::fixtures::{Notes, argon};
use jostle_core::{SimBox, Species, System, UnitSystem, Vec3, Vector};
use jostle_engine::model::{DeviceInput, Distribution, RegionInput, StageInput, ThermostatInput};
use jostle_engine::{Mixture, Overrides, Simulation, SimulationBuilder, assign_velocities};
use jostle_io::Input;
use jostle_potentials::grains::Rolling;
use jostle_potentials::{Grains, PairKind, PairTerm, Truncation};
use std::path::Path;

fn fluid() -> (System, PairTerm) {
    let system = argon(32, 0.6, 2.0, 2);
    let term = PairTerm::uniform(PairKind::LennardJones, Truncation::ForceShifted, &[1.0, 1.0], 1.8);
    (system, term)
}

/// Noise moves the centre of mass; the next stage without noise brings it to rest and has three degrees of
/// freedom less.
#[test]
fn center_of_mass_after_langevin() {
    let (system, term) = fluid();
    let langevin = ThermostatInput::langevin(1.0, 1.0);
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .force(term)
        .stage(StageInput::dynamics("noise", 100, 0.004).thermostat(langevin).thermo(100))
        .stage(StageInput::dynamics("quiet", 100, 0.004).thermo(100))
        .build()
        .unwrap();
    let mut notes = Notes::default();
    simulation.run_with(&mut notes, &|| false).unwrap();
    assert_eq!(notes.0.len(), 1, "{:?}", notes.0);
    assert!(notes.0[0].contains("centre of mass"), "{:?}", notes.0);
    let freedom: Vec<usize> = simulation.reports().iter().map(|r| r.degrees_of_freedom).collect();
    assert_eq!(freedom, [96, 93]);
    let thermo = simulation.thermo().unwrap();
    assert!(thermo.momentum.iter().all(|p| p.abs() < 1e-5), "{thermo:?}");
    assert!((thermo.temperature - 2.0 * thermo.kinetic / 93.0).abs() < 1e-12);
}

#[test]
fn atoms_at_rest_cannot_be_scaled() {
    let (mut system, term) = fluid();
    system.state.velocity.fill(Vec3::ZERO);
    let bussi = ThermostatInput::bussi(1.0, 0.1);
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .force(term)
        .stage(StageInput::dynamics("heat", 10, 0.004).thermostat(bussi))
        .build()
        .unwrap();
    let error = simulation.run().unwrap_err();
    assert!(error.message().contains("stage 'heat'") && error.message().contains("at rest"), "{error}");
}

#[test]
fn impossible_stages_are_refused() {
    let langevin = |temperature, friction| ThermostatInput::langevin(temperature, friction);
    let run = StageInput::dynamics("run", 10, 0.004);
    for stage in [
        StageInput::dynamics("run", 10, 0.0),
        StageInput::dynamics("run", 10, f64::NAN),
        StageInput::minimize("run", 10, -1.0, 0.004),
        run.clone().thermostat(langevin(-1.0, 1.0)),
        run.clone().thermostat(langevin(1.0, 0.0)),
        run.clone().thermostat(ThermostatInput::rescale(1.0, 0)),
        run.clone().thermostat(ThermostatInput::bussi(1.0, 0.0)),
        run.clone().thermostat(ThermostatInput::nose_hoover(0.0, 1.0, 3)),
        run.thermostat(ThermostatInput::nose_hoover(1.0, 0.1, 3)),
    ] {
        let (system, term) = fluid();
        let built = Simulation::builder(UnitSystem::Lj, system).force(term).stage(stage.clone()).build();
        let error = built.map(|_| ()).unwrap_err();
        assert!(error.message().starts_with("stage 'run': "), "{stage:?}: {error}");
    }
}

#[test]
fn impossible_systems_are_refused() {
    let refused = |spoil: fn(&mut System)| {
        let (mut system, term) = fluid();
        spoil(&mut system);
        Simulation::builder(UnitSystem::Lj, system).force(term).build().map(|_| ()).unwrap_err().to_string()
    };
    let massless = refused(|s| s.species[0].mass = 0.0);
    assert!(massless.contains("has no mass and follows no other atoms"), "{massless}");
    assert!(refused(|s| s.state.position[3] = s.state.position[7]).contains("atom 4 and atom 8"));
    assert!(refused(|s| s.state.velocity[3][0] = f64::NAN).contains("velocity of atom 4"));
    assert!(refused(|s| s.state = Default::default()).contains("no atoms"));
    assert!(refused(|s| s.species.push(s.species[0].clone())).contains("species"));
}

/// Without forces atoms move uniformly, across the boundaries of the box.
#[test]
fn free_flight() {
    let argon = Species { name: "Ar".into(), mass: 2.0, charge: 0.0 };
    let region = RegionInput::Box { lengths: [5.0, 6.0, 7.0], tilts: [1.0, 0.5, -2.0] };
    let mut system = Mixture::new(UnitSystem::Lj).with(argon, None).random(50, region, 0.1, 1).unwrap();
    assign_velocities(&mut system, 1.5, Distribution::Constant, 1);
    let start = system.state.clone();
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .stage(StageInput::dynamics("fly", 1000, 0.01).thermo(1000))
        .build()
        .unwrap();
    simulation.run().unwrap();
    assert_eq!(simulation.time(), 10.0);
    for (id, r) in simulation.unwrapped_positions().unwrap().iter().enumerate() {
        for k in 0..3 {
            let wanted = start.position[id][k] + 10.0 * start.velocity[id][k];
            assert!((r[k] - wanted).abs() < 1e-9, "atom {id}: {r:?}");
        }
    }
    let simbox = *simulation.simbox();
    let inside = |r: &Vec3| simbox.to_fractional(*r).iter().all(|s| (-1e-12..1.0 + 1e-12).contains(s));
    assert!(simulation.positions().unwrap().iter().all(inside));
    // The pressure is that of an ideal gas, p V = 2/3 K, with the K of 3 N - 3 degrees of freedom.
    let thermo = simulation.thermo().unwrap();
    assert!((thermo.temperature / 1.5 - 1.0).abs() < 1e-12);
    assert!((thermo.pressure.unwrap() * simbox.volume() / (147.0 * 1.5 / 3.0) - 1.0).abs() < 1e-12);
    assert_eq!((thermo.potential, thermo.conserved), (0.0, Some(thermo.kinetic)));
}

/// A single atom keeps its velocity, which is not removed as that of a centre of mass.
#[test]
fn one_atom_in_an_open_box() {
    let (mut system, term) = fluid();
    system.simbox = SimBox::new([0.0; 3], [3.0; 3], [0.0; 3], [false; 3]).unwrap();
    system.state = Default::default();
    system.state.push(0, [1.0; 3]);
    system.state.velocity[0] = Vector([1.0, 2.0, -3.0]);
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .force(term)
        .stage(StageInput::dynamics("fly", 100, 0.01).thermo(100))
        .build()
        .unwrap();
    simulation.run().unwrap();
    assert_eq!(simulation.velocities().unwrap(), [[1.0, 2.0, -3.0]]);
    let r = simulation.positions().unwrap()[0];
    assert!([2.0, 3.0, -2.0].iter().zip(r).all(|(a, b)| (a - b).abs() < 1e-12), "{r:?}");
    let thermo = simulation.thermo().unwrap();
    assert_eq!((thermo.pressure, simulation.reports()[0].degrees_of_freedom), (None, 3));
}

/// Whatever stops a later stage from beginning is known before the first step.
#[test]
fn later_stages_are_refused_before_the_first_step() {
    let first = StageInput::dynamics("first", 50, 0.004);
    let later = |stage: StageInput, forces: fn(SimulationBuilder) -> SimulationBuilder| {
        let (system, term) = fluid();
        let builder =
            forces(Simulation::builder(UnitSystem::Lj, system).force(term).device(DeviceInput::Cpu));
        let error = builder.stage(first.clone()).stage(stage).build().map(|_| ()).unwrap_err();
        assert!(error.message().starts_with("stage 'later': "), "{error}");
        error.message().to_string()
    };
    let held = StageInput::dynamics("later", 50, 0.004);
    let dpd = held.clone().thermostat(ThermostatInput::dpd(1.0, 2.0, 1.9));
    assert!(later(dpd, |builder| builder).contains("friction and noise reach as far as 1.9"));
    let grains = |builder: SimulationBuilder| {
        builder.grains(Grains {
            stiffness: 100.0,
            normal_damping: 1.0,
            tangential_damping: 0.0,
            friction: 0.0,
            tangential_stiffness: 0.0,
            rolling: Rolling::default(),
            radius: vec![0.3],
        })
    };
    let warm = held.clone().thermostat(ThermostatInput::langevin(1.0, 1.0));
    assert!(later(warm, grains).contains("grains have no temperature"));

    // A minimisation leaves atoms at rest; dynamics would have set them in motion.
    let (mut system, term) = fluid();
    system.state.velocity.fill(Vec3::ZERO);
    let minimize = StageInput::minimize("first", 50, 1e-9, 0.004);
    let scaled = held.thermostat(ThermostatInput::bussi(1.0, 0.1));
    let run = |first: StageInput| {
        let builder = Simulation::builder(UnitSystem::Lj, system.clone()).force(term.clone());
        let mut simulation = builder.stage(first).stage(scaled.clone()).build().unwrap();
        (simulation.run().map(|_| ()), simulation.step())
    };
    let (outcome, step) = run(minimize);
    let error = outcome.unwrap_err();
    assert!(error.message().contains("stage 'later'") && error.message().contains("at rest"), "{error}");
    assert_eq!(step, 0);
    assert!(run(first).0.is_ok());
}

/// A viscosity comes from the pressure, which a box with an open axis does not have.
#[test]
fn a_viscosity_needs_a_pressure() {
    let text = r#"
units = "lj"
[system]
lattice = "fcc"
atoms = 108
density = 0.7
temperature = 1
periodic = [true, true, false]
[species.A]
mass = 1
[[force]]
kind = "lennard-jones"
cutoff = 2
pairs."A-A" = { epsilon = 1, sigma = 1 }
[[stage]]
steps = 10
timestep = 0.004
[[stage]]
name = "later"
steps = 10
timestep = 0.004
measure = [{ kind = "viscosity", every = 5 }]
"#;
    let input = Input::parse(Path::new("slab.toml"), text).unwrap();
    let error = Simulation::from_input(&input, &Overrides::default()).map(|_| ()).unwrap_err();
    assert!(error.message().contains("stage 'later', measure viscosity"), "{error}");
    assert!(error.message().contains("no pressure") && error.place().is_some(), "{error}");
}
