//! Atoms chosen by the columns of their file, as NAMD's users mark those that change and those that are held.

use crate::jostle::Desk;
use crate::solvate;

/// A methane that disappears (-1), one that appears (1), and one that is held.
const MARKS: [(&str, &str); 3] = [("1.00", "-1.00"), ("1.00", "1.00"), ("0.50", "0.00")];

/// Three methanes, with a line of the PDB changed.
fn desk(change: impl Fn(String) -> String) -> Desk {
    let desk = solvate::desk();
    desk.write("methane.top", desk.read("methane.top").replace("CH4 1\n", "CH4 3\n"));
    let places =
        [[0.0; 3], [0.63, 0.63, 0.63], [-0.63, -0.63, 0.63], [-0.63, 0.63, -0.63], [0.63, -0.63, -0.63]];
    let mut text = "CRYST1   30.000   30.000   30.000  90.00  90.00  90.00 P 1           1\n".to_string();
    for (molecule, (occupancy, b_factor)) in MARKS.iter().enumerate() {
        for (atom, [x, y, z]) in places.iter().enumerate() {
            let (serial, shift) = (5 * molecule + atom + 1, 6.0 * molecule as f64);
            let (name, element) = (["C", "H1", "H2", "H3", "H4"][atom], if atom == 0 { "C" } else { "H" });
            text += &change(format!(
                "ATOM  {serial:5}  {name:<3} CH4 A{:4}    {:8.3}{y:8.3}{z:8.3}{occupancy:>6}{b_factor:>6}          {element:>2}\n",
                molecule + 1,
                x + shift
            ));
        }
    }
    desk.write("marked.pdb", text + "END\n");
    desk.write("marked.toml", INPUT);
    desk
}

const INPUT: &str = r#"
units = "nano"
[system]
topology = "methane.top"
coordinates = "marked.pdb"
periodic = true
temperature = 300
[[force]]
kind = "lennard-jones"
cutoff = 1
[electrostatics]
kind = "pme"
cutoff = 1
accuracy = 1e-4
[alchemy]
atoms = "bfactor < 0"
appearing = "bfactor > 0"
lambda_charges = [1, 0.5, 0]
lambda_lennard_jones = [1, 1, 1]
appearing_charges = [0, 0.5, 1]
appearing_lennard_jones = [1, 1, 1]
window = 1
own_energy = "kept"
sample_every = 5
[[restraint]]
kind = "position"
atoms = "occupancy = 0.5"
stiffness = 1000
[[stage]]
name = "sample"
steps = 10
timestep = 0.0005
thermostat = { kind = "langevin", temperature = 300, friction = 1 }
thermo = { every = 5 }
[run]
threads = 1
device = "cpu"
"#;

#[test]
fn atoms_are_chosen_by_occupancy_and_b_factor() {
    let desk = desk(|line| line);
    for (text, count) in [
        ("bfactor < 0", 5),
        ("beta = 1", 5),
        ("bfactor -1 0", 10),
        ("bfactor > 0 and element H", 4),
        ("occupancy = 0.5", 5),
        ("occupancy 0.9 to 1.1", 10),
    ] {
        let found = desk.succeed(&["select", "marked.toml", text, "--json"]).json();
        assert_eq!(found["count"].as_u64(), Some(count), "{text}: {found}");
    }
    desk.succeed(&["run", "marked.toml"]);
    // Words that choose the same atoms give the same run.
    let by_index = INPUT
        .replace("bfactor < 0", "index 0 to 4")
        .replace("bfactor > 0", "index 5 to 9")
        .replace("occupancy = 0.5", "index 10 to 14");
    desk.write("index.toml", by_index);
    desk.succeed(&["run", "index.toml"]);
    assert_eq!(desk.read("marked/thermo.csv"), desk.read("index/thermo.csv"));
}

/// Copies of the box and copies of atoms have the numbers of these.
#[test]
fn copies_have_the_columns_of_the_file() {
    let desk = desk(|line| line);
    let [alchemy, restraint] = ["[alchemy]", "[[restraint]]"].map(|head| INPUT.find(head).unwrap());
    let text = INPUT[..alchemy].to_string() + &INPUT[restraint..];
    let enhanced = "[[enhanced]]\natoms = \"bfactor > 0\"\ncopies = 3\n[[restraint]]";
    for (text, count) in [
        (text.replace("periodic = true", "periodic = true\nreplicate = [2, 1, 1]"), 10),
        (text.replace("[[restraint]]", enhanced), 15),
    ] {
        desk.write("copies.toml", text);
        let found = desk.succeed(&["select", "copies.toml", "beta 1 and occupancy 1", "--json"]).json();
        assert_eq!(found["count"].as_u64(), Some(count), "{found}");
    }
}

#[test]
fn a_column_that_is_not_there_is_named() {
    let refused = |change: fn(String) -> String, message: &str| {
        let desk = desk(change);
        let finished = desk.jostle(&["run", "marked.toml"]);
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        let said = finished.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(message), "{said}");
        assert!(said.contains("marked.toml:16") && said.contains("bfactor < 0"), "{said}");
    };
    fn without(line: &str) -> String {
        format!("{}      {}", &line[..60], &line[66..])
    }
    refused(|line| without(&line), "the atoms of this system have no B factors");
    let of_one = |line: String| if line[6..11].trim() == "7" { without(&line) } else { line };
    refused(of_one, "atom 7 (H1 of CH4 2, chain A) has no B factor");
    let desk = desk(|line| line);
    desk.write(
        "gro.toml",
        INPUT.replace("marked.pdb", "methane.gro").replace("periodic = true", "periodic = false"),
    );
    desk.write("methane.top", desk.read("methane.top").replace("CH4 3\n", "CH4 1\n"));
    let finished = desk.jostle(&["select", "gro.toml", "occupancy = 1"]);
    assert!(finished.stderr.contains("the atoms of this system have no occupancies"), "{}", finished.stderr);
}
