//! Locally enhanced sampling: copies at one place are one atom, copies apart have the mean of the energies that each has
//! alone, on every device, in parts and in domains; errors.

use crate::fixtures::{Open, Rows, emulated, run_in_parts};
use jostle_core::{Precision, Vec3, Vector};
use jostle_engine::{Overrides, Simulation};
use jostle_io::Input;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A chain of eight charged atoms with everything that bonds carry, among 56 charged atoms on a lattice; nm and kJ/mol.
const TOPOLOGY: &str = "\
[ defaults ]
1 2 yes 0.5 0.8
[ atomtypes ]
A 12.0 0.0 A 0.30 0.40
B 14.0 0.0 A 0.28 0.30
S 20.0 0.0 A 0.25 0.50
[ moleculetype ]
CHAIN 3
[ atoms ]
1 A 1 ONE A1 1  0.20 12.0
2 B 1 ONE B2 1 -0.30 14.0
3 A 1 ONE A3 1  0.10 12.0
4 B 1 ONE B4 1 -0.10 14.0
5 A 2 TWO A5 1  0.25 12.0
6 B 2 TWO B6 1 -0.15 14.0
7 A 2 TWO A7 1  0.10 12.0
8 B 2 TWO B8 1 -0.10 14.0
[ bonds ]
1 2 1 0.15 100000
2 3 1 0.15 100000
3 4 1 0.15 100000
4 5 1 0.15 100000
5 6 1 0.15 100000
7 8 1 0.15 100000
[ constraints ]
6 7 1 0.12971122
[ pairs ]
1 4 1
2 5 1
3 6 1
4 7 1
5 8 1
[ angles ]
1 2 3 1 110 400
2 3 4 1 110 400
3 4 5 1 110 400
4 5 6 1 110 400
5 6 7 1 110 400
6 7 8 1 110 400
[ dihedrals ]
1 2 3 4 1 0 2.5 3
3 4 5 6 3 1.0 -0.5 0.3 -0.2 0.1 0.0
4 5 6 7 1 180 1.5 2
5 6 7 8 2 35 40
[ moleculetype ]
ION 1
[ atoms ]
1 S 1 ION S 1 0.05 20.0
[ moleculetype ]
NOI 1
[ atoms ]
1 S 1 NOI S 1 -0.05 20.0
[ system ]
chain
[ molecules ]
CHAIN 1
ION 28
NOI 28
";

/// Edge of the box.
const EDGE: f64 = 2.4;

/// Atoms of the chain, around the middle of the box.
fn chain() -> [[f64; 3]; 8] {
    let turn = |k: usize| [0.12 * k as f64, 0.045 * (k % 2) as f64, 0.02 * (k * k % 5) as f64];
    std::array::from_fn(|k| std::array::from_fn(|axis| 0.76 + turn(k)[axis]))
}

/// Structure file of the chain and its surroundings.
fn structure() -> String {
    let spacing = EDGE / 4.0;
    let place = |k: usize| [k % 4, k / 4 % 4, k / 16].map(|n| 0.1 + spacing * n as f64);
    let far = |r: &[f64; 3]| chain().iter().all(|c| (Vector(*c) - Vector(*r)).norm() > 0.2);
    let others = (0..64).map(place).filter(far).take(56);
    let all: Vec<[f64; 3]> = chain().into_iter().chain(others).collect();
    let mut text = format!("chain\n{}\n", all.len());
    for (k, [x, y, z]) in all.iter().enumerate() {
        let (residue, name, number) = match k {
            0..4 => ("ONE", format!("{}{}", ["A", "B"][k % 2], k + 1), 1),
            4..8 => ("TWO", format!("{}{}", ["A", "B"][k % 2], k + 1), 2),
            8..36 => ("ION", "S".to_string(), k - 5),
            _ => ("NOI", "S".to_string(), k - 5),
        };
        writeln!(text, "{number:>5}{residue:<5}{name:>5}{:>5}{x:8.3}{y:8.3}{z:8.3}", k + 1).unwrap();
    }
    text + &format!("{EDGE} {EDGE} {EDGE}\n")
}

/// Files of the chain and of its surroundings.
pub struct Chain(tempfile::TempDir);

impl Chain {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("periodic.top"), TOPOLOGY).unwrap();
        let flexible = TOPOLOGY.replace("[ constraints ]\n6 7 1 0.12971122\n", "6 7 1 0.15 100000\n");
        fs::write(folder.path().join("open.top"), flexible).unwrap();
        fs::write(folder.path().join("chain.gro"), structure()).unwrap();
        Chain(folder)
    }

    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Input of the chain with further sections, in its box or in open space.
    fn parse(&self, periodic: bool, more: &str) -> jostle_core::Result<Input> {
        let forces = match periodic {
            true => {
                "[[force]]\nkind = \"lennard-jones\"\ncutoff = 1.1\ntruncation = \"plain\"\n\
                 [electrostatics]\nkind = \"pme\"\ncutoff = 1.1\naccuracy = 1e-6\norder = 6\n"
            }
            false => "",
        };
        let topology = if periodic { "periodic.top" } else { "open.top" };
        let text = format!(
            "units = \"nano\"\n[system]\ntopology = \"{topology}\"\ncoordinates = \"chain.gro\"\nperiodic = {periodic}\n\
             temperature = 200\nseed = 5\n{forces}{more}\n[run]\nthreads = 1\nprecision = \"double\"\nreproducible = {periodic}\n",
        );
        Input::parse(&self.0.path().join("chain.toml"), &text)
    }

    fn open(&self, periodic: bool, more: &str, open: Open) -> Simulation {
        let input = self.parse(periodic, more).unwrap();
        Simulation::from_input_on(&input, &Overrides::default(), open).unwrap()
    }
}

const DEVICES: [(Open, &str); 2] = [(jostle_cpu::open, "cpu"), (emulated, "gpu")];

fn close(a: Vec3, b: Vec3, tolerance: f64, what: &str) {
    assert!((a - b).norm() < tolerance * (10.0 + b.norm()), "{what}: {a:?}, not {b:?}");
}

/// Potential energy, trace of the virial, and forces by id.
struct Evaluation {
    energy: f64,
    virial: f64,
    forces: Vec<Vec3>,
}

impl Evaluation {
    fn of(mut simulation: Simulation) -> Self {
        Self::at(&mut simulation)
    }

    fn at(simulation: &mut Simulation) -> Self {
        let point = simulation.evaluate().unwrap();
        let (energy, virial) = (point.thermo.potential, point.virial[..3].iter().sum());
        Evaluation { energy, virial, forces: simulation.forces().unwrap() }
    }
}

/// Copies where the atoms are: energy by sums, forces on all others, and the sum of those on copies are as without.
#[test]
fn copies_at_one_place_are_one_atom() {
    let chain = Chain::new();
    for (atoms, chosen) in [
        ("resname TWO", vec![4, 5, 6, 7]),
        ("resname ONE TWO", Vec::from_iter(0..8)),
        ("index 2 5", vec![2, 5]),
    ] {
        for (device, name) in DEVICES {
            for periodic in [true, false] {
                let what = format!("{atoms} on the {name}, periodic = {periodic}");
                let section = format!("[[enhanced]]\natoms = \"{atoms}\"\ncopies = 3\n");
                let plain = Evaluation::of(chain.open(periodic, "", device));
                let found = Evaluation::of(chain.open(periodic, &section, device));
                assert_eq!(found.forces.len(), 64 + 2 * chosen.len(), "{what}");
                for [a, b] in [[found.energy, plain.energy], [found.virial, plain.virial]] {
                    assert!((a / b - 1.0).abs() < 1e-6, "{what}: {a}, not {b}");
                }
                for id in 0..64 {
                    let Some(place) = chosen.iter().position(|other| *other == id) else {
                        close(found.forces[id], plain.forces[id], 1e-6, &what);
                        continue;
                    };
                    for copy in [id, 64 + place, 64 + chosen.len() + place] {
                        close(found.forces[copy], plain.forces[id] / 3.0, 1e-6, &what);
                    }
                }
            }
        }
    }
}

/// Forces in mixed precision are finite with atoms at one place, too.
#[test]
fn copies_at_one_place_have_forces_in_mixed_precision() {
    let chain = Chain::new();
    let section = "[[enhanced]]\natoms = \"resname TWO\"\ncopies = 3\n";
    for (device, name) in DEVICES {
        let [plain, found] = ["", section].map(|more| {
            let mut input = chain.parse(true, more).unwrap();
            let settings = &mut input.run.settings;
            (settings.precision, settings.reproducible) = (Precision::Mixed, false);
            Evaluation::of(Simulation::from_input_on(&input, &Overrides::default(), device).unwrap())
        });
        assert!(
            (found.energy / plain.energy - 1.0).abs() < 1e-5,
            "{name}: {}, not {}",
            found.energy,
            plain.energy
        );
        for id in 0..64 {
            let weight = if (4..8).contains(&id) { 1.0 / 3.0 } else { 1.0 };
            close(found.forces[id], weight * plain.forces[id], 1e-4, name);
        }
    }
}

/// Copies apart in open space: the energy is the mean of those with each copy alone, the force on all other atoms the mean
/// of the forces, and each copy has its part of the force that it has alone.
#[test]
fn copies_apart_have_the_mean_energy() {
    const COPIES: usize = 4;
    let chain = Chain::new();
    let chosen = [3, 4, 5, 6, 7];
    let section = format!("[[enhanced]]\natoms = \"index 3 to 7\"\ncopies = {COPIES}\n");
    for (device, name) in DEVICES {
        let mut plain = chain.open(false, "", device);
        let mut enhanced = chain.open(false, &section, device);
        let (begin, mut all) = (plain.positions().unwrap(), enhanced.positions().unwrap());
        let mut alone = Vec::new();
        for copy in 0..COPIES {
            let mut own = begin.clone();
            for (k, id) in chosen.into_iter().enumerate() {
                let shift = |axis: usize| 0.02 * ((7 * copy + 3 * k + 5 * axis) as f64).sin();
                own[id] += Vector::from_fn(shift);
                let place = if copy == 0 { id } else { 64 + (copy - 1) * chosen.len() + k };
                all[place] = own[id];
            }
            plain.set_positions(&own).unwrap();
            alone.push(Evaluation::at(&mut plain));
        }
        enhanced.set_positions(&all).unwrap();
        let found = Evaluation::at(&mut enhanced);
        let mean = |of: &dyn Fn(&Evaluation) -> f64| alone.iter().map(of).sum::<f64>() / COPIES as f64;
        let (energy, virial) = (mean(&|one| one.energy), mean(&|one| one.virial));
        assert!((found.energy / energy - 1.0).abs() < 1e-9, "{name}: {}, not {energy}", found.energy);
        assert!((found.virial / virial - 1.0).abs() < 1e-8, "{name}: {}, not {virial}", found.virial);
        for id in 0..64 {
            match chosen.iter().position(|other| *other == id) {
                None => {
                    let expected = Vector::from_fn(|axis| mean(&|one| one.forces[id][axis]));
                    close(found.forces[id], expected, 1e-9, name);
                }
                Some(k) => {
                    for (copy, one) in alone.iter().enumerate() {
                        let place = if copy == 0 { id } else { 64 + (copy - 1) * chosen.len() + k };
                        close(found.forces[place], one.forces[id] / COPIES as f64, 1e-9, name);
                    }
                }
            }
        }
    }
}

/// Stages of a short run at constant energy.
const RUN: &str = "[[enhanced]]\natoms = \"resname TWO\"\ncopies = 3\nmass = \"divided\"\n\
                   [[stage]]\nname = \"nve\"\nsteps = 200\ntimestep = 0.0005\nthermo = { every = 10 }\n";

/// Copies leave each other, energy stays, and total masses are those of the atoms.
#[test]
fn copies_go_their_own_ways_and_keep_their_energy() {
    let chain = Chain::new();
    let mut simulation = chain.open(true, RUN, jostle_cpu::open);
    let mut rows = Rows::default();
    simulation.run_with(&mut rows, &|| false).unwrap();
    let first = rows.0[0].total;
    for row in &rows.0 {
        assert!(
            (row.total - first).abs() < 2e-3 * row.kinetic,
            "step {}: {} of {first}",
            row.step,
            row.total
        );
    }
    let density = chain.open(true, "", jostle_cpu::open).evaluate().unwrap().thermo.density.unwrap();
    assert!((rows.0[0].density.unwrap() / density - 1.0).abs() < 1e-12);
    let positions = simulation.positions().unwrap();
    for (a, b) in [(7, 67), (7, 71), (67, 71)] {
        let apart = (positions[a] - positions[b]).norm();
        assert!(apart > 0.01, "{a} and {b}: {apart}");
    }
}

/// Paths are equal in parts to the bit, in four domains and on a GPU to rounding.
#[test]
fn parts_domains_and_devices_agree() {
    let chain = Chain::new();
    let folder = tempfile::tempdir().unwrap();
    let input = chain.parse(true, RUN).unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    run_in_parts(&input, &whole, u64::MAX);
    run_in_parts(&input, &parts, 70);
    let read = |folder: &Path| fs::read(folder.join("thermo.csv")).unwrap();
    assert!(read(&whole) == read(&parts));
    let short = RUN.replace("steps = 200", "steps = 5");
    let mut one = chain.open(true, &short, jostle_cpu::open);
    one.run().unwrap();
    let expected = one.positions().unwrap();
    let mut input = chain.parse(true, &short).unwrap();
    input.run.settings.reproducible = false;
    let four = Overrides { ranks: Some(4), threads: Some(1), ..Overrides::default() };
    let domains = Simulation::from_input(&input, &four).unwrap();
    assert!(domains.device().contains("domains"), "{}", domains.device());
    for (mut simulation, name) in [(domains, "domains"), (chain.open(true, &short, emulated), "gpu")] {
        simulation.run().unwrap();
        for (found, expected) in simulation.positions().unwrap().iter().zip(&expected) {
            let apart = simulation.simbox().nearest_image(*found - *expected).norm();
            assert!(apart < 1e-9, "{name}: {found:?}, not {expected:?}");
        }
    }
}

#[test]
fn what_copies_cannot_be_is_told() {
    let chain = Chain::new();
    let refused = |more: &str, reason: &str| {
        let tried =
            chain.parse(true, more).and_then(|input| Simulation::from_input(&input, &Overrides::default()));
        let error = tried.map(|_| ()).unwrap_err();
        assert!(error.message().contains(reason), "{error}");
        assert!(error.to_string().contains("chain.toml"), "{error}");
    };
    let of = |atoms: &str, copies: &str| format!("[[enhanced]]\natoms = \"{atoms}\"\ncopies = {copies}\n");
    refused(&of("resname ION", "2"), "belong to two molecules");
    refused(&of("resname TWO", "1"), "at least 2");
    refused(&of("resname TWO", "100000"), "do not see each other");
    refused(&of("resname TWO", "9223372036854775807"), "do not see each other");
    refused(&of("resname SIX", "2"), "no atom is selected");
    refused(&(of("resname TWO", "2") + &of("index 7", "2")), "copied by two sections");
    let named = "[[field]]\nforce = [1, 0, 0]\nspecies = [\"A\"]\n";
    refused(&(of("resname TWO", "2") + named), "other species of those called A");
}
