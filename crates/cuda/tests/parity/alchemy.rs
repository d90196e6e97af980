//! Alchemy on the GPU engine: forces and energies of a state of a path against the CPU engine in double precision, and
//! energies with other charges, which change nothing.

use super::charged::{assert_agree, begin, cpu, settings};
use super::fluid::by_id;
use super::gpus::on_gpu;
use jostle_core::{Algorithm, Evaluate, Precision, System};
use jostle_fixtures::solute::{CHAIN, solute};
use jostle_potentials::alchemy::{Decoupling, Original, OwnEnergy, SoftCore, Window, decouple};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{Forces, Truncation};

const BEUTLER: SoftCore = SoftCore::Beutler { alpha: 0.5, power: 1 };
const GAPSYS: SoftCore = SoftCore::Gapsys { alpha: 0.85 };

/// State of one molecule in a box that is repeated along every axis.
fn state_of(charges: f64, form: impl Into<Decoupling>, copies: usize) -> (System, Forces, Original) {
    let method = Method::pme(2.6, 1e-5, 4);
    let (system, mut forces) = solute(300, method, Truncation::Switched { from: 0.8 }, true);
    let mut system = system.replicate([copies; 3]).unwrap();
    let atoms: Vec<u32> = (0..CHAIN).collect();
    let window = Window { charges, lennard_jones: 0.5 };
    let (original, _) = decouple(&mut system, &mut forces, &atoms, window, form).unwrap();
    (system, forces, original)
}

fn annihilating(soft_core: SoftCore) -> Decoupling {
    Decoupling { soft_core, own_energy: OwnEnergy::Scaled }
}

fn tolerance(precision: Precision) -> f64 {
    if precision == Precision::Double { 1e-10 } else { 1e-5 }
}

#[test]
fn states_of_a_path_are_those_of_the_cpu() {
    for (soft_core, algorithm, precision) in [
        (BEUTLER.into(), Algorithm::Auto, Precision::Mixed),
        (GAPSYS.into(), Algorithm::Auto, Precision::Mixed),
        (BEUTLER.into(), Algorithm::List, Precision::Double),
        (GAPSYS.into(), Algorithm::Tiles, Precision::Double),
        (annihilating(BEUTLER), Algorithm::Auto, Precision::Mixed),
        (annihilating(GAPSYS), Algorithm::List, Precision::Double),
    ] {
        // Tiles need a larger box.
        let copies = if algorithm == Algorithm::Tiles { 2 } else { 1 };
        let (system, forces, _) = state_of(0.4, soft_core, copies);
        let mut found = on_gpu(system.clone(), forces.clone(), settings(algorithm, precision));
        begin(&mut *found, Evaluate::ForcesAndEnergies);
        let what = format!("{soft_core:?} {algorithm:?} {precision:?}");
        assert_agree(&mut *found, &mut *cpu(&system, &forces), tolerance(precision), &what);
    }
}

#[test]
fn energies_with_other_charges_change_nothing() {
    // Charges of the molecule are the largest where they are not scaled.
    let (system, forces, original) = state_of(0.0, BEUTLER, 1);
    for (algorithm, precision) in [(Algorithm::Auto, Precision::Mixed), (Algorithm::List, Precision::Double)]
    {
        let mut found = on_gpu(system.clone(), forces.clone(), settings(algorithm, precision));
        begin(&mut *found, Evaluate::ForcesAndEnergies);
        let (before, energies) = (by_id(&mut *found).force, found.energies().clone());
        for factor in [1.0, 0.3, 0.0] {
            let (system, forces, _) = state_of(factor, BEUTLER, 1);
            let expected = cpu(&system, &forces);
            let other = found.energies_with_charges(&original.charges_at(&system.charges, factor)).unwrap();
            for (a, b) in other.terms.iter().zip(&expected.energies().terms) {
                let error = (a - b).abs() / (1.0 + b.abs());
                assert!(error < tolerance(precision), "{precision:?}, factor {factor}: {a}, not {b}");
            }
            assert_eq!((by_id(&mut *found).force, found.energies()), (before.clone(), &energies));
        }
        assert!(found.energies_with_charges(&[0.0; 2]).is_err());
    }
}
