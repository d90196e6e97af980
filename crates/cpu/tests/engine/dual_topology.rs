//! Dual topologies: end states against systems without the other part, energies of other states against evaluations of
//! their own, derivatives against differences.

use crate::engine::{by_id, open};
use jostle_core::{Bond, Precision, System};
use jostle_cpu::reference;
use jostle_fixtures::charges::{difference, norm};
use jostle_fixtures::solute::solute;
use jostle_potentials::alchemy::{
    Coupling, Decoupling, Original, OwnEnergy, SoftCore, Window, exchange_parts,
};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{BondKind, BondTerm, Forces, Truncation};

const SOFT_CORES: [SoftCore; 2] =
    [SoftCore::Beutler { alpha: 0.5, power: 1 }, SoftCore::Gapsys { alpha: 0.85 }];
/// Parts that disappear and appear; atoms 0 to 2 are common to both ends.
const PARTS: [&[u32]; 2] = [&[3, 4, 5], &[6, 7]];
const ALL: u32 = 8;

/// A branched molecule among ions: 0-1-2, with a chain 3-4-5 and one 6-7 at its end, neighbours excluded, and three
/// pairs that a force field has scaled: of each part with the rest, and of both.
fn hybrid(method: Method) -> (System, Forces) {
    let springs = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [2, 6], [6, 7]];
    joined(method, &springs, &[[1, 4], [7, 1], [4, 6]])
}

/// Three molecules among ions: 0-1-2, and one of each part.
fn two_molecules(method: Method) -> (System, Forces) {
    joined(method, &[[0, 1], [1, 2], [3, 4], [4, 5], [6, 7]], &[[0, 2]])
}

/// Both kinds of dual topologies: parts of one molecule, and whole molecules.
const KINDS: [fn(Method) -> (System, Forces); 2] = [hybrid, two_molecules];

/// Atoms among ions with springs and scaled pairs.
fn joined(method: Method, springs: &[[u32; 2]], scaled: &[[u32; 2]]) -> (System, Forces) {
    let (mut system, mut forces) = solute(110, method, Truncation::Plain, false);
    let topology = &mut system.topology;
    topology.bond_types = vec!["spring".into(), "1-4".into()];
    let of_kind = |kind: u32, pairs: &[[u32; 2]]| {
        pairs.iter().map(move |atoms| Bond { kind, atoms: *atoms }).collect::<Vec<_>>()
    };
    topology.bonds = [of_kind(0, springs), of_kind(1, scaled)].concat();
    topology.excluded = [springs, scaled].concat();
    let bonds = forces.bonds.remove(0).with_types(2);
    let scaled = BondTerm::new(BondKind::ScaledPair, 2).with(1, &[0.15, 0.9, -0.4]).unwrap();
    forces.bonds = vec![bonds, scaled];
    (system, forces)
}

fn ewald() -> Method {
    Method::ewald(2.6, 1e-13)
}

/// The system without some atoms.
fn without(system: &System, gone: &[u32]) -> System {
    let mut rest = System::new(system.simbox, system.species.clone());
    let kept: Vec<u32> = (0..system.state.len() as u32).filter(|id| !gone.contains(id)).collect();
    for id in &kept {
        let index = *id as usize;
        rest.state.push(system.state.species[index], system.state.position[index]);
    }
    let place = |id: u32| kept.binary_search(&id).ok().map(|place| place as u32);
    let both = |atoms: &[u32; 2]| Some([place(atoms[0])?, place(atoms[1])?]);
    rest.topology.bond_types = system.topology.bond_types.clone();
    let bonds = system.topology.bonds.iter();
    rest.topology.bonds = bonds.filter_map(|b| Some(Bond { kind: b.kind, atoms: both(&b.atoms)? })).collect();
    rest.topology.excluded = system.topology.excluded.iter().filter_map(both).collect();
    rest
}

struct State {
    system: System,
    forces: Forces,
    parts: [(Original, Coupling); 2],
}

/// Factors of charges and of Lennard-Jones forces of both parts.
type Factors = [[f64; 2]; 2];

fn state_of(whole: &(System, Forces), factors: Factors, form: Decoupling) -> State {
    let (mut system, mut forces) = whole.clone();
    let windows = factors.map(|[charges, lennard_jones]| Window { charges, lennard_jones });
    let parts = [(PARTS[0], windows[0]), (PARTS[1], windows[1])];
    let parts = exchange_parts(&mut system, &mut forces, parts, form).unwrap();
    State { system, forces, parts }
}

fn energy_of(system: &System, forces: &Forces) -> f64 {
    reference::evaluate(system, forces).unwrap().1.potential()
}

fn forms() -> impl Iterator<Item = Decoupling> {
    let of = |soft_core| {
        [OwnEnergy::Kept, OwnEnergy::Scaled].map(|own_energy| Decoupling { soft_core, own_energy })
    };
    SOFT_CORES.into_iter().flat_map(of)
}

fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() < tolerance * (1.0 + b.abs()), "{what}: {a} is not {b}");
}

/// Energy of Lennard-Jones force and charges of a part alone, as in vacuum.
fn own_energy(whole: &(System, Forces), part: usize) -> f64 {
    let gone: Vec<u32> = (0..whole.0.state.len() as u32).filter(|id| !PARTS[part].contains(id)).collect();
    let alone = without(&whole.0, &gone);
    let plain = Forces { pairs: solute(110, ewald(), Truncation::Plain, false).1.pairs, ..Forces::default() };
    let mut energy = energy_of(&alone, &plain);
    for i in 0..alone.state.len() {
        for j in i + 1..alone.state.len() {
            if !alone.topology.excluded.contains(&[i as u32, j as u32]) {
                let [a, b] = [i, j].map(|k| alone.state.position[k]);
                let d = alone.simbox.nearest_image(b - a);
                let r = d.iter().map(|x| x * x).sum::<f64>().sqrt();
                energy += 1.3 * alone.charge(i) * alone.charge(j) / r;
            }
        }
    }
    energy
}

/// At either end the system is the plain one of one part, with the springs and, where it is kept, the own energy of the
/// other; forces on the atoms that both ends have are those of the plain system, but for these springs.
#[test]
fn ends_are_plain_systems() {
    KINDS.into_iter().for_each(|kind| compare_ends(&kind(ewald())));
}

fn compare_ends(whole: &(System, Forces)) {
    let springs = Forces { bonds: vec![whole.1.bonds[0].clone()], ..Forces::default() };
    assert!(own_energy(whole, 0).abs() > 0.01);
    for form in forms() {
        for (there, gone) in [(0, 1), (1, 0)] {
            let mut factors = [[0.0; 2]; 2];
            factors[there] = [1.0; 2];
            let State { system, forces, .. } = state_of(whole, factors, form);
            let plain = without(&whole.0, PARTS[gone]);
            let own = if form.own_energy == OwnEnergy::Kept { own_energy(whole, gone) } else { 0.0 };
            let of_springs = energy_of(&whole.0, &springs) - energy_of(&plain, &springs);
            let expected = energy_of(&plain, &whole.1) + of_springs + own;
            close(energy_of(&system, &forces), expected, 1e-9, &format!("{form:?}, end {there}"));
            let found = reference::evaluate(&system, &forces).unwrap().0;
            let plain_forces = reference::evaluate(&plain, &whole.1).unwrap().0;
            // Ions, which come after the molecule in both.
            let n_plain = ALL as usize - PARTS[gone].len();
            let (a, b) = (&found[ALL as usize..], &plain_forces[n_plain..]);
            assert!(difference(a, b) < 1e-9 * norm(b), "{form:?}, end {there}");
        }
    }
}

/// Energies of other states, and derivatives with the coupling parameter of each part, against evaluations.
#[test]
fn energies_of_other_states_are_those_of_evaluations_of_their_own() {
    KINDS.into_iter().for_each(|kind| compare_states(&kind(ewald())));
}

fn compare_states(whole: &(System, Forces)) {
    const HERE: Factors = [[0.4, 0.6], [0.3, 0.7]];
    for form in forms() {
        let energy = |factors: Factors| {
            let State { system, forces, .. } = state_of(whole, factors, form);
            energy_of(&system, &forces)
        };
        let (own, State { system, forces, parts }) = (energy(HERE), state_of(whole, HERE, form));
        for (number, (_, coupling)) in parts.iter().enumerate() {
            let (lambda, among) = (HERE[number][1], [HERE[number][1], 0.0, 0.2, 1.0]);
            let table = coupling.table(&system.counts(), &among, lambda).unwrap();
            let found = table.energies(&system.simbox, &system.state);
            let at = |lambda: f64| {
                let mut factors = HERE;
                factors[number][1] = lambda;
                energy(factors)
            };
            for (factor, found_energy) in among.iter().zip(&found.energies) {
                let what = format!("{form:?}, part {number}, {factor}");
                close(found_energy - found.energies[0], at(*factor) - own, 1e-9, &what);
            }
            let h = 1e-4;
            let slope = (at(lambda + h) - at(lambda - h)) / (2.0 * h);
            close(found.slope, slope, 1e-6, &format!("derivative, {form:?}, part {number}"));
        }
        // Charges of the lattice sum by those of both parts, and those of single pairs.
        let charges = |factors: [f64; 2]| {
            let (mut other, mut energy) = (system.clone(), 0.0);
            for ((original, coupling), factor) in parts.iter().zip(factors) {
                other.charges = original.charges_at(&other.charges, factor);
                let table = coupling.table(&system.counts(), &[1.0], 1.0).unwrap();
                let [linear, square] = table.energies(&system.simbox, &system.state).own_charges;
                energy += factor * (linear + factor * square);
            }
            energy + energy_of(&other, &forces)
        };
        for [a, b] in [[0.0, 0.0], [1.0, 0.0], [0.5, 1.0], [1.0, 1.0]] {
            let expected = energy([[a, HERE[0][1]], [b, HERE[1][1]]]) - own;
            close(
                charges([a, b]) - charges([0.4, 0.3]),
                expected,
                1e-9,
                &format!("charges {form:?} {a} {b}"),
            );
        }
    }
}

#[test]
fn the_engine_agrees_with_the_reference() {
    for (kind, form) in KINDS.into_iter().flat_map(|kind| forms().map(move |form| (kind, form))) {
        let whole = kind(Method::pme(2.6, 1e-6, 6));
        let State { system, forces, .. } = state_of(&whole, [[0.4, 0.6], [0.3, 0.7]], form);
        let (expected_forces, expected) = reference::evaluate(&system, &forces).unwrap();
        for (precision, tolerance) in [(Precision::Double, 1e-5), (Precision::Mixed, 5e-5)] {
            let mut cpu = open(&system, &forces, precision, 2);
            let found = by_id(&mut *cpu);
            assert!(difference(&found, &expected_forces) < tolerance * norm(&expected_forces));
            close(cpu.energies().potential(), expected.potential(), tolerance, "energy");
        }
    }
}

#[test]
fn changes_can_be_taken_back() {
    for (kind, form) in KINDS.into_iter().flat_map(|kind| forms().map(move |form| (kind, form))) {
        let whole = kind(ewald());
        let State { mut system, parts, .. } = state_of(&whole, [[0.4, 1.0], [0.0, 0.3]], form);
        parts.iter().rev().for_each(|(original, _)| original.restore(&mut system).unwrap());
        assert_eq!(system, whole.0);
    }
}

#[test]
fn parts_that_make_no_sense_are_refused() {
    let refused = |parts: [&[u32]; 2], change: fn(&mut Forces)| {
        let (mut system, mut forces) = hybrid(ewald());
        change(&mut forces);
        let window = Window { charges: 0.5, lennard_jones: 0.5 };
        let parts = parts.map(|part| (part, window));
        let error = exchange_parts(&mut system, &mut forces, parts, SOFT_CORES[0]).unwrap_err();
        error.to_string()
    };
    let nothing = |_: &mut Forces| {};
    assert!(refused([&[3, 4], &[4, 5]], nothing).contains("belongs to both parts"));
    assert!(refused([&[3, 4], &[6, 20]], nothing).contains("two molecules"));
    assert!(refused([&[3, 4], &[]], nothing).contains("no atoms"));
    let by_bonds = |forces: &mut Forces| forces.exclude = jostle_core::Exclude::Bonded;
    assert!(refused(PARTS, by_bonds).contains("excluded pairs that a topology lists"));
}
