//! FIRE finds minima.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{Precision, Settings, Species, System, UnitSystem};
use jostle_engine::model::{
    DensityInput, DeviceInput, Distribution, Lattice, LatticeExtent, RegionInput, StageInput,
};
use jostle_engine::report::Convergence;
use jostle_engine::{Mixture, Simulation, assign_velocities, single_point};
use jostle_potentials::{PairKind, PairTerm, Truncation};

fn argon() -> Mixture {
    Mixture::new(UnitSystem::Lj).with(Species { name: "Ar".into(), mass: 2.0, charge: 0.0 }, None)
}

fn lj() -> PairTerm {
    PairTerm::uniform(PairKind::LennardJones, Truncation::ForceShifted, &[1.0, 1.0], 2.2)
}

fn settings() -> Settings {
    Settings { precision: Precision::Double, threads: Some(1), ..Settings::default() }
}

fn minimized(system: System, steps: u64) -> Simulation {
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .force(lj())
        .settings(settings())
        .stage(StageInput::minimize("relax", steps, 1e-8, 0.005).thermo(1))
        .build()
        .unwrap();
    simulation.run().unwrap();
    simulation
}

#[test]
fn a_shaken_crystal_goes_back() {
    let constant = DensityInput::LatticeConstant(1.56);
    let crystal = argon().lattice(Lattice::Fcc, LatticeExtent::Atoms(108), constant, 1).unwrap();
    let wanted = single_point(UnitSystem::Lj, crystal.clone(), vec![lj()], DeviceInput::Cpu, settings())
        .unwrap()
        .thermo
        .potential;
    let mut shaken = crystal;
    assign_velocities(&mut shaken, 0.5, Distribution::Maxwell, 1);
    let velocities = shaken.state.velocity.clone();
    for (id, r) in shaken.state.position.iter_mut().enumerate() {
        let mut stream = Stream::new(3, Purpose::Placement, id as u32, 0);
        for x in r {
            *x += 0.2 * (stream.uniform() - 0.5);
        }
    }
    let mut simulation = minimized(shaken, 2000);
    let minimum = simulation.reports()[0].minimum.unwrap();
    assert_eq!(minimum.outcome, Convergence::Converged);
    assert!(minimum.largest_force <= 1e-8);
    assert!((minimum.potential / wanted - 1.0).abs() < 1e-10, "{minimum:?} {wanted}");
    // Atoms have the velocities again that they came with.
    assert_eq!(simulation.velocities().unwrap(), velocities);
    assert_eq!(simulation.time(), 0.0);
}

/// Random positions with atoms deep inside each other: energies of many thousands, gone after a
/// few hundred iterations.
#[test]
fn overlapping_atoms_part() {
    let region = RegionInput::Density(DensityInput::Number(0.8));
    let system = argon().random(200, region, 0.3, 5).unwrap();
    let mut simulation = minimized(system, 400);
    let thermo = simulation.thermo().unwrap().clone();
    assert!(thermo.potential < 0.0, "{thermo:?}");
    assert_eq!((thermo.kinetic, thermo.temperature), (0.0, 0.0));
    assert!(simulation.reports()[0].averages.is_empty());
    let forces = simulation.forces().unwrap();
    assert!(forces.iter().flatten().all(|f| f.abs() < 50.0));
}

#[test]
fn too_few_steps_are_said() {
    let region = RegionInput::Density(DensityInput::Number(0.8));
    let system = argon().random(200, region, 0.5, 5).unwrap();
    let simulation = minimized(system, 5);
    let report = &simulation.reports()[0];
    assert_eq!(report.minimum.unwrap().outcome, Convergence::Unconverged);
    assert_eq!(report.steps, 5);
}
