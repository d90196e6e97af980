//! Three-body forces: all kernels against the plain reference, the reference against the derivative of its energy,
//! and both against published energies of crystals.

use crate::domains::{compare, on_ranks};
use jostle_core::{Evaluate, Precision, Settings, SimBox, State, System};
use jostle_cpu::{Level, open_at, reference};
use jostle_fixtures::covalent::{
    TERSOFF_SILICON, TERSOFF_SILICON_C, compound_with_triplet_cutoffs, crystal, silicon, silicon_carbide,
    two_sizes,
};
use jostle_potentials::{Forces, PairEntry, PairKind, PairTerm, ThreeBody, Truncation};

fn cases() -> [(System, Forces); 5] {
    let silicon_atoms = |edge, tilted| crystal(3, edge, &[("Si", 28.0855)], 0.8, tilted);
    let compound = |edge| crystal(3, edge, &[("Si", 28.0855), ("C", 12.011)], 0.7, true);
    let mut other = PairTerm::new(PairKind::LennardJones, Truncation::Plain, 2);
    other.set(0, 1, PairEntry { parameters: vec![0.01, 2.5], cutoff: 4.0 });
    [
        (silicon_atoms(5.0, false), silicon().into()),
        (silicon_atoms(5.2, true), ThreeBody::tersoff(1, &[TERSOFF_SILICON]).into()),
        (compound(5.0), two_sizes().into()),
        (compound(4.4), Forces { pairs: vec![other], ..silicon_carbide().into() }),
        (compound(4.5), compound_with_triplet_cutoffs().into()),
    ]
}

fn energy(system: &System, forces: &Forces) -> f64 {
    reference::evaluate(system, forces).unwrap().1.potential()
}

#[test]
fn forces_are_minus_the_derivative_of_the_energy() {
    for (case, (mut system, forces)) in cases().into_iter().enumerate() {
        let (exact, _) = reference::evaluate(&system, &forces).unwrap();
        let h = 1e-5;
        for (atom, axis) in [(0, 0), (7, 1), (100, 2), (33, 0), (34, 1), (39, 2)] {
            let mut moved = |by: f64| {
                system.state.position[atom][axis] += by;
                let energy = energy(&system, &forces);
                system.state.position[atom][axis] -= by;
                energy
            };
            let slope = (moved(h) - moved(-h)) / (2.0 * h);
            let force = exact[atom][axis];
            assert!((force + slope).abs() < 1e-6 * force.abs().max(1.0), "{case}: {force} {slope}");
        }
    }
}

#[test]
fn the_virial_is_minus_the_derivative_by_the_size_of_the_box() {
    for (case, (system, forces)) in cases().into_iter().enumerate() {
        let (_, energies) = reference::evaluate(&system, &forces).unwrap();
        for axis in 0..3 {
            let scaled = |factor: f64| {
                let simbox = system.simbox;
                let [xy, xz, yz] = simbox.tilts();
                let tilts = match axis {
                    0 => [xy * factor, xz * factor, yz],
                    1 => [xy, xz, yz * factor],
                    _ => [xy, xz, yz],
                };
                let mut lengths = simbox.lengths();
                lengths[axis] *= factor;
                let simbox = SimBox::new([0.0; 3], lengths, tilts, [true; 3]).unwrap();
                let mut other = System::new(simbox, system.species.clone());
                other.state = State { ..system.state.clone() };
                other.state.position.iter_mut().for_each(|x| x[axis] *= factor);
                energy(&other, &forces)
            };
            let slope = (scaled(1.0 + 1e-6) - scaled(1.0 - 1e-6)) / 2e-6;
            let virial = energies.virial[axis];
            assert!((virial + slope).abs() < 1e-5 * virial.abs().max(1.0), "{case}: {virial} {slope}");
        }
    }
}

#[test]
fn all_kernels_equal_the_reference() {
    for (case, (system, forces)) in cases().into_iter().enumerate() {
        let (exact, energies) = reference::evaluate(&system, &forces).unwrap();
        let rms = (exact.iter().flatten().map(|f| f * f).sum::<f64>() / exact.len() as f64).sqrt();
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            for (precision, tolerance) in [(Precision::Double, 1e-10), (Precision::Mixed, 1e-5)] {
                for threads in [1, 3] {
                    let settings = Settings { threads: Some(threads), precision, ..Settings::default() };
                    let mut cpu = open_at(system.clone(), forces.clone(), settings, level).unwrap();
                    cpu.update_neighbors().unwrap();
                    cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
                    let what = format!("{case}, {}", cpu.describe());
                    let found = cpu.energies().clone();
                    for (a, b) in found.terms.iter().zip(&energies.terms) {
                        let off = (a - b).abs() / energies.potential().abs();
                        assert!(off < 0.1 * tolerance, "{what}: energy off by {off:e}");
                    }
                    let scale: f64 = energies.virial[..3].iter().map(|w| w.abs()).sum();
                    for (a, b) in found.virial.iter().zip(energies.virial) {
                        assert!((a - b).abs() < tolerance * scale, "{what}: virial {a} {b}");
                    }
                    let state = cpu.state().unwrap();
                    for (force, id) in state.force.iter().zip(&state.id) {
                        for k in 0..3 {
                            let off = (force[k] - exact[*id as usize][k]).abs() / rms;
                            assert!(off < tolerance, "{what}: force on {id} off by {off:e}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn reproducible_forces_do_not_depend_on_the_number_of_threads() {
    for (system, forces) in cases() {
        let run = |threads| {
            let settings = Settings { threads: Some(threads), reproducible: true, ..Settings::default() };
            let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), settings).unwrap();
            cpu.update_neighbors().unwrap();
            cpu.compute_forces(Evaluate::Forces).unwrap();
            cpu.state().unwrap().clone()
        };
        assert_eq!(run(1), run(2));
    }
}

/// Domains of two to eight ranks have all neighbours of their centres, and pairs besides once.
#[test]
fn forces_of_domains_are_those_of_one_rank() {
    for (case, (system, forces)) in cases().into_iter().enumerate() {
        let system = system.replicate([2, 1, 2]).unwrap();
        for n_ranks in [2, 3, 8] {
            compare(&system, &forces, n_ranks, &format!("case {case}"));
            let settings = Settings { threads: Some(1), ..Settings::default() };
            let on = (&system, &forces, settings);
            let what = on_ranks(n_ranks, on, |_, cpu| Ok(cpu.describe())).unwrap();
            assert!(what.contains("domains"), "{what}");
        }
    }
}

/// A molecule in open space, of which each atom has less than two neighbours.
#[test]
fn two_atoms_have_no_third_one() {
    for term in [silicon(), ThreeBody::tersoff(1, &[TERSOFF_SILICON])] {
        let mut system = crystal(3, 5.4, &[("Si", 28.0855)], 0.0, false);
        let simbox = SimBox::new([0.0; 3], [30.0; 3], [0.0; 3], [false; 3]).unwrap();
        system = System::new(simbox, system.species);
        system.state.push(0, [10.0; 3]);
        system.state.push(0, [11.0, 12.0, 10.5]);
        let forces = Forces::from(term);
        let (exact, energies) = reference::evaluate(&system, &forces).unwrap();
        assert!(energies.potential() < -1.0, "{}", energies.potential());
        for precision in [Precision::Double, Precision::Mixed] {
            let settings = Settings { threads: Some(1), precision, ..Settings::default() };
            let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), settings).unwrap();
            cpu.update_neighbors().unwrap();
            cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
            let off = cpu.energies().potential() / energies.potential() - 1.0;
            assert!(off.abs() < 1e-6, "energy off by {off:e}");
            let state = cpu.state().unwrap();
            for (force, id) in state.force.iter().zip(&state.id) {
                for k in 0..3 {
                    assert!((force[k] - exact[*id as usize][k]).abs() < 1e-5, "{force:?}");
                }
            }
        }
    }
}

/// Cohesive energies and lattice constants that the papers give for the crystals: 4.3366 eV at 5.431 angstrom
/// (Stillinger and Weber's fit), 4.6297 eV at 5.432 (Tersoff's second parameters).
#[test]
fn crystals_are_as_published() {
    let tersoff = ThreeBody::tersoff(1, &[TERSOFF_SILICON_C]);
    for (term, cohesive, constant, tolerance) in
        [(silicon(), 4.3366, 5.431, 2e-4), (tersoff, 4.6297, 5.432, 2e-4)]
    {
        let forces = Forces::from(term);
        let at = |edge: f64| {
            let system = crystal(2, edge, &[("Si", 28.0855)], 0.0, false);
            energy(&system, &forces) / 64.0
        };
        assert!((at(constant) + cohesive).abs() < tolerance, "{} at {constant}", at(constant));
        // The minimum of the parabola through three energies.
        let h = 0.01;
        let [low, middle, high] = [at(constant - h), at(constant), at(constant + h)];
        let off = 0.5 * h * (low - high) / (low - 2.0 * middle + high);
        assert!(off.abs() < 1e-3, "{constant} is off by {off}");
    }
}
