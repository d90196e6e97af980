//! Topologies of AMBER: formats, and what other programs write into them.

use crate::forcefields::files;
use jostle_core::{Error, UnitSystem};
use jostle_io::forcefield::{Boundary, Molecules};
use jostle_io::{Input, Selection};
use std::fs;
use std::path::Path;

const FLOATS: &str = "(5E16.8)";
const WHOLES: &str = "(10I8)";
const NAMES: &str = "(20a4)";

fn floats(numbers: &[f64]) -> String {
    let row = |row: &[f64]| row.iter().map(|x| format!("{x:16.8E}")).collect::<String>();
    numbers.chunks(5).map(row).collect::<Vec<_>>().join("\n")
}

fn wholes(numbers: &[i64]) -> String {
    let row = |row: &[i64]| row.iter().map(|x| format!("{x:8}")).collect::<String>();
    numbers.chunks(10).map(row).collect::<Vec<_>>().join("\n")
}

/// Four atoms in a row: name, format and text of every section. `boxed` is 1 where there is a box.
pub(crate) fn chain(boxed: i64) -> Vec<(&'static str, &'static str, String)> {
    let mut pointers = [0; 31];
    (pointers[0], pointers[1], pointers[27]) = (4, 1, boxed);
    // Residues; bonds and dihedrals without hydrogen; types of bonds and of dihedrals.
    (pointers[11], pointers[12], pointers[14], pointers[15], pointers[17]) = (1, 3, 2, 1, 2);
    vec![
        ("TITLE", NAMES, "a chain".into()),
        ("POINTERS", WHOLES, wholes(&pointers)),
        ("ATOM_NAME", NAMES, "C1  C2  C3  C4  ".into()),
        ("CHARGE", FLOATS, floats(&[0.0; 4])),
        ("MASS", FLOATS, floats(&[12.0; 4])),
        ("ATOM_TYPE_INDEX", WHOLES, wholes(&[1; 4])),
        ("NUMBER_EXCLUDED_ATOMS", WHOLES, wholes(&[3, 2, 1, 1])),
        ("NONBONDED_PARM_INDEX", WHOLES, wholes(&[1])),
        ("RESIDUE_LABEL", NAMES, "MOL ".into()),
        ("RESIDUE_POINTER", WHOLES, wholes(&[1])),
        ("BOND_FORCE_CONSTANT", FLOATS, floats(&[300.0])),
        ("BOND_EQUIL_VALUE", FLOATS, floats(&[1.5])),
        ("ANGLE_FORCE_CONSTANT", FLOATS, String::new()),
        ("ANGLE_EQUIL_VALUE", FLOATS, String::new()),
        ("DIHEDRAL_FORCE_CONSTANT", FLOATS, floats(&[0.5, 0.25])),
        ("DIHEDRAL_PERIODICITY", FLOATS, floats(&[3.0, 2.0])),
        ("DIHEDRAL_PHASE", FLOATS, floats(&[0.0, 0.0])),
        ("LENNARD_JONES_ACOEF", FLOATS, floats(&[1e6])),
        ("LENNARD_JONES_BCOEF", FLOATS, floats(&[1e3])),
        ("BONDS_INC_HYDROGEN", WHOLES, String::new()),
        ("BONDS_WITHOUT_HYDROGEN", WHOLES, wholes(&[0, 3, 1, 3, 6, 1, 6, 9, 1])),
        ("DIHEDRALS_INC_HYDROGEN", WHOLES, String::new()),
        ("DIHEDRALS_WITHOUT_HYDROGEN", WHOLES, wholes(&[0, 3, 6, 9, 1, 0, 3, -6, 9, 2])),
        ("EXCLUDED_ATOMS_LIST", WHOLES, wholes(&[2, 3, 4, 3, 4, 4, 0])),
        ("AMBER_ATOM_TYPE", NAMES, "CT  CT  CT  CT  ".into()),
        ("SOLVENT_POINTERS", WHOLES, wholes(&[1, 1, 2])),
    ]
}

pub(crate) fn text(sections: &[(&str, &str, String)]) -> String {
    let section =
        |(name, format, text): &(&str, &str, String)| format!("%FLAG {name}\n%FORMAT{format}\n{text}\n");
    format!("%VERSION\n{}", sections.iter().map(section).collect::<String>())
}

pub(crate) fn read(text: &str) -> Result<Molecules, Error> {
    let folder = tempfile::tempdir().unwrap();
    let topology = folder.path().join("a.prmtop");
    fs::write(&topology, text).unwrap();
    Molecules::read(&files(&topology, &[]), UnitSystem::Real)
}

/// The chain with some sections in place of others of the same name.
fn with(changes: &[(&'static str, &'static str, String)]) -> Result<Molecules, Error> {
    let mut sections = chain(0);
    for change in changes {
        match sections.iter_mut().find(|section| section.0 == change.0) {
            Some(section) => *section = change.clone(),
            None => sections.push(change.clone()),
        }
    }
    read(&text(&sections))
}

/// Groups and lists in formats: maps as tleap writes them, and sections that are not read.
#[test]
fn formats_have_groups() {
    let energies: Vec<f64> = (0..16).map(f64::from).collect();
    let rows = energies.chunks(8).map(|row| row.iter().map(|e| format!("{e:9.5}")).collect::<String>());
    let rows = rows.collect::<Vec<_>>().join("\n");
    let maps = |format: &'static str, text: &str| {
        with(&[
            ("FORCE_FIELD_TYPE", "(i2,a78)", " 1 some force field".into()),
            ("TITLE", "(a)", "of any length".into()),
            ("UNKNOWN", "(1x,z8)", "???".into()),
            ("CMAP_COUNT", "(2I8)", "       0       1".into()),
            ("CMAP_RESOLUTION", "(20I4)", "   4".into()),
            ("CMAP_PARAMETER_01", format, text.into()),
        ])
    };
    let grouped = maps("(8(F9.5))", &rows).unwrap();
    assert_eq!(grouped.forces.cmaps.len(), 1);
    assert_eq!(grouped.forces.cmaps, maps("(8F9.5)", &rows).unwrap().forces.cmaps);
    let error = maps("(8(F9.5)", &rows).unwrap_err();
    assert!(
        error.message().contains("CMAP_PARAMETER_01") && error.place().unwrap().line.is_some(),
        "{error}"
    );
}

/// Force fields that are not read are named, whatever formats their sections have.
#[test]
fn other_force_fields_are_named() {
    for (name, format, hint) in [
        ("CTITLE", "(a80)", "PSF"),
        ("AMOEBA_FORCEFIELD", "(i5)", "AMOEBA"),
        ("LENNARD_JONES_14_ACOEF", "(3E24.16)", "PSF"),
        ("LENNARD_JONES_CCOEF", "(5E16.8)", "12-6-4"),
    ] {
        let odd = ("FORCE_FIELD_TYPE", "(i2,a78)", " 1 CHARMM".into());
        let error = with(&[odd, (name, format, "    1".into())]).unwrap_err();
        assert!(error.message().contains(name) && error.help().unwrap().contains(hint), "{error}");
    }
}

/// A term without turns is an energy that never changes, k (1 + cos(phase)); its 1-4 pair counts.
#[test]
fn dihedrals_without_turns_have_no_force() {
    let changed = |turns: f64, phase: f64| {
        let phases = ("DIHEDRAL_PHASE", FLOATS, floats(&[phase, 0.0]));
        with(&[("DIHEDRAL_PERIODICITY", FLOATS, floats(&[turns, 2.0])), phases])
    };
    let zero = changed(0.0, std::f64::consts::FRAC_PI_3).unwrap();
    assert_eq!((zero.topology.dihedrals.len(), zero.topology.bonds.len()), (2, 4));
    let constant = zero.forces.dihedrals.iter().find(|term| term.term() == "dihedral-ryckaert-bellemans");
    let [energy, rest @ ..] = constant.unwrap().parameters(0).unwrap() else { panic!() };
    assert!((energy - 0.75).abs() < 1e-8 && rest == [0.0; 5], "{energy} {rest:?}");
    let error = changed(9.0, 0.0).unwrap_err();
    assert!(error.message().contains("multiplicity"), "{error}");
    let flag = |error: &Error| error.place().unwrap().line.unwrap();
    let missing = with(&[("DIHEDRAL_PERIODICITY", "(1E16.8)", "x".into())]).unwrap_err();
    let rows = format!("{}\n{}", floats(&[2.0]), floats(&[1.5]));
    let error = with(&[("DIHEDRAL_PERIODICITY", "(1E16.8)", rows)]).unwrap_err();
    assert!(error.message().contains("periodicity 1.5 in DIHEDRAL_PERIODICITY is no whole"), "{error}");
    assert_eq!(flag(&error), flag(&missing) + 1);
}

/// Repulsion alone.
#[test]
fn pairs_may_have_no_attraction() {
    let read = with(&[("LENNARD_JONES_BCOEF", FLOATS, floats(&[0.0]))]).unwrap();
    let [epsilon, sigma] = read.lennard_jones[0];
    assert!((4.0 * epsilon * sigma.powi(12) / 1e6 - 1.0).abs() < 1e-12);
    assert!(4.0 * epsilon * sigma.powi(6) < 1e-15);
}

/// A count that the file cannot have is an error of the file, and takes no memory.
#[test]
fn counts_beyond_the_file_are_refused() {
    for (name, text) in [
        ("NUMBER_EXCLUDED_ATOMS", format!("{0}{0}{0}{0}", "99999999")),
        ("CMAP_RESOLUTION", "99999999".into()),
    ] {
        let error = with(&[(name, WHOLES, text)]).unwrap_err();
        assert!(error.place().is_some(), "{name}: {error}");
    }
    let wide = ("NUMBER_EXCLUDED_ATOMS", "(4I20)", "18446744073709551615".repeat(4));
    let error = with(&[wide]).unwrap_err();
    assert!(error.message().contains("not 18446744073709551615"), "{error}");
}

/// A file that has lost whole rows, of terms or of parameters, is not what POINTERS says.
#[test]
fn rows_that_are_lost_are_missed() {
    for (name, kind, text) in [
        ("DIHEDRALS_WITHOUT_HYDROGEN", WHOLES, wholes(&[0, 3, 6, 9, 1])),
        ("BONDS_WITHOUT_HYDROGEN", WHOLES, wholes(&[0, 3, 1, 3, 6, 1])),
        ("BONDS_INC_HYDROGEN", WHOLES, wholes(&[0, 3, 1])),
        ("DIHEDRAL_FORCE_CONSTANT", FLOATS, floats(&[0.5])),
        ("CHARGE", FLOATS, floats(&[0.0; 3])),
    ] {
        let error = with(&[(name, kind, text)]).unwrap_err();
        assert!(error.message().starts_with(&format!("{name} has ")), "{error}");
        assert!(error.message().contains("of POINTERS it must have"), "{error}");
    }
}

/// Sections that POINTERS says are there, but are not, are missed: those of terms, of parameters and of names.
#[test]
fn sections_that_are_lost_are_missed() {
    let without = |name: &str, boxed| {
        let mut sections = chain(boxed);
        sections.retain(|section| section.0 != name);
        read(&text(&sections))
    };
    for (name, number, expected) in [
        ("BONDS_WITHOUT_HYDROGEN", 13, "9 numbers"),
        ("DIHEDRALS_WITHOUT_HYDROGEN", 15, "10 numbers"),
        ("BOND_FORCE_CONSTANT", 16, "1 numbers"),
        ("DIHEDRAL_FORCE_CONSTANT", 18, "2 numbers"),
        ("DIHEDRAL_PHASE", 18, "2 numbers"),
        ("NONBONDED_PARM_INDEX", 2, "1 numbers"),
        ("LENNARD_JONES_BCOEF", 2, "1 numbers"),
        ("MASS", 1, "4 numbers"),
        ("RESIDUE_POINTER", 12, "1 numbers"),
        ("ATOM_NAME", 1, "4 names"),
        ("AMBER_ATOM_TYPE", 1, "4 names"),
        ("SOLVENT_POINTERS", 28, "3 numbers"),
    ] {
        let error = without(name, 1).unwrap_err();
        let place = error.place().unwrap();
        assert!(place.file.ends_with("a.prmtop") && place.line.is_some());
        for part in [&format!("no section {name}"), &format!("number {number} of POINTERS"), expected] {
            assert!(error.message().contains(part), "{error}");
        }
    }
    // Sections of no terms may be missing.
    for name in ["TITLE", "BONDS_INC_HYDROGEN", "DIHEDRALS_INC_HYDROGEN"] {
        let (read, whole) = (without(name, 1).unwrap(), read(&text(&chain(1))).unwrap());
        assert_eq!(read.topology, whole.topology, "{name}");
    }
    let error = with(&[("POINTERS", WHOLES, wholes(&[4, 1]))]).unwrap_err();
    assert!(error.message().contains("POINTERS has 2 numbers, not 30 or more"), "{error}");
}

/// Hydrogens' terms that POINTERS counts, and no section has.
#[test]
fn lost_terms_of_hydrogens_are_missed() {
    for (place, name) in [
        (2, "BONDS_INC_HYDROGEN has 0"),
        (4, "no section ANGLES_INC_HYDROGEN"),
        (13, "no section ANGLES_WITHOUT_HYDROGEN"),
        (6, "DIHEDRALS_INC_HYDROGEN has 0"),
        (19, "no section HBOND_ACOEF"),
        (29, "a cap (number 30 of POINTERS)"),
    ] {
        let mut sections = chain(0);
        let pointers = &mut sections[1].2;
        let mut numbers: Vec<i64> = pointers.split_whitespace().map(|n| n.parse().unwrap()).collect();
        numbers[place] = 1;
        *pointers = wholes(&numbers);
        let error = read(&text(&sections)).unwrap_err();
        assert!(error.message().contains(name) && error.place().unwrap().line.is_some(), "{error}");
    }
}

/// Sections of which others say that they are there, and those that there are twice.
#[test]
fn sections_that_belong_to_others_are_missed() {
    let scale = |name, n: usize| (name, FLOATS, floats(&vec![1.2; n]));
    let (electric, wells) = (scale("SCEE_SCALE_FACTOR", 2), scale("SCNB_SCALE_FACTOR", 2));
    assert!(with(&[electric.clone(), wells.clone()]).is_ok());
    let count = ("CMAP_COUNT", "(2I8)", "       1       1".into());
    let resolution = ("CMAP_RESOLUTION", "(20I4)", "   4".into());
    for (sections, message) in [
        (vec![electric.clone()], "no section SCNB_SCALE_FACTOR, but by number 18 of POINTERS"),
        (vec![wells.clone()], "no section SCEE_SCALE_FACTOR, but by number 18 of POINTERS"),
        (vec![scale("SCEE_SCALE_FACTOR", 1), wells], "SCEE_SCALE_FACTOR has 1 numbers"),
        (vec![("ATOMIC_NUMBER", WHOLES, wholes(&[6; 3]))], "ATOMIC_NUMBER has 3 numbers"),
        (vec![resolution.clone()], "a section CMAP_RESOLUTION, but no section CMAP_COUNT"),
        (vec![count.clone()], "no section CMAP_RESOLUTION, but by CMAP_COUNT it must have 1"),
        (vec![count, resolution], "no section CMAP_INDEX, but by CMAP_COUNT it must have 6"),
        (vec![("ATOM_NAME", NAMES, "C1  C2  C3  ".into())], "ATOM_NAME has 3 names"),
        (vec![("LENNARD_JONES_ACOEF", FLOATS, String::new())], "LENNARD_JONES_ACOEF has 0 numbers"),
        (vec![("LES_NTYP", WHOLES, wholes(&[2]))], "there is a section LES_NTYP"),
    ] {
        let error = with(&sections).unwrap_err();
        assert!(error.message().contains(message) && error.place().unwrap().line.is_some(), "{error}");
    }
    // Coefficients of types that are gone, as ParmEd leaves them.
    assert!(with(&[("LENNARD_JONES_ACOEF", FLOATS, floats(&[1e6, 2e6]))]).is_ok());
    // Blanks behind the last name, and none behind a short one.
    for names in ["C1  C2  C3  C4          ", "C1  C2  C3  C4"] {
        assert!(with(&[("ATOM_NAME", NAMES, names.into())]).is_ok());
    }
    let mut sections = chain(0);
    sections.push(sections[3].clone());
    let error = read(&text(&sections)).unwrap_err();
    assert!(error.message().contains("a second section CHARGE"), "{error}");
    let mut sections = chain(1);
    sections.push(("BOX_DIMENSIONS", FLOATS, floats(&[90.0, 30.0, 40.0])));
    let error = read(&text(&sections)).unwrap_err();
    assert!(error.message().contains("BOX_DIMENSIONS has 3 numbers, not 4"), "{error}");
}

/// A box that stands in one of two files: the input says if it is meant.
#[test]
fn a_box_of_the_topology_alone_has_to_be_meant() {
    let folder = tempfile::tempdir().unwrap();
    let coordinates = "title\n    4\n".to_string()
        + "   0.0000000   0.0000000   0.0000000   1.5000000   0.0000000   0.0000000\n"
        + "   2.0000000   1.4000000   0.0000000   3.5000000   1.4000000   0.5000000\n";
    fs::write(folder.path().join("a.inpcrd"), coordinates).unwrap();
    let system = |boxed: bool, periodic: &str| {
        let mut sections = chain(1);
        if boxed {
            sections.push(("BOX_DIMENSIONS", FLOATS, floats(&[90.0, 30.0, 40.0, 50.0])));
        }
        fs::write(folder.path().join("a.prmtop"), text(&sections)).unwrap();
        let forces = "[[force]]\nkind = \"lennard-jones\"\ncutoff = 9\n";
        let system = "[system]\ntopology = \"a.prmtop\"\ncoordinates = \"a.inpcrd\"\n";
        let text = format!("units = \"real\"\n{system}{periodic}\n{forces}");
        Input::parse(&folder.path().join("in.toml"), &text).unwrap().read_molecules()
    };
    let error = system(true, "").unwrap_err();
    assert!(error.message().contains("a box (30.0000 x 40.0000 x 50.0000)"), "{error}");
    assert!(error.help().unwrap().contains("periodic = true") && error.place().is_some());
    let (read, _) = system(true, "periodic = true").unwrap().unwrap();
    assert!((read.simbox.lengths()[2] - 50.0).abs() < 1e-12);
    let (read, _) = system(true, "periodic = false").unwrap().unwrap();
    assert_eq!(read.simbox.periodic(), [false; 3]);
    let error = system(false, "").unwrap_err();
    assert!(error.message().contains("no file has a box"), "{error}");
    assert!(error.help().unwrap().contains("periodic = false"));
    assert_eq!(self::read(&text(&chain(1))).unwrap().boundary, Boundary::Periodic(None));
}

#[test]
fn a_completed_input_leaves_out_what_a_topology_has() {
    let text = "units = \"real\"\n[system]\ntopology = \"a.prmtop\"\ncoordinates = \"a.inpcrd\"\n\
                [[force]]\nkind = \"lennard-jones\"\ncutoff = 9\n";
    let path = Path::new("in.toml");
    let completed = Input::parse(path, text).unwrap().completed().unwrap();
    assert!(completed.contains("restraint = []  # default") && !completed.contains("exclude"), "{completed}");
    Input::parse(path, &completed).unwrap();
}

/// Charges end with the pair force, also where no pair of atoms has any: its section says how far it would reach.
#[test]
fn charges_end_where_a_force_without_wells_does() {
    let folder = tempfile::tempdir().unwrap();
    let mut sections = chain(0);
    for (name, changed) in [
        ("LENNARD_JONES_ACOEF", floats(&[0.0])),
        ("LENNARD_JONES_BCOEF", floats(&[0.0])),
        ("CHARGE", floats(&[9.0, -9.0, 9.0, -9.0])),
    ] {
        sections.iter_mut().filter(|section| section.0 == name).for_each(|s| s.2.clone_from(&changed));
    }
    fs::write(folder.path().join("a.prmtop"), text(&sections)).unwrap();
    let atoms = "C1 0 0 0\nC2 1.5 0 0\nC3 2 1.4 0\nC4 3.5 1.4 0.5\n";
    fs::write(folder.path().join("a.xyz"), format!("4\n\n{atoms}")).unwrap();
    let reach = |more: &str| {
        let text = format!(
            "units = \"real\"\n[system]\ntopology = \"a.prmtop\"\ncoordinates = \"a.xyz\"\nperiodic = false\n\
             [[force]]\nkind = \"lennard-jones\"\ncutoff = 7\n[electrostatics]\nkind = \"cutoff\"\n{more}"
        );
        let read = Input::parse(&folder.path().join("in.toml"), &text).unwrap().read_molecules();
        read.unwrap().unwrap().1.electrostatics.unwrap().cutoff
    };
    assert_eq!((reach(""), reach("cutoff = 5")), (7.0, 5.0));
}

/// Chains of a PDB are those of the atoms where the topology has none, as are B factors.
#[test]
fn chains_come_from_the_coordinates() {
    let folder = tempfile::tempdir().unwrap();
    let mut sections = chain(0);
    for (name, changed) in [("RESIDUE_LABEL", "ALA GLY ".to_string()), ("RESIDUE_POINTER", wholes(&[1, 3]))] {
        sections.iter_mut().filter(|section| section.0 == name).for_each(|s| s.2.clone_from(&changed));
    }
    let pointers: Vec<i64> = sections[1].2.split_whitespace().map(|n| n.parse().unwrap()).collect();
    sections[1].2 =
        wholes(&pointers.iter().enumerate().map(|(k, n)| if k == 11 { 2 } else { *n }).collect::<Vec<_>>());
    fs::write(folder.path().join("a.prmtop"), text(&sections)).unwrap();
    let read = |chains: [&str; 4]| {
        let atom = |(k, chain): (usize, &&str)| {
            let (residue, x) = (["ALA", "GLY"][k / 2], 1.5 * k as f64);
            format!(
                "ATOM  {:5}  C{}  {residue} {chain}{:4}    {x:8.3}   0.000   0.000  1.00  2.00           C\n",
                k + 1,
                k + 1,
                52 + k / 2
            )
        };
        fs::write(folder.path().join("a.pdb"), chains.iter().enumerate().map(atom).collect::<String>())
            .unwrap();
        let text = "units = \"real\"\n[system]\ntopology = \"a.prmtop\"\ncoordinates = \"a.pdb\"\nperiodic = false\n\
                    [[force]]\nkind = \"lennard-jones\"\ncutoff = 7\n[electrostatics]\nkind = \"cutoff\"\ncutoff = 7\n";
        Input::parse(&folder.path().join("in.toml"), text).unwrap().read_molecules()
    };
    let ids = |chains: [&str; 4], text: &str| {
        let (system, _) = read(chains).unwrap().unwrap();
        Selection::parse(text).unwrap().ids(&system, UnitSystem::Real)
    };
    let two = ["A", "A", "B", "B"];
    assert_eq!(ids(two, "chain A").unwrap(), [0, 1]);
    assert_eq!(ids(two, "chain B and name C4").unwrap(), [3]);
    // Numbers and names of residues stay those of the topology.
    assert_eq!(ids(two, "resid 2 and resname GLY").unwrap(), [2, 3]);
    assert_eq!(ids(["A"; 4], "residue 1").unwrap(), [2, 3]);
    // A chain that begins within a residue of the topology.
    assert_eq!(ids(["A", "B", "B", "B"], "chain B").unwrap(), [1, 2, 3]);
    let none = ids([" "; 4], "chain A").unwrap_err();
    assert_eq!(none.message, "the atoms of this system have no chains");
}
