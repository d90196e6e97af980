//! Coulomb's forces: against constants of crystals, other programs, the plain reference, and derivatives of
//! the energy.

use crate::domains::{evaluate, on_ranks};
use crate::engine::{by_id, open};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Evaluate, Precision, Settings, SimBox, System, Vec3, Vector};
use jostle_cpu::{Level, open_at, reference};
use jostle_fixtures::charges::{difference, ion, ions, norm};
use jostle_fixtures::water::water;
use jostle_potentials::electrostatics::{Method, NetCharge};
use jostle_potentials::{Electrostatics, Forces};

/// A crystal of so many cubic cells of unit edge, with ions at fractional places of a cell.
fn crystal(cells: usize, positive: &[Vec3], negative: &[Vec3]) -> System {
    let simbox = SimBox::orthorhombic([cells as f64; 3]).unwrap();
    let mut system = System::new(simbox, vec![ion("Na", 1.0), ion("Cl", -1.0)]);
    for x in 0..cells {
        for y in 0..cells {
            for z in 0..cells {
                let cell = Vector([x, y, z].map(|n| n as f64));
                for (species, places) in [positive, negative].into_iter().enumerate() {
                    for place in places {
                        system.state.push(species as u16, cell + *place);
                    }
                }
            }
        }
    }
    system
}

fn rock_salt(cells: usize) -> System {
    let face =
        [Vector([0.0, 0.0, 0.0]), Vector([0.0, 0.5, 0.5]), Vector([0.5, 0.0, 0.5]), Vector([0.5, 0.5, 0.0])];
    crystal(cells, &face, &face.map(|r| r + Vector([0.5, 0.0, 0.0])))
}

fn forces(method: Method, cutoff: f64) -> Forces {
    Electrostatics::new(method, 1.0, cutoff).into()
}

/// The Madelung constants of rock salt and caesium chloride, by the distance of neighbours (Sakamoto,
/// J. Chem. Phys. 28 (1958) 164; the first also as in `shared/reference`).
#[test]
fn crystals_have_their_madelung_constants() {
    let body = crystal(6, &[Vec3::ZERO], &[Vector([0.5; 3])]);
    let cases = [(rock_salt(4), 0.5, 1.747_564_594_633_182), (body, 0.75f64.sqrt(), 1.762_674_773_070_988)];
    for (system, distance, constant) in cases {
        let pairs = 0.5 * system.state.len() as f64;
        let madelung = |method, precision| {
            let cpu = open(&system, &forces(method, 1.9), precision, 2);
            -cpu.energies().potential() / pairs * distance
        };
        let ewald = madelung(Method::ewald(1.9, 1e-13), Precision::Double);
        assert!((ewald / constant - 1.0).abs() < 1e-9, "{ewald} is not {constant}");
        for order in Method::ORDERS {
            for accuracy in [1e-3, 1e-4, 1e-5, 1e-6] {
                let pme = madelung(Method::pme(1.9, accuracy, order), Precision::Double);
                // Accuracy is that of forces; all ions of a crystal have the same error of energy.
                assert!((pme / constant - 1.0).abs() < 2.0 * accuracy, "{order} {accuracy:e}: {pme}");
            }
        }
        let mixed = madelung(Method::pme(1.9, 1e-5, 5), Precision::Mixed);
        assert!((mixed / constant - 1.0).abs() < 1e-5, "{mixed}");
    }
}

#[test]
fn all_kernels_equal_the_reference() {
    let (system, core) = ions(300, true);
    let methods = [
        (Method::Cutoff, f64::INFINITY),
        (Method::ReactionField { dielectric: 78.5 }, f64::INFINITY),
        (Method::ewald(3.5, 1e-6), f64::INFINITY),
        (Method::Pme { alpha: 0.88, order: 6, spacing: 0.15 }, f64::INFINITY),
        (Method::ewald(3.5, 1e-6), 4.0),
        (Method::Pme { alpha: 1.0, order: 6, spacing: 0.15 }, 1.5),
    ];
    for (method, screening_length) in methods {
        let term = Electrostatics { screening_length, ..Electrostatics::new(method, 1.0, 3.5) };
        for pairs in [vec![], vec![core.clone()]] {
            let forces = Forces { pairs, ..term.into() };
            let (exact, energies) = reference::evaluate(&system, &forces).unwrap();
            for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
                for (threads, precision) in [
                    (1, Precision::Double),
                    (3, Precision::Double),
                    (1, Precision::Mixed),
                    (2, Precision::Mixed),
                ] {
                    let settings = Settings { threads: Some(threads), precision, ..Settings::default() };
                    let mut cpu = open_at(system.clone(), forces.clone(), settings, level).unwrap();
                    cpu.update_neighbors().unwrap();
                    cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
                    let what = format!("{method:?} {level} {threads} {precision:?}");
                    let is_mesh = matches!(method, Method::Pme { .. });
                    // The error of a mesh depends on its spacing.
                    let tolerance = match precision {
                        Precision::Double if !is_mesh => 1e-11,
                        Precision::Double => 2e-6,
                        Precision::Mixed => 5e-6,
                    };
                    let found = cpu.energies().clone();
                    for (a, b) in found.terms.iter().zip(&energies.terms) {
                        assert!(
                            (a - b).abs() < tolerance * b.abs(),
                            "{what}: {:?} {:?}",
                            found.terms,
                            energies.terms
                        );
                    }
                    let largest = energies.virial.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
                    for (a, b) in found.virial.iter().zip(energies.virial) {
                        assert!(
                            (a - b).abs() < tolerance * largest,
                            "{what}: virial {:?} {:?}",
                            found.virial,
                            energies.virial
                        );
                    }
                    let with = by_id(&mut *cpu);
                    let error = difference(&with, &exact) / norm(&exact);
                    assert!(error < tolerance, "{what}: forces {error:e}");
                    cpu.compute_forces(Evaluate::Forces).unwrap();
                    let error = difference(&with, &by_id(&mut *cpu)) / norm(&exact);
                    assert!(error < 1e-6 * tolerance.max(1e-4), "{what}: without energies {error:e}");
                }
            }
        }
    }
}

/// Forces of charges nearer than a fifteenth of the cut-off, which are not looked up, are as exact as others.
#[test]
fn charges_that_all_but_touch_are_as_exact_as_others() {
    let (mut system, core) = ions(300, true);
    // Positions that are exact in single precision.
    let place = |x: f64| (x * 1024.0).round() / 1024.0;
    system.state.position.iter_mut().for_each(|r| *r = r.map(place));
    for k in 0..20 {
        let Vector([x, y, z]) = system.state.position[2 * k];
        system.state.position[2 * k + 1] = Vector([x + place((k + 1) as f64 / 64.0), y, z]);
    }
    let term = Electrostatics::new(Method::ewald(3.5, 1e-6), 1.0, 3.5);
    for pairs in [vec![], vec![core]] {
        let forces = Forces { pairs, ..term.into() };
        let (exact, _) = reference::evaluate(&system, &forces).unwrap();
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            let settings = Settings { precision: Precision::Mixed, ..Settings::default() };
            let mut cpu = open_at(system.clone(), forces.clone(), settings, level).unwrap();
            cpu.update_neighbors().unwrap();
            for evaluate in [Evaluate::Forces, Evaluate::ForcesAndEnergies] {
                cpu.compute_forces(evaluate).unwrap();
                for (k, (a, b)) in by_id(&mut *cpu).iter().zip(&exact).take(40).enumerate() {
                    let error = difference(&[*a], &[*b]) / norm(&[*b]);
                    assert!(error < 2e-6, "{level} {evaluate:?}, ion {k}: {a:?} is not {b:?}");
                }
            }
        }
    }
}

/// Ewald's sum in f64 to the digits of the other programs (the error functions of the first two are good to
/// 8e-7 in force and 6e-7 in energy); in mixed precision the mesh.
#[test]
fn water_has_the_energies_of_other_engines() {
    let lammps = (332.06371, 9.0, [1e-6, 1e-6, 1e-6]);
    let openmm = (138.93545764438198, 0.9, [1e-9, 1e-9, 1e-9]);
    for (case, (coulomb, cutoff, [energy, virial, force])) in [
        ("06_spce_ewald", lammps),
        ("06b_spce_pppm", lammps),
        ("06c_spce_openmm_ewald", openmm),
        ("06d_spce_openmm_pme", (openmm.0, openmm.1, [3e-8, 1e-6, 3e-7])),
    ] {
        let Some(water) = water(case, cutoff < 1.0) else { return };
        let exactly = Method::ewald(cutoff, 1e-13);
        let mesh = Method::pme(cutoff, 1e-6, 6);
        for (method, precision) in [(exactly, Precision::Double), (mesh, Precision::Mixed)] {
            let [energy, virial, force] = match precision {
                Precision::Double => [energy, virial, force],
                Precision::Mixed => [3e-6, 1e-5, 3e-6],
            };
            let term = Electrostatics::new(method, coulomb, cutoff);
            let forces = Forces { pairs: vec![water.core.clone()], ..term.into() };
            let settings = Settings { threads: Some(2), precision, ..Settings::default() };
            for n_ranks in [1, 4] {
                let on = (&water.system, &forces, settings);
                let (found, energies) = on_ranks(n_ranks, on, |_, cpu| evaluate(cpu)).unwrap();
                let what = format!("{case} in {precision:?} precision, {n_ranks} ranks");
                let error = (energies.potential() / water.energy - 1.0).abs();
                assert!(error < energy, "{what}: energies {:?} differ by {error:e}", energies.terms);
                if let Some(known) = water.virial {
                    let error = (0..6).map(|k| (energies.virial[k] - known[k]).abs()).fold(0.0, f64::max);
                    assert!(error < virial * known[1], "{what}: virial {:?} {error:e}", energies.virial);
                }
                let error = difference(&found, &water.forces) / norm(&water.forces);
                assert!(error < force, "{what}: forces differ by {error:e}");
            }
        }
    }
}

/// Rock salt that has begun to melt.
fn disordered_salt() -> System {
    let mut salt = rock_salt(4);
    let mut random = Stream::new(9, Purpose::Placement, 1, 0);
    for r in &mut salt.state.position {
        let d = random.normal3();
        *r += 0.06 * d;
    }
    salt
}

/// Error of forces near the accuracy that is asked for, for Ewald's sum and on a mesh of an order that is high
/// enough, for ordered and disordered ions.
#[test]
fn accuracy_is_what_was_asked_for() {
    for (system, cutoff) in [(ions(399, false).0, 3.5), (disordered_salt(), 1.9)] {
        let forces_by = |method| {
            let mut cpu = open(&system, &forces(method, cutoff), Precision::Double, 2);
            by_id(&mut *cpu)
        };
        let exact = forces_by(Method::ewald(cutoff, 1e-13));
        for power in 2..=8 {
            let accuracy = 10f64.powi(-power);
            let orders = Method::ORDERS.into_iter().filter(|order| *order as i32 >= power);
            let mesh = orders.map(|order| Method::pme(cutoff, accuracy, order));
            for method in mesh.chain([Method::ewald(cutoff, accuracy)]) {
                // On a mesh the error of salts, whose forces are strong, is less than that of water, and falls faster
                // than expected where the mesh has few points in a wave.
                let dearest = if matches!(method, Method::Pme { .. }) { 0.03 } else { 0.1 };
                let error = difference(&forces_by(method), &exact) / norm(&exact);
                assert!(error < 1.2 * accuracy, "{method:?}: {error:e} instead of {accuracy:e}");
                assert!(error > dearest * accuracy, "{method:?}: {error:e} is dearer than {accuracy:e}");
            }
        }
    }
}

/// Forces and virials are the exact derivatives of the energy that a mesh gives, however coarse it is.
#[test]
fn meshes_conserve_energy() {
    let (system, core) = ions(120, true);
    for (order, screening_length) in [(4, f64::INFINITY), (5, f64::INFINITY), (6, f64::INFINITY), (5, 2.0)] {
        let coarse = Method::Pme { alpha: 0.9, order, spacing: 1.0 };
        let term = Electrostatics { screening_length, ..Electrostatics::new(coarse, 1.0, 3.5) };
        let forces = Forces { pairs: vec![core.clone()], ..term.into() };
        let energy = |system: &System| open(system, &forces, Precision::Double, 2).energies().potential();
        let mut cpu = open(&system, &forces, Precision::Double, 2);
        let (found, virial) = (by_id(&mut *cpu), cpu.energies().virial);
        let step = 1e-5;
        let scale = norm(&found) / (found.len() as f64).sqrt();
        // Atoms without pairs near the cut-off, where the energy jumps.
        let mut agreed = 0;
        for atom in [3, 31, 77] {
            for k in 0..3 {
                let moved = |by: f64| {
                    let mut system = system.clone();
                    system.state.position[atom][k] += by;
                    energy(&system)
                };
                let slope = (moved(step) - moved(-step)) / (2.0 * step);
                agreed += usize::from((slope + found[atom][k]).abs() < 1e-6 * scale);
            }
        }
        assert!(agreed >= 8, "order {order}: only {agreed} of 9 forces are derivatives");
        for (place, (a, b)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
            let deformed = |by: f64| {
                let mut columns = [Vector([1.0, 0.0, 0.0]), Vector([0.0, 1.0, 0.0]), Vector([0.0, 0.0, 1.0])];
                columns[b][a] += by;
                let mut system = system.clone();
                system.deform(system.simbox.mapped(columns).unwrap());
                energy(&system)
            };
            let slope = (deformed(step) - deformed(-step)) / (2.0 * step);
            let error = (slope + virial[place]).abs() / virial[0].abs();
            assert!(error < 1e-5, "order {order}: virial {} is not {}", virial[place], -slope);
        }
    }
}

#[test]
fn a_charge_of_the_whole_system_is_named() {
    let (mut system, _) = ions(100, false);
    let method = Method::pme(3.5, 1e-4, 5);
    let mut term = Electrostatics::new(method, 1.0, 3.5);
    let open = |system: &System, term: Electrostatics| {
        open_at(system.clone(), term, Settings::default(), Level::best()).map(|_| ())
    };
    // Total charge: 34 + 33 - 2 * 33.
    let error = open(&system, term).unwrap_err();
    assert!(error.message().contains("the charge of the whole system is 1, not 0"), "{error}");
    term.net_charge = NetCharge::Background;
    open(&system, term).unwrap();
    // Charges of atoms go before those of species.
    system.charges = (0..100).map(|id| if id % 2 == 0 { 0.5 } else { -0.5 }).collect();
    term.net_charge = NetCharge::Refuse;
    open(&system, term).unwrap();
    let exact = Electrostatics::new(Method::ewald(3.5, 1e-9), 1.0, 3.5);
    let error = open(&system, exact).unwrap_err();
    assert!(error.help().unwrap().contains("double"), "{error}");
}

/// One charge and the background that neutralises it: the energy of a Wigner crystal, -0.5 times the
/// Madelung constant of simple cubic lattices (Hasse and Avilov, Phys. Rev. A 44 (1991) 4506).
#[test]
fn a_background_makes_a_wigner_crystal() {
    let mut system = System::new(SimBox::orthorhombic([1.0; 3]).unwrap(), vec![ion("A", 1.0)]);
    system.state.push(0, [0.3, 0.2, 0.9]);
    for (method, tolerance) in [(Method::ewald(0.49, 1e-13), 1e-9), (Method::pme(0.49, 1e-5, 5), 1e-5)] {
        let mut term = Electrostatics::new(method, 1.0, 0.49);
        term.net_charge = NetCharge::Background;
        let energy = open(&system, &term.into(), Precision::Double, 1).energies().potential();
        assert!((energy / -1.418_648_739_7 - 1.0).abs() < tolerance, "{energy}");
    }
}
