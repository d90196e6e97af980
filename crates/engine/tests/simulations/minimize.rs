//! Minimisers: convergence, overlapping atoms, restraints and frozen atoms.

use crate::fixtures::Rows;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Precision, Settings, Species, System, UnitSystem, Vector};
use jostle_engine::model::{
    DensityInput, DeviceInput, Distribution, Lattice, LatticeExtent, Minimizer, RegionInput, StageInput,
};
use jostle_engine::report::Convergence;
use jostle_engine::{Mixture, Overrides, Simulation, assign_velocities, single_point};
use jostle_io::Input;
use jostle_potentials::{PairKind, PairTerm, Truncation};
use std::path::Path;

fn argon() -> Mixture {
    Mixture::new(UnitSystem::Lj).with(Species { name: "Ar".into(), mass: 2.0, charge: 0.0 }, None)
}

fn lj() -> PairTerm {
    PairTerm::uniform(PairKind::LennardJones, Truncation::ForceShifted, &[1.0, 1.0], 2.2)
}

fn settings() -> Settings {
    Settings { precision: Precision::Double, threads: Some(1), ..Settings::default() }
}

const MINIMIZERS: [Minimizer; 3] = [Minimizer::Fire, Minimizer::Lbfgs, Minimizer::ConjugateGradient];

fn minimized(system: System, steps: u64, minimizer: Minimizer) -> Simulation {
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .force(lj())
        .settings(settings())
        .stage(StageInput::minimize("relax", steps, 1e-8, 0.005).minimizer(minimizer).thermo(1))
        .build()
        .unwrap();
    simulation.run().unwrap();
    simulation
}

#[test]
fn a_displaced_crystal_relaxes() {
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
    for minimizer in MINIMIZERS {
        let mut simulation = minimized(shaken.clone(), 2000, minimizer);
        let report = &simulation.reports()[0];
        let (minimum, steps) = (report.minimum.unwrap(), report.steps);
        assert_eq!(minimum.outcome, Convergence::Converged, "{minimizer:?}");
        assert!(minimum.largest_force <= 1e-8, "{minimizer:?}");
        assert!((minimum.potential / wanted - 1.0).abs() < 1e-10, "{minimizer:?}: {minimum:?} {wanted}");
        println!("{minimizer:?}: {steps} iterations");
        assert!(minimizer == Minimizer::Fire || steps < 100, "{minimizer:?}: {steps} iterations");
        // The velocities are those before the minimisation.
        assert_eq!(simulation.velocities().unwrap(), velocities, "{minimizer:?}");
        assert_eq!(simulation.time(), 0.0);
    }
}

/// A minimum between two rows has one of its own.
#[test]
fn a_minimum_has_a_row() {
    let constant = DensityInput::LatticeConstant(1.56);
    let crystal = argon().lattice(Lattice::Fcc, LatticeExtent::Atoms(108), constant, 1).unwrap();
    let mut shaken = crystal;
    assign_velocities(&mut shaken, 0.5, Distribution::Maxwell, 1);
    let shift = shaken.state.velocity.clone();
    shaken.state.position.iter_mut().zip(shift).for_each(|(r, v)| *r += 0.05 * v);
    for every in [1, 10, 1000] {
        let mut simulation = Simulation::builder(UnitSystem::Lj, shaken.clone())
            .force(lj())
            .settings(settings())
            .stage(StageInput::minimize("relax", 5000, 1e-6, 0.005).thermo(every))
            .build()
            .unwrap();
        let mut rows = Rows::default();
        simulation.run_with(&mut rows, &|| false).unwrap();
        let (report, last) = (&simulation.reports()[0], rows.0.last().unwrap());
        assert!(report.steps % 10 != 0 && last.step == report.steps, "{} {}", report.steps, last.step);
        let minimum = report.minimum.unwrap();
        assert!((last.potential - minimum.potential).abs() < 1e-9 * minimum.potential.abs());
        let steps: Vec<u64> = rows.0.iter().map(|row| row.step).collect();
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]), "{steps:?}");
    }
}

/// Every minimiser comes to rest in a mixture that begins at random: conjugate gradients, whose lines became nearly
/// perpendicular to the forces, went nowhere from some point on.
#[test]
fn a_frustrated_mixture_comes_to_rest() {
    let text = |minimizer: &str, seed: u32| {
        format!(
            r#"
units = "lj"
[system]
place = "random"
box = {{ lengths = [5.5, 5, 6], tilts = [1.5, -1, 0.8] }}
seed = {seed}
[species.A]
mass = 1
count = 70
[species.B]
mass = 2
count = 30
[[force]]
kind = "lennard-jones"
cutoff = 2.2
truncation = "force-shifted"
pairs."A-A" = {{ epsilon = 1, sigma = 1 }}
pairs."A-B" = {{ epsilon = 1.2, sigma = 0.9 }}
pairs."B-B" = {{ epsilon = 0.8, sigma = 0.95 }}
[[stage]]
name = "relax"
minimize = {{ minimizer = "{minimizer}", force_tolerance = 1e-6, steps = 6000 }}
[run]
threads = 1
precision = "double"
"#
        )
    };
    for minimizer in ["fire", "lbfgs", "conjugate-gradient"] {
        for seed in 1..=4 {
            let input = Input::parse(Path::new("mixture.toml"), &text(minimizer, seed)).unwrap();
            let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
            simulation.run().unwrap();
            let minimum = simulation.reports()[0].minimum.unwrap();
            assert_eq!(minimum.outcome, Convergence::Converged, "{minimizer}, seed {seed}: {minimum:?}");
        }
    }
}

/// Random positions with overlapping atoms have energies of many thousands, which vanish within a few hundred
/// iterations.
#[test]
fn overlapping_atoms_separate() {
    let region = RegionInput::Density(DensityInput::Number(0.8));
    let system = argon().random(200, region, 0.3, 5).unwrap();
    for minimizer in MINIMIZERS {
        let mut simulation = minimized(system.clone(), 400, minimizer);
        let thermo = simulation.thermo().unwrap().clone();
        assert!(thermo.potential < 0.0, "{minimizer:?}: {thermo:?}");
        assert_eq!((thermo.kinetic, thermo.temperature), (0.0, 0.0));
        assert!(simulation.reports()[0].averages.is_empty());
        let forces = simulation.forces().unwrap();
        assert!(forces.iter().flatten().all(|f| f.abs() < 50.0), "{minimizer:?}");
    }
}

/// Position and distance restraints of very different stiffness, with some atoms frozen: the energy is a
/// quadratic form, whose minimum is where all forces vanish.
#[test]
fn stiff_springs_come_to_rest_and_frozen_atoms_stay() {
    let text = |minimizer: &str| {
        format!(
            r#"
units = "lj"
[system]
lattice = "sc"
atoms = 216
density = 1
[species.A]
mass = 1
[[group]]
name = "fixed"
atoms = "index < 20"
frozen = true
[[field]]
force = [0.5, 0, 0.2]
[[restraint]]
kind = "position"
atoms = "not index 150"
stiffness = 1
[[restraint]]
kind = "position"
atoms = "index >= 100"
stiffness = 300
[[restraint]]
kind = "distance"
between = ["index 5", "index 60 to 70"]
length = 2
stiffness = 50
[[stage]]
minimize = {{ minimizer = "{minimizer}", force_tolerance = 1e-9, steps = 5000 }}
[run]
device = "cpu"
precision = "double"
threads = 1
"#
        )
    };
    for minimizer in ["fire", "lbfgs", "conjugate-gradient"] {
        let input = Input::parse(Path::new("springs.toml"), &text(minimizer)).unwrap();
        let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
        let before = simulation.positions().unwrap();
        simulation.run().unwrap();
        assert_eq!(simulation.reports()[0].minimum.unwrap().outcome, Convergence::Converged, "{minimizer}");
        println!("{minimizer}: {} iterations", simulation.reports()[0].steps);
        let after = simulation.positions().unwrap();
        assert_eq!(before[..20], after[..20], "{minimizer}");
        // The displacement is force over stiffness, of one spring or of two.
        let moved = |id: usize| after[id] - before[id];
        for (id, stiffness) in [(30, 1.0), (150, 300.0), (200, 301.0)] {
            let expected = [0.5 / stiffness, 0.0, 0.2 / stiffness];
            let d = simulation.simbox().nearest_image(Vector(*moved(id)));
            assert!((0..3).all(|k| (d[k] - expected[k]).abs() < 1e-8), "{minimizer}: {id} {d:?}");
        }
    }
}

#[test]
fn line_minimisers_refuse_constraints() {
    let text = r#"
units = "real"
[system]
place = "water"
molecules = 8
density = "1 g/cm3"
bond_length = 1
bond_angle = 109.47
[species.O]
mass = 15.9994
[species.H]
mass = 1.008
[[stage]]
name = "relax"
minimize = { minimizer = "lbfgs" }
"#;
    let input = Input::parse(Path::new("water.toml"), text).unwrap();
    let error = Simulation::from_input(&input, &Overrides::default()).err().unwrap();
    assert!(error.message().contains("\"lbfgs\" moves atoms along lines"), "{error}");
    assert!(error.help().unwrap().contains("fire"), "{error}");
}

#[test]
fn too_few_steps_are_reported() {
    let region = RegionInput::Density(DensityInput::Number(0.8));
    let system = argon().random(200, region, 0.5, 5).unwrap();
    for minimizer in MINIMIZERS {
        let simulation = minimized(system.clone(), 5, minimizer);
        let report = &simulation.reports()[0];
        assert_eq!(report.minimum.unwrap().outcome, Convergence::Unconverged);
        assert_eq!(report.steps, 5);
    }
}
