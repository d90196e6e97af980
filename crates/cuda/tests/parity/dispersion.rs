//! Dispersion over all images: the GPU engine against the CPU engine in double precision, alone and beside
//! charges.

use super::charged::{
    assert_agree, assert_follows_the_box, assert_same, batch, begin, charged, cpu, gpu, settings, tolerance,
};
use super::fluid::{advance, by_id, run};
use super::gpus::on_gpu;
use jostle_core::{Algorithm, Evaluate, Precision, Settings, System, Thermostat, Vec3};
use jostle_potentials::electrostatics::{Method, NetCharge};
use jostle_potentials::{Dispersion, Electrostatics, Forces, PairEntry, PairKind, PairTerm, Truncation};

fn pme(order: usize, spacing: f64) -> Method {
    Method::Pme { alpha: 0.9, order, spacing }
}

/// Three species, one of which has no dispersion; the combining rule within the cut-off is no geometric mean.
fn core(truncation: Truncation) -> PairTerm {
    let mut core = PairTerm::new(PairKind::LennardJones, truncation, 3);
    let kinds: [(f64, f64); 3] = [(0.4, 0.7), (1.0, 0.9), (0.0, 0.5)];
    for (a, (epsilon, sigma)) in kinds.into_iter().enumerate() {
        for (b, (other, width)) in kinds.into_iter().enumerate().skip(a) {
            let parameters = vec![(epsilon * other).sqrt(), 0.5 * (sigma + width)];
            core.set(a, b, PairEntry { parameters, cutoff: 3.5 });
        }
    }
    core
}

fn forces(method: Method, truncation: Truncation, charges: Option<Method>) -> Forces {
    let core = core(truncation);
    let electrostatics = charges.map(|method| Electrostatics {
        net_charge: NetCharge::Background,
        ..Electrostatics::new(method, 1.7, 3.5)
    });
    let dispersion = Some(Dispersion::new(&core, method).unwrap());
    Forces { dispersion, electrostatics, ..Forces::from(core) }
}

fn system(excluded: bool) -> System {
    charged(excluded).0
}

/// Comparison of each case in one algorithm and precision, as every case compiles kernels of its own.
#[test]
fn dispersion_agrees() {
    let field = Method::ReactionField { dielectric: 78.5 };
    let ewald = Method::Ewald { alpha: 0.9, longest: 5.0 };
    for (method, truncation, charges, excluded, algorithm, precision) in [
        (pme(5, 0.7), Truncation::Plain, None, false, Algorithm::AllPairs, Precision::Mixed),
        (pme(4, 0.9), Truncation::Shifted, Some(pme(5, 0.7)), true, Algorithm::Auto, Precision::Mixed),
        (pme(6, 0.7), Truncation::Shifted, Some(field), true, Algorithm::Auto, Precision::Double),
        (pme(5, 0.6), Truncation::Plain, Some(pme(4, 0.8)), true, Algorithm::List, Precision::Double),
        (pme(5, 0.6), Truncation::Plain, None, false, Algorithm::Cells, Precision::Double),
        (ewald, Truncation::Plain, Some(ewald), true, Algorithm::Auto, Precision::Double),
    ] {
        let what = format!("{method:?} {truncation:?} {charges:?} {algorithm:?} {precision:?} {excluded}");
        let (system, forces) = (system(excluded), forces(method, truncation, charges));
        let mut gpu = gpu(&system, &forces, algorithm, precision);
        begin(&mut *gpu, Evaluate::ForcesAndEnergies);
        assert_agree(&mut *gpu, &mut *cpu(&system, &forces), tolerance(precision), &what);
        let with = by_id(&mut *gpu).force;
        gpu.compute_forces(Evaluate::Forces).unwrap();
        assert!(with == by_id(&mut *gpu).force, "{what}: without energies a force differs");
    }
}

/// Amplitudes of the shortest waves of a fine mesh are 0 in single precision.
#[test]
fn amplitudes_of_the_shortest_waves_vanish() {
    let forces = forces(Method::Pme { alpha: 0.5, order: 4, spacing: 0.25 }, Truncation::Plain, None);
    let system = system(false);
    let mut gpu = gpu(&system, &forces, Algorithm::List, Precision::Mixed);
    begin(&mut *gpu, Evaluate::ForcesAndEnergies);
    assert_agree(&mut *gpu, &mut *cpu(&system, &forces), tolerance(Precision::Mixed), "fine");
}

#[test]
fn both_meshes_follow_the_box() {
    let forces = forces(pme(5, 0.9), Truncation::Plain, Some(pme(4, 0.7)));
    assert_follows_the_box(&system(true), &forces);
}

/// Samples taken by steps have the energies of all sums in their places.
#[test]
fn paths_under_dispersion_agree() {
    let (mut system, forces) = (system(false), forces(pme(5, 0.6), Truncation::Shifted, Some(pme(5, 0.6))));
    system.state.velocity.iter_mut().for_each(|v| *v = Vec3::ZERO);
    let skin = Settings { skin: Some(0.05), ..settings(Algorithm::Auto, Precision::Double) };
    let mut exact = cpu(&system, &forces);
    let mut gpu = on_gpu(system, forces, skin);
    begin(&mut *gpu, Evaluate::Forces);
    let short = || batch(1, 12, 4);
    let right = advance(&mut *exact, &short(), &mut Thermostat::Isolated);
    let found = run(&mut *gpu, &short(), &mut Thermostat::Isolated);
    assert_eq!(found.len(), 3);
    for (a, b) in found.iter().zip(&right) {
        let (a, b) = (a.energies.clone(), b.energies.clone());
        assert_eq!(a.terms.len(), 3);
        for (a, b) in a.terms.iter().zip(&b.terms) {
            assert!((a - b).abs() < 1e-9 * b.abs(), "{a} {b}");
        }
    }
}

#[test]
fn a_resumed_run_with_dispersion_is_the_same_to_the_last_bit() {
    let (system, forces) = (system(true), forces(pme(4, 0.9), Truncation::Plain, Some(pme(4, 0.9))));
    let open = || gpu(&system, &forces, Algorithm::Auto, Precision::Mixed);
    let mut whole = open();
    begin(&mut *whole, Evaluate::Forces);
    run(&mut *whole, &batch(1, 4, 0), &mut Thermostat::Isolated);
    let list_positions = whole.list_positions().unwrap().to_vec();
    let skin = whole.neighbor_facts().skin;
    let state = whole.state().unwrap().clone();
    run(&mut *whole, &batch(5, 8, 0), &mut Thermostat::Isolated);

    let mut resumed = open();
    resumed.restore(state, list_positions, skin).unwrap();
    begin(&mut *resumed, Evaluate::Forces);
    run(&mut *resumed, &batch(5, 8, 4), &mut Thermostat::Isolated);
    assert_same(whole.state().unwrap(), resumed.state().unwrap(), "cut in two");
}
