//! Biases that follow from a density of kernels, which a GPU makes within its steps: rows, kernels, checkpoints.

use crate::biases::{BUSSI, builder_on, input_text, run_on};
use crate::device_biases::place_of_biases;
use crate::fixtures::{Open, column, emulated, thermo_csv};
use jostle_engine::{Existing, Outcome};
use jostle_io::Input;
use std::cell::Cell;
use std::fs;
use std::path::Path;

/// Densities of one and of two variables, one of which has a period, and one that acts in the second stage alone.
const DENSITIES: &str = r#"
[[variable]]
name = "phi"
kind = "dihedral"
centers = ["index 0", "index 1", "index 2", "index 3"]
[[variable]]
name = "bend"
kind = "angle"
centers = ["index 0", "index 1", "index 2"]
[[variable]]
name = "d"
kind = "distance"
between = ["index 4 to 7", "index 0"]
[[bias]]
name = "turn"
kind = "opes"
variables = ["phi"]
barrier = 8
temperature = 1.1
width = 0.05
every = 3
[[bias]]
name = "plane"
kind = "opes"
variables = ["phi", "d"]
barrier = 5
temperature = 1.1
width = [0.05, 0.02]
every = 2
[[bias]]
name = "each"
kind = "opes"
variables = ["bend"]
barrier = 6
temperature = 1.1
width = 0.05
every = 1
[[bias]]
name = "later"
kind = "opes"
variables = ["d"]
barrier = 4
temperature = 1.1
width = 0.06
every = 2
stages = ["more"]
"#;

/// Their names.
const NAMES: [&str; 4] = ["turn", "plane", "each", "later"];

/// The input with a second stage, whose temperature is not that of the first one.
fn two_stages(precision: &str) -> Input {
    let next = "[[stage]]\nname = \"more\"\nsteps = 20\ntimestep = 0.002\nthermo = { every = 5 }\n[run]";
    let text = input_text(DENSITIES, BUSSI).replace("[run]", next);
    let text = text.replace("precision = \"double\"", &format!("precision = \"{precision}\""));
    Input::parse(Path::new("opes.toml"), &text).unwrap()
}

/// Kernels in the file of a bias: rows of centres, widths and heights.
fn kernels(folder: &Path, name: &str) -> Vec<Vec<f64>> {
    let text = fs::read_to_string(folder.join(format!("{name}.kernels"))).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| line.split(' ').map(|x| x.parse().unwrap()).collect()).collect()
}

/// Energies, works and kernels are those of the host, with more kernels than there is memory for at first, some of them
/// merged; the device makes many steps at once.
#[test]
fn kernels_on_the_device_are_those_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let cpu: Open = |system, forces, settings| jostle_cpu::open(system, forces, settings);
    let input = two_stages("double");
    let [a, b] = ["cpu", "gpu"].map(|name| folder.path().join(name));
    run_on(&input, &a, cpu, u64::MAX);
    let batches = Cell::new(0);
    let mut simulation = builder_on(&input, emulated).build().unwrap();
    simulation.write_to(&b, Existing::Refuse).unwrap();
    let count = || {
        batches.set(batches.get() + 1);
        false
    };
    assert_eq!(simulation.run_with(&mut (), &count).unwrap(), Outcome::Finished);
    // How many steps a batch has depends on how long they take.
    assert!(batches.get() < 80, "{} batches of 80 steps", batches.get());
    assert!(place_of_biases(&b).contains("on the device"), "{}", place_of_biases(&b));
    let own = NAMES.map(|name| [format!("bias_{name}"), format!("{name}_work")]);
    let others = ["phi", "bend", "d", "bias", "pressure", "conserved", "potential"].map(String::from);
    for name in own.as_flattened().iter().chain(&others) {
        let (expected, found) = (column(&a, name), column(&b, name));
        assert_eq!(found.len(), 15);
        for (x, y) in expected.iter().zip(&found) {
            assert!((x - y).abs() < 1e-8 * (1.0 + x.abs()), "{name}: {expected:?} {found:?}");
        }
    }
    // Depositions at the ends of steps in which each bias acts.
    for (name, made) in NAMES.iter().zip([26, 40, 80, 10]) {
        let (expected, found) = (kernels(&a, name), kernels(&b, name));
        assert_eq!(found.len(), expected.len(), "{name}");
        assert!(found.len() > 2 && found.len() < made, "{name}: {} kernels of {made}", found.len());
        for (x, y) in expected.as_slice().concat().iter().zip(found.concat()) {
            assert!((x - y).abs() < 1e-8 * (1.0 + x.abs()), "{name}: {x} {y}");
        }
    }
}

/// A run on the GPU that is interrupted and resumed has the same bits, kernels included.
#[test]
fn resumed_runs_of_a_device_have_the_same_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let input = two_stages("mixed");
    let [a, b] = ["whole", "parts"].map(|name| folder.path().join(name));
    run_on(&input, &a, emulated, u64::MAX);
    run_on(&input, &b, emulated, 2);
    assert!(place_of_biases(&b).contains("on the device"), "{}", place_of_biases(&b));
    assert_eq!(thermo_csv(&a), thermo_csv(&b));
    for name in NAMES {
        let [one, other] = [&a, &b].map(|folder| kernels(folder, name));
        assert!(one.len() > 2, "{name}: {one:?}");
        assert_eq!(one, other, "{name}");
    }
}

/// A checkpoint of the host goes on on the device, with kernels that have yet to act.
#[test]
fn a_device_takes_over_the_kernels_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let cpu: Open = |system, forces, settings| jostle_cpu::open(system, forces, settings);
    let input = two_stages("double");
    let [a, b] = ["whole", "parts"].map(|name| folder.path().join(name));
    run_on(&input, &a, cpu, u64::MAX);
    let calls = Cell::new(0);
    let stop = || {
        calls.set(calls.get() + 1);
        calls.get() > 7
    };
    let mut simulation = builder_on(&input, cpu).build().unwrap();
    simulation.write_to(&b, Existing::Refuse).unwrap();
    assert_eq!(simulation.run_with(&mut (), &stop).unwrap(), Outcome::Interrupted);
    drop(simulation);
    builder_on(&input, emulated).resume(&b).unwrap().run().unwrap();
    assert!(place_of_biases(&b).contains("on the device"), "{}", place_of_biases(&b));
    for name in NAMES {
        let (expected, found) = (kernels(&a, name), kernels(&b, name));
        assert_eq!(found.len(), expected.len(), "{name}");
        for (x, y) in expected.as_slice().concat().iter().zip(found.concat()) {
            assert!((x - y).abs() < 1e-8 * (1.0 + x.abs()), "{name}: {x} {y}");
        }
    }
}
