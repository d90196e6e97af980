//! Charges and dispersion in all images, over domains of several ranks against one rank: by Ewald's sum and on meshes,
//! with excluded pairs near and far.

use crate::dispersion::{core, with_sum};
use crate::domains::{compare, compare_in, on_ranks};
use jostle_core::{Evaluate, Precision, Settings};
use jostle_fixtures::charges::ions;
use jostle_fixtures::solute::solute;
use jostle_potentials::electrostatics::{Method, NetCharge};
use jostle_potentials::{Electrostatics, Forces, Truncation};

/// Ions in a tilted box with excluded pairs further apart than domains; a bound chain across them, its neighbours
/// excluded.
#[test]
fn charges_are_those_of_one_domain() {
    let methods = [
        Method::ewald(2.6, 1e-6),
        Method::pme(2.6, 1e-3, 4),
        Method::pme(2.6, 1e-4, 5),
        Method::pme(2.6, 1e-5, 6),
    ];
    let (system, short) = ions(240, true);
    for (k, method) in methods.into_iter().enumerate() {
        let mut term = Electrostatics::new(method, 1.3, 2.6);
        term.net_charge = NetCharge::Background;
        let forces = Forces { pairs: vec![short.clone()], ..term.into() };
        for n_ranks in [[2, 12], [3, 8], [4, 18], [6, 27]][k] {
            compare(&system, &forces, n_ranks, &format!("ions, {method:?}"));
        }
        let (system, forces) = solute(160, method, Truncation::Shifted, true);
        compare(&system, &forces, [6, 4, 12, 2][k], &format!("chain, {method:?}"));
    }
}

#[test]
fn dispersion_is_that_of_one_domain() {
    let (system, _) = ions(240, true);
    for (method, grids) in [(Method::ewald(2.9, 1e-6), [2, 6]), (Method::pme(2.9, 1e-4, 6), [4, 12])] {
        for n_ranks in grids {
            let forces = with_sum(core(false, Truncation::Plain), method);
            compare(&system, &forces, n_ranks, &format!("dispersion, {method:?}"));
        }
    }
}

/// Energies with other charges, after which forces are those of the atoms' own again.
#[test]
fn other_charges_are_those_of_one_domain() {
    let (system, forces) = solute(160, Method::pme(2.6, 1e-4, 6), Truncation::Shifted, false);
    let charges: Vec<f64> = (0..system.state.len()).map(|index| 0.3 * system.charge(index) + 0.01).collect();
    let settings = Settings { threads: Some(1), precision: Precision::Double, ..Settings::default() };
    let energies = |n_ranks: usize| {
        on_ranks(n_ranks, (&system, &forces, settings), |_, cpu| {
            cpu.update_neighbors()?;
            cpu.compute_forces(Evaluate::ForcesAndEnergies)?;
            let before = (cpu.energies().clone(), cpu.descent()?);
            let other = cpu.energies_with_charges(&charges)?.potential();
            assert_eq!(before, (cpu.energies().clone(), cpu.descent()?));
            Ok([before.0.potential(), other])
        })
        .unwrap()
    };
    let one = energies(1);
    assert!((one[0] - one[1]).abs() > 0.1 * one[0].abs(), "{one:?}");
    for n_ranks in [2, 6] {
        let many = energies(n_ranks);
        let close = (0..2).all(|k| (one[k] - many[k]).abs() < 1e-11 * one[k].abs().max(one[0].abs()));
        assert!(close, "{n_ranks} ranks: {one:?} and {many:?}");
    }
}

/// A mesh with fewer planes than there are ranks, atoms that are all in one domain, and ranks without atoms.
#[test]
fn meshes_work_on_crowded_and_empty_domains() {
    let (mut system, short) = ions(40, false);
    let mut term = Electrostatics::new(Method::pme(2.6, 1e-3, 4), 1.3, 2.6);
    term.net_charge = NetCharge::Background;
    let forces = Forces { pairs: vec![short], ..term.into() };
    for n in [1, 5, 40] {
        let ids: Vec<u32> = (0..n).collect();
        system.state.permute(&ids);
        system.topology.excluded.clear();
        // Forces of a mesh on few ions nearly cancel, which single precision shows.
        compare_in(&[Precision::Double], (&system, &forces), 30, &format!("{n} ions"));
        system = ions(40, false).0;
    }
}
