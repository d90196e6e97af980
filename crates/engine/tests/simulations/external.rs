//! Fields and walls.

use jostle_core::{Precision, Result, Settings, SimBox, Species, System, UnitSystem, Vec3, Vector};
use jostle_engine::model::{StageInput, ThermostatInput};
use jostle_engine::{Context, Observer, Simulation};
use jostle_potentials::external::{Field, FormulaField, Positions, Side, Wall};
use jostle_potentials::{Forces, PairEntry, PairKind, PairTerm, Truncation};
use std::collections::HashMap;
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
