//! Insertion codes, which tell residues of one number apart, and what files of crystals have besides.

use crate::{charmm, gromacs, reading};
use jostle_core::{Names, Residue};
use jostle_io::input::model::TrajectoryFormat;
use jostle_io::{Frame, Open, TrajectoryWriter};
use std::fs;
use std::path::Path;

/// Two residues of one name and number, the alternative places of an atom, and a residue of a number of five digits.
const PDB: &str = "\
CRYST1   30.000   30.000   30.000  90.00  90.00  90.00 P 1           1
ATOM      1  N   ALA A   1       1.000   2.000   3.000  1.00  0.00           N
ATOM      2  CA AALA A   1       2.000   2.000   3.000  0.50  0.00           C
ATOM      3  CA BALA A   1       2.500   2.000   3.000  0.50  0.00           C
ATOM      4  CA  ALA A   1A      3.000   2.000   3.000  1.00 10.00           C
HETATM    5  O   HOH B12345      9.000   2.000   3.000  1.00  0.00           O
END
";

fn labels(names: &Names) -> Vec<String> {
    names.residues.iter().map(Residue::label).collect()
}

/// Names of a file in another format, and the note of its writer.
fn converted(folder: &Path, from: &Path, format: TrajectoryFormat) -> (Names, Option<String>) {
    let (reader, frames) = reading::read(from, &Open::default()).unwrap();
    let path = folder.join(format!("copy.{}", format.extension()));
    let mut writer = TrajectoryWriter::create(&path, format, reader.header(&frames[0], None)).unwrap();
    let first = &frames[0];
    let frame = Frame {
        step: 0,
        time: None,
        simbox: &first.simbox,
        positions: &first.positions,
        velocities: None,
        images: None,
    };
    writer.write(&frame).unwrap();
    let note = writer.take_note();
    let (reader, frames) = reading::read(&path, &Open::default()).unwrap();
    (reader.header(&frames[0], None).atoms, note)
}

#[test]
fn insertion_codes_stay_where_formats_have_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pdb");
    fs::write(&path, PDB.replace("B12345 ", "B   7B")).unwrap();
    let own = ["1", "1A", "7B"];
    let (names, _) = converted(folder.path(), &path, TrajectoryFormat::Cif);
    assert_eq!(
        (labels(&names), names.describe(3).as_str()),
        (own.map(String::from).to_vec(), "atom 4 (CA of ALA 1A, chain A)")
    );
    let again = folder.path().join("copy.cif");
    let (pdb, note) = converted(folder.path(), &again, TrajectoryFormat::Pdb);
    assert_eq!((pdb.atoms, pdb.residues, note), (names.atoms, names.residues, None));
    let (names, note) = converted(folder.path(), &again, TrajectoryFormat::Gro);
    assert_eq!(labels(&names), ["1", "7"]);
    assert!(note.unwrap().contains("insertion codes of residues are left out"));
    fs::write(&path, PDB).unwrap();
    assert_eq!(labels(&converted(folder.path(), &path, TrajectoryFormat::Cif).0), ["1", "1A", "12345"]);
    // Columns of PDB have one letter.
    let long = fs::read_to_string(&again).unwrap().replace("1 A ", "1 AB ");
    fs::write(&again, long).unwrap();
    let (reader, frames) = reading::read(&again, &Open::default()).unwrap();
    let header = reader.header(&frames[0], None);
    let refused = TrajectoryWriter::create(&path, TrajectoryFormat::Pdb, header).map(drop).unwrap_err();
    assert!(refused.message().contains("insertion code \"AB\""), "{refused}");
}

#[test]
fn what_is_not_kept_of_crystals_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let notes = |name: &str, text: &str| -> Vec<String> {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        reading::read(&path, &Open::default()).unwrap().0.notes().to_vec()
    };
    let of_pdb = notes("a.pdb", PDB);
    assert!(of_pdb[0].contains("alternative places (1 in place A, 1 in place B)"), "{of_pdb:?}");
    assert_eq!(of_pdb[1..], ["occupancies and B factors are for selections only"]);
    let rows = |rows: &str| {
        let items = ["label_atom_id", "Cartn_x", "Cartn_y", "Cartn_z", "occupancy", "B_iso_or_equiv"];
        let items: String = items.iter().map(|item| format!("_atom_site.{item}\n")).collect();
        notes("a.cif", &format!("data_a\nloop_\n{items}{rows}"))
    };
    assert_eq!(rows("C 1 1 1 1.00 12.5\n"), ["B factors are for selections only"]);
    assert_eq!(rows("C 1 1 1 1.00 0\nC 2 2 2 0.5 ?\n"), ["occupancies are for selections only"]);
    assert_eq!(rows("C 1 1 1 1.00 0\nC 2 2 2 ? .\n"), [""; 0]);
}

/// Neighbours in a chain, by the insertion code alone.
#[test]
fn topologies_tell_residues_of_one_number_apart() {
    let psf = charmm::PSF
        .replace("3 A    1    RES", "3 A    1A   RES")
        .replace("4 A    1    RES", "4 A    1A   RES");
    let names = charmm::read(&psf, &[charmm::PARAMETERS]).unwrap().names;
    assert_eq!((labels(&names), names.atoms[3].residue), (vec!["1".into(), "1A".into()], 1));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.top");
    let text = gromacs::chain("1 2 yes 1 1", gromacs::WELLS, "");
    fs::write(&path, text.replace("3 Y 1 MOL", "3 Y 1A MOL").replace("4 Z 1 MOL", "4 Z 1A MOL")).unwrap();
    let names = gromacs::read_at(&path).unwrap().names;
    assert_eq!((labels(&names), names.atoms[3].residue), (vec!["1".into(), "1A".into()], 1));
}
