//! Alchemy: the ends of a path against systems without it, energies of other states against evaluations of their own,
//! and derivatives against differences.

use crate::engine::{by_id, open};
use jostle_core::{Bond, Precision, System, Vec3};
use jostle_cpu::reference;
use jostle_fixtures::charges::{difference, norm};
use jostle_fixtures::solute::{CHAIN, chain_alone, solute, without_chain};
use jostle_potentials::alchemy::{Coupling, Decoupling, Original, OwnEnergy, SoftCore, Window, decouple};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{BondKind, BondTerm, Forces, Truncation};

const BEUTLER: SoftCore = SoftCore::Beutler { alpha: 0.5, power: 1 };
const SOFT_CORES: [SoftCore; 3] =
    [BEUTLER, SoftCore::Beutler { alpha: 0.4, power: 2 }, SoftCore::Gapsys { alpha: 0.85 }];
const TRUNCATIONS: [Truncation; 4] = [
    Truncation::Plain,
    Truncation::Shifted,
    Truncation::Switched { from: 0.8 },
    Truncation::CharmmSwitched { from: 0.8 },
];
const N: usize = 110;

fn ewald() -> Method {
    Method::ewald(2.6, 1e-13)
}

/// System of a state of the path, its forces, and what belongs to them.
struct State {
    system: System,
    forces: Forces,
    original: Original,
    coupling: Coupling,
}

fn state_of(
    whole: &(System, Forces),
    charges: f64,
    lennard_jones: f64,
    form: impl Into<Decoupling>,
) -> State {
    let (mut system, mut forces) = whole.clone();
    let atoms: Vec<u32> = (0..CHAIN).collect();
    let window = Window { charges, lennard_jones };
    let (original, coupling) = decouple(&mut system, &mut forces, &atoms, window, form).unwrap();
    State { system, forces, original, coupling }
}

fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() < tolerance * (1.0 + b.abs()), "{what}: {a} is not {b}");
}

fn same(a: &[Vec3], b: &[Vec3], tolerance: f64) {
    assert!(difference(a, b) < tolerance * norm(b), "{} of {}", difference(a, b), norm(b));
}

#[test]
fn a_coupled_molecule_is_that_of_the_plain_system() {
    let whole = solute(N, ewald(), Truncation::Plain, true);
    let (plain_forces, plain) = reference::evaluate(&whole.0, &whole.1).unwrap();
    for soft_core in SOFT_CORES {
        let State { system, forces, .. } = state_of(&whole, 1.0, 1.0, soft_core);
        let (found_forces, found) = reference::evaluate(&system, &forces).unwrap();
        close(found.potential(), plain.potential(), 1e-9, "energy");
        same(&found_forces, &plain_forces, 1e-9);
        for (a, b) in found.virial.iter().zip(plain.virial) {
            close(*a, b, 1e-9, "virial");
        }
    }
}

#[test]
fn a_decoupled_molecule_leaves_the_others_alone_and_keeps_its_own_energy() {
    let whole = solute(N, ewald(), Truncation::Plain, true);
    let State { system, forces, .. } = state_of(&whole, 0.0, 0.0, BEUTLER);
    let (found_forces, found) = reference::evaluate(&system, &forces).unwrap();
    let rest = without_chain(&whole.0);
    let of_rest = Forces { bonds: Vec::new(), ..whole.1.clone() };
    let (rest_forces, rest_energies) = reference::evaluate(&rest, &of_rest).unwrap();
    // The molecule alone, in a sum over no images: its pairs and bonds without a cut-off.
    let chain = chain_alone(&whole.0);
    let without_sum = Forces { electrostatics: None, ..whole.1.clone() };
    let (_, mut own) = reference::evaluate(&chain, &without_sum).unwrap();
    let own_charges = coulomb_energy(&chain, 1.3);
    own.terms.push(own_charges);
    close(found.potential(), rest_energies.potential() + own.potential(), 1e-9, "energy");
    same(&found_forces[CHAIN as usize..], &rest_forces, 1e-9);
}

/// The solute with two pairs that a force field has scaled, of one type, which a bond elsewhere has, too.
fn with_scaled_pairs(truncation: Truncation) -> (System, Forces) {
    let (mut system, mut forces) = solute(N, ewald(), truncation, true);
    system.topology.bond_types.push("1-4".into());
    for atoms in [[0, 3], [1, 4], [20, 21]] {
        system.topology.bonds.push(Bond { kind: 1, atoms });
        system.topology.excluded.push(atoms);
    }
    let scaled = BondTerm::new(BondKind::ScaledPair, 2).with(1, &[0.15, 0.9, -0.4]).unwrap();
    forces.bonds = vec![forces.bonds.remove(0).with_types(2), scaled];
    (system, forces)
}

fn annihilating(soft_core: SoftCore) -> Decoupling {
    Decoupling { soft_core, own_energy: OwnEnergy::Scaled }
}

fn energy_of(system: &System, forces: &Forces) -> f64 {
    reference::evaluate(system, forces).unwrap().1.potential()
}

/// Annihilation begins with the plain system, and ends with the others and a molecule of springs alone.
#[test]
fn an_annihilated_molecule_has_springs_alone() {
    let whole = with_scaled_pairs(Truncation::Plain);
    let plain = reference::evaluate(&whole.0, &whole.1).unwrap();
    for soft_core in SOFT_CORES {
        let State { system, forces, .. } = state_of(&whole, 1.0, 1.0, annihilating(soft_core));
        let (found_forces, found) = reference::evaluate(&system, &forces).unwrap();
        close(found.potential(), plain.1.potential(), 1e-9, "energy");
        same(&found_forces, &plain.0, 1e-9);
        for (a, b) in found.virial.iter().zip(plain.1.virial) {
            close(*a, b, 1e-9, "virial");
        }
        let State { system, forces, .. } = state_of(&whole, 0.0, 0.0, annihilating(soft_core));
        let rest = without_chain(&whole.0);
        let of_rest = Forces { bonds: Vec::new(), ..whole.1.clone() };
        let chain = chain_alone(&solute(N, ewald(), Truncation::Plain, true).0);
        let springs = Forces { bonds: vec![whole.1.bonds[0].clone().with_types(1)], ..Forces::default() };
        let tails = Forces { bonds: Vec::new(), electrostatics: None, ..whole.1.clone() };
        // The bond between two of the others, and what is left of the tail: that of the molecule with its own images.
        let [a, b] = [20, 21].map(|id: u32| id - CHAIN);
        let mut joined = rest.clone();
        joined.topology.bond_types = vec!["chain".into(), "1-4".into()];
        joined.topology.bonds = vec![Bond { kind: 1, atoms: [a, b] }];
        joined.topology.excluded = vec![[a, b]];
        let of_joined = Forces { bonds: whole.1.bonds.clone(), ..of_rest };
        let far = |system: &System| tails.tail(0, &system.counts()).at(system.simbox.volume())[0];
        let expected = energy_of(&joined, &of_joined) + energy_of(&chain, &springs) + far(&chain);
        close(energy_of(&system, &forces), expected, 1e-9, "energy");
    }
}

/// The path of annihilation is that of decoupling and one of the molecule alone in vacuum: energies of every window
/// differ by just this.
#[test]
fn annihilation_is_decoupling_and_a_path_in_vacuum() {
    let whole = with_scaled_pairs(Truncation::Shifted);
    let chain = chain_alone(&solute(N, ewald(), Truncation::Plain, true).0);
    let mut own = chain.clone();
    own.topology.bond_types.push("1-4".into());
    for atoms in [[0, 3], [1, 4]] {
        own.topology.bonds.push(Bond { kind: 1, atoms });
        own.topology.excluded.push(atoms);
    }
    let bonds = whole.1.bonds.clone();
    let bound = energy_of(&own, &Forces { bonds: bonds.clone(), ..Forces::default() })
        - energy_of(&chain, &Forces { bonds: vec![bonds[0].clone().with_types(1)], ..Forces::default() });
    let plain = Forces { pairs: solute(N, ewald(), Truncation::Plain, false).1.pairs, ..Forces::default() };
    // All of the energy of the molecule in vacuum but that of its springs.
    let vacuum = bound + energy_of(&own, &plain) + coulomb_energy(&own, 1.3);
    for soft_core in SOFT_CORES {
        let change = |form: Decoupling| {
            let [a, b] = [1.0, 0.0].map(|factor| {
                let State { system, forces, .. } = state_of(&whole, factor, factor, form);
                energy_of(&system, &forces)
            });
            b - a
        };
        let (decoupled, annihilated) = (change(soft_core.into()), change(annihilating(soft_core)));
        assert!(vacuum.abs() > 0.05, "{vacuum}");
        close(annihilated, decoupled - vacuum, 1e-9, "cycle");
    }
}

/// Energies of other states of annihilation, and both derivatives, against evaluations of their own.
#[test]
fn energies_of_annihilation_are_those_of_evaluations_of_their_own() {
    for soft_core in SOFT_CORES {
        let whole = with_scaled_pairs(Truncation::Switched { from: 0.8 });
        let form = annihilating(soft_core);
        let energy = |charges: f64, lennard_jones: f64| {
            let State { system, forces, .. } = state_of(&whole, charges, lennard_jones, form);
            energy_of(&system, &forces)
        };
        let State { system, forces, original, coupling } = state_of(&whole, 0.4, 0.6, form);
        let (factors, own) = ([0.6, 0.0, 0.3, 1.0], energy(0.4, 0.6));
        let found =
            coupling.table(&system.counts(), &factors, 0.6).unwrap().energies(&system.simbox, &system.state);
        for (factor, found_energy) in factors.iter().zip(&found.energies) {
            close(found_energy - found.energies[0], energy(0.4, *factor) - own, 1e-9, "Lennard-Jones");
        }
        let h = 1e-4;
        let slope = (energy(0.4, 0.6 + h) - energy(0.4, 0.6 - h)) / (2.0 * h);
        close(found.slope, slope, 1e-6, &format!("derivative, {soft_core:?}"));
        // Charges of the lattice sum, and those within the molecule.
        let lattice = |factor: f64| {
            let mut other = system.clone();
            other.charges = original.charges_at(&system.charges, factor);
            energy_of(&other, &forces) + factor * factor * found.own_charges[1]
        };
        assert_eq!(found.own_charges[0], 0.0);
        for factor in [0.0, 0.5, 1.0] {
            let expected = energy(factor, 0.6) - own;
            close(lattice(factor) - lattice(0.4), expected, 1e-9, &format!("charges by {factor}"));
        }
    }
}

#[test]
fn annihilation_can_be_taken_back() {
    let whole = with_scaled_pairs(Truncation::Plain);
    let State { mut system, original, .. } = state_of(&whole, 0.4, 0.6, annihilating(BEUTLER));
    assert_ne!(system.topology.bonds[..], whole.0.topology.bonds[..]);
    original.restore(&mut system).unwrap();
    assert_eq!(system, whole.0);
}

/// Coulomb energy of all pairs that are not excluded.
fn coulomb_energy(system: &System, coulomb: f64) -> f64 {
    let excluded = &system.topology.excluded;
    let n = system.state.len();
    let mut energy = 0.0;
    for i in 0..n {
        for j in i + 1..n {
            if excluded.contains(&[i as u32, j as u32]) {
                continue;
            }
            let (a, b) = (system.state.position[i], system.state.position[j]);
            let d = system.simbox.nearest_image(b - a);
            let r = d.iter().map(|x| x * x).sum::<f64>().sqrt();
            energy += coulomb * system.charge(i) * system.charge(j) / r;
        }
    }
    energy
}

/// Energies of states by evaluations of their own, and by those of one state.
#[test]
fn energies_of_other_states_are_those_of_evaluations_of_their_own() {
    let factors = [0.0, 0.8, 1.0];
    let forms = TRUNCATIONS.map(|truncation| (truncation, BEUTLER)).into_iter();
    for (truncation, soft_core) in
        forms.chain(SOFT_CORES.map(|core| (Truncation::Switched { from: 0.8 }, core)))
    {
        let whole = solute(N, ewald(), truncation, true);
        let here = state_of(&whole, 0.4, 0.6, soft_core);
        let energy = |charges: f64, lennard_jones: f64| {
            let State { system, forces, .. } = state_of(&whole, charges, lennard_jones, soft_core);
            reference::evaluate(&system, &forces).unwrap().1.potential()
        };
        let own = energy(0.4, 0.6);
        let State { system, coupling, .. } = &here;
        let among = [&[0.6][..], &factors].concat();
        let found =
            coupling.table(&system.counts(), &among, 0.6).unwrap().energies(&system.simbox, &system.state);
        for (factor, found_energy) in factors.iter().zip(&found.energies[1..]) {
            close(found_energy - found.energies[0], energy(0.4, *factor) - own, 1e-9, "Lennard-Jones");
        }
        let h = 1e-4;
        let slope = (energy(0.4, 0.6 + h) - energy(0.4, 0.6 - h)) / (2.0 * h);
        close(found.slope, slope, 1e-6, &format!("derivative, {truncation:?} {soft_core:?}"));
    }
}

/// Energies with other charges, by both arithmetics and several threads; forces stay those of the state.
#[test]
fn energies_with_other_charges_leave_forces_alone() {
    let whole = solute(N, Method::pme(2.6, 1e-5, 6), Truncation::Plain, true);
    for (precision, tolerance) in [(Precision::Double, 1e-10), (Precision::Mixed, 2e-5)] {
        let State { system, forces, original, .. } = state_of(&whole, 0.4, 0.6, BEUTLER);
        let mut cpu = open(&system, &forces, precision, 2);
        let (before, energies) = (by_id(&mut *cpu), cpu.energies().clone());
        for factor in [0.0, 0.4, 1.0] {
            let other = state_of(&whole, factor, 0.6, BEUTLER);
            let expected = open(&other.system, &other.forces, precision, 1);
            let charges = original.charges_at(&system.charges, factor);
            let found = cpu.energies_with_charges(&charges).unwrap();
            for (a, b) in found.terms.iter().zip(&expected.energies().terms) {
                close(*a, *b, tolerance, &format!("factor {factor}"));
            }
            assert_eq!((by_id(&mut *cpu), cpu.energies()), (before.clone(), &energies));
        }
        assert!(cpu.energies_with_charges(&[0.0; 3]).is_err());
    }
}

#[test]
fn the_engine_agrees_with_the_reference_at_an_intermediate_state() {
    let forms = SOFT_CORES.into_iter().flat_map(|core| [core.into(), annihilating(core)]);
    for soft_core in forms {
        let whole = solute(N, Method::pme(2.6, 1e-6, 6), Truncation::Switched { from: 0.9 }, true);
        let State { system, forces, .. } = state_of(&whole, 0.3, 0.5, soft_core);
        let (expected_forces, expected) = reference::evaluate(&system, &forces).unwrap();
        for (precision, tolerance) in [(Precision::Double, 1e-5), (Precision::Mixed, 5e-5)] {
            let mut cpu = open(&system, &forces, precision, 2);
            same(&by_id(&mut *cpu), &expected_forces, tolerance);
            close(cpu.energies().potential(), expected.potential(), tolerance, "energy");
        }
    }
}

#[test]
fn changes_can_be_taken_back() {
    let whole = solute(N, ewald(), Truncation::Plain, false);
    let State { mut system, original, .. } = state_of(&whole, 0.4, 0.6, BEUTLER);
    assert_ne!(system, whole.0);
    original.restore(&mut system).unwrap();
    assert_eq!(system, whole.0);
    assert!(original.restore(&mut system).is_err(), "it has been restored");
}

#[test]
fn molecules_that_cannot_be_decoupled_are_refused() {
    let whole = solute(N, ewald(), Truncation::Plain, false);
    let refused = |atoms: &[u32], (system, forces): (System, Forces)| {
        let (mut system, mut forces) = (system, forces);
        let window = Window { charges: 0.5, lennard_jones: 0.5 };
        let error = decouple(&mut system, &mut forces, atoms, window, BEUTLER).unwrap_err();
        format!("{error} {}", error.help().unwrap_or_default())
    };
    let chain: Vec<u32> = (0..CHAIN).collect();
    assert!(refused(&[0, 1, 2], whole.clone()).contains("belongs to the same molecule"));
    assert!(refused(&[0, 1, 2, 3, 4, 5, 9], whole.clone()).contains("two molecules"));
    let mut cut = whole.clone();
    let coulomb = jostle_potentials::Electrostatics::new(Method::Cutoff, 1.0, 2.6);
    cut.1.electrostatics = Some(coulomb);
    assert!(refused(&chain, cut).contains("lattice sum"));
    let mut other = whole.clone();
    let entry = jostle_potentials::PairEntry { parameters: vec![1.0, 1.0], cutoff: 2.0 };
    let mut yukawa =
        jostle_potentials::PairTerm::new(jostle_potentials::PairKind::Yukawa, Truncation::Plain, 3);
    yukawa.set(0, 1, entry);
    other.1.pairs.push(yukawa);
    assert!(refused(&chain, other).contains("yukawa"));
}
