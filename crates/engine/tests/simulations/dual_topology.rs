//! Dual topologies of an input: samples against evaluations of their own, on every device and across restarts, and what
//! `jostle analyze free-energy` reads of them; errors.

use crate::fixtures::{Open, emulated, run_in_parts};
use jostle_core::Vec3;
use jostle_engine::{Existing, Overrides, Simulation, system_from_input};
use jostle_io::Input;
use std::fs;
use std::path::Path;

/// Words that choose what disappears and what appears, and the treatment of their own energy.
type Parts = [&'static str; 3];

/// Two methyl groups of ethane, which give their hydrogens up and take them.
const GROUPS: Parts = ["resname LIG and index 2 to 4", "resname LIG and index 5 to 7", "scaled"];

/// Ethane, and a molecule of water.
const MOLECULES: Parts = ["resname LIG", "molecule 5", "kept"];

/// Ethane in water, with a dual topology; `None` without the files.
fn ethane(window: usize, [atoms, appearing, own_energy]: Parts) -> Option<String> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/free-energy/ethane"));
    if !folder.exists() {
        println!("skipped: there is no {}", folder.display());
        return None;
    }
    Some(format!(
        r#"
units = "nano"
[system]
topology = {:?}
coordinates = {:?}
temperature = 298.15
seed = 3
[[force]]
kind = "lennard-jones"
cutoff = 0.8
truncation = "shifted"
[electrostatics]
kind = "pme"
cutoff = 0.8
accuracy = 1e-4
[alchemy]
atoms = "{atoms}"
lambda_charges = [1, 0.5, 0.25, 0, 0]
lambda_lennard_jones = [1, 1, 1, 0.6, 0]
appearing = "{appearing}"
appearing_charges = [0, 0.5, 0.75, 1, 1]
appearing_lennard_jones = [1, 1, 1, 1, 1]
window = {window}
own_energy = "{own_energy}"
sample_every = 4
[[stage]]
name = "sample"
steps = 12
timestep = 0.0005
thermostat = {{ kind = "bussi", temperature = 298.15, period = 0.5 }}
thermo = {{ every = 4 }}
[run]
threads = 1
device = "cpu"
precision = "double"
reproducible = true
"#,
        folder.join("solvated.parm7"),
        folder.join("solvated.rst7"),
    ))
}

fn input(text: &str) -> Input {
    Input::parse(Path::new("dual.toml"), text).unwrap()
}

const FILE: &str = "sample.dhdl.xvg";

fn rows(folder: &Path) -> Vec<Vec<f64>> {
    let text = fs::read_to_string(folder.join(FILE)).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with(['#', '@']));
    rows.map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect()).collect()
}

fn energy_at(text: &str, positions: &[Vec3]) -> f64 {
    let mut simulation = Simulation::from_input(&input(text), &Overrides::default()).unwrap();
    simulation.set_positions(positions).unwrap();
    simulation.evaluate().unwrap().thermo.potential
}

/// Differences are those of evaluations in every window, derivatives those of windows beside.
#[test]
fn samples_are_energies_of_the_windows() {
    [GROUPS, MOLECULES].into_iter().for_each(compare_windows);
}

fn compare_windows(parts: Parts) {
    let folder = tempfile::tempdir().unwrap();
    const WINDOW: usize = 3;
    let Some(text) = ethane(WINDOW, parts) else { return };
    let mut simulation = run_in_parts(&input(&text), folder.path().join("run").as_path(), u64::MAX);
    let rows = rows(&folder.path().join("run"));
    assert_eq!(rows.len(), 3);
    let last = rows.last().unwrap();
    // Time, four derivatives, five windows.
    assert_eq!(last.len(), 1 + 4 + 5);
    let positions = simulation.positions().unwrap();
    let here = energy_at(&text, &positions);
    for window in 0..5 {
        let expected = energy_at(&ethane(window, parts).unwrap(), &positions) - here;
        let found = last[5 + window];
        assert!(
            (found - expected).abs() < 1e-5 * (1.0 + expected.abs()),
            "{window}: {found}, not {expected}"
        );
    }
    let difference = |from: &str, to: [&str; 2]| {
        let [a, b] = to.map(|to| {
            assert!(text.contains(from), "{from}");
            energy_at(&text.replace(from, to), &positions)
        });
        (b - a) / 0.002
    };
    let charges = |x: &str| format!("appearing_charges = [0, 0.5, 0.75, {x}, 1]");
    let slope = difference(&charges("1"), [&charges("0.998"), &charges("1")]);
    // One-sided, of a parabola: its curvature is that of windows beside.
    let half = difference(&charges("1"), [&charges("0.996"), &charges("0.998")]);
    let slope = slope + 0.5 * (slope - half);
    assert!((last[3] - slope).abs() < 1e-3 * (1.0 + slope.abs()), "{} is not {slope}", last[3]);
    let lambda = |x: &str| format!("lambda_lennard_jones = [1, 1, 1, {x}, 0]");
    let slope = difference(&lambda("0.6"), [&lambda("0.599"), &lambda("0.601")]);
    assert!((last[2] - slope).abs() < 1e-3 * (1.0 + slope.abs()), "{} is not {slope}", last[2]);
}

#[test]
fn a_restart_in_the_middle_changes_no_bit() {
    let folder = tempfile::tempdir().unwrap();
    let Some(text) = ethane(1, GROUPS) else { return };
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    run_in_parts(&input(&text), &whole, u64::MAX);
    run_in_parts(&input(&text), &parts, 5);
    for file in [FILE, "thermo.csv"] {
        assert_eq!(fs::read(whole.join(file)).unwrap(), fs::read(parts.join(file)).unwrap(), "{file}");
    }
}

#[test]
fn the_gpu_takes_the_samples_of_the_cpu() {
    [GROUPS, MOLECULES].into_iter().for_each(compare_devices);
}

fn compare_devices(parts: Parts) {
    let folder = tempfile::tempdir().unwrap();
    let Some(text) = ethane(3, parts) else { return };
    let mut found = Vec::new();
    for (open, name) in [(jostle_cpu::open as Open, "cpu"), (emulated as Open, "gpu")] {
        let folder = folder.path().join(name);
        let mut simulation = Simulation::from_input_on(&input(&text), &Overrides::default(), open).unwrap();
        simulation.write_to(&folder, Existing::Refuse).unwrap();
        simulation.run().unwrap();
        found.push(rows(&folder));
    }
    assert_eq!(found[0].len(), found[1].len());
    for (a, b) in found[0].iter().flatten().zip(found[1].iter().flatten()) {
        assert!((a - b).abs() < 1e-5 * (1.0 + b.abs()), "{a} is not {b}");
    }
}

/// Reproducible runs have the same samples on any number of ranks, which the two molecules are on different ones of.
#[test]
fn ranks_take_the_samples_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let Some(text) = ethane(1, MOLECULES) else { return };
    let mut found = Vec::new();
    for ranks in [None, Some(2)] {
        let folder = folder.path().join(format!("{ranks:?}"));
        let overrides = Overrides { ranks, ..Overrides::default() };
        let mut simulation = Simulation::from_input(&input(&text), &overrides).unwrap();
        simulation.write_to(&folder, Existing::Refuse).unwrap();
        simulation.run().unwrap();
        found.push(fs::read_to_string(folder.join(FILE)).unwrap());
    }
    assert_eq!(found[0], found[1]);
}

#[test]
fn parts_that_make_no_sense_are_refused() {
    let Some(text) = ethane(0, GROUPS) else { return };
    for (from, to, expected) in [
        ("appearing_charges = [0, 0.5, 0.75, 1, 1]\n", "", "needs appearing_charges"),
        ("[0, 0.5, 0.75, 1, 1]", "[0, 0.5, 0.75, 1]", "4 values of appearing_charges"),
        (
            "[0, 0.5, 0.75, 1, 1]\nappearing_lennard_jones = [1, 1, 1, 1, 1]",
            "[0, 0.5]\nappearing_lennard_jones = [1, 1]",
            "2 windows of the part that appears, and 5",
        ),
        (
            "appearing_lennard_jones = [1, 1, 1, 1, 1]",
            "appearing_lennard_jones = [1, 1, 0, 1, 1]",
            "soft core",
        ),
        ("appearing = \"resname LIG and index 5 to 7\"\n", "", "appearing"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Input::parse(Path::new("bad.toml"), &text.replace(from, to)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}, not {expected}");
        assert!(error.place().is_some(), "{error} has no place");
    }
    for (from, to, expected) in [
        ("index 5 to 7", "index 4 to 7", "belongs to both parts"),
        ("appearing = \"resname LIG and index 5 to 7\"", "appearing = \"index 20 23\"", "two molecules"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = system_from_input(&input(&text.replace(from, to))).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}, not {expected}");
        assert!(error.place().is_some(), "{error} has no place");
    }
}
