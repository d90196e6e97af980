//! LAMMPS data files: charges of atoms, comments, and coefficients beside an input with forces.

use jostle_core::{Error, System, UnitSystem};
use jostle_io::structure::{Reading, write_lammps};
use jostle_io::{Input, Structure};
use std::fs;
use std::path::Path;

const DATA: &str = "LAMMPS data file, units = real

4 atoms
2 atom types
2 bonds
1 bond types
1 angles
1 angle types
0 20 xlo xhi
0 20 ylo yhi
0 20 zlo zhi

Masses

1 22.99  # A
2 35.453 # B

Pair Coeffs # lj/cut

1 0.1 2.3
2 0.2 4.4

Bond Coeffs # harmonic

1 50 1.5

Angle Coeffs # harmonic

1 30 110

Atoms # full

1 1 1 0.75 1 2 3
2 1 2 -0.5 2.5 2 3
3 1 1 0.25 4 2 3
4 2 2 -0.5 9 9 9

Bonds

1 1 1 2
2 1 2 3

Angles

1 1 1 2 3
";

const FORCES: &str = "
exclude = \"1-3\"
[[force]]
kind = \"lennard-jones\"
cutoff = 9
mixing = \"lorentz-berthelot\"
pairs.\"A-A\" = { epsilon = 0.1, sigma = 2.3 }
pairs.\"B-B\" = { epsilon = 0.2, sigma = 4.4 }
[[bond]]
kind = \"harmonic\"
types.1 = { stiffness = 100, length = 1.5 }
[[angle]]
kind = \"harmonic\"
types.1 = { stiffness = 60, angle = 110 }
";

fn system(data: &str, forces: &str) -> Result<System, Error> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.data"), data).unwrap();
    let (top, sections) = forces.split_once("[[").unwrap_or((forces, ""));
    let system = "[system]\nfile = \"a.data\"\n";
    let text = format!("units = \"real\"\n{top}\n{system}[[{sections}");
    let input = Input::parse(&folder.path().join("in.toml"), text.trim_end_matches("[[")).unwrap();
    input.read_structure().unwrap().unwrap().into_system(&input)
}

fn charges(system: &System) -> Vec<f64> {
    (0..system.state.len()).map(|place| system.charge(place)).collect()
}

/// Atoms of one type may have charges of their own; a charge of `[species]` is that of all its atoms.
#[test]
fn atoms_have_charges_of_their_own() {
    let own = system(DATA, FORCES).unwrap();
    assert_eq!(charges(&own), [0.75, -0.5, 0.25, -0.5]);
    assert_eq!(own.total_charge(), 0.0);
    let some = system(DATA, &format!("{FORCES}[species.A]\ncharge = 0.5\n")).unwrap();
    assert_eq!(charges(&some), [0.5, -0.5, 0.5, -0.5]);
    let all = format!("{FORCES}[species.A]\ncharge = 0.5\n[species.B]\ncharge = -0.25\n");
    let all = system(DATA, &all).unwrap();
    assert_eq!((charges(&all), all.charges.len()), (vec![0.5, -0.25, 0.5, -0.25], 0));
    // Charges that are equal for all atoms of a species are those of the species.
    let same = system(&DATA.replace("1 1 1 0.75", "1 1 1 0.25"), FORCES).unwrap();
    assert_eq!((same.species[0].charge, same.charges.len()), (0.25, 0));
    // A written file is read back.
    let mut out = Vec::new();
    write_lammps(&own, UnitSystem::Real, &mut out).unwrap();
    let reading = Reading { units: UnitSystem::Real, types: &[], periodic: None };
    assert_eq!(Structure::parse(Path::new("b.data"), &out, reading).unwrap().charges, charges(&own));
    let xyz = "3\nProperties=species:S:1:pos:R:3:charge:R:1\nA 0 0 0 0.5\nA 1 0 0 0.25\nB 0 1 0 -0.75\n";
    let xyz = Structure::parse(Path::new("a.xyz"), xyz.as_bytes(), reading).unwrap();
    assert_eq!((xyz.charges, xyz.species[1].charge), (vec![0.5, 0.25, -0.75], Some(-0.75)));
}

/// A force that follows from charges of species would be another one than the file means.
#[test]
fn charges_of_species_are_not_those_of_atoms() {
    let field = format!("{FORCES}[[field]]\nelectric = [0, 0, 1]\n");
    let yukawa = format!("{FORCES}[[force]]\nkind = \"yukawa\"\ncutoff = 9\nscreening_length = 3\n");
    for (forces, what) in [(&field, "an electric field"), (&yukawa, "this force")] {
        let error = system(DATA, forces).unwrap_err();
        assert!(error.message().starts_with(what) && error.place().is_some(), "{error}");
        assert!(error.help().unwrap().contains("[species]"));
    }
}

/// Numbers of the file and of the input that say different things of one force.
#[test]
fn coefficients_must_not_contradict_the_input() {
    system(DATA, FORCES).unwrap();
    let line = |row: &str| DATA.lines().position(|line| line == row).unwrap() + 1;
    for (from, to, message) in [
        ("2 0.2 4.4", "2 0.2 4.3", "Pair Coeffs of B-B: the file has epsilon = 0.2, sigma = 4.3"),
        ("1 50 1.5", "1 100 1.5", "Bond Coeffs of bond type 1: the file has stiffness = 200, length = 1.5"),
        ("1 30 110", "1 30 109.5", "Angle Coeffs of angle type 1"),
    ] {
        let error = system(&DATA.replace(from, to), FORCES).unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert_eq!(error.place().unwrap().line, Some(line(from)), "{error}");
    }
    let pairs = DATA.replace("Bond Coeffs", "PairIJ Coeffs # lj/cut\n\n1 2 0.3 3.3\n\nBond Coeffs");
    assert!(system(&pairs, FORCES).unwrap_err().message().contains("PairIJ Coeffs of A-B"));
    // Without a style; six digits; a hybrid style; forces of another form; none of that in the input.
    let unnamed = DATA.replace(" # lj/cut", "").replace("2 0.2 4.4", "2 0.3 4.4");
    assert!(system(&unnamed, FORCES).unwrap_err().message().contains("epsilon = 0.3"));
    let hybrid = DATA.replace("# lj/cut", "# hybrid").replace("1 0.1 2.3", "1 morse 5 5 5");
    let hybrid = hybrid.replace("2 0.2 4.4", "2 lj/cut/coul/long 0.2 4.5");
    assert!(system(&hybrid, FORCES).unwrap_err().message().contains("sigma = 4.5"));
    for (from, to) in [
        ("2 0.2 4.4", "2 0.2000001 4.4"),
        ("Pair Coeffs # lj/cut", "Pair Coeffs # buck"),
        ("1 0.1 2.3\n2 0.2 4.4", "1 lj/cut/coul/long 0.1 2.3\n2 buck 7 8"),
        ("Bond Coeffs # harmonic", "Bond Coeffs # class2"),
    ] {
        assert!(DATA.contains(from));
        system(&DATA.replace(from, to), FORCES).unwrap_or_else(|e| panic!("{to}: {e}"));
    }
    let other = FORCES.replace("lennard-jones", "soft-sphere");
    system(&DATA.replace("2 0.2 4.4", "2 0.2 4.3"), &other).unwrap();
}

/// Words behind the name of a section may be a comment.
#[test]
fn comments_behind_sections_are_no_styles() {
    let read = |hint: &str| {
        let reading = Reading { units: UnitSystem::Real, types: &[], periodic: None };
        Structure::parse(Path::new("a.data"), DATA.replace("# full", hint).as_bytes(), reading)
    };
    let known = read("# full").unwrap();
    for hint in ["", "# the atoms", "# id mol type q x y z", "# full and more"] {
        assert_eq!(read(hint).unwrap(), known, "{hint}");
    }
    assert!(read("# dipole").unwrap_err().message().contains("\"dipole\" is not read"));
}

/// A count that the file cannot have is an error of the file, and takes no memory.
#[test]
fn counts_beyond_the_file_are_refused() {
    let reading = Reading { units: UnitSystem::Real, types: &[], periodic: None };
    for (from, to) in [
        ("4 atoms", "4294967295 atoms"),
        ("4 atoms", "18446744073709551615 atoms"),
        ("2 bonds", "4294967295 bonds"),
        ("1 angle types", "4294967295 angle types"),
        ("2 atom types", "4294967295 atom types"),
    ] {
        let error = Structure::parse(Path::new("a.data"), DATA.replace(from, to).as_bytes(), reading);
        assert!(error.as_ref().unwrap_err().place().is_some(), "{to}: {error:?}");
    }
}
