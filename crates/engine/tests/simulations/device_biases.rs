//! Variables and biases that a GPU evaluates within its steps: rows, hills, checkpoints, errors.

use crate::biases::{BUSSI, DISTANCE, builder_on, input, input_text, run_on};
use crate::fixtures::{Open, column, emulated, thermo_csv};
use jostle_engine::Existing;
use jostle_io::Input;
use std::fs;
use std::path::Path;

/// Variables and biases that a GPU evaluates in its steps, a formula of each among them.
const ON_DEVICE: &str = r#"
[[variable]]
name = "d"
kind = "distance"
between = ["index 4 to 7", "index 0"]
[[variable]]
name = "large"
kind = "distance"
between = ["index 0 to 150", "index 151 to 255"]
in_plane = "xz"
[[variable]]
name = "along"
kind = "distance"
between = ["index 0", "index 5"]
along = "z"
[[variable]]
name = "bend"
kind = "angle"
centers = ["index 0", "index 1", "index 2"]
[[variable]]
name = "phi"
kind = "dihedral"
centers = ["index 0", "index 1", "index 2", "index 3"]
[[variable]]
name = "x"
kind = "position"
atoms = "index 17"
axis = "x"
[[variable]]
name = "lean"
kind = "tilt"
between = ["index 0", "index 3"]
axis = "y"
[[variable]]
name = "edge"
kind = "edge"
axis = "z"
[[variable]]
name = "volume_now"
kind = "volume"
[[variable]]
name = "size"
kind = "gyration"
atoms = "index 20 to 29"
[[variable]]
name = "form"
kind = "rmsd"
atoms = "index 40 to 55"
[[variable]]
name = "many"
kind = "rmsd"
atoms = "index 0 to 199"
weights = "equal"
[[variable]]
name = "near"
kind = "coordination"
between = ["index 0 to 3", "index 2 to 7"]
reach = 1.4
[[variable]]
name = "native"
kind = "contacts"
between = ["index 0 to 9", "index 5 to 40"]
reach = 1.5
steepness = 5
[[variable]]
name = "both"
kind = "formula"
value = "a d^2 + along + 0.1 native"
parameters = { a = 0.5 }
[[bias]]
name = "pull"
kind = "harmonic"
variable = "d"
center = [1.5, 2]
stiffness = [10, 30]
[[bias]]
name = "apart"
kind = "harmonic"
variable = "large"
center = 1
stiffness = 5
stages = ["go"]
[[bias]]
name = "hold"
kind = "harmonic"
variable = "x"
center = 1
stiffness = 3
[[bias]]
name = "push"
kind = "linear"
variable = "both"
force = 0.5
[[bias]]
name = "shrink"
kind = "harmonic"
variable = "size"
center = [1, 0.5]
stiffness = 20
[[bias]]
name = "keep"
kind = "harmonic"
variable = "form"
center = 0.1
stiffness = 30
stages = ["more"]
[[bias]]
name = "loosen"
kind = "linear"
variable = "many"
force = 2
stages = ["more"]
[[bias]]
name = "crowd"
kind = "linear"
variable = "near"
force = 0.5
[[bias]]
name = "bind"
kind = "harmonic"
variable = "native"
center = 30
stiffness = 0.3
[[bias]]
name = "squeeze"
kind = "linear"
variable = "volume_now"
force = 0.01
[[bias]]
name = "top"
kind = "wall"
variable = "bend"
at = 1
stiffness = 10
side = "upper"
[[bias]]
name = "well"
kind = "formula"
energy = "2 (1 + cos(phi)) + 0.1 edge along^2"
[[bias]]
name = "meta"
kind = "metadynamics"
variables = ["phi", "lean"]
width = 0.4
height = 0.5
every = 5
bias_factor = 8
temperature = 1.1
lower = [-3.1416, -1]
upper = [3.1416, 4.2]
[[bias]]
name = "line"
kind = "metadynamics"
variables = ["bend"]
width = 0.1
height = 0.2
every = 7
lower = 0
upper = 3.15
[[bias]]
name = "adapt"
kind = "abf"
variables = ["phi", "d"]
temperature = 1.1
spacing = [0.4, 0.2]
coupling = [0.3, 0.2]
full_samples = 4
lower = [-3.1416, 0]
upper = [3.1416, 9]
[[bias]]
name = "flat"
kind = "abf"
variables = ["along"]
temperature = 1.1
spacing = 0.5
full_samples = 3
lower = -9
upper = 9
"#;

/// Columns of these variables and biases.
const DEVICE_COLUMNS: [&str; 42] = [
    "d",
    "large",
    "along",
    "bend",
    "phi",
    "x",
    "lean",
    "edge",
    "volume_now",
    "both",
    "bias",
    "bias_pull",
    "bias_apart",
    "bias_hold",
    "bias_push",
    "bias_squeeze",
    "bias_top",
    "bias_well",
    "bias_meta",
    "bias_line",
    "bias_adapt",
    "size",
    "form",
    "many",
    "bias_shrink",
    "bias_keep",
    "shrink_work",
    "bias_flat",
    "near",
    "native",
    "bias_crowd",
    "bias_bind",
    "pull_work",
    "pull_center",
    "meta_work",
    "line_work",
    "pressure",
    "pxy",
    "pyz",
    "conserved",
    "potential",
    "temperature",
];

/// The input with a second stage.
fn two_stages(more: &str, precision: &str) -> Input {
    let next = "[[stage]]\nname = \"more\"\nsteps = 20\ntimestep = 0.002\nthermo = { every = 5 }\n[run]";
    let text = input_text(more, BUSSI).replace("[run]", next);
    let text = text.replace("precision = \"double\"", &format!("precision = \"{precision}\""));
    Input::parse(Path::new("biases.toml"), &text).unwrap()
}

/// Notes that the log of a run has of where biases are evaluated.
pub fn place_of_biases(folder: &Path) -> String {
    let log = fs::read_to_string(folder.join("jostle.log")).unwrap();
    log.lines().filter(|line| line.contains("biases are evaluated")).collect()
}

/// Biases within the steps of the GPU give the rows and the hills of those that the host evaluates.
#[test]
fn biases_on_the_device_are_those_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let cpu: Open = |system, forces, settings| jostle_cpu::open(system, forces, settings);
    let input = two_stages(ON_DEVICE, "double");
    let [a, b] = ["cpu", "gpu"].map(|name| folder.path().join(name));
    run_on(&input, &a, cpu, u64::MAX);
    run_on(&input, &b, emulated, u64::MAX);
    assert!(place_of_biases(&b).contains("on the device"), "{}", place_of_biases(&b));
    for name in DEVICE_COLUMNS {
        let (expected, found) = (column(&a, name), column(&b, name));
        assert_eq!(found.len(), 15);
        for (x, y) in expected.iter().zip(&found) {
            assert!((x - y).abs() < 1e-8 * (1.0 + x.abs()), "{name}: {expected:?} {found:?}");
        }
    }
    for name in ["meta.hills", "line.hills", "adapt.grad", "flat.count"] {
        let numbers = |folder: &Path| -> Vec<f64> {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            let rows = text.lines().filter(|line| !line.starts_with('#'));
            let parse = |x: &str| x.parse().unwrap();
            let numbers = rows.flat_map(|line| line.split(' ').map(parse));
            numbers.filter(|x: &f64| x.is_finite()).collect()
        };
        let (expected, found) = (numbers(&a), numbers(&b));
        assert!(expected.len() >= 36 && expected.len() == found.len(), "{name}: {expected:?} {found:?}");
        for (x, y) in expected.iter().zip(&found) {
            assert!((x - y).abs() < 1e-8 * (1.0 + x.abs()), "{name}: {x} {y}");
        }
    }
}

/// Distances in a sheared box are those of the nearest images, which brute force finds, on both devices.
#[test]
fn distances_in_sheared_boxes_are_the_shortest() {
    const PAIRS: usize = 20;
    let mut text = String::from(
        r#"
units = "lj"
[system]
place = "random"
box = { lengths = [5.5, 5, 6], tilts = [2.7, -1, 2.9] }
temperature = 1
seed = 3
[species.A]
mass = 1
count = 40
[[force]]
kind = "soft-repulsion"
pairs."A-A" = { strength = 3, size = 1 }
[[stage]]
name = "go"
steps = 6
timestep = 0.004
thermo = { every = 6 }
[run]
threads = 1
precision = "double"
"#,
    );
    for k in 0..PAIRS {
        let other = PAIRS + k;
        text += &format!(
            "[[variable]]\nname = \"d{k}\"\nkind = \"distance\"\nbetween = [\"index {k}\", \"index {other}\"]\n\
             [[bias]]\nname = \"b{k}\"\nkind = \"harmonic\"\nvariable = \"d{k}\"\ncenter = 1\nstiffness = 0.1\n"
        );
    }
    let input = Input::parse(Path::new("sheared.toml"), &text).unwrap();
    let cpu: Open = |system, forces, settings| jostle_cpu::open(system, forces, settings);
    for (name, open) in [("cpu", cpu), ("gpu", emulated)] {
        let folder = tempfile::tempdir().unwrap();
        let mut simulation = builder_on(&input, open).build().unwrap();
        simulation.write_to(&folder.path().join(name), Existing::Refuse).unwrap();
        simulation.run().unwrap();
        let (simbox, positions) = (*simulation.simbox(), simulation.positions().unwrap());
        let mut sheared = 0;
        for k in 0..PAIRS {
            let d = positions[PAIRS + k] - positions[k];
            let images = (0..343).map(|n| simbox.shift([n % 7 - 3, n / 7 % 7 - 3, n / 49 - 3]));
            let nearest = images.map(|shift| (d + shift).norm()).fold(f64::INFINITY, f64::min);
            let found = *column(&folder.path().join(name), &format!("d{k}")).last().unwrap();
            assert!((found - nearest).abs() < 1e-9, "{name}: pair {k} is {found} apart, not {nearest}");
            sheared += usize::from(nearest > simbox.largest_cutoff());
        }
        assert!(sheared > 3, "hardly any pair is so far apart that a box that is not sheared would do");
    }
}

/// A run on the GPU that is interrupted and resumed has the same bits, hills included.
#[test]
fn resumed_runs_of_a_device_have_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let input = two_stages(ON_DEVICE, "mixed");
    let [a, b] = ["whole", "parts"].map(|name| folder.path().join(name));
    run_on(&input, &a, emulated, u64::MAX);
    run_on(&input, &b, emulated, 2);
    assert_eq!(thermo_csv(&a), thermo_csv(&b));
    for name in ["meta.hills", "line.hills", "adapt.grad", "adapt.count", "flat.grad"] {
        let [one, other] = [&a, &b].map(|folder| fs::read_to_string(folder.join(name)).unwrap());
        assert_eq!(one, other, "{name}");
    }
}

/// Variables that only the host can evaluate keep biases there, and the log says why.
#[test]
fn the_log_says_where_biases_are_evaluated() {
    let folder = tempfile::tempdir().unwrap();
    let more =
        "[[variable]]\nname = \"near\"\nkind = \"rotation\"\natoms = \"index 20 to 29\"\naxis = \"z\"\n";
    run_on(&input(more, BUSSI), &folder.path().join("gpu"), emulated, u64::MAX);
    let found = place_of_biases(&folder.path().join("gpu"));
    assert!(found.contains("by the host") && found.contains("'near'"), "{found}");
}

/// The grid of metadynamics ends on the device as it does on the host.
#[test]
fn a_grid_that_is_left_ends_the_run_of_a_device() {
    let more = format!(
        "{DISTANCE}[[bias]]\nname = \"meta\"\nkind = \"metadynamics\"\nvariables = [\"d\"]\nwidth = 0.1\n\
         height = 0.1\nevery = 5\nlower = 0\nupper = 0.5\n"
    );
    let mut simulation = builder_on(&input(&more, ""), emulated).build().unwrap();
    let error = simulation.run().unwrap_err();
    assert!(error.message().contains("outside of the grid of metadynamics from 0 to 0.5"), "{error}");
    assert!(error.message().contains("bias 'meta'") && error.help().is_some(), "{error}");
}
