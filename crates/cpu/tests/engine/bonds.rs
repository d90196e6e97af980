//! Bonds, angles, dihedrals and exclusions: all kernels against the plain reference and against LAMMPS; the
//! error that names a broken bond.

use jostle_core::{
    Algorithm, CrossTerm, Dihedral, Evaluate, Exclude, Precision, Settings, SimBox, System, Topology, Vec3,
    Vector,
};
use jostle_cpu::{Level, open_at, reference};
use jostle_fixtures::chains::{bead, boxes_of_long_bonds, chain_of_long_bonds, chains, forces};
use jostle_potentials::{
    BondKind, BondTerm, Cmap, DihedralKind, DihedralTerm, Forces, PairKind, PairTerm, Truncation, Vacuum,
};
use std::path::Path;

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.map(f64::abs).fold(0.0, f64::max)
}

#[test]
fn all_kernels_equal_the_reference() {
    for periodic in [[true; 3], [true, true, false]] {
        for exclude in Exclude::ALL {
            every_way_agrees(&chains(periodic), &forces(exclude), &format!("{periodic:?} {exclude:?}"));
        }
    }
}

/// Every instruction set, with one thread and several, in both precisions.
fn every_way_agrees(system: &System, forces: &Forces, what: &str) {
    let (exact, energies) = reference::evaluate(system, forces).unwrap();
    for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
        for (threads, precision) in
            [(1, Precision::Double), (3, Precision::Double), (1, Precision::Mixed), (2, Precision::Mixed)]
        {
            let settings = Settings { threads: Some(threads), precision, ..Settings::default() };
            let mut cpu = open_at(system.clone(), forces.clone(), settings, level).unwrap();
            cpu.update_neighbors().unwrap();
            cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
            let what = format!("{what} {level} {threads} {precision:?}");
            let tolerance = if precision == Precision::Double { 1e-11 } else { 3e-6 };
            let found = cpu.energies();
            assert_eq!(found.terms.len(), energies.terms.len());
            for (a, b) in found.terms.iter().zip(&energies.terms) {
                assert!((a - b).abs() <= tolerance * b.abs(), "{what}: {:?}", found.terms);
            }
            let scale = largest(energies.virial.iter().copied());
            let error = largest(found.virial.iter().zip(energies.virial).map(|(a, b)| a - b));
            assert!(error < tolerance * scale, "{what}: virial {error:e}");
            let with: Vec<Vec3> = by_id(cpu.state().unwrap());
            let scale = largest(exact.iter().flatten().copied());
            let errors = with.iter().flatten().zip(exact.iter().flatten()).map(|(a, b)| a - b);
            assert!(largest(errors) < tolerance * scale, "{what}");
            cpu.compute_forces(Evaluate::Forces).unwrap();
            assert_eq!(with, by_id(cpu.state().unwrap()), "{what}: without energies");
        }
    }
}

/// Every kind of dihedral and two maps, across the faces of a tilted box; and in open space the
/// forces between all atoms, but for those that are bound.
#[test]
fn dihedrals_and_open_space_equal_the_reference() {
    for periodic in [[true; 3], [false; 3]] {
        let (mut system, mut forces) = (chains([true; 3]), forces(Exclude::None));
        let n = system.state.len() as u32;
        // Chains of twelve beads.
        let firsts = |members: u32| (0..n).filter(move |k| k % 12 + members <= 12);
        let topology = &mut system.topology;
        topology.dihedral_types = ["a", "b", "c", "d"].map(String::from).to_vec();
        topology.dihedrals =
            firsts(4).map(|k| Dihedral { kind: k % 4, atoms: [k, k + 1, k + 2, k + 3] }).collect();
        topology.cross_terms = firsts(5)
            .map(|k| CrossTerm { kind: k % 2, atoms: std::array::from_fn(|j| k + j as u32) })
            .collect();
        let term = |kind, number, p: &[f64]| DihedralTerm::new(kind, 4).with(number, p).unwrap();
        forces.dihedrals = vec![
            term(DihedralKind::PeriodicDihedral, 0, &[2.0, 3.0, 40.0]),
            term(DihedralKind::RyckaertBellemans, 1, &[9.28, 12.16, -13.12, -3.06, 26.24, -31.5]),
            term(DihedralKind::HarmonicDihedral, 2, &[30.0, 60.0]),
            term(DihedralKind::UnsignedHarmonicDihedral, 3, &[30.0, 35.0]),
        ];
        let map = |shift: f64| {
            let energies: Vec<f64> = (0..64).map(|k| (f64::from(k) + shift).sin()).collect();
            Cmap::new(8, &energies).unwrap()
        };
        forces.cmaps = vec![map(0.0), map(0.5)];
        if periodic == [false; 3] {
            // Small diameters, as random beads may be near each other.
            forces.pairs.clear();
            system.simbox = SimBox::new([0.0; 3], [9.0; 3], [0.0; 3], periodic).unwrap();
            forces.vacuum = Some(Vacuum::new(2, 10.0, |a, b| [1.0 + (a + b) as f64, 0.2]));
            system.charges = (0..n).map(|k| f64::from(k % 5) - 2.0).collect();
            system.topology.excluded = firsts(3).flat_map(|k| [[k, k + 1], [k, k + 2]]).collect();
        }
        every_way_agrees(&system, &forces, &format!("{periodic:?}"));
    }
}

/// Bonds lead to the nearest image of the next atom, wherever the others of an angle, a dihedral or a map are: in a small
/// box as in a large one.
#[test]
fn long_bonds_in_a_small_box_are_those_in_a_large_one() {
    for simbox in boxes_of_long_bonds() {
        for start in [0.1, 0.9, 1.7, 2.6].map(|x| Vector([x, 0.6, 1.1 + x])) {
            let (small, forces) = chain_of_long_bonds(simbox, start);
            let (large, _) = chain_of_long_bonds(SimBox::orthorhombic([40.0; 3]).unwrap(), start);
            let (exact, expected) = reference::evaluate(&large, &forces).unwrap();
            let (found, energies) = reference::evaluate(&small, &forces).unwrap();
            let terms = energies.terms.iter().zip(&expected.terms);
            let sums = terms.chain(energies.virial.iter().zip(&expected.virial));
            let scale = largest(exact.iter().flatten().copied());
            assert!(largest(sums.map(|(a, b)| a - b)) < 1e-11 * scale, "{energies:?}, not {expected:?}");
            let errors = found.iter().flatten().zip(exact.iter().flatten()).map(|(a, b)| a - b);
            assert!(largest(errors) < 1e-11 * scale, "{found:?}, not {exact:?}");
            every_way_agrees(&small, &forces, &format!("{simbox:?}, from {start:?}"));
        }
    }
}

fn by_id(state: &jostle_core::State) -> Vec<Vec3> {
    state.index_by_id().into_iter().map(|index| state.force[index]).collect()
}

/// Bonds of atoms that are sorted anew and cross the box in the course of a run: energy drifts by rounding
/// alone.
#[test]
fn bonds_hold_through_a_run() {
    for exclude in [Exclude::None, Exclude::SecondBonded] {
        let settings = Settings {
            threads: Some(2),
            precision: Precision::Double,
            skin: Some(0.3),
            ..Settings::default()
        };
        let mut forces = forces(exclude);
        forces.bonds[0] = BondTerm::new(BondKind::HarmonicBond, 2).with(0, &[80.0, 1.0]).unwrap();
        let mut cpu = jostle_cpu::open(chains([true; 3]), forces, settings).unwrap();
        cpu.update_neighbors().unwrap();
        cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        let total =
            |cpu: &mut dyn jostle_core::Backend| cpu.energies().potential() + cpu.kinetic().unwrap().energy();
        let before = total(&mut *cpu);
        let dt = 0.0005;
        for _ in 0..2000 {
            cpu.kick_drift(dt).unwrap();
            cpu.update_neighbors().unwrap();
            cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
            cpu.kick(0.5 * dt).unwrap();
        }
        assert!(cpu.neighbor_facts().builds > 10);
        let (drift, kinetic) = (total(&mut *cpu) - before, cpu.kinetic().unwrap().energy());
        assert!(drift.abs() < 1e-4 * kinetic, "{exclude:?}: {drift} of {kinetic}");
    }
}

#[test]
fn threads_change_no_bit_of_a_reproducible_run() {
    let run = |threads| {
        let settings = Settings { threads: Some(threads), reproducible: true, ..Settings::default() };
        let mut cpu = jostle_cpu::open(chains([true; 3]), forces(Exclude::Bonded), settings).unwrap();
        cpu.update_neighbors().unwrap();
        cpu.compute_forces(Evaluate::Forces).unwrap();
        for _ in 0..50 {
            cpu.kick_drift(1e-4).unwrap();
            cpu.update_neighbors().unwrap();
            cpu.compute_forces(Evaluate::Forces).unwrap();
            cpu.kick(0.5e-4).unwrap();
        }
        cpu.state().unwrap().clone()
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn a_broken_bond_is_named() {
    let mut system = System::new(SimBox::orthorhombic([10.0; 3]).unwrap(), vec![bead("A")]);
    for x in [0.2, 9.3, 7.75] {
        system.state.push(0, [x, 5.0, 5.0]);
    }
    system.topology = Topology::chains(1, 3, "chain");
    (system.topology.angles, system.topology.angle_types) = Default::default();
    let bond = BondTerm::uniform(BondKind::Fene, &[30.0, 1.5]).unwrap();
    let forces = Forces { bonds: vec![bond], ..Forces::default() };
    for algorithm in [Algorithm::Clusters, Algorithm::Reference] {
        let settings = Settings { algorithm, ..Settings::default() };
        let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), settings).unwrap();
        cpu.update_neighbors().unwrap();
        let error = cpu.compute_forces(Evaluate::Forces).unwrap_err();
        assert!(error.message().contains("between atoms 2 and 3 is 1.55"), "{error}");
    }
}

#[test]
fn types_without_a_force_are_refused() {
    let mut forces = forces(Exclude::None);
    forces.angles.pop();
    let error = jostle_cpu::open(chains([true; 3]), forces, Settings::default()).err().unwrap();
    assert!(error.message().contains("angles of type \"b\""), "{error}");
}

/// Melt of chains: LAMMPS excludes bound beads from the pair force and includes it in the bond, so that the
/// sum is that of chains without exclusions, the pair energy that with them.
#[test]
fn a_melt_of_chains_equals_that_of_lammps() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference/04_fene_melt"));
    if !folder.exists() {
        println!("skipped: there is no {}", folder.display());
        return;
    }
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("reference.json")).unwrap();
    let mut system = System::new(SimBox::orthorhombic([10.5566719198; 3]).unwrap(), vec![bead("1")]);
    let mut exact: Vec<Vec3> = Vec::new();
    for line in read("forces.txt").lines().filter(|l| !l.starts_with('#')) {
        let x: Vec<f64> = line.split_whitespace().map(|w| w.parse().unwrap()).collect();
        system.state.push(0, [x[2], x[3], x[4]]);
        exact.push(Vector([x[5], x[6], x[7]]));
    }
    system.topology = Topology::chains(20, 50, "1");
    (system.topology.angles, system.topology.angle_types) = Default::default();
    let wca = PairTerm::uniform(PairKind::SoftSphere, Truncation::Plain, &[1.0, 1.0], 2f64.powf(1.0 / 6.0));
    let mut forces = Forces::from(wca);
    forces.bonds = vec![BondTerm::uniform(BondKind::Fene, &[30.0, 1.5]).unwrap()];
    let energy = |key: &str| json["energies"][key].as_f64().unwrap();
    for algorithm in [Algorithm::Clusters, Algorithm::Reference] {
        let settings = Settings { algorithm, precision: Precision::Double, ..Settings::default() };
        let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), settings).unwrap();
        cpu.update_neighbors().unwrap();
        cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        let found = cpu.energies().clone();
        assert!((found.potential() / energy("pe") - 1.0).abs() < 1e-10, "{}", found.potential());
        for (k, w) in found.virial.iter().enumerate() {
            let exact = json["virial_W_tensor_energy_units"][k].as_f64().unwrap();
            assert!((w - exact).abs() < 1e-9 * 5e3, "{w} is not {exact}");
        }
        let scale = json["force_rms"].as_f64().unwrap();
        let with = by_id(cpu.state().unwrap());
        let errors = with.iter().flatten().zip(exact.iter().flatten()).map(|(a, b)| a - b);
        assert!(largest(errors) < 1e-8 * scale);
        forces.exclude = Exclude::Bonded;
        let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), settings).unwrap();
        cpu.update_neighbors().unwrap();
        cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        let pairs = cpu.energies().terms[0];
        assert!((pairs / energy("evdwl") - 1.0).abs() < 1e-10, "{pairs}");
        forces.exclude = Exclude::None;
    }
}
