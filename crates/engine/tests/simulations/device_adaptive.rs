//! Adaptive forces whose closed part a GPU finds within its steps: rows, files, checkpoints.

use crate::biases::run_on;
use crate::device_biases::place_of_biases;
use crate::fixtures::{Open, column, emulated, thermo_csv};
use jostle_io::Input;
use std::fs;
use std::path::Path;

/// A few atoms with adaptive forces along a period, in planes of two, one and no periods.
const ADAPTIVE: &str = r#"
units = "lj"
[system]
place = "random"
box = { lengths = [5, 5, 5] }
temperature = 1
seed = 14
[species.A]
mass = 1
count = 6
[[force]]
kind = "soft-repulsion"
pairs."A-A" = { strength = 3, size = 1.5 }
[[variable]]
name = "phi"
kind = "dihedral"
centers = ["index 0", "index 1", "index 2", "index 3"]
[[variable]]
name = "psi"
kind = "dihedral"
centers = ["index 1", "index 2", "index 3", "index 4"]
[[variable]]
name = "d"
kind = "distance"
between = ["index 4", "index 5"]
[[variable]]
name = "e"
kind = "distance"
between = ["index 0", "index 5"]
[[bias]]
name = "line"
kind = "abf"
variables = ["phi"]
temperature = 1
spacing = 0.3
coupling = 0.6
full_samples = 4
[[bias]]
name = "torus"
kind = "abf"
variables = ["phi", "psi"]
temperature = 1
spacing = [0.5, 0.4]
coupling = [0.6, 0.6]
full_samples = 3
[[bias]]
name = "tube"
kind = "abf"
variables = ["d", "psi"]
temperature = 1
spacing = [0.4, 0.7]
coupling = [0.6, 0.6]
full_samples = 3
lower = [0, -3.14]
upper = [6, 3.14]
[[bias]]
name = "sheet"
kind = "abf"
variables = ["d", "e"]
temperature = 1
spacing = [0.5, 0.4]
coupling = [0.6, 0.6]
full_samples = 3
lower = [0, 0]
upper = [6, 6]
[[stage]]
name = "go"
steps = 1100
timestep = 0.001
thermo = { every = 100 }
[run]
threads = 1
precision = "double"
"#;

fn adaptive() -> Input {
    Input::parse(Path::new("adaptive.toml"), ADAPTIVE).unwrap()
}

/// Pushes by the slopes of energies that the device has found from the samples are those of the host.
#[test]
fn closed_parts_on_the_device_are_those_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let cpu: Open = |system, forces, settings| jostle_cpu::open(system, forces, settings);
    let [a, b] = ["cpu", "gpu"].map(|name| folder.path().join(name));
    run_on(&adaptive(), &a, cpu, u64::MAX);
    run_on(&adaptive(), &b, emulated, u64::MAX);
    assert!(place_of_biases(&b).contains("on the device"), "{}", place_of_biases(&b));
    for name in ["phi", "psi", "d", "e", "bias_line", "bias_torus", "bias_tube", "bias_sheet", "conserved"] {
        let (expected, found) = (column(&a, name), column(&b, name));
        assert_eq!(found.len(), 12);
        for (x, y) in expected.iter().zip(&found) {
            assert!((x - y).abs() < 1e-6 * (1.0 + x.abs()), "{name}: {expected:?} {found:?}");
        }
    }
}

/// Runs that are resumed between two projections have the same bits.
#[test]
fn closed_parts_are_kept_in_checkpoints() {
    let cpu: Open = |system, forces, settings| jostle_cpu::open(system, forces, settings);
    for open in [cpu, emulated] {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["whole", "parts"].map(|name| folder.path().join(name));
        run_on(&adaptive(), &a, open, u64::MAX);
        run_on(&adaptive(), &b, open, 4);
        assert_eq!(thermo_csv(&a), thermo_csv(&b));
        for name in ["line.grad", "torus.grad", "tube.count", "sheet.grad"] {
            let [one, other] = [&a, &b].map(|folder| fs::read_to_string(folder.join(name)).unwrap());
            assert_eq!(one, other, "{name}");
        }
    }
}

/// A particle that has missed a stage, in which its variable was pulled away, begins anew at the variable.
#[test]
fn a_particle_that_has_missed_a_stage_begins_anew() {
    let stage = |name: &str| {
        format!(
            "[[stage]]\nname = \"{name}\"\nsteps = 200\ntimestep = 0.005\nthermo = {{ every = 1 }}\n\
             thermostat = {{ kind = \"langevin\", temperature = 1, friction = 1 }}\n"
        )
    };
    let text = format!(
        r#"
units = "lj"
[system]
place = "random"
box = {{ lengths = [9, 9, 9] }}
temperature = 1
seed = 5
[species.A]
mass = 1
count = 8
[[force]]
kind = "soft-repulsion"
pairs."A-A" = {{ strength = 1, size = 1 }}
[[variable]]
name = "d"
kind = "distance"
between = ["index 0", "index 1"]
[[bias]]
name = "adapt"
kind = "abf"
variables = ["d"]
temperature = 1
spacing = 0.1
lower = 0
upper = 8
stages = ["one", "two", "four"]
[[bias]]
name = "hold"
kind = "harmonic"
variable = "d"
center = 1.5
stiffness = 20
stages = ["zero", "one", "two"]
[[bias]]
name = "pull"
kind = "harmonic"
variable = "d"
center = 4
stiffness = 20
stages = ["three"]
{}{}{}{}{}
[run]
threads = 1
precision = "double"
"#,
        stage("zero"),
        stage("one"),
        stage("two"),
        stage("three"),
        stage("four")
    );
    let input = Input::parse(Path::new("missed.toml"), &text).unwrap_or_else(|e| panic!("{e}"));
    let cpu: Open = |system, forces, settings| jostle_cpu::open(system, forces, settings);
    for (open, name) in [(cpu, "cpu"), (emulated as Open, "gpu")] {
        let folder = tempfile::tempdir().unwrap();
        run_on(&input, &folder.path().join(name), open, u64::MAX);
        let energies = column(&folder.path().join(name), "bias_adapt");
        let [begin, second, last] = [201, 401, 801].map(|row| energies[row]);
        assert!(begin < 1.0 && last < 1.0, "{name}: {begin} and {last} kT on the spring to the particle");
        // The second stage goes on with the particle of the first.
        let before = energies[400];
        assert!((second - before).abs() < 0.5 * (1.0 + before), "{name}: {before} then {second} kT");
    }
}
