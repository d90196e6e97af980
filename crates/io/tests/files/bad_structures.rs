//! Bad structure files: each is refused with the line, the cause and what would do.

use jostle_core::UnitSystem;
use jostle_io::structure::Reading;
use jostle_io::{Input, Structure};
use std::path::Path;

const DATA: &str = "LAMMPS data file via write_data, units = real

4 atoms
2 atom types
0.0 10.0 xlo xhi
0.0 10.0 ylo yhi
0.0 10.0 zlo zhi

Masses

1 22.99
2 35.453

Atoms # charge

1 1 1.0 1.0 2.0 3.0
2 2 -1.0 4.0 2.0 3.0
3 1 1.0 1 2 7
4 2 -1.0 4 5 6

Velocities

1 0.1 0.2 0.3
2 1 1 1
3 2 2 2
4 3 3 3
";

const XYZ: &str = "3
Lattice=\"10 0 0 0 10 0 0 0 10\" Properties=species:S:1:pos:R:3:velo:R:3:charge:R:1 pbc=\"T T T\" units=real
Na 1 2 3 0 0 0 1
Cl 4 5 6 0 0 0 -1
Na 7 8 9 0 0 0 1
";

struct Bad {
    change: (&'static str, &'static str),
    line: usize,
    cause: &'static str,
    hint: &'static str,
}

const fn bad(
    change: (&'static str, &'static str),
    line: usize,
    cause: &'static str,
    hint: &'static str,
) -> Bad {
    Bad { change, line, cause, hint }
}

const BAD_DATA: &[Bad] = &[
    bad(("units = real", "units = metal"), 1, "LAMMPS units \"metal\"", "same units"),
    bad(("units = real", "units = nano"), 1, "LAMMPS units \"nano\"", "same units"),
    bad(("4 atoms\n", ""), 8, "does not say how many atoms", "864 atoms"),
    bad(("2 atom types\n", ""), 8, "does not say how many atom types", "1 atom types"),
    bad(("0.0 10.0 ylo yhi\n", ""), 8, "how large the box is along y", "ylo yhi"),
    bad(("4 atoms", "four atoms"), 3, "not a line of a LAMMPS data header", "864 atoms"),
    bad(("4 atoms", "4.5 atoms"), 3, "cannot be read from \"4.5\"", ""),
    bad(("4 atoms", "-4 atoms"), 3, "cannot be read from \"-4\"", ""),
    bad(("4 atoms", "0 atoms"), 14, "0 atoms", ""),
    bad(("4 atoms", "99999999999 atoms"), 14, "more than 4294967295", ""),
    bad(("2 atom types", "0 atom types"), 9, "0 atom types", "1 to 65535"),
    bad(("2 atom types", "3 atom types"), 14, "Masses has only 2 of 3 lines", ""),
    bad(("0.0 10.0 xlo xhi", "10.0 0.0 xlo xhi"), 5, "xhi = 0, not above xlo = 10", ""),
    bad(("0.0 10.0 xlo xhi", "0.0 xlo xhi"), 5, "ends before xhi", ""),
    bad(("0.0 10.0 xlo xhi", "0.0 inf xlo xhi"), 5, "xhi is inf", ""),
    bad(("0.0 10.0 zlo zhi", "0 0 10 cvec"), 7, "general triclinic", "xy xz yz"),
    bad(("4 atoms", "4 atoms\n980 dihedrals"), 10, "980 dihedrals and 0 dihedral types", "1 to 65535"),
    bad(("4 atoms", "4 atoms\n9 ellipsoids"), 4, "ellipsoids, which are not computed", "take them out"),
    bad(("2 35.453", "2 35.453\n\nImpropers\n\n1 1 1 2 3 4"), 14, "Impropers come before", "Atoms"),
    bad(("2 35.453", "2 35.453\n\nBodies\n\n1 1"), 14, "Bodies, which are not", "take them out"),
    bad(("4 atoms", "4 atoms\n1 bonds"), 10, "1 bonds and 0 bond types", "1 to 65535"),
    bad(("Masses", "Mases"), 9, "\"Mases\" is neither a section", "did you mean \"Masses\"?"),
    bad(("22.99", "-22.99"), 11, "the mass -22.99 is not greater than zero", ""),
    bad(("1 22.99", "5 22.99"), 11, "the atom type 5 is not one of the 2", "from 1"),
    bad(("# charge", "# sphere"), 14, "the atom style \"sphere\" is not read", "full"),
    bad(("# charge", ""), 16, "not clear what the columns", "Atoms # charge"),
    bad(("# charge", "# my atoms"), 16, "not clear what the columns", "Atoms # charge"),
    bad(("# charge", "# atomic"), 16, "style atomic has 6 columns instead of 5", "atom style right?"),
    bad(("2 2 -1.0 4.0 2.0 3.0", "2 2 -1.0 4.0 2.0"), 17, "5 columns instead of 6", "image flags"),
    bad(("2 2 -1.0 4.0 2.0 3.0", "2 2 -1.0 4.0 nan 3.0"), 17, "y is NaN, not a finite number", ""),
    bad(("2 2 -1.0 4.0 2.0 3.0", "2 2 -1.0 4.0 2.0 1e999"), 17, "z is inf", ""),
    bad(("2 2 -1.0 4.0 2.0 3.0", "2 2 -1.0 4.0 2,0 3.0"), 17, "y cannot be read from \"2,0\"", ""),
    bad(("2 2 -1.0 4.0 2.0 3.0", "2 3 -1.0 4.0 2.0 3.0"), 17, "the atom type 3", "from 1"),
    bad(("2 2 -1.0 4.0 2.0 3.0", "2 Cl -1.0 4.0 2.0 3.0"), 17, "\"Cl\" is no atom type", "Atom Type Labels"),
    bad(("2 2 -1.0 4.0 2.0 3.0", "1 2 -1.0 4.0 2.0 3.0"), 17, "the atom id 1 is given twice", "its own"),
    bad(("2 2 -1.0 4.0 2.0 3.0", "2 2 -1.0 4.0 2.0 3e9"), 17, "more than a million boxes away", ""),
    bad(
        ("2 2 -1.0 4.0 2.0 3.0", "2 2 -1.0 4.0 2.0 3 0 0 -2147483648"),
        17,
        "more than a million boxes away",
        "",
    ),
    bad(("2 2 -1.0 4.0 2.0 3.0", "2 2 -1.0 4.0 2.0 3 0 0.5 1"), 17, "the image flag cannot be read", ""),
    bad(("4 atoms", "5 atoms"), 21, "Atoms has only 4 of 5 lines", ""),
    bad(("4 atoms", "3 atoms"), 19, "neither a section that is known", "more lines than the header says"),
    bad(("3 2 2 2\n4 3 3 3\n", "3 2"), 25, "ends before vy", ""),
    bad(("3 2 2 2\n4 3 3 3\n", "3 2 2 2"), 25, "the file ends after 3 of 4 lines of Velocities", "truncated"),
    bad(("4 3 3 3", "5 3 3 3"), 26, "no atom with the id 5", ""),
    bad(("4 3 3 3", "3 3 3 3"), 26, "velocity of the atom 3 is given twice", ""),
    bad(("4 3 3 3", "4 3 3 3 3"), 26, "more than 4 columns", ""),
    bad(
        ("2 35.453\n", "2 35.453\n\nVelocities\n\n1 0 0 0\n"),
        14,
        "Velocities come before the Atoms",
        "Atoms section first",
    ),
    bad(("1 22.99\n2 35.453", "1 22.99 # A\n2 35.453 # A"), 1, "two atom types are called \"A\"", "types ="),
];

const BAD_XYZ: &[Bad] = &[
    bad(("3\nL", "three\nL"), 1, "must be the number of atoms, not \"three\"", "number of atoms"),
    bad(("3\nL", "0\nL"), 1, "0 atoms", ""),
    bad(("3\nL", "4\nL"), 5, "the file ends after 3 of 4 atoms", "truncated"),
    bad(("3\nL", "2\nL"), 5, "must be the number of atoms, not \"Na 7", ""),
    bad(("units=real", "units=metal"), 2, "in units \"metal\"", "same units"),
    bad(("0 10\"", "0\""), 2, "Lattice has 8 numbers instead of 9", "ax ay az"),
    bad(("0 10\"", "0 ten\""), 2, "Lattice cannot be read from \"ten\"", ""),
    bad(("0 10\"", "0 -10\""), 2, "not positive", "turn one"),
    bad(("10 0 0 0 10", "10 1 0 0 10"), 2, "not along x", "get_momenta() @ q.T"),
    bad(("0 10\"", "0 10"), 2, "Lattice cannot be read from", ""),
    bad(("T T T", "T T"), 2, "pbc cannot be read from \"T T\"", "T T F"),
    bad(("Lattice=\"10 0 0 0 10 0 0 0 10\" ", ""), 2, "no Lattice, but is periodic", "periodic = false"),
    bad(("pos:R:3", "pos:R:2"), 2, "pos:R:2 instead of pos:R:3", ""),
    bad(("pos:R:3", "xyz:R:3"), 2, "no pos:R:3", ""),
    bad(("species:S:1", "species:S"), 2, "Properties", ""),
    bad(("species:S:1", "kind:S:1"), 2, "no species:S:1", ""),
    bad(("Cl 4 5 6", "Cl 4 5"), 4, "7 columns instead of 8", "Properties"),
    bad(("Cl 4 5 6", "Cl 4 nan 6"), 4, "y is NaN", ""),
    bad(("Cl 4 5 6", "Cl 4 five 6"), 4, "y cannot be read from \"five\"", ""),
    bad(("Cl 4 5 6", "Cl 4 5e9 6"), 4, "more than a million boxes away", ""),
];

fn check(name: &str, good: &str, table: &[Bad]) {
    let reading = Reading { units: UnitSystem::Real, types: &[], periodic: None };
    Structure::parse(Path::new(name), good.as_bytes(), reading).unwrap();
    let mut wrong = Vec::new();
    for Bad { change, line, cause, hint } in table {
        let text = good.replace(change.0, change.1);
        assert!(text != good, "nothing replaced by {change:?}");
        let error = match Structure::parse(Path::new(name), text.as_bytes(), reading) {
            Ok(_) => panic!("accepted:\n{text}"),
            Err(error) => error,
        };
        let at = error.place().and_then(|p| p.line);
        if at != Some(*line) || !error.message().contains(cause) || !error.help().unwrap_or("").contains(hint)
        {
            wrong.push(format!("{change:?} (line {line}): {error}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn bad_lammps_data() {
    check("a.data", DATA, BAD_DATA);
}

#[test]
fn bad_extended_xyz() {
    check("a.xyz", XYZ, BAD_XYZ);
}

/// A file cut off anywhere is refused or, at a frame's or a section's end, whole.
#[test]
fn truncated_files() {
    let reading = Reading { units: UnitSystem::Real, types: &[], periodic: None };
    let last_needed = DATA.rfind('3').unwrap();
    for end in 0..last_needed {
        let read = Structure::parse(Path::new("a.data"), &DATA.as_bytes()[..end], reading);
        if let Ok(read) = read {
            // The velocities alone are optional.
            assert!(DATA[..end].trim_end().ends_with("4 5 6"), "accepted up to {end}");
            assert!(!read.has_velocities);
        }
    }
    for end in 0..XYZ.rfind('1').unwrap() {
        assert!(
            Structure::parse(Path::new("a.xyz"), &XYZ.as_bytes()[..end], reading).is_err(),
            "accepted up to {end}"
        );
    }
}

#[test]
fn files_that_are_no_structures() {
    let reading = Reading { units: UnitSystem::Real, types: &[], periodic: None };
    for (name, bytes, cause, hint) in [
        ("a.data", &b""[..], "empty", ""),
        ("a.data", b" \n\n", "empty", ""),
        ("a.xyz", b"\x1f\x8b\x08", "compressed", "gunzip"),
        ("a.xyz", b"3\nAr \xff", "not text", "LAMMPS"),
        ("a.pdb", b"ATOM      1  N   ALA\n", "not their masses, charges and forces", "topology ="),
        ("a.foo", b"ATOM      1  N   ALA\n", "what kind of file", "ASE"),
    ] {
        let error = Structure::parse(Path::new(name), bytes, reading).expect_err(name);
        assert!(error.message().contains(cause) && error.help().unwrap_or("").contains(hint), "{error}");
    }
    let missing = Structure::read(Path::new("no/such.data"), reading).expect_err("missing").to_string();
    assert!(missing.contains("no/such.data") && missing.contains("check the path"), "{missing}");
}

/// Contradictions between input and file are refused.
#[test]
fn species_of_input_and_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.data"), DATA).unwrap();
    std::fs::write(folder.path().join("a.xyz"), XYZ).unwrap();
    let system = |file: &str, more: &str| {
        let text = format!("units = \"real\"\n[system]\nfile = \"{file}\"\n{more}");
        let input = Input::parse(&folder.path().join("in.toml"), &text)?;
        input.read_structure()?.unwrap().into_system(&input)
    };
    let salt = system("a.data", "types = [\"Na\", \"Cl\"]\n[species.Na]\nmass = 23\ncharge = 0.9\n").unwrap();
    assert_eq!(salt.species[0].mass, UnitSystem::Real.mass_from_user(23.0));
    assert_eq!(salt.species[1].mass, UnitSystem::Real.mass_from_user(35.453));
    assert_eq!([salt.species[0].charge, salt.species[1].charge], [0.9, -1.0]);
    for (file, more, line, cause, hint) in [
        ("a.data", "[species.Na]\nmass = 23\n", 4, "no species \"Na\"", "types = [...]"),
        ("a.data", "types = [\"Na\", \"Cl\"]\n[species.Nb]\nmass = 23\n", 5, "no species \"Nb\"", "\"Na\""),
        ("a.xyz", "[species.Na]\nmass = 23\n", 3, "no mass for the species \"Cl\"", "[species.Cl]"),
        ("a.xyz", "[species.Na]\nmass = 23\ncount = 3\n", 4, "gives a count", "leave it out"),
    ] {
        let error = system(file, more).expect_err(cause);
        assert_eq!(error.place().and_then(|p| p.line), Some(line), "{error}");
        assert!(error.message().contains(cause) && error.help().unwrap_or("").contains(hint), "{error}");
    }
    let one = system("a.data", "types = [\"Na\"]\n").expect_err("two types");
    assert!(one.message().contains("2 atom types, but the input names 1"), "{one}");
    assert!(system("gone.data", "").expect_err("missing").to_string().contains("check the path"));
}
