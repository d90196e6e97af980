//! The Lennard-Jones fluid against the NIST Standard Reference Simulation Website: Monte Carlo at
//! constant temperature, 500 atoms, cut-off 3 with long-range corrections
//! (mmlapps.nist.gov/srs/LJ_PURE/mc.htm).

use jostle_core::{Settings, Species, UnitSystem};
use jostle_engine::averages::{Confidence, Estimate};
use jostle_engine::model::{DensityInput, Distribution, Lattice, LatticeExtent, StageInput, ThermostatInput};
use jostle_engine::{Mixture, Simulation, assign_velocities};
use jostle_potentials::{PairKind, PairTerm, Truncation};

const ATOMS: usize = 500;
const TEMPERATURE: f64 = 0.85;
/// Largest difference of two estimates of the same quantity, in standard errors.
const APART: f64 = 4.0;

/// A published value and its standard error.
type Published = (f64, f64);

/// Energy per atom and pressure at a density; their errors account for correlations.
fn sample(density: f64, friction: f64, steps: u64) -> [Estimate; 2] {
    let atom = Species { name: "A".into(), mass: 1.0, charge: 0.0 };
    let (extent, density) = (LatticeExtent::Atoms(ATOMS), DensityInput::Number(density));
    let mut system =
        Mixture::new(UnitSystem::Lj).with(atom, None).lattice(Lattice::Fcc, extent, density, 1).unwrap();
    assign_velocities(&mut system, 2.0 * TEMPERATURE, Distribution::Maxwell, 1);
    let term = PairTerm::uniform(PairKind::LennardJones, Truncation::Plain, &[1.0, 1.0], 3.0);
    let thermostat = |temperature| ThermostatInput::langevin(temperature, friction);
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .force(term.with_tail_correction().unwrap())
        .stage(StageInput::dynamics("melt", 1000, 0.004).thermostat(thermostat(2.0 * TEMPERATURE)))
        .stage(StageInput::dynamics("equilibrate", 4000, 0.004).thermostat(thermostat(TEMPERATURE)))
        .stage(StageInput::dynamics("sample", steps, 0.004).thermostat(thermostat(TEMPERATURE)).thermo(10))
        .settings(Settings { threads: Some(1), reproducible: true, ..Settings::default() })
        .build()
        .unwrap();
    simulation.run().unwrap();
    let averages = &simulation.reports()[2].averages;
    ["potential", "pressure"]
        .map(|name| averages.iter().find(|a| a.quantity == name).and_then(|a| a.estimate).unwrap())
}

fn compare(density: f64, friction: f64, steps: u64, energy: Published, pressure: Published) {
    let [potential, measured_pressure] = sample(density, friction, steps);
    let per_atom = |x: f64| x / ATOMS as f64;
    let measured_energy =
        Estimate { mean: per_atom(potential.mean), error: per_atom(potential.error), ..potential };
    for (what, measured, (value, error)) in
        [("energy", measured_energy, energy), ("pressure", measured_pressure, pressure)]
    {
        println!("density {density} {what}: {measured:?}, published {value} +- {error}");
        assert_eq!(measured.confidence, Confidence::Good, "density {density}, {what}");
        let off = (measured.mean - value).abs() / measured.error.hypot(error);
        assert!(off < APART, "density {density}: {what} {measured:?} is {off} errors from {value}");
    }
}

#[test]
fn vapour() {
    compare(0.009, 1.0, 60_000, (-9.3973e-2, 1.29e-4), (7.1641e-3, 2.24e-6));
}

#[test]
fn liquid_near_coexistence() {
    // The published errors of this point were not at hand: the error of the run alone must cover the
    // difference.
    compare(0.776, 1.0, 25_000, (-5.5121, 0.0), (6.7714e-3, 0.0));
}

#[test]
fn liquid_near_freezing() {
    compare(0.860, 1.0, 25_000, (-6.0305, 2.38e-3), (1.2660, 1.36e-2));
}
