//! Pairs of frozen atoms, whose forces are kept between evaluations of energies: the same forces on every atom with and
//! without energies, with every kind of kernel, on every instruction set, and in domains.

use crate::domains::on_ranks;
use crate::engine::by_id;
use jostle_core::{Driven, Evaluate, Precision, Settings, System, Vec3};
use jostle_cpu::{Level, open_at, reference};
use jostle_fixtures::charges::{difference, ions, norm};
use jostle_potentials::electrostatics::{Method, NetCharge};
use jostle_potentials::{Electrostatics, Forces, Formula, PairEntry, PairTerm, Truncation};

/// Ions of which those in a part of the box along x are frozen; every third one there only if `all` are.
fn system(all: bool) -> System {
    let (mut system, _) = ions(300, true);
    let driven = (0..system.state.len()).map(|index| {
        let inside = system.simbox.to_fractional(system.state.position[index])[0] < 0.7;
        (inside && (all || index % 3 != 0)).then_some(Vec3::ZERO)
    });
    system.driven = Driven::ById(driven.collect());
    system
}

/// A core, a formula between all species, and charges over all images.
fn forces(method: Method) -> Forces {
    let (_, core) = ions(9, false);
    let formula = Formula::new("0.2 exp(-r)").unwrap();
    let mut soft = PairTerm::new(formula, Truncation::Shifted, 3);
    for (a, b) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)] {
        soft.set(a, b, PairEntry { parameters: Vec::new(), cutoff: 2.0 });
    }
    let mut term = Electrostatics::new(method, 1.3, 2.6);
    term.net_charge = NetCharge::Background;
    Forces { pairs: vec![core, soft], ..term.into() }
}

#[test]
fn forces_are_the_same_with_and_without_energies() {
    for (all, method) in [(true, Method::pme(2.6, 1e-4, 5)), (false, Method::ewald(2.6, 1e-6))] {
        let (system, forces) = (system(all), forces(method));
        let (exact, _) = reference::evaluate(&system, &forces).unwrap();
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            for (threads, precision) in [(1, Precision::Double), (3, Precision::Mixed)] {
                let settings = Settings { threads: Some(threads), precision, ..Settings::default() };
                let mut cpu = open_at(system.clone(), forces.clone(), settings, level).unwrap();
                cpu.update_neighbors().unwrap();
                let what = format!("{all} {level} {threads} {precision:?}");
                let tolerance = if precision == Precision::Double { 1e-12 } else { 1e-6 };
                // The first evaluation without energies keeps forces, the second takes them, also after one with.
                let kinds =
                    [Evaluate::Forces, Evaluate::Forces, Evaluate::ForcesAndEnergies, Evaluate::Forces];
                let found = kinds.map(|evaluate| {
                    cpu.compute_forces(evaluate).unwrap();
                    by_id(&mut *cpu)
                });
                assert!(difference(&found[0], &exact) < 3e-3 * norm(&exact), "{what}");
                for other in &found[1..] {
                    assert!(difference(other, &found[0]) < tolerance * norm(&exact), "{what}");
                }
                assert!(found[0] == found[1] && found[0] == found[3], "{what}");
            }
        }
    }
}

#[test]
fn forces_in_domains_are_those_of_one_rank() {
    let (system, forces) = (system(true), forces(Method::pme(2.6, 1e-4, 5)));
    let settings = Settings { threads: Some(1), precision: Precision::Double, ..Settings::default() };
    let all = |n_ranks: usize, evaluate: Evaluate| {
        on_ranks(n_ranks, (&system, &forces, settings), |_, cpu| {
            cpu.update_neighbors()?;
            cpu.compute_forces(evaluate)?;
            cpu.compute_forces(evaluate)?;
            Ok(by_id(cpu))
        })
        .unwrap()
    };
    let expected = all(1, Evaluate::ForcesAndEnergies);
    for n_ranks in [1, 4, 6] {
        let found = all(n_ranks, Evaluate::Forces);
        assert!(difference(&found, &expected) < 1e-12 * norm(&expected), "{n_ranks}");
    }
}
