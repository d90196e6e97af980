//! Fields and walls.

use crate::fixtures::{column, emulated, run_in_parts, thermo_csv};
use jostle_core::{Precision, Result, Settings, SimBox, Species, System, UnitSystem, Vec3, Vector};
use jostle_engine::model::{StageInput, ThermostatInput};
use jostle_engine::{Context, Existing, Observer, Overrides, Simulation};
use jostle_io::Input;
use jostle_potentials::external::{Field, FormulaField, Positions, Side, Wall};
use jostle_potentials::{Forces, PairEntry, PairKind, PairTerm, Truncation};
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

const ATOMS: usize = 500;
const GRAVITY: f64 = 0.8;
const TEMPERATURE: f64 = 1.2;
const SAMPLES: u64 = 400;

/// Observer of the mean of a function of the positions.
struct Means(Sender<f64>, fn(Vec3) -> f64);

impl Observer for Means {
    fn every(&self) -> u64 {
        50
    }

    fn observe(&mut self, context: &mut Context) -> Result<()> {
        if context.stage() == "sample" {
            let sum: f64 = context.state()?.position.iter().map(|r| self.1(*r)).sum();
            // The receiver lives as long as the simulation.
            let _ = self.0.send(sum / ATOMS as f64);
        }
        Ok(())
    }
}

/// An ideal gas above a floor.
fn gas() -> (System, Forces) {
    let simbox = SimBox::new([0.0; 3], [10.0, 10.0, 20.0], [0.0; 3], [true, true, false]).unwrap();
    let mut system = System::new(simbox, vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }]);
    for k in 0..ATOMS {
        let at = |step: f64| (k as f64 * step).fract();
        system.state.push(0, [10.0 * at(0.618), 10.0 * at(0.414), 1.0 + 3.0 * at(0.732)]);
    }
    let mut floor = PairTerm::new(PairKind::SoftSphere, Truncation::Plain, 2);
    let parameters = vec![1.0, 1.0];
    let cutoff = PairKind::SoftSphere.natural_cutoff(&parameters).unwrap();
    floor.set(0, 1, PairEntry { parameters, cutoff });
    let forces = Forces {
        fields: vec![Field::new(vec![Vector([0.0, 0.0, -GRAVITY])])],
        walls: vec![Wall::new(2, 0.0, Side::Above, floor)],
        ..Forces::default()
    };
    (system, forces)
}

/// The barometric formula: heights are distributed as exp(-energy / kT).
#[test]
fn heights_have_the_boltzmann_distribution() {
    let (system, forces) = gas();
    let weight = |z: f64| {
        let (wall, _) = forces.walls[0].evaluate(0, Vector([0.0, 0.0, z]));
        (-(wall + GRAVITY * z) / TEMPERATURE).exp()
    };
    let integral = |f: &dyn Fn(f64) -> f64| (1..40_000).map(|k| f(0.001 * f64::from(k))).sum::<f64>();
    let expected = integral(&|z| z * weight(z)) / integral(&weight);
    let thermostat = ThermostatInput::langevin(TEMPERATURE, 1.0);
    let (sender, seen) = channel();
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .field(forces.fields[0].clone())
        .wall(forces.walls[0].clone())
        .stage(StageInput::dynamics("settle", 2000, 0.01).thermostat(thermostat))
        .stage(StageInput::dynamics("sample", 50 * SAMPLES, 0.01).thermostat(thermostat))
        .observer(Means(sender, |r| r[2]))
        .settings(Settings { threads: Some(1), reproducible: true, ..Settings::default() })
        .build()
        .unwrap();
    simulation.run().unwrap();
    let heights: Vec<f64> = seen.try_iter().collect();
    let mean = heights.iter().sum::<f64>() / heights.len() as f64;
    // kT / m g of spread for each of 500 atoms, and some 60 independent samples: an error of 0.009.
    assert!((mean - expected).abs() < 0.04, "{mean}, expected {expected}");
}

/// An ideal gas in a periodic potential: the mean of the cosine is that of Boltzmann's distribution.
#[test]
fn a_field_by_a_formula_has_the_boltzmann_distribution() {
    let (system, _) = gas();
    let numbers = HashMap::from([("a".to_string(), 1.5)]);
    let text = "a mass cos(2 pi x / 10)";
    let field = FormulaField::new(text, &numbers, &system, 1.0, &|_, _| None).unwrap();
    field.check(&system.simbox).unwrap();
    let grid = || (0..1000).map(|k| (0.001 * std::f64::consts::TAU * f64::from(k)).cos());
    let weight = |cosine: f64| (-1.5 * cosine / TEMPERATURE).exp();
    let expected = grid().map(|c| c * weight(c)).sum::<f64>() / grid().map(weight).sum::<f64>();
    let thermostat = ThermostatInput::langevin(TEMPERATURE, 1.0);
    let (sender, seen) = channel();
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .formula_field(field)
        .stage(StageInput::dynamics("settle", 2000, 0.02).thermostat(thermostat))
        .stage(StageInput::dynamics("sample", 50 * SAMPLES, 0.02).thermostat(thermostat))
        .observer(Means(sender, |r| (0.1 * std::f64::consts::TAU * r[0]).cos()))
        .settings(Settings { threads: Some(1), reproducible: true, ..Settings::default() })
        .build()
        .unwrap();
    simulation.run().unwrap();
    let cosines: Vec<f64> = seen.try_iter().collect();
    let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
    // A spread of 0.6 for each of 500 atoms, and some 50 independent samples: an error of 0.004.
    assert!((mean - expected).abs() < 0.016, "{mean}, expected {expected}");
}

/// Free particles in an oscillating field: v(t) = (E / w) (1 - cos(w t)) by trapezoids, whatever the number of stages.
#[test]
fn a_field_that_depends_on_time_drives_atoms_as_it_should() {
    let (system, _) = gas();
    let mut field =
        FormulaField::new("-0.5 x sin(2 time)", &HashMap::new(), &system, 1.0, &|_, _| None).unwrap();
    field.positions = Positions::Unwrapped;
    let (steps, timestep) = (300, 0.01);
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .formula_field(field)
        .stage(StageInput::dynamics("a", steps / 3, timestep))
        .stage(StageInput::dynamics("b", 2 * steps / 3, timestep))
        .settings(Settings { threads: Some(1), precision: Precision::Double, ..Settings::default() })
        .build()
        .unwrap();
    simulation.run().unwrap();
    let force = |k: u64| 0.5 * (2.0 * timestep * k as f64).sin();
    let expected: f64 = (0..steps).map(|k| 0.5 * timestep * (force(k) + force(k + 1))).sum();
    let exact = 0.25 * (1.0 - (2.0 * timestep * steps as f64).cos());
    assert!((expected - exact).abs() < 1e-4, "{expected} {exact}");
    for v in simulation.velocities().unwrap() {
        assert!((v[0] - expected).abs() < 1e-10 && v[1] == 0.0, "{v:?}, expected {expected}");
    }
}

/// Input of a gas without forces between its atoms, between a floor and a piston that comes down.
fn piston(more: &str) -> Input {
    let text = format!(
        r#"units = "lj"
[system]
place = "random"
atoms = 150
box = {{ lengths = [10, 10, 10] }}
periodic = [true, true, false]
temperature = 1
seed = 3
[species.A]
[[force]]
kind = "lennard-jones"
cutoff = 2.5
pairs."A-A" = "none"
[[wall]]
axis = "z"
at = -1
atoms = "above"
force = {{ kind = "soft-sphere", pairs."A-wall" = {{ epsilon = 1, sigma = 0.2 }} }}
[[wall]]
axis = "z"
at = 11
atoms = "below"
force = {{ kind = "soft-sphere", pairs."A-wall" = {{ epsilon = 1, sigma = 0.2 }} }}
{more}
[[stage]]
name = "compress"
steps = 30000
timestep = 0.002
thermo = {{ every = 1500 }}
[run]
precision = "double"
threads = 1
reproducible = true
"#
    );
    Input::parse(Path::new("piston.toml"), &text).unwrap()
}

/// A gas in one dimension, which a slow piston compresses to a part of its length: velocities along it grow as its
/// inverse, an adiabatic invariant of each atom. Its work is what the energy gains; on the CPU and the GPU, and where a
/// run is interrupted.
#[test]
fn a_slow_piston_keeps_an_adiabatic_invariant() {
    let input = piston("motion = { velocity = -0.1 }\nwork = \"recorded\"");
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts, gpu) =
        (folder.path().join("whole"), folder.path().join("parts"), folder.path().join("gpu"));
    let mut simulation = run_in_parts(&input, &whole, u64::MAX);
    let (kinetic, work) = (column(&whole, "kinetic"), column(&whole, "wall_work"));
    let last = kinetic.len() - 1;
    let [x, y] = [0, 1].map(|axis| {
        let velocities = simulation.velocities().unwrap();
        velocities.iter().map(|v| 0.5 * v[axis] * v[axis]).sum::<f64>()
    });
    let (before, after) = (kinetic[0] - x - y, kinetic[last] - x - y);
    // Atoms turn round some sigma in front of each wall.
    let square = ((12.0 - 0.4) / (6.0 - 0.4_f64)).powi(2);
    assert!((after / before / square - 1.0).abs() < 0.02, "{before} {after}: {}", after / before);
    let conserved = column(&whole, "conserved");
    assert!(work[last] > 200.0, "{work:?}");
    for value in &conserved {
        assert!((value - conserved[0]).abs() < 2e-3 * work[last], "{conserved:?}");
    }
    run_in_parts(&input, &parts, 9011);
    assert_eq!(thermo_csv(&whole), thermo_csv(&parts));

    let mut simulation = Simulation::from_input_on(
        &input,
        &Overrides { most_steps: Some(1500), ..Overrides::default() },
        emulated,
    )
    .unwrap();
    simulation.write_to(&gpu, Existing::Refuse).unwrap();
    simulation.run().unwrap();
    let found = column(&gpu, "wall_work")[1];
    assert!((found - work[1]).abs() < 1e-6 * work[1].abs(), "{found} {}", work[1]);
}
