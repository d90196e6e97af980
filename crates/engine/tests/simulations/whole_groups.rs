//! Centres of groups whose molecules are cut by a border of the box in the coordinates of the input.

use crate::fixtures::column;
use jostle_engine::{Existing, Overrides, Simulation};
use jostle_io::Input;
use std::fs;
use std::path::Path;

/// Two molecules of two atoms, with the centres of mass of the first one at the border x = 0 and of the other at 1.1, and an
/// atom by itself.
const TOPOLOGY: &str = "\
[ defaults ]
1 2
[ atomtypes ]
A 6 10.0 0.0 A 0.3 0.0
[ moleculetype ]
PAIR 1
[ atoms ]
1 A 1 PAI A1 1
2 A 1 PAI A1 2
[ bonds ]
1 2 1 0.1 1000.0
[ moleculetype ]
ONE 1
[ atoms ]
1 A 1 ONE A1 1
[ system ]
molecules
[ molecules ]
PAIR 2
ONE 1
";

/// Second atom of the first molecule: cut off by the border, and beside the first one.
const FIRST: [&str; 2] = ["   2.950", "  -0.050"];

fn run(folder: &Path, first: &str, scaling: &str) -> Simulation {
    let atom = |molecule: u32, name: &str, number: u32, x: &str| {
        format!("{molecule:5}{name:<5}{:>5}{number:5}{x}   1.500   1.500\n", "A1")
    };
    let places = [
        (1, "PAI", "   0.050"),
        (1, "PAI", first),
        (2, "PAI", "   1.050"),
        (2, "PAI", "   1.150"),
        (3, "ONE", "   2.000"),
    ];
    let atoms: String =
        (1..).zip(places).map(|(number, (molecule, name, x))| atom(molecule, name, number, x)).collect();
    fs::write(folder.join("x.gro"), format!("molecules\n5\n{atoms}   3.0 3.0 3.0\n")).unwrap();
    fs::write(folder.join("x.top"), TOPOLOGY).unwrap();
    let text = format!(
        r#"
units = "nano"
[system]
topology = "x.top"
coordinates = "x.gro"
periodic = true
temperature = 0
[[force]]
kind = "lennard-jones"
cutoff = 1
[electrostatics]
kind = "cutoff"
cutoff = 1
[[group]]
name = "first"
atoms = "index 0 1"
report = true
[[restraint]]
kind = "distance"
between = ["index 0 1", "index 2 3"]
stiffness = 2
length = 0
[[restraint]]
name = "place"
kind = "position"
atoms = "index 4"
stiffness = 10
scaling = "{scaling}"
[[stage]]
steps = 2
timestep = 0.0001
thermo = {{ every = 1 }}
"#
    );
    let input = Input::parse(&folder.join("x.toml"), &text).unwrap();
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.write_to(&folder.join("run"), Existing::Replace).unwrap();
    simulation.run().unwrap();
    simulation
}

/// Distances of groups and centres of reported ones are those of whole molecules, whatever the coordinates cut, and
/// whether or not another restraint has reference positions around a centre.
#[test]
fn centers_are_those_of_whole_molecules() {
    let folder = tempfile::tempdir().unwrap();
    for first in FIRST {
        for scaling in ["none", "center"] {
            run(folder.path(), first, scaling);
            let what = format!("{first}, {scaling}");
            let energy = column(&folder.path().join("run"), "restraint")[0];
            assert!((energy - 1.1 * 1.1).abs() < 1e-6, "{what}: {energy}");
            let x = column(&folder.path().join("run"), "x_first")[0];
            assert!((x - 3.0 * (x / 3.0).round()).abs() < 1e-6, "{what}: {x}");
        }
    }
}
