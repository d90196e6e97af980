//! Embedded atoms: all kernels against the plain reference, the reference against the derivative of its
//! energy, and both against another program.

use jostle_core::{Evaluate, Precision, Settings, SimBox, Species, State, System, Vec3};
use jostle_cpu::{Level, open_at, reference};
use jostle_potentials::embedded::Spline;
use jostle_potentials::{Embedded, EmbeddedKind, Forces, SuttonChen};

pub fn system(cells: usize, edge: f64, species: &[&str], amplitude: f64) -> System {
    let box_edge = cells as f64 * edge;
    let species = species.iter().map(|name| Species { name: (*name).into(), mass: 1.0, charge: 0.0 });
    let mut system = System::new(SimBox::orthorhombic([box_edge; 3]).unwrap(), species.collect());
    let mut seed = 1u64;
    let mut shift = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        amplitude * ((seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
    };
    let basis = [[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]];
    for cell in 0..cells.pow(3) {
        let corner = [cell / cells / cells, cell / cells % cells, cell % cells];
        for (k, site) in basis.iter().enumerate() {
            let place = Vec3::from_fn(|a| edge * (corner[a] as f64 + site[a]) + 0.1 + shift());
            system.state.push(((cell + k) % system.species.len()) as u16, place);
        }
    }
    system
}

pub fn copper() -> Forces {
    SuttonChen::embedded(&[SuttonChen::metal("Cu").unwrap()], 6.4, 1.0, 1.0).unwrap().into()
}

/// Densities that depend on both species (Finnis-Sinclair), so that a mistaken order of the species shows.
pub fn alloy() -> Forces {
    let table = |f: &dyn Fn(f64) -> f64| Spline::tabulate(0.8, 6.0, 400, f).unwrap();
    let smooth = |r: f64| (1.0 - (r / 6.0).powi(2)).max(0.0).powi(3);
    let density = [1.0, 0.7, 1.4, 0.9].map(|c| table(&move |r| c * smooth(r) / r));
    let pair = [1.0, 1.3, 1.3, 0.8].map(|c| table(&move |r| c * smooth(r) * (-1.2 * r).exp() * 40.0));
    let embedding =
        [0.9, 1.2].map(|c| Spline::tabulate(0.0, 40.0, 4000, |rho| -c * (rho + 0.01).sqrt()).unwrap());
    let kind = EmbeddedKind::EmbeddedAtom;
    Embedded::new(kind, 6.0, embedding.into(), density.into(), pair.into()).unwrap().into()
}

fn cases() -> [(System, Forces); 2] {
    [(system(5, 3.61, &["Cu"], 0.5), copper()), (system(4, 3.8, &["A", "B"], 0.5), alloy())]
}

fn energy(system: &System, forces: &Forces) -> f64 {
    reference::evaluate(system, forces).unwrap().1.potential()
}

#[test]
fn forces_are_minus_the_derivative_of_the_energy() {
    for (mut system, forces) in cases() {
        let (exact, _) = reference::evaluate(&system, &forces).unwrap();
        let h = 1e-4;
        for (atom, axis) in [(0, 0), (7, 1), (100, 2), (33, 0)] {
            let mut moved = |by: f64| {
                system.state.position[atom][axis] += by;
                let energy = energy(&system, &forces);
                system.state.position[atom][axis] -= by;
                energy
            };
            let slope = (moved(h) - moved(-h)) / (2.0 * h);
            let force = exact[atom][axis];
            assert!((force + slope).abs() < 1e-5 * force.abs().max(1.0), "{force} {slope}");
        }
    }
}

#[test]
fn the_virial_is_minus_the_derivative_by_the_size_of_the_box() {
    for (system, forces) in cases() {
        let (_, energies) = reference::evaluate(&system, &forces).unwrap();
        let scaled = |factor: f64| {
            let lengths = system.simbox.lengths().map(|l| l * factor);
            let mut other = System::new(SimBox::orthorhombic(lengths).unwrap(), system.species.clone());
            other.state = State { ..system.state.clone() };
            other.state.position.iter_mut().for_each(|x| *x = x.map(|x| x * factor));
            energy(&other, &forces)
        };
        let slope = (scaled(1.0 + 1e-5) - scaled(1.0 - 1e-5)) / 2e-5;
        let trace: f64 = energies.virial[..3].iter().sum();
        assert!((trace + slope).abs() < 1e-5 * trace.abs(), "{trace} {slope}");
    }
}

#[test]
fn all_kernels_equal_the_reference() {
    for (system, forces) in cases() {
        let (exact, energies) = reference::evaluate(&system, &forces).unwrap();
        let rms = (exact.iter().flatten().map(|f| f * f).sum::<f64>() / exact.len() as f64).sqrt();
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            for (precision, tolerance) in [(Precision::Double, 1e-10), (Precision::Mixed, 1e-5)] {
                for threads in [1, 3] {
                    let settings = Settings { threads: Some(threads), precision, ..Settings::default() };
                    let mut cpu = open_at(system.clone(), forces.clone(), settings, level).unwrap();
                    cpu.update_neighbors().unwrap();
                    cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
                    let what = cpu.describe();
                    let found = cpu.energies().clone();
                    let off = (found.potential() / energies.potential() - 1.0).abs();
                    assert!(off < 0.1 * tolerance, "{what}: energy off by {off:e}");
                    for (a, b) in found.virial.iter().zip(energies.virial) {
                        let scale = energies.virial[0].abs();
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
    let (system, forces) = cases().into_iter().next_back().unwrap();
    let run = |threads| {
        let settings = Settings { threads: Some(threads), reproducible: true, ..Settings::default() };
        let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), settings).unwrap();
        cpu.update_neighbors().unwrap();
        cpu.compute_forces(Evaluate::Forces).unwrap();
        cpu.state().unwrap().clone()
    };
    assert_eq!(run(1), run(2));
}
