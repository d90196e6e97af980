//! Dispersion over all images: against the sum over a crystal, the plain reference, other splittings, and its
//! own derivatives.

use crate::engine::{by_id, open};
use jostle_core::{Evaluate, Precision, Settings, SimBox, Species, System, Vector};
use jostle_cpu::{Level, open_at, reference};
use jostle_fixtures::charges::{difference, ions, norm};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{Dispersion, Forces, PairEntry, PairKind, PairTerm, Truncation};
use std::f64::consts::PI;

pub fn with_sum(core: PairTerm, method: Method) -> Forces {
    let dispersion = Some(Dispersion::new(&core, method).unwrap());
    Forces { dispersion, ..Forces::from(core) }
}

/// Three species that mix by the rule of Lorentz and Berthelot, or as the sum has it.
pub fn core(geometric: bool, truncation: Truncation) -> PairTerm {
    let mut core = PairTerm::new(PairKind::LennardJones, truncation, 3);
    let kinds: [(f64, f64); 3] = [(0.4, 0.7), (1.0, 0.9), (0.0, 0.5)];
    for (a, (epsilon, sigma)) in kinds.into_iter().enumerate() {
        for (b, (other, width)) in kinds.into_iter().enumerate().skip(a) {
            let (epsilon, mean) = ((epsilon * other).sqrt(), sigma * width);
            let sigma = if geometric { mean.sqrt() } else { 0.5 * (sigma + width) };
            core.set(a, b, PairEntry { parameters: vec![epsilon, sigma], cutoff: 3.5 });
        }
    }
    core
}

fn system(excluded: bool) -> System {
    ions(300, excluded).0
}

/// Lattice sums of the face-centred crystal (Kittel, Introduction to Solid State Physics), in boxes of few
/// cells and of more.
#[test]
fn a_crystal_has_its_lattice_sums() {
    // Sum of r^-power over sites up to a squared distance, in units in which that of neighbours is 2.
    let shells = |power: i32, limit: i32| {
        let (mut sum, reach) = (0.0, f64::from(limit).sqrt() as i32);
        for x in -reach..=reach {
            for y in -reach..=reach {
                for z in -reach..=reach {
                    let r2 = x * x + y * y + z * z;
                    if (x + y + z) % 2 == 0 && r2 > 0 && r2 <= limit {
                        sum += (0.5 * f64::from(r2)).powi(-power / 2);
                    }
                }
            }
        }
        sum
    };
    // Tail: an integral over the even density of sites, one in two units of volume.
    let reach = 60;
    let attraction = shells(6, reach * reach) + 16.0 * PI / (3.0 * f64::from(reach).powi(3));
    assert!((attraction - 14.45392).abs() < 1e-5, "{attraction}");
    for (cells, cutoff) in [(5, 3.4), (7, 4.6)] {
        // Distance of neighbours: 0.99.
        let edge = 0.99 * 2f64.sqrt();
        let simbox = SimBox::orthorhombic([edge * f64::from(cells); 3]).unwrap();
        let species = vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }];
        let mut system = System::new(simbox, species);
        for k in 0..4 * cells * cells * cells {
            let cell = [k / 4 % cells, k / 4 / cells % cells, k / 4 / cells / cells].map(f64::from);
            let site = [[0.0; 3], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]][k as usize % 4];
            system.state.push(0, [0, 1, 2].map(|d| edge * (cell[d] + site[d] + 0.1)));
        }
        let core = PairTerm::uniform(PairKind::LennardJones, Truncation::Plain, &[1.0, 1.0], cutoff);
        // The repulsion ends at the cut-off.
        let within = (2.0 * (cutoff / 0.99f64).powi(2)).floor() as i32;
        let known = 2.0 * (shells(12, within) * 0.99f64.powi(-12) - attraction * 0.99f64.powi(-6));
        for (method, precision, tolerance) in [
            (Method::ewald(cutoff, 1e-12), Precision::Double, 1e-6),
            (Method::gaussian_pme(cutoff, 1e-6, 6), Precision::Double, 2e-6),
            // Accuracy is that of forces; all atoms of a crystal have the same error of energy.
            (Method::gaussian_pme(cutoff, 1e-4, 5), Precision::Mixed, 2e-4),
        ] {
            let cpu = open(&system, &with_sum(core.clone(), method), precision, 2);
            let found = cpu.energies().potential() / system.state.len() as f64;
            assert!((found / known - 1.0).abs() < tolerance, "{method:?}: {found} is not {known}");
        }
    }
}

/// Excluded atoms in every precision and instruction set, by Ewald's sum and on a mesh.
#[test]
fn all_kernels_equal_the_reference() {
    for (excluded, truncation) in [(false, Truncation::Plain), (true, Truncation::Shifted)] {
        let system = system(excluded);
        let core = core(false, truncation);
        for method in [Method::ewald(3.5, 1e-6), Method::Pme { alpha: 1.0, order: 6, spacing: 0.15 }] {
            let forces = with_sum(core.clone(), method);
            let (exact, energies) = reference::evaluate(&system, &forces).unwrap();
            assert_eq!(energies.terms.len(), 2);
            for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
                for (threads, precision) in [(1, Precision::Double), (2, Precision::Mixed)] {
                    let settings = Settings { threads: Some(threads), precision, ..Settings::default() };
                    let mut cpu = open_at(system.clone(), forces.clone(), settings, level).unwrap();
                    cpu.update_neighbors().unwrap();
                    cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
                    let what = format!("{method:?} {level} {threads} {precision:?}");
                    let tolerance = match (precision, method) {
                        (Precision::Double, Method::Ewald { .. }) => 1e-11,
                        (Precision::Double, _) => 2e-6,
                        _ => 5e-6,
                    };
                    let found = cpu.energies().clone();
                    // The sum is the small remainder of atoms with themselves and with each other.
                    let size = energies.terms[0].abs();
                    for (a, b) in found.terms.iter().zip(&energies.terms) {
                        assert!((a - b).abs() < tolerance * size, "{what}: {found:?} {energies:?}");
                    }
                    let largest = energies.virial.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
                    for (a, b) in found.virial.iter().zip(energies.virial) {
                        assert!((a - b).abs() < tolerance * largest, "{what}: {found:?} {energies:?}");
                    }
                    let error = difference(&by_id(&mut *cpu), &exact) / norm(&exact);
                    assert!(error < tolerance, "{what}: forces {error:e}");
                }
            }
        }
    }
}

/// Independence of the sum from its splitting, whichever way unlike atoms mix within the cut-off, and its
/// accuracy.
#[test]
fn the_sum_does_not_depend_on_its_splitting() {
    let system = system(true);
    for geometric in [true, false] {
        let core = core(geometric, Truncation::Plain);
        let at = |method| {
            let mut cpu = open(&system, &with_sum(core.clone(), method), Precision::Double, 1);
            let energies = cpu.energies().clone();
            (energies.potential(), energies.virial, by_id(&mut *cpu))
        };
        let right = at(Method::Ewald { alpha: 1.9, longest: 24.0 });
        let other = at(Method::Ewald { alpha: 1.6, longest: 20.0 });
        assert!((right.0 - other.0).abs() < 1e-9 * right.0.abs(), "{} {}", right.0, other.0);
        for (a, b) in right.1.iter().zip(other.1) {
            assert!((a - b).abs() < 1e-9 * right.1[0].abs(), "{:?} {:?}", right.1, other.1);
        }
        assert!(difference(&right.2, &other.2) < 1e-9 * norm(&right.2));
        // Lattice sum without the Lennard-Jones force.
        let near = open(&system, &core.clone().into(), Precision::Double, 1);
        let beyond = (right.0 - near.energies().potential()).abs();
        for (accuracy, order) in [(1e-3, 4), (1e-4, 5), (1e-5, 6)] {
            let mesh = at(Method::gaussian_pme(3.5, accuracy, order));
            let error = difference(&right.2, &mesh.2) / norm(&right.2);
            println!("{accuracy:e} {order}: forces {error:e}, energy {:e}", (mesh.0 - right.0) / beyond);
            assert!(error < accuracy, "{accuracy:e}: forces {error:e}");
            // Pairs beyond the cut-off lack the rest of the short-range part, all of the same sign.
            let x = (2.0 / accuracy).ln();
            let lacking = (-x).exp() * (1.0 + x + 0.5 * x * x);
            assert!(
                (mesh.0 - right.0).abs() < (lacking + accuracy) * beyond,
                "{accuracy:e}: {} {}",
                mesh.0,
                right.0
            );
        }
    }
}

/// Forces and virials are derivatives of energies, on a mesh, too, and for atoms that exclude each other.
#[test]
fn forces_and_virials_are_derivatives() {
    let system = system(true);
    let forces = with_sum(core(false, Truncation::Plain), Method::Pme { alpha: 1.1, order: 5, spacing: 0.6 });
    let energy = |system: &System| open(system, &forces, Precision::Double, 1).energies().potential();
    let mut cpu = open(&system, &forces, Precision::Double, 1);
    let (virial, force) = (cpu.energies().virial, by_id(&mut *cpu));
    let step = 1e-5;
    for (atom, axis) in [(0, 0), (7, 1), (35, 2), (121, 0)] {
        let at = |shift: f64| {
            let mut moved = system.clone();
            moved.state.position[atom][axis] += shift;
            energy(&moved)
        };
        let slope = (at(step) - at(-step)) / (2.0 * step);
        assert!((slope + force[atom][axis]).abs() < 1e-5 * norm(&force), "{atom}: {slope}");
    }
    for (place, (a, b)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
        let at = |strain: f64| {
            let mut columns = [Vector([1.0, 0.0, 0.0]), Vector([0.0, 1.0, 0.0]), Vector([0.0, 0.0, 1.0])];
            columns[b][a] += strain;
            let mut deformed = system.clone();
            deformed.deform(system.simbox.mapped(columns).unwrap());
            energy(&deformed)
        };
        let slope = (at(step) - at(-step)) / (2.0 * step);
        let largest = virial.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
        assert!((slope + virial[place]).abs() < 1e-5 * largest, "{place}: {slope} {}", virial[place]);
    }
}

#[test]
fn forces_without_a_lattice_sum_are_refused() {
    let refused = |term: PairTerm, method, wanted: &str| {
        let error = Dispersion::new(&term, method).unwrap_err();
        assert!(error.message().contains(wanted), "{error}");
    };
    let ewald = Method::ewald(3.5, 1e-4);
    refused(core(true, Truncation::Plain), Method::Cutoff, "\"pme\" or \"ewald\"");
    refused(core(true, Truncation::ForceShifted), ewald, "force-shifted");
    refused(core(true, Truncation::Plain).with_tail_correction().unwrap(), ewald, "tail_correction");
    let morse = PairTerm::uniform(PairKind::Yukawa, Truncation::Plain, &[1.0, 1.0], 2.0);
    refused(morse, ewald, "only a Lennard-Jones force");
    let mut two = core(true, Truncation::Plain);
    two.set(0, 1, PairEntry { parameters: vec![1.0, 1.0], cutoff: 3.0 });
    refused(two, ewald, "same cut-off");
    let mut open_box = system(false);
    open_box.simbox = SimBox::new([0.0; 3], [20.0; 3], [0.0; 3], [true, true, false]).unwrap();
    let forces = with_sum(core(true, Truncation::Plain), ewald);
    let error = jostle_cpu::open(open_box, forces, Settings::default()).map(drop).unwrap_err();
    assert!(error.message().contains("open along an axis"), "{error}");
}
