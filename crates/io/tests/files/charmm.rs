//! PSF and parameters of CHARMM as other programs write them.

use jostle_core::{Error, UnitSystem};
use jostle_io::forcefield::Molecules;
use jostle_io::input::model::{MoleculesInput, Rigid};
use std::fs;
use std::path::PathBuf;

pub(crate) const PSF: &str = "\
PSF

       1 !NTITLE
 REMARKS four atoms in a row

       4 !NATOM
       1 A    1    RES  N1   A      0.000000       12.0000           0
       2 A    1    RES  N2   B      0.000000       12.0000           0
       3 A    1    RES  N3   C      0.000000       12.0000           0
       4 A    1    RES  N4   D      0.000000       12.0000           0

       3 !NBOND: bonds
       1       2       2       3       3       4

       2 !NTHETA: angles
       1       2       3       2       3       4

       1 !NPHI: dihedrals
       1       2       3       4

       0 !NIMPHI: impropers

       0 !NNB

       0       0       0       0

       1       0 !NGRP NST2
       0       0       0
";

pub(crate) const PARAMETERS: &str = "\
BONDS
A B 100 1.5
B C 100 1.5
C D 100 1.5
ANGLES
A B C 50 110
B C D 50 110
DIHEDRALS
A B C D 1.0 3 0
NONBONDED nbxmod  5 atom cdiel fshift vatom vdistance vfswitch -
cutnb 14.0 ctofnb 12.0 ctonnb 10.0 eps 1.0 e14fac 1.0 wmin 1.5
A 0 -0.1 2.0
B 0 -0.1 2.0
C 0 -0.1 2.0
D 0 -0.2 1.8 0 -0.05 1.6
";

pub(crate) fn read(psf: &str, parameters: &[&str]) -> Result<Molecules, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: String| folder.path().join(name);
    fs::write(path("a.psf".into()), psf).unwrap();
    let given = parameters.iter().enumerate().map(|(k, text)| {
        fs::write(path(format!("{k}.prm")), text).unwrap();
        path(format!("{k}.prm"))
    });
    let files = MoleculesInput {
        topology: path("a.psf".into()),
        parameters: given.collect(),
        define: Vec::new(),
        include: Vec::new(),
        coordinates: PathBuf::new(),
        rigid: Rigid::None,
        hydrogen_mass: None,
    };
    Molecules::read(&files, UnitSystem::Real)
}

fn dihedrals(molecules: &Molecules) -> Vec<Vec<f64>> {
    let of = |kind: u32| molecules.forces.dihedrals.iter().find_map(|term| term.parameters(kind as usize));
    molecules.topology.dihedrals.iter().map(|d| of(d.kind).unwrap().to_vec()).collect()
}

/// Terms given from both ends count both (ParmEd and OpenMM have 2.2581 kcal/mol for these two).
#[test]
fn dihedrals_count_from_both_ends() {
    let both = PARAMETERS.replace("A B C D 1.0 3 0\n", "A B C D 1.0 3 0\nD C B A 0.4 2 180\n");
    let read_both = read(PSF, &[&both]).unwrap();
    assert_eq!(dihedrals(&read_both), [[1.0, 3.0, 0.0], [0.4, 2.0, 180.0]]);
    // Dihedrals with any types at the ends, from either end in a later file.
    let any = PARAMETERS.replace("A B C D 1.0 3 0\n", "X B C X 1.0 3 0\nX C B X 0.4 2 180\n");
    assert_eq!(dihedrals(&read(PSF, &[&any]).unwrap()), dihedrals(&read_both));
    let later = read(PSF, &[&both, "DIHEDRALS\nD C B A 0.7 1 0\n"]).unwrap();
    assert_eq!(dihedrals(&later), [[0.7, 1.0, 0.0]]);
    let bonds = read(PSF, &[PARAMETERS, "BONDS\nB A 200 1.4\n"]).unwrap();
    assert_eq!(bonds.forces.bonds[0].parameters(0), Some(&[400.0, 1.4][..]));
}

/// The list of exclusions is left out by some programs where it is empty.
#[test]
fn exclusions_may_be_an_empty_section() {
    let list = "       0 !NNB\n\n       0       0       0       0\n\n       1       0 !NGRP NST2\n       0       0       0\n";
    assert!(PSF.contains(list));
    let empty = read(&PSF.replace(list, "       0 !NNB\n"), &[PARAMETERS]).unwrap();
    let full = read(PSF, &[PARAMETERS]).unwrap();
    assert_eq!(empty.topology, full.topology);
    let cut = PSF.replace("       0 !NNB\n\n       0       0       0       0\n", "       1 !NNB\n");
    assert!(read(&cut, &[PARAMETERS]).unwrap_err().message().contains("NNB"));
}

/// Counts that are smaller than what follows, in the last line read or behind it, or larger.
#[test]
fn counts_are_those_of_what_follows() {
    let maps = "\n       1 !NCRTERM: cross-terms\n       1       2       3       4       1       2       3       4\n";
    let psf = PSF.replacen("PSF\n", "PSF CMAP\n", 1) + maps;
    for (from, to, count, message) in [
        ("4 !NATOM", "3 !NATOM", 6, "the section NATOM has 4 atoms, its count is 3"),
        ("3 !NBOND", "2 !NBOND", 12, "the section NBOND has 6 numbers, by its count it must have 4"),
        ("2 !NTHETA", "1 !NTHETA", 15, "the section NTHETA has 6 numbers, by its count it must have 3"),
        ("1 !NPHI", "0 !NPHI", 18, "the section NPHI has 4 numbers, by its count it must have 0"),
        ("0 !NIMPHI: impropers\n", "0 !NIMPHI: impropers\n 1 2 3 4\n", 21, "NIMPHI has 4 numbers"),
        // Entries in a line of their own behind as many as are counted.
        ("2       2       3       3       4", "2\n 2 3\n 3 4\n 4 1", 12, "NBOND has 8 numbers"),
        ("1 !NCRTERM", "0 !NCRTERM", 30, "the section NCRTERM has 8 numbers, by its count it must have 0"),
        ("0 !NNB\n\n       0       0       0       0", "0 !NNB\n\n 1 0 0 0 0", 23, "NNB has 5 numbers"),
        (
            "0 !NNB\n\n       0       0       0       0",
            "0 !NNB\n\n 0 0 1 1",
            23,
            "atom 3 end at 1 in NNB, which has 0",
        ),
        ("0 !NNB\n", "1 !NNB\n 4\n", 23, "the section NNB has 1 exclusions, 0 of which"),
        ("0 !NNB\n", "1 !NNB\n 4 3\n", 23, "the section NNB has 2 numbers in the lines of its first 1"),
        ("4 !NATOM", "5 !NATOM", 11, "the section NATOM ends after 4 of 5 atoms"),
        ("3 !NBOND", "4 !NBOND", 15, "the section NBOND has 6 of 8 numbers"),
        ("0 !NIMPHI: impropers\n", "0 !NIMPHI: impropers\n\n 0 !NBOND\n", 23, "a second section NBOND"),
    ] {
        let Err(error) = read(&psf.replacen(from, to, 1), &[PARAMETERS]) else { panic!("{to} is read") };
        assert!(error.message().contains(message), "{error}");
        assert_eq!(error.place().unwrap().line, Some(count), "{error}");
    }
    let excluded = PSF.replacen("0 !NNB\n\n       0       0       0       0", "1 !NNB\n 4\n 0 1 1 1", 1);
    let excluded = read(&excluded, &[PARAMETERS]).unwrap();
    assert!(excluded.topology.excluded.contains(&[1, 3]), "{:?}", excluded.topology.excluded);
}

/// An exclusion of a pair three bonds apart leaves it no force at all: NAMD's `build14excl` adds no 1-4 pair that is
/// excluded, CHARMM's list of exclusions comes before that of 1-4 pairs.
#[test]
fn exclusions_of_1_4_pairs_are_whole() {
    let charged = PSF.replace("0.000000       12", "0.300000       12");
    let pairs = |psf: &str| {
        let read = read(psf, &[PARAMETERS]).unwrap();
        assert!(read.topology.excluded.contains(&[0, 3]), "{:?}", read.topology.excluded);
        let is_pair = |kind: u32| {
            read.forces
                .bonds
                .iter()
                .any(|t| t.term() == "scaled-pair" && t.parameters(kind as usize).is_some())
        };
        read.topology
            .bonds
            .iter()
            .filter(|bond| is_pair(bond.kind))
            .map(|bond| bond.atoms)
            .collect::<Vec<_>>()
    };
    assert_eq!(pairs(&charged), [[0, 3]]);
    let none = "0 !NNB\n\n       0       0       0       0";
    // The list of the first atom, and that of the last.
    for list in ["1 !NNB\n 4\n 1 1 1 1", "1 !NNB\n 1\n 0 0 0 1"] {
        assert!(pairs(&charged.replacen(none, list, 1)).is_empty(), "{list}");
    }
}

/// Epsilon and sigma of atoms 1 and 4, as a 1-4 pair and otherwise.
fn ends(parameters: &str) -> [[f64; 2]; 2] {
    let read = read(PSF, &[parameters]).unwrap();
    let term = read.forces.bonds.iter().find(|term| term.term() == "scaled-pair").unwrap();
    let bond = read.topology.bonds.iter().find(|bond| bond.atoms == [0, 3]).unwrap();
    let [epsilon, sigma, _] = term.parameters(bond.kind as usize).unwrap() else { panic!() };
    [[*epsilon, *sigma], read.lennard_jones[3]]
}

/// Sizes at the minimum of the energy as sigma.
fn sigma(least: f64) -> f64 {
    least / 2f64.powf(1.0 / 6.0)
}

/// Pairs of their own (NBFIX) have 1-4 parameters in two more columns, or the same.
#[test]
fn pairs_of_their_own_are_those_of_1_4_pairs_too() {
    let close = |a: [[f64; 2]; 2], b: [[f64; 2]; 2]| {
        a.iter().flatten().zip(b.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-14)
    };
    let mixed = [[0.005f64.sqrt(), sigma(3.6)], [0.02f64.sqrt(), sigma(3.8)]];
    assert!(close(ends(PARAMETERS), mixed), "{:?}", ends(PARAMETERS));
    for (row, own) in [
        ("A D -0.3 3.5\n", [[0.3, sigma(3.5)]; 2]),
        ("D A -0.3 3.5 -0.15 3.3\n", [[0.15, sigma(3.3)], [0.3, sigma(3.5)]]),
    ] {
        let found = ends(&format!("{PARAMETERS}NBFIX\n{row}"));
        assert!(close(found, own), "{row}: {found:?}");
    }
}

/// CHARMM compares names of types without regard to case (ParmEd and OpenMM, too).
#[test]
fn names_of_types_have_no_case() {
    let more =
        "IMPROPERS\nA X X D 5 0 30\nNBFIX\nA D -0.3 3.5\nDIHEDRALS\nX B C X 9 1 0\nA B C D 2.0 2 180\n";
    let psf = PSF.replace("0 !NIMPHI: impropers", "1 !NIMPHI: impropers\n 1 2 3 4");
    let capitals = read(&psf, &[&format!("{PARAMETERS}{more}")]).unwrap();
    let given = format!("{PARAMETERS}{more}").to_lowercase();
    for (psf, given) in [
        (psf.clone(), given.clone()),
        (psf.replace("  A      0.0", "  a      0.0"), format!("{PARAMETERS}{more}")),
        (psf.replace("  A      0.0", "  1      0.0"), format!("MASS 1 a 12.0\n{given}")),
    ] {
        let found = read(&psf, &[&given]).unwrap();
        assert_eq!(found.topology, capitals.topology);
        assert_eq!(dihedrals(&found), dihedrals(&capitals));
        assert_eq!(found.lennard_jones, capitals.lennard_jones);
        assert_eq!(found.species, capitals.species);
    }
    assert_eq!(dihedrals(&capitals), [vec![1.0, 3.0, 0.0], vec![2.0, 2.0, 180.0], vec![10.0, 30.0]]);
    let error = read(&psf.replace("  D      0.0", "  a      0.0"), &[PARAMETERS]).unwrap_err();
    assert!(error.message().contains("atom 1 is of the type A, and atom 4 of the type a"), "{error}");
    assert!(error.help().unwrap().contains("case"), "{error}");
}

/// OPLS in CHARMM's format: sizes, too, by geometric means.
#[test]
fn sizes_may_be_mixed_geometrically() {
    let [near, far] = ends(&PARAMETERS.replace("wmin 1.5", "wmin 1.5 geom"));
    assert!((far[1] - sigma(2.0 * 3.6f64.sqrt())).abs() < 1e-14, "{far:?}");
    assert!((near[1] - sigma(2.0 * 3.2f64.sqrt())).abs() < 1e-14, "{near:?}");
    assert_eq!(far[0], ends(PARAMETERS)[1][0]);
}

#[test]
fn multiplicities_are_whole() {
    for row in ["A B C D 1.0 1.5 0\n", "A B C D 1.0 3 0\nIMPROPERS\nA X X D 5 0.5 30\n"] {
        let given = PARAMETERS.replace("A B C D 1.0 3 0\n", row);
        let error = read(PSF, &[&given]).unwrap_err();
        assert!(error.message().contains("multiplicity"), "{row}: {error}");
        assert_eq!(error.place().unwrap().line, Some(8 + row.lines().count()), "{row}: {error}");
    }
}

/// A count that the file cannot have is an error of the file, and takes no memory.
#[test]
fn counts_beyond_the_file_are_refused() {
    for (from, to) in [
        ("4 !NATOM", "4000000000000000000 !NATOM"),
        ("3 !NBOND", "4000000000000000000 !NBOND"),
        ("1 !NPHI", "18446744073709551615 !NPHI"),
        ("0 !NNB", "4000000000000000000 !NNB"),
        ("1 !NTITLE", "18446744073709551615 !NTITLE"),
    ] {
        let error = read(&PSF.replace(from, to), &[PARAMETERS]).unwrap_err();
        assert!(error.place().is_some(), "{to}: {error}");
    }
}

/// Titles, remarks and comments of another encoding are no reason to refuse a file; names are.
#[test]
fn comments_may_be_of_any_encoding() {
    let latin = |text: &str| text.chars().map(|c| c as u8).collect::<Vec<u8>>();
    let folder = tempfile::tempdir().unwrap();
    let [psf, prm] = ["a.psf", "a.prm"].map(|name| folder.path().join(name));
    let read = |remark: &str, parameters: &str| {
        fs::write(&psf, latin(&PSF.replace("four atoms", remark))).unwrap();
        fs::write(&prm, latin(parameters)).unwrap();
        Molecules::read(&crate::forcefields::files(&psf, std::slice::from_ref(&prm)), UnitSystem::Real)
    };
    let commented = PARAMETERS.replace("A B 100 1.5", "A B 100 1.5 ! in \u{c5}");
    let whole = read("\u{c5}", &format!("* \u{c5}\n{commented}")).unwrap();
    assert_eq!(whole.topology.bonds.len(), 4);
    let error = read("", &PARAMETERS.replace("A B 100", "\u{c5} B 100")).unwrap_err();
    assert!(error.message().contains("not text") && error.place().unwrap().line == Some(2), "{error}");
}
