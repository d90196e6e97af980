//! Screened charges over all images: against sums image by image, their limits, and derivatives.

use crate::engine::{by_id, open};
use jostle_core::{Exclude, Precision, Settings, System, Vec3, Vector};
use jostle_cpu::{Level, open_at};
use jostle_fixtures::charges::{difference, ions, norm};
use jostle_potentials::electrostatics::{Method, NetCharge};
use jostle_potentials::pair::{PairFunction, Yukawa};
use jostle_potentials::{Electrostatics, Forces, PairEntry, PairKind, PairTerm, Truncation};

fn screened(method: Method, screening_length: f64) -> Electrostatics {
    Electrostatics { screening_length, ..Electrostatics::new(method, 1.0, 3.5) }
}

fn energy(system: &System, term: Electrostatics) -> f64 {
    open(system, &term.into(), Precision::Double, 2).energies().potential()
}

/// Energy, virial along the diagonal and forces of all images within `reach` boxes along each edge;
/// excluded pairs leave out the nearest image.
fn image_by_image(system: &System, kappa: f64, reach: i32) -> (f64, [f64; 3], Vec<Vec3>) {
    let (state, edges) = (&system.state, system.simbox.edges());
    let excluded = system.topology.exclusions(state.len(), Exclude::None);
    let (mut energy, mut virial, mut forces) = (0.0, [0.0; 3], vec![Vec3::ZERO; state.len()]);
    for a in 0..state.len() {
        for b in 0..state.len() {
            let (from, to) = (state.position[b], state.position[a]);
            let nearest = system.simbox.nearest_image(to - from);
            for x in -reach..=reach {
                for y in -reach..=reach {
                    for z in -reach..=reach {
                        let itself = [x, y, z] == [0; 3];
                        if itself
                            && (a == b || excluded.get(a).is_some_and(|list| list.contains(&(b as u32))))
                        {
                            continue;
                        }
                        let n = [x, y, z].map(f64::from);
                        let d: Vec3 =
                            Vector::from_fn(|k| nearest[k] + (0..3).map(|e| n[e] * edges[e][k]).sum::<f64>());
                        let r2 = d.iter().map(|x| x * x).sum();
                        let charges = system.charge(a) * system.charge(b);
                        let (u, force_over_r) = Yukawa::evaluate(r2, &[charges, kappa]);
                        energy += 0.5 * u;
                        for k in 0..3 {
                            virial[k] += 0.5 * force_over_r * d[k] * d[k];
                            forces[a][k] += force_over_r * d[k];
                        }
                    }
                }
            }
        }
    }
    (energy, virial, forces)
}

/// Neutral and charged ions, with and without exclusions, for several splittings of the sum.
#[test]
fn all_images_are_summed() {
    for (n, excluded) in [(18, false), (20, false), (20, true)] {
        let (system, _) = ions(n, excluded);
        for (length, reach) in [(0.6, 3), (1.5, 7)] {
            let (energy, virial, exact) = image_by_image(&system, 1.0 / length, reach);
            for alpha in [1.3, 1.6, 2.1] {
                let ewald = Method::Ewald { alpha, longest: 12.0 * alpha };
                let mut cpu = open(&system, &screened(ewald, length).into(), Precision::Double, 2);
                let what = format!("{n} ions, length {length}, alpha {alpha}");
                // Truncation error of the direct part: erfc(1.3 * 3.5) = 1e-10.
                let found = cpu.energies().clone();
                assert!(
                    (found.potential() - energy).abs() < 1e-9 * energy.abs(),
                    "{what}: {found:?} {energy}"
                );
                let most = virial.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
                for k in 0..3 {
                    assert!(
                        (found.virial[k] - virial[k]).abs() < 1e-8 * most,
                        "{what}: {found:?} {virial:?}"
                    );
                }
                let error = difference(&by_id(&mut *cpu), &exact) / norm(&exact);
                assert!(error < 1e-8, "{what}: forces differ by {error:e}");
            }
        }
    }
}

/// Accuracy of the mesh, for screening lengths from far beyond the box to much less than the cut-off.
#[test]
fn a_mesh_is_as_accurate_as_asked() {
    let (system, _) = ions(399, false);
    for length in [1e3, 10.0, 2.0, 0.5] {
        let forces =
            |method| by_id(&mut *open(&system, &screened(method, length).into(), Precision::Double, 2));
        let exact = forces(Method::ewald(3.5, 1e-13));
        for (accuracy, order) in [(1e-3, 4), (1e-4, 5), (1e-5, 6)] {
            for method in [Method::gaussian_pme(3.5, accuracy, order), Method::ewald(3.5, accuracy)] {
                let error = difference(&forces(method), &exact) / norm(&exact);
                assert!(error < 1.2 * accuracy, "{method:?}, {length}: {error:e} instead of {accuracy:e}");
            }
        }
    }
}

/// Limit of an infinite screening length: neutral ions, and ions with a background.
#[test]
fn weak_screening_ends_in_coulombs_force() {
    for (n, net_charge) in [(99, NetCharge::Refuse), (100, NetCharge::Background)] {
        let (system, _) = ions(n, true);
        for method in [Method::ewald(3.5, 1e-10), Method::gaussian_pme(3.5, 1e-5, 6)] {
            let at = |length| energy(&system, Electrostatics { net_charge, ..screened(method, length) });
            let coulomb = at(f64::INFINITY);
            let errors = [1e4, 1e5].map(|length| (at(length) / coulomb - 1.0).abs());
            // The difference is of first order in the inverse length.
            assert!(errors[0] < 1e-3 && errors[1] < 0.11 * errors[0], "{n} {method:?}: {errors:?}");
        }
    }
}

/// Limit of a short screening length, in which the sum is the pair force with its cut-off.
#[test]
fn strong_screening_ends_in_a_pair_force() {
    let (system, _) = ions(300, false);
    let length = 3.5 / 34.0;
    let mut pairs = PairTerm::new(PairKind::Yukawa, Truncation::Plain, 3);
    for a in 0..3 {
        for b in a..3 {
            let charges = system.species[a].charge * system.species[b].charge;
            pairs.set(a, b, PairEntry { parameters: vec![charges, length], cutoff: 3.5 });
        }
    }
    for (precision, tolerance) in [(Precision::Double, 1e-10), (Precision::Mixed, 2e-6)] {
        let mut cut = open(&system, &Forces::from(pairs.clone()), precision, 2);
        for method in [Method::ewald(3.5, 1e-6), Method::gaussian_pme(3.5, 1e-4, 5)] {
            let mut all = open(&system, &screened(method, length).into(), precision, 2);
            let [a, b] = [&mut all, &mut cut].map(|cpu| (cpu.energies().clone(), by_id(&mut **cpu)));
            let error = (a.0.potential() / b.0.potential() - 1.0).abs();
            assert!(error < tolerance, "{precision:?}: energies differ by {error:e}");
            let error = difference(&a.1, &b.1) / norm(&b.1);
            assert!(error < tolerance, "{precision:?}: forces differ by {error:e}");
        }
    }
}

/// Virial as minus the derivative of the energy by strain at constant screening length, also with a
/// background.
#[test]
fn pressure_is_a_derivative() {
    let (mut system, _) = ions(100, true);
    system.charges = (0..100).map(|id| if id % 3 == 0 { 1.0 } else { 0.4 }).collect();
    for net_charge in NetCharge::ALL {
        let term = Electrostatics { net_charge, ..screened(Method::ewald(3.5, 1e-12), 5.0) };
        let virial = open(&system, &term.into(), Precision::Double, 2).energies().virial;
        let step = 1e-4;
        for (place, (a, b)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
            let deformed = |by: f64| {
                let mut columns = [Vector([1.0, 0.0, 0.0]), Vector([0.0, 1.0, 0.0]), Vector([0.0, 0.0, 1.0])];
                columns[b][a] += by;
                let mut system = system.clone();
                system.deform(system.simbox.mapped(columns).unwrap());
                energy(&system, term)
            };
            let slope = (deformed(step) - deformed(-step)) / (2.0 * step);
            let error = (slope + virial[place]).abs() / virial[0].abs();
            assert!(error < 1e-7, "{net_charge:?}: virial {} is not {}", virial[place], -slope);
        }
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let (system, _) = ions(99, false);
    for (term, cause) in [
        (screened(Method::Cutoff, 2.0), "belongs to a sum over all images"),
        (screened(Method::ewald(3.5, 1e-4), 0.0), "is not a positive number"),
        (screened(Method::ewald(3.5, 1e-4), 0.05), "nothing is left beyond it"),
    ] {
        let opened = open_at(system.clone(), term, Settings::default(), Level::best()).map(|_| ());
        let error = opened.unwrap_err();
        assert!(error.message().contains(cause), "{error}");
    }
}
