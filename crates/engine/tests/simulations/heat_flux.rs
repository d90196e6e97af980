//! Heat driven through a box.

use crate::fixtures::{Rows, argon};
use jostle_core::{Precision, Settings, Species, System, UnitSystem};
use jostle_engine::model::{
    Axis, DensityInput, Distribution, HeatFluxInput, Lattice, LatticeExtent, StageInput, ThermostatInput,
};
use jostle_engine::{Mixture, Simulation, assign_velocities};
use jostle_potentials::{PairKind, PairTerm, Truncation};

fn lennard_jones(truncation: Truncation) -> PairTerm {
    PairTerm::uniform(PairKind::LennardJones, truncation, &[1.0, 1.0], 2.5)
}

fn one_thread() -> Settings {
    Settings { threads: Some(1), ..Settings::default() }
}

/// Exchanges of velocities leave energy and momentum of the whole as they are, and do heat one part of it.
#[test]
fn energy_and_momentum_are_conserved() {
    let flux = HeatFluxInput { axis: Axis::X, slabs: 8, every: 20, swaps: 3 };
    let mut simulation = Simulation::builder(UnitSystem::Lj, argon(864, 0.8, 1.2, 5))
        .force(lennard_jones(Truncation::ForceShifted))
        .settings(Settings { precision: Precision::Double, ..one_thread() })
        .stage(StageInput::dynamics("drive", 600, 0.002).heat_flux(flux).thermo(10))
        .build()
        .unwrap();
    let mut rows = Rows::default();
    simulation.run_with(&mut rows, &|| false).unwrap();
    let first = rows.0[0].total;
    for row in &rows.0 {
        assert!((row.total / first - 1.0).abs() < 2e-3, "step {}: {} of {first}", row.step, row.total);
        assert!(row.momentum.norm() < 1e-9, "step {}: {}", row.step, row.momentum.norm());
    }
    let (name, record) = simulation.results().remove(0);
    assert_eq!((name.as_str(), record.frames), ("drive.thermal-conductivity", 30));
    let temperatures = record.results.tables[0].column("temperature").unwrap();
    assert!(temperatures[4] > 1.5 * temperatures[0], "{temperatures:?}");
}

/// A Lennard-Jones liquid at density 0.6 and temperature 1.35, cut off at 2.5: 3.4 by D. J. Evans, Phys. Rev. A 34
/// (1986) 1449 (figure 1), and 3.41, 3.39 and 3.45 by three ways of driving heat through 8000 atoms in LAMMPS, 3.78
/// there by Green and Kubo (examples/KAPPA).
#[test]
fn a_liquid_has_its_thermal_conductivity() {
    let argon = Species { name: "Ar".into(), mass: 1.0, charge: 0.0 };
    let mixture = Mixture::new(UnitSystem::Lj).with(argon, None);
    let (extent, density) = (LatticeExtent::Cells([5, 5, 12]), DensityInput::Number(0.6));
    let mut liquid: System = mixture.lattice(Lattice::Fcc, extent, density, 1).unwrap();
    assign_velocities(&mut liquid, 1.35, Distribution::Maxwell, 1);
    let flux = HeatFluxInput { axis: Axis::Z, slabs: 20, every: 40, swaps: 1 };
    let drive = |name, steps| StageInput::dynamics(name, steps, 0.005).heat_flux(flux);
    let mut simulation = Simulation::builder(UnitSystem::Lj, liquid)
        .force(lennard_jones(Truncation::Shifted))
        .settings(one_thread())
        .stage(StageInput::dynamics("melt", 2000, 0.005).thermostat(ThermostatInput::langevin(1.35, 1.0)))
        .stage(drive("settle", 6000))
        .stage(drive("sample", 100_000))
        .build()
        .unwrap();
    simulation.run().unwrap();
    let (_, record) = simulation.results().remove(1);
    let found = record.results.get("thermal conductivity").unwrap();
    let error = found.error.unwrap();
    println!("{found:?}, {:?}", record.results.get("temperature gradient"));
    assert!(error < 0.3, "{error} says nothing");
    let published = 3.39 - 3.0 * error..3.78 + 3.0 * error;
    assert!(published.contains(&found.value), "{} +- {error}", found.value);
}
