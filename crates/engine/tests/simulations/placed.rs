//! Molecules placed by `place = "molecules"`: boxes of one kind and mixtures, their forces, and runs that go on.

use crate::fixtures::{run_in_parts, thermo_csv};
use jostle_core::{Result, System};
use jostle_engine::model::DeviceInput;
use jostle_engine::{single_point, system_from_input};
use jostle_io::Input;
use jostle_potentials::Forces;
use std::fs;
use std::path::Path;

/// Methane and methanol after OPLS, united atoms, as LAMMPS would have them; angstrom and kcal/mol.
const METHANOL: &str = "methanol

3 atoms
2 bonds
1 angles
3 atom types
2 bond types
1 angle types
0 20 xlo xhi
0 20 ylo yhi
0 20 zlo zhi

Masses

1 15.035 # CH3
2 15.999 # O
3 1.008 # H

Pair Coeffs # lj/cut/coul/long

1 0.207 3.775
2 0.17 3.07
3 0 0

Bond Coeffs # harmonic

1 320 1.425
2 553 0.945

Angle Coeffs # harmonic

1 55 108.5

Atoms # full

1 1 1 0.265 1.425 0 0
2 1 2 -0.7 0 0 0
3 1 3 0.435 -0.29985 0.89617 0

Bonds

1 1 1 2
2 2 2 3

Angles

1 1 1 2 3
";

const METHANE: &str = "methane

1 atoms
1 atom types
0 20 xlo xhi
0 20 ylo yhi
0 20 zlo zhi

Masses

1 16.043 # CH4

Pair Coeffs # lj/cut/coul/long

1 0.294 3.73

Atoms # full

1 1 1 0 3 3 3
";

/// 60 methanols and 20 methanes; `{0}` in the sections of the input is more of it.
fn input(folder: &Path, change: impl Fn(String) -> String) -> Input {
    fs::write(folder.join("methanol.data"), METHANOL).unwrap();
    fs::write(folder.join("methane.data"), METHANE).unwrap();
    fs::write(folder.join("in.opls"), "units real\nspecial_bonds lj/coul 0 0 0.5\n").unwrap();
    let text = r#"
units = "real"
[system]
place = "molecules"
density = "0.7 g/cm3"
temperature = 250
seed = 5
[[molecule]]
topology = "methanol.data"
parameters = ["in.opls"]
rigid = "hydrogens"
count = 60
[[molecule]]
topology = "methane.data"
count = 20
[[force]]
kind = "lennard-jones"
cutoff = 7.5
mixing = "geometric"
[electrostatics]
kind = "pme"
cutoff = 7.5
[[stage]]
name = "relax"
minimize = { steps = 50 }
[[stage]]
name = "go"
steps = 60
timestep = 1
thermostat = { kind = "bussi", temperature = 250, period = 50 }
thermo = { every = 10 }
[run]
device = "cpu"
threads = 1
reproducible = true
"#;
    let text = change(text.to_string());
    Input::parse(&folder.join("in.toml"), &text).unwrap_or_else(|e| panic!("{e}: {:?}", e.help()))
}

fn system(change: impl Fn(String) -> String) -> Result<(System, Forces)> {
    let folder = tempfile::tempdir().unwrap();
    system_from_input(&input(folder.path(), change))
}

/// Energies at once are those of a liquid: finite, and not those of atoms on top of each other. The pairs of different
/// molecules have the rule of the input, those of one topology the rule of its files.
#[test]
fn a_mixture_has_the_molecules_of_its_topologies() {
    let (system, forces) = system(|text| text).unwrap();
    assert_eq!(system.state.len(), 60 * 3 + 20);
    let mass = 60.0 * 32.042 + 20.0 * 16.043;
    let density = mass / 0.602_214_076 / system.simbox.volume();
    assert!((density - 0.7).abs() < 1e-9, "{density}");
    assert!(system.total_charge().abs() < 1e-12);
    assert_eq!((system.topology.constraints.len(), system.topology.angles.len()), (60, 60));
    assert_eq!(system.topology.constraints[59].atoms, [178, 179]);
    let name = |id: usize| system.species[usize::from(system.state.species[id])].name.clone();
    assert_eq!([name(0), name(1), name(179), name(180), name(199)], ["CH3", "O", "H", "CH4", "CH4"]);
    let well = |a: usize, b: usize| forces.pairs[0].get(a, b).unwrap().parameters.clone();
    assert_eq!(well(0, 1), [(0.207_f64 * 0.17).sqrt(), (3.775_f64 * 3.07).sqrt()]);
    assert_eq!(well(0, 3), [(0.207_f64 * 0.294).sqrt(), (3.775_f64 * 3.73).sqrt()]);
    assert!(forces.pairs[0].get(2, 3).is_none(), "hydrogen has no Lennard-Jones force");
    let settings = jostle_core::Settings::default();
    let units = jostle_core::UnitSystem::Real;
    let point = single_point(units, system, forces, DeviceInput::Cpu, settings).unwrap();
    let term = |name: &str| {
        let place = point.term_names.iter().position(|term| term == name).unwrap();
        point.thermo.terms[place]
    };
    // Rigid bonds and angles have the form of the file; 80 molecules have neighbours nearer than in the liquid.
    assert!(term("angle_harmonic").abs() < 1e-3 && term("bond_harmonic").abs() < 1e-3);
    assert!(term("lennard_jones") < 20_000.0, "{}", term("lennard_jones"));
}

/// A resumed run is that without an interruption: the files of the molecules give the same forces.
#[test]
fn a_run_of_placed_molecules_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let input = input(folder.path(), |text| text);
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    run_in_parts(&input, &whole, u64::MAX);
    run_in_parts(&input, &parts, 23);
    assert_eq!(thermo_csv(&whole), thermo_csv(&parts));
    // Files that are others by now are refused.
    fs::write(folder.path().join("methanol.data"), METHANOL.replace("0.265", "0.275")).unwrap();
    let error = jostle_engine::Simulation::resume(&parts, &Default::default()).err().unwrap();
    assert!(error.message().contains("not as it was when the run began"), "{error}");
}

/// Rigid bodies of placed molecules are those of the first system in a resumed run, too.
#[test]
fn placed_molecules_are_rigid_bodies() {
    let folder = tempfile::tempdir().unwrap();
    let input = input(folder.path(), |text| {
        text.replace("rigid = \"hydrogens\"\n", "")
            .replace("[[force]]", "[[rigid]]\natoms = \"all\"\n[[force]]")
    });
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let mut simulation = run_in_parts(&input, &whole, u64::MAX);
    run_in_parts(&input, &parts, 23);
    assert_eq!(thermo_csv(&whole), thermo_csv(&parts));
    // Methane is a single atom.
    assert_eq!(simulation.reports()[1].degrees_of_freedom, 60 * 6 + 20 * 3 - 3);
    let positions = simulation.unwrapped_positions().unwrap();
    let length =
        |a: usize, b: usize| (0..3).map(|k| (positions[a][k] - positions[b][k]).powi(2)).sum::<f64>().sqrt();
    assert!((0..60).all(|m| (length(3 * m, 3 * m + 1) - 1.425).abs() < 1e-10));
}

/// Copies side by side have the energies of one box, and runs of them go on.
#[test]
fn boxes_of_placed_molecules_have_copies() {
    let energies = |copies: &str| {
        let with = format!("place = \"molecules\"\nreplicate = {copies}");
        let change = |text: String| {
            text.replace("place = \"molecules\"", &with)
                .replace("kind = \"pme\"", "kind = \"ewald\"\naccuracy = 1e-7")
                .replace("[run]", "[run]\nprecision = \"double\"")
        };
        let (system, forces) = system(change).unwrap();
        let settings =
            jostle_core::Settings { precision: jostle_core::Precision::Double, ..Default::default() };
        let units = jostle_core::UnitSystem::Real;
        single_point(units, system, forces, DeviceInput::Cpu, settings).unwrap()
    };
    let (one, two) = (energies("[1, 1, 1]"), energies("[1, 2, 1]"));
    assert_eq!(two.forces.len(), 2 * one.forces.len());
    for (name, (a, b)) in one.term_names.iter().zip(one.thermo.terms.iter().zip(&two.thermo.terms)) {
        assert!((2.0 * a - b).abs() < 1e-6 * (1.0 + a.abs()), "{name}: {a} {b}");
    }
    let folder = tempfile::tempdir().unwrap();
    let change =
        |text: String| text.replace("place = \"molecules\"", "place = \"molecules\"\nreplicate = [2, 1, 1]");
    let input = input(folder.path(), change);
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    run_in_parts(&input, &whole, u64::MAX);
    run_in_parts(&input, &parts, 23);
    assert_eq!(thermo_csv(&whole), thermo_csv(&parts));
}

#[test]
fn what_a_mixture_lacks_is_told_at_its_line() {
    let line = |text: &str, change: &dyn Fn(String) -> String| {
        let folder = tempfile::tempdir().unwrap();
        let input = input(folder.path(), change);
        let error = system_from_input(&input).unwrap_err();
        assert!(error.message().contains(text), "{error}");
        input.source.text.lines().nth(error.place().unwrap().line.unwrap() - 1).unwrap_or("").to_string()
    };
    let without = |from: &'static str, to: &'static str| move |text: String| text.replace(from, to);
    assert!(line("no rule", &without("mixing = \"geometric\"\n", "")).starts_with("place"));
    let apart = without("place = \"molecules\"", "place = \"molecules\"\nmin_distance = \"4.5 A\"");
    assert!(line("do not keep 4.5", &apart).starts_with("place"));
    let parse = |change: &dyn Fn(String) -> String| {
        let folder = tempfile::tempdir().unwrap();
        let text = change(input(folder.path(), |text| text).source.text.to_string());
        Input::parse(&folder.path().join("in.toml"), &text).unwrap_err()
    };
    let error = parse(&without("place = \"molecules\"", "place = \"molecules\"\nbeads = 3"));
    assert!(error.message().contains("\"beads\" means nothing"), "{error}");
    let error = parse(&without("\ncount = 20", ""));
    assert!(error.message().contains("count"), "{error}");
    let error = parse(&without("place = \"molecules\"", "lattice = \"fcc\"\natoms = 4"));
    assert!(error.message().contains("[[molecule]] is placed"), "{error}");
}
