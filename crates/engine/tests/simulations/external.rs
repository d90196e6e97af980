//! Fields and walls.

use jostle_core::{Result, Settings, SimBox, Species, System, UnitSystem};
use jostle_engine::model::{StageInput, ThermostatInput};
use jostle_engine::{Context, Observer, Simulation};
use jostle_potentials::external::{Field, Side, Wall};
use jostle_potentials::{Forces, PairEntry, PairKind, PairTerm, Truncation};
use std::sync::mpsc::{Sender, channel};

const ATOMS: usize = 500;
const GRAVITY: f64 = 0.8;
const TEMPERATURE: f64 = 1.2;
const SAMPLES: u64 = 400;

/// Observer of the mean height.
struct Heights(Sender<f64>);

impl Observer for Heights {
    fn every(&self) -> u64 {
        50
    }

    fn observe(&mut self, context: &mut Context) -> Result<()> {
        if context.stage() == "sample" {
            let sum: f64 = context.state()?.position.iter().map(|r| r[2]).sum();
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
        fields: vec![Field::new(vec![[0.0, 0.0, -GRAVITY]])],
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
        let (wall, _) = forces.walls[0].evaluate(0, [0.0, 0.0, z]);
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
        .observer(Heights(sender))
        .settings(Settings { threads: Some(1), reproducible: true, ..Settings::default() })
        .build()
        .unwrap();
    simulation.run().unwrap();
    let heights: Vec<f64> = seen.try_iter().collect();
    let mean = heights.iter().sum::<f64>() / heights.len() as f64;
    // kT / m g of spread for each of 500 atoms, and some 60 independent samples: an error of 0.009.
    assert!((mean - expected).abs() < 0.04, "{mean}, expected {expected}");
}
