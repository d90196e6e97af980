//! Biases of a GPU in rigid water with charges: beside reciprocal space and constraints, and in sub-steps.

use crate::device_biases::place_of_biases;
use crate::fixtures::{Open, column, emulated};
use jostle_engine::{Existing, Overrides, Simulation};
use jostle_io::Input;
use std::path::Path;

/// Rigid water with charges: biases beside a mesh and constraints, and steps that are made by sub-steps because
/// long-range forces act at every other one.
#[test]
fn biases_on_the_device_act_in_water() {
    let text = r#"
units = "real"
[system]
place = "water"
molecules = 216
bond_length = 1.0
bond_angle = 109.47
density = "0.998 g/cm3"
temperature = 300
seed = 7
[species.O]
mass = 15.9994
charge = -0.8476
[species.H]
mass = 1.008
charge = 0.4238
[[force]]
kind = "lennard-jones"
cutoff = 7
pairs."O-O" = { epsilon = 0.1553, sigma = 3.166 }
pairs."O-H" = "none"
pairs."H-H" = "none"
[electrostatics]
kind = "pme"
[[variable]]
name = "apart"
kind = "distance"
between = ["index 0 to 2", "index 30 to 32"]
[[variable]]
name = "turn"
kind = "dihedral"
centers = ["index 1", "index 0", "index 30", "index 31"]
[[variable]]
name = "halves"
kind = "distance"
between = ["index 0 to 299", "index 300 to 647"]
along = "x"
[[variable]]
name = "moment"
kind = "dipole"
atoms = "index 0 to 8"
[[variable]]
name = "upwards"
kind = "dipole"
atoms = "index 9 to 29"
along = "z"
[[bias]]
name = "field"
kind = "linear"
variable = "upwards"
force = 3
[[bias]]
name = "polar"
kind = "harmonic"
variable = "moment"
center = 1
stiffness = 5
[[bias]]
name = "meta"
kind = "metadynamics"
variables = ["apart", "turn"]
width = [0.5, 0.4]
height = 0.3
every = 4
bias_factor = 10
temperature = 300
lower = [0.5, -3.1416]
upper = [25, 3.1416]
[[bias]]
name = "kernels"
kind = "opes"
variables = ["apart", "turn"]
barrier = "20 kJ/mol"
temperature = 300
width = [0.1, 0.1]
every = 3
[[bias]]
name = "hold"
kind = "harmonic"
variable = "halves"
center = [0, 1]
stiffness = 3
[[stage]]
name = "go"
steps = 24
timestep = 1
thermo = { every = 6 }
thermostat = { kind = "bussi", temperature = 300, period = "0.5 ps" }
[[stage]]
name = "impulses"
steps = 16
timestep = 1
long_range_every = 2
thermo = { every = 4 }
[run]
threads = 1
precision = "double"
"#;
    let input = Input::parse(Path::new("water.toml"), text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cpu: Open = |system, forces, settings| jostle_cpu::open(system, forces, settings);
    let [a, b] = ["cpu", "gpu"].map(|name| folder.path().join(name));
    for (open, path) in [(cpu, &a), (emulated as Open, &b)] {
        let mut simulation = Simulation::from_input_on(&input, &Overrides::default(), open).unwrap();
        simulation.write_to(path, Existing::Refuse).unwrap();
        simulation.run().unwrap();
    }
    assert!(place_of_biases(&b).contains("on the device"), "{}", place_of_biases(&b));
    let names = [
        "apart",
        "turn",
        "halves",
        "moment",
        "upwards",
        "bias_field",
        "bias_polar",
        "bias",
        "bias_meta",
        "meta_work",
        "bias_kernels",
        "kernels_work",
        "hold_work",
        "hold_center",
    ];
    for name in names.iter().chain(&["potential", "pressure", "temperature"]) {
        let (expected, found) = (column(&a, name), column(&b, name));
        assert_eq!(found.len(), 9);
        for (x, y) in expected.iter().zip(&found) {
            let none = x.is_nan() && y.is_nan();
            assert!(none || (x - y).abs() < 1e-7 * (1.0 + x.abs()), "{name}: {expected:?} {found:?}");
        }
    }
}
