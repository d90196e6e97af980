//! `jostle solvate`: files that run, and wrong wishes, after which nothing is written.

use crate::jostle::{Desk, Finished};

/// Methane without charges, and where its atoms are.
const METHANE: [&str; 2] = [
    "[ defaults ]
1 2 yes 0.5 0.5
[ atomtypes ]
CT 6 12.011 0.0 A 0.35 0.276144
HC 1 1.008 0.0 A 0.25 0.12552
[ moleculetype ]
CH4 3
[ atoms ]
1 CT 1 CH4 C 1 -0.24 12.011
2 HC 1 CH4 H1 1 0.06 1.008
3 HC 1 CH4 H2 1 0.06 1.008
4 HC 1 CH4 H3 1 0.06 1.008
5 HC 1 CH4 H4 1 0.06 1.008
[ bonds ]
1 2 1 0.109 284512
1 3 1 0.109 284512
1 4 1 0.109 284512
1 5 1 0.109 284512
[ angles ]
2 1 3 1 107.8 276.144
[ system ]
methane
[ molecules ]
CH4 1
",
    "methane
5
    1CH4      C    1   0.000   0.000   0.000
    1CH4     H1    2   0.063   0.063   0.063
    1CH4     H2    3  -0.063  -0.063   0.063
    1CH4     H3    4  -0.063   0.063  -0.063
    1CH4     H4    5   0.063  -0.063  -0.063
   0.0 0.0 0.0
",
];

pub fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("methane.top", METHANE[0]);
    desk.write("methane.gro", METHANE[1]);
    desk
}

pub const SOLUTE: [&str; 4] = ["solvate", "methane.top", "--coordinates", "methane.gro"];

fn solvate(desk: &Desk, more: &[&str]) -> Finished {
    desk.jostle(&[&SOLUTE[..], more].concat())
}

#[test]
fn a_solvated_molecule_runs() {
    let desk = desk();
    let wanted = [
        "--padding",
        "12 A",
        "--shape",
        "octahedron",
        "--water",
        "spce",
        "--concentration",
        "0.5",
        "--output",
        "wet",
    ];
    let done = desk.succeed(&[&SOLUTE[..], &wanted, &["--json"]].concat());
    let facts = done.json();
    assert_eq!((facts["charge"].as_f64(), facts["solute_atoms"].as_u64()), (Some(0.0), Some(5)));
    assert_eq!(facts["ions"][0]["count"], facts["ions"][1]["count"]);
    assert!(facts["ions"][1]["count"].as_u64().unwrap() > 0, "{facts}");
    desk.succeed(&["run", "wet.toml", "--steps", "20", "--threads", "1"]);
    let summary: serde_json::Value = serde_json::from_str(&desk.read("wet/summary.json")).unwrap();
    assert_eq!(
        (summary["status"].as_str(), summary["stages"].as_array().map(Vec::len)),
        (Some("finished"), Some(4))
    );
    // A box of water made of the same files: the input names its solute.
    desk.succeed(&["solvate", "wet.toml", "--box", "3.3", "--output", "again"]);
    // Files that are there are not overwritten.
    let before = desk.read("wet.top");
    let refused = solvate(&desk, &wanted);
    assert!(refused.stderr.contains("exists") && refused.code == Some(1), "{}", refused.stderr);
    assert_eq!(desk.read("wet.top"), before);
    solvate(&desk, &[&wanted[..], &["--overwrite"]].concat());
    assert_eq!(desk.read("wet.top"), before);
}

/// An input that names a solute has a temperature, and sections that are not in the new one.
#[test]
fn what_is_left_out_of_an_input_is_said() {
    let desk = desk();
    let input = "units = \"nano\"\n[system]\ntopology = \"methane.top\"\ncoordinates = \"methane.gro\"\nperiodic = false\n\
         temperature = 10\n[[force]]\nkind = \"lennard-jones\"\ncutoff = 1\n[electrostatics]\nkind = \"cutoff\"\ncutoff = 1\n\
         [[field]]\nforce = [0, 0, 0.1]\n[[group]]\nname = \"g\"\natoms = \"all\"\n[[stage]]\nname = \"s\"\nsteps = 10\n\
         timestep = 0.001\nthermostat = { kind = \"langevin\", temperature = [10, 310], friction = 1 }\n";
    desk.write("alone.toml", input);
    let wet = ["solvate", "alone.toml", "--box", "2.5", "--output"];
    let said = desk.succeed(&[&wet[..], &["wet"]].concat()).stderr;
    assert!(
        said.contains("none of [[group]], [[field]] of alone.toml") && said.contains("at 310 K"),
        "{said}"
    );
    assert!(desk.read("wet.toml").contains("temperature = [10, 310.0]"), "{}", desk.read("wet.toml"));
    let said = desk.succeed(&[&wet[..], &["warm", "--temperature", "320"]].concat()).stderr;
    assert!(said.contains("at 320 K") && desk.read("warm.toml").contains("[10, 320.0]"), "{said}");
}

#[test]
fn exceptions_of_charmm_are_named() {
    let desk = desk();
    let typed =
        METHANE[0].replace("CT 6 12.011 0.0 A 0.35 0.276144", "OC 8 12.011 0.0 A 0.302905564 0.50208");
    desk.write("methane.top", typed.replace("1 CT 1", "1 OC 1"));
    let wanted =
        ["--box", "2.7", "--water", "tip3p-charmm", "--concentration", "0.3", "--output", "wet", "--json"];
    let done = solvate(&desk, &wanted);
    assert!(done.stderr.contains("(NBFIX): Na+ with OC, Cl- with Na+"), "{}", done.stderr);
    assert_eq!(done.json()["ion_pairs"], serde_json::json!(["Na+ with OC", "Cl- with Na+"]));
    let other = solvate(&desk, &[&wanted[..], &["--ions", "Rb+,Cl-", "--overwrite"]].concat());
    assert!(!other.stderr.contains("NBFIX"), "{}", other.stderr);
}

#[test]
fn wrong_wishes_are_refused_before_anything_is_written() {
    let desk = desk();
    let files = desk.files();
    for (more, words) in [
        (&["--box", "1"][..], "--box 2.0"),
        (&["--box", "1e4"], "memory"),
        (&["--padding", "-1"], "no length"),
        (&["--padding", "1 kcal/mol"], "measures"),
        (&["--box", "3,4"], "neither one length nor three"),
        (&["--padding", "1", "--water", "spc"], "spce"),
        (&["--padding", "1", "--shape", "cube"], "cubic"),
        (&["--padding", "1", "--concentration", "-0.1"], "not a concentration"),
        (&["--padding", "1", "--concentration", "NaN"], "not a concentration"),
        (&["--padding", "1", "--concentration", "1000"], "only"),
        (&["--padding", "1", "--neutralise", "--ions", "Na,Cl-"], "did you mean Na+?"),
        (&["--padding", "1", "--neutralise", "--ions", "Cl-,Na+"], "not a cation and an anion"),
        (&["--padding", "1", "--neutralise", "--water", "tip4p-2005"], "no ions for"),
        (&["--padding", "1", "--temperature", "0"], "not positive"),
        (&["--padding", "1", "--vacuum", "3"], "right angles"),
        (&["--padding", "1", "--shape", "orthorhombic", "--vacuum", "-3"], "no length"),
        (&["--padding", "1", "--output", "there/is/no/folder"], "folder"),
        (&["--padding", "1", "--output", ".."], "no name"),
    ] {
        let output: &[&str] = if more.contains(&"--output") { &[] } else { &["--output", "wet"] };
        let refused = solvate(&desk, &[more, output].concat());
        let said = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(refused.code != Some(0) && said.contains(words), "{more:?}: {said}");
        assert_eq!(desk.files(), files, "{more:?}");
    }
    let alone = desk.jostle(&["solvate", "methane.top", "--padding", "1", "--output", "wet"]);
    assert!(alone.stderr.contains("--coordinates"), "{}", alone.stderr);
    let neither = desk.jostle(&["solvate", "--output", "wet"]);
    assert_eq!(neither.code, Some(2));
    assert_eq!(desk.files(), files);
}
