//! Errors of systems that blow up name the atom, the force, the other atom and the step, however large the
//! system.

use crate::fixtures::{Open, emulated};
use jostle_core::{Precision, Settings, SimBox, Species, System, UnitSystem, Vec3, Vector};
use jostle_engine::Simulation;
use jostle_engine::model::{Minimizer, StageInput};
use jostle_potentials::{PairKind, PairTerm, Truncation};

/// A crystal of `side`^3 atoms at rest, and two atoms beside it, the second at the distance `apart` from the
/// first and moving along that axis.
fn crystal_and_pair(side: usize, apart: f64, velocity: f64) -> System {
    let spacing = 1.15;
    let edge = spacing * side as f64;
    let argon = Species { name: "Ar".into(), mass: 1.0, charge: 0.0 };
    let mut system = System::new(SimBox::orthorhombic([edge + 20.0, edge, edge]).unwrap(), vec![argon]);
    for k in 0..side * side * side {
        system.state.push(0, [k % side, k / side % side, k / side / side].map(|n| spacing * n as f64));
    }
    let middle: Vec3 = Vector([edge + 8.0, 0.5 * edge, 0.5 * edge]);
    system.state.push(0, middle);
    system.state.push(0, [middle[0] + apart, middle[1], middle[2]]);
    if let Some(last) = system.state.velocity.last_mut() {
        last[0] = velocity;
    }
    system
}

fn error_of(open: Open, system: System, stage: StageInput) -> String {
    let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Plain, &[1.0, 1.0], 2.5);
    let settings = Settings { precision: Precision::Mixed, threads: Some(1), ..Settings::default() };
    let builder = Simulation::builder(UnitSystem::Lj, system).force(lj).settings(settings).open_with(open);
    let error = builder.stage(stage).build().and_then(|mut simulation| simulation.run()).unwrap_err();
    println!("{error}");
    error.to_string()
}

fn devices(large: usize) -> [(Open, usize); 2] {
    [(jostle_cpu::open, large), (emulated, 10)]
}

/// A fast atom is a thousandth away from another one after three steps.
#[test]
fn atom_partner_term_and_step_are_named() {
    for (open, side) in devices(40) {
        let system = crystal_and_pair(side, 3.001, -1000.0);
        for every in [0, 1] {
            let found = error_of(open, system.clone(), StageInput::dynamics("run", 10, 0.001).thermo(every));
            let (first, second) = (side.pow(3) + 1, side.pow(3) + 2);
            let force = format!("the 'lennard-jones' force on atom {first} is not finite; atom {second} is ");
            assert!(found.contains(&format!("step 3: {force}")), "thermo every {every}: {found}");
        }
    }
}

/// Minimisers report forces that are not finite instead of searching for a minimum.
#[test]
fn minimisers_name_atoms_and_force() {
    for (open, side) in devices(12) {
        for minimizer in [Minimizer::Fire, Minimizer::Lbfgs, Minimizer::ConjugateGradient] {
            for every in [0, 1] {
                let stage =
                    StageInput::minimize("relax", 1000, 1e-3, 0.01).minimizer(minimizer).thermo(every);
                let found = error_of(open, crystal_and_pair(side, 1e-3, 0.0), stage);
                let (first, second) = (side.pow(3) + 1, side.pow(3) + 2);
                let force = format!("force on atom {first} is not finite; atom {second} is 1.000e-3 away");
                assert!(found.contains(&force), "{minimizer:?}, thermo every {every}: {found}");
                let advice = !found.contains("minimise first") && found.contains("move the atoms apart");
                assert!(advice, "{found}");
            }
        }
    }
}

/// Atoms cross many boxes in a step, as under a `soft-sphere` force of huge stiffness.
#[test]
fn atoms_that_fly_off_end_a_run() {
    for (open, side) in devices(20) {
        let system = crystal_and_pair(side, 1.0, 1e16);
        let found = error_of(open, system, StageInput::dynamics("run", 10, 0.01).thermo(1));
        assert!(found.contains("atom"), "{found}");
    }
}
