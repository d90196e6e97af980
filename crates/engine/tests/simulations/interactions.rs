//! Energies of interaction of two groups, by term, and the force between them.

use crate::fixtures::{column, run_in_parts};
use jostle_core::{Settings, State, System, UnitSystem, Vec3};
use jostle_cpu::reference;
use jostle_engine::Simulation;
use jostle_engine::interaction::Interaction;
use jostle_engine::model::StageInput;
use jostle_fixtures::solute;
use jostle_io::Input;
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{Forces, Truncation};
use std::path::Path;

/// Half of a charged chain, the other half with some ions around; the rest are in neither group.
fn groups() -> [Vec<u32>; 2] {
    [(0..3).collect(), (3..60).collect()]
}

fn solute() -> (System, Forces) {
    solute::solute(300, Method::ewald(2.6, 1e-6), Truncation::Shifted, false)
}

/// Energies of charges and forces of a double loop and Ewald's sum, with the charges of these atoms alone.
fn of_charges(ids: &[u32]) -> (f64, Vec<Vec3>) {
    let (mut system, forces) = solute();
    let charges = (0..system.state.len()).map(|k| system.charge(k));
    system.charges =
        charges.enumerate().map(|(k, q)| if ids.contains(&(k as u32)) { q } else { 0.0 }).collect();
    let forces = Forces { pairs: Vec::new(), bonds: Vec::new(), ..forces };
    let (forces, energies) = reference::evaluate(&system, &forces).unwrap();
    (energies.terms[0], forces)
}

/// Lennard-Jones energy of pairs of the groups, and its force on the first one, pair by pair.
fn of_pairs(system: &System, forces: &Forces) -> (f64, Vec3) {
    let ([first, second], term) = (groups(), &forces.pairs[0]);
    let exclusions = system.topology.exclusions(system.state.len(), forces.exclude);
    let (mut sum, mut total) = (0.0, Vec3::ZERO);
    for (a, b) in first.iter().flat_map(|a| second.iter().map(move |b| (*a, *b))) {
        let [ra, rb] = [a, b].map(|id| system.state.position[id as usize]);
        let d = system.simbox.nearest_image(ra - rb);
        let r2: f64 = d.iter().map(|x| x * x).sum();
        let kinds = [a, b].map(|id| usize::from(system.state.species[id as usize]));
        let Some(entry) = term.get(kinds[0], kinds[1]) else { continue };
        if r2 < entry.cutoff * entry.cutoff && !exclusions[a as usize].contains(&b) {
            let (energy, force_over_r) = term.evaluate(r2, &term.coefficients(kinds[0], kinds[1]).unwrap());
            sum += energy;
            total += force_over_r * d;
        }
    }
    (sum, total)
}

/// Settings of a reproducible run on so many threads.
fn on(threads: usize) -> Settings {
    Settings { threads: Some(threads), reproducible: true, ..Settings::default() }
}

/// Reproducible interactions have the same bits on any number of threads, and whatever was evaluated before.
#[test]
fn bits_do_not_depend_on_threads_or_history() {
    let (system, forces) = solute();
    let [first, second] = groups();
    let mut moved = system.state.clone();
    moved
        .position
        .iter_mut()
        .zip(0..)
        .for_each(|(r, k)| *r += Vec3::from_fn(|axis| 0.05 * f64::from(k + axis as i32).sin()));
    let bits = |threads: usize, history: &[&State]| -> Vec<u64> {
        let mut one = Interaction::new("i", &system, &forces, [&first, &second], on(threads)).unwrap();
        history.iter().for_each(|state| drop(one.evaluate(&system.simbox, state).unwrap()));
        let sums = one.evaluate(&system.simbox, &system.state).unwrap();
        sums.values().map(f64::to_bits).collect()
    };
    let expected = bits(1, &[]);
    for threads in [1, 2, 3] {
        assert_eq!(bits(threads, &[&moved, &system.state, &moved]), expected, "{threads} threads");
    }
}

/// Virtual sites, which have no mass, interact as atoms do.
#[test]
fn points_without_mass_take_part() {
    let (mut system, forces) = solute();
    let [first, second] = groups();
    let mut evaluate = |mass: f64| {
        system.species.iter_mut().for_each(|species| species.mass = mass);
        let mut one = Interaction::new("i", &system, &forces, [&first, &second], on(1)).unwrap();
        one.evaluate(&system.simbox, &system.state).unwrap().values().collect::<Vec<f64>>()
    };
    assert_eq!(evaluate(0.0), evaluate(2.0));
}

#[test]
fn energies_and_force_are_those_of_pairs_between_the_groups() {
    let (system, forces) = solute();
    let [first, second] = groups();
    let mut interaction = Interaction::new("i", &system, &forces, [&first, &second], on(1)).unwrap();
    assert_eq!(interaction.terms(), ["lennard_jones", "coulomb", "bond_harmonic"]);
    let sums = interaction.evaluate(&system.simbox, &system.state).unwrap();
    let (pairs, mut force) = of_pairs(&system, &forces);
    assert!((sums.energies[0] - pairs).abs() < 1e-9 * pairs.abs(), "{sums:?} {pairs}");
    // The energy of charges is a quadratic function of them.
    let [both, a, b] =
        [[&first[..], &second[..]].concat(), first.clone(), second.clone()].map(|ids| of_charges(&ids));
    let charges = both.0 - a.0 - b.0;
    assert!((sums.energies[1] - charges).abs() < 1e-7 * charges.abs().max(1.0), "{sums:?} {charges}");
    let [ra, rb] = [2, 3].map(|k| system.state.position[k]);
    let d = system.simbox.nearest_image(ra - rb);
    let length = d.iter().map(|x| x * x).sum::<f64>().sqrt();
    let bond = 10.0 * (length - 0.8).powi(2);
    assert!((sums.energies[2] - bond).abs() < 1e-9, "{sums:?} {bond}");
    for k in 0..3 {
        force[k] += first.iter().map(|id| both.1[*id as usize][k] - a.1[*id as usize][k]).sum::<f64>();
        force[k] -= 20.0 * (length - 0.8) * d[k] / length;
        assert!((sums.force[k] - force[k]).abs() < 1e-6 * force[k].abs().max(1.0), "{sums:?} {force:?}");
    }
    // Moved atoms, in another order and another image.
    let mut moved = system.state.clone();
    let shift = system.simbox.shift([1, 0, -1]);
    for (position, image) in moved.position.iter_mut().zip(&mut moved.image).take(2) {
        *position += shift;
        *image = [-1, 0, 1];
    }
    let again = interaction.evaluate(&system.simbox, &moved).unwrap();
    for (x, y) in again.values().zip(sums.values()) {
        assert!((x - y).abs() < 1e-8 * y.abs().max(1.0), "{again:?} {sums:?}");
    }
}

#[test]
fn groups_with_a_common_atom_are_refused() {
    let (system, forces) = solute();
    let error = Interaction::new("i", &system, &forces, [&[0, 1], &[1, 2]], on(1)).err().unwrap();
    assert!(error.message().contains("interaction 'i': atom 2 is in both groups"), "{error}");
}

const MIXTURE: &str = r#"
units = "lj"
[system]
lattice = "fcc"
atoms = 256
density = 0.8
temperature = 0.8
[species.A]
mass = 1
fraction = 0.5
[species.B]
mass = 1
fraction = 0.5
[[force]]
kind = "lennard-jones"
cutoff = 2.2
mixing = "lorentz-berthelot"
pairs."A-A" = { epsilon = 1, sigma = 1 }
pairs."B-B" = { epsilon = 0.5, sigma = 1 }
[[group]]
name = "a"
atoms = "species A"
[[interaction]]
name = "mixed"
between = ["group a", "not group a"]
[[interaction]]
name = "within"
between = ["index 0 to 9", "index 10 to 255"]
[[stage]]
name = "go"
steps = 40
timestep = 0.004
thermo = { every = 10 }
[run]
threads = 1
device = "cpu"
precision = "double"
reproducible = true
"#;

/// Columns of a run; of a single atom the force is that on it.
#[test]
fn interactions_are_columns_of_a_run() {
    let input = Input::parse(Path::new("mixture.toml"), MIXTURE).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    let mut simulation = run_in_parts(&input, &whole, u64::MAX);
    run_in_parts(&input, &parts, 13);
    let mixed = column(&whole, "mixed_lennard_jones");
    assert_eq!(mixed, column(&parts, "mixed_lennard_jones"));
    // Of random pairs half are between species, with the root of the product of wells.
    for (mixed, total) in mixed.iter().zip(column(&whole, "lennard_jones")) {
        assert!(*mixed < 0.3 * total && *mixed > 0.7 * total, "{mixed} {total}");
    }
    assert_eq!(mixed.len(), 5);
    let forces = simulation.forces().unwrap();
    let on_ten: f64 = forces[..10].iter().map(|f| f[0]).sum();
    let last = *column(&whole, "within_force_x").last().unwrap();
    assert!((last - on_ten).abs() < 1e-8 * on_ten.abs().max(1.0), "{last} {on_ten}");
}

/// A run built by a program.
#[test]
fn a_builder_takes_interactions() {
    let (mut system, forces) = solute();
    system.topology.bonds.clear();
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .force(forces.pairs[0].clone())
        .interaction("halves", groups())
        .stage(StageInput::dynamics("a", 2, 1e-4))
        .settings(Settings { threads: Some(1), ..Settings::default() })
        .build()
        .unwrap();
    simulation.run().unwrap();
}
