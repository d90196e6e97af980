//! Names, residues, chains and bonds of molecules in trajectories: written ones come back.

use crate::reading::{close, header, read};
use jostle_core::{AtomName, Names, Residue, SimBox, UnitSystem, Vec3, Vector};
use jostle_io::input::model::TrajectoryFormat;
use jostle_io::{Frame, Open, TrajectoryHeader, TrajectoryWriter};

/// Names that mean something else in CIF, or nothing, come back; so do times, steps and boxes of frames.
#[test]
fn molecules_keep_their_names_in_mmcif() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cif");
    let of_atoms =
        [("O5'", "O"), ("'x'", "C"), ("_a", ""), ("two words", "N"), ("data_1", "H"), ("a\"b\"", "")];
    let residue = |name: &str, chain: &str| Residue {
        name: name.into(),
        number: -7,
        chain: chain.into(),
        ..Residue::default()
    };
    let residues = vec![residue("VAL", "heavy"), residue("?", ""), residue("#1", ";")];
    let atom = |(k, (name, element)): (usize, &(&str, &str))| AtomName {
        name: name.to_string(),
        element: element.to_string(),
        residue: k as u32 / 2,
    };
    let atoms =
        Names { atoms: of_atoms.iter().enumerate().map(atom).collect(), residues, ..Names::default() };
    let (units, species) = (UnitSystem::Nano, vec![0; 6]);
    let header =
        TrajectoryHeader { units, names: vec!["X".into()], species, atoms: atoms.clone(), ..header(units) };
    let mut writer = TrajectoryWriter::create(&path, TrajectoryFormat::Cif, header).unwrap();
    let positions: Vec<Vec3> = (0..6).map(|k| Vector([f64::from(k), -99.5, 12345.125])).collect();
    let cube = |edge: f64| SimBox::orthorhombic([edge; 3]).unwrap();
    let frames = [(3, cube(30.0)), (5, cube(31.0))];
    for (step, simbox) in &frames {
        let time = 0.5 * *step as f64;
        writer
            .write(&Frame {
                step: *step,
                time: Some(time),
                simbox,
                positions: &positions,
                velocities: None,
                images: None,
            })
            .unwrap();
    }
    let (reader, got) = read(&path, &Open { units: Some(units), ..Open::default() }).unwrap();
    assert_eq!(reader.header(&got[0], None).atoms, atoms);
    for (got, (step, simbox)) in got.iter().zip(&frames) {
        assert_eq!((got.step, got.time), (*step, Some(0.5 * *step as f64)));
        close(&got.simbox.edges(), &simbox.edges(), 1e-9);
        close(&got.positions, &positions, 1e-9);
    }
    // Files of the Protein Data Bank have one block, several models, one cell.
    let row = |x: f64, model: u32| format!("ATOM A {x} 0 0 {model}\n");
    let head = "data_x\n_cell.length_a 9\n_cell.length_b 9\n_cell.length_c 9\nloop_\n_atom_site.group_PDB\n\
        _atom_site.label_atom_id\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n\
        _atom_site.pdbx_PDB_model_num\n";
    std::fs::write(&path, format!("{head}{}{}{}", row(1.0, 1), row(2.0, 1), row(3.0, 2) + &row(4.0, 2)))
        .unwrap();
    let (_, got) = read(&path, &Open::default()).unwrap();
    let first: Vec<f64> = got.iter().flat_map(|frame| frame.positions.iter().map(|r| r[0])).collect();
    assert_eq!((got.len(), first), (2, vec![1.0, 2.0, 3.0, 4.0]));
    assert!(got.iter().all(|frame| frame.simbox == cube(9.0)));
    std::fs::write(&path, "data_x\nloop_\n_atom_site_label\n_atom_site_fract_x\nA 0.5\n").unwrap();
    let refused = read(&path, &Open::default()).map(drop).unwrap_err();
    assert!(refused.message().contains("small molecule"), "{refused}");
}

/// Names, residues and chains of PDB come back; so does what other programs write: models with one
/// box for all, atoms without a model.
#[test]
fn molecules_keep_their_names_in_pdb() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pdb");
    let residue = |name: &str, number, chain: &str| Residue {
        name: name.into(),
        number,
        chain: chain.into(),
        ..Residue::default()
    };
    let atom =
        |name: &str, element: &str, residue| AtomName { name: name.into(), element: element.into(), residue };
    let atoms = vec![
        atom("N", "N", 0),
        atom("HG11", "H", 0),
        atom("CA", "C", 0),
        atom("CA", "CA", 1),
        atom("O", "O", 2),
    ];
    let residues = vec![residue("VAL", 7, "B"), residue("CA", 8, ""), residue("TIP3", 9_999, "WAT")];
    let names = Names { atoms, residues, ..Names::default() };
    let (units, species) = (UnitSystem::Real, vec![0; 5]);
    let header =
        TrajectoryHeader { units, names: vec!["X".into()], species, atoms: names.clone(), ..header(units) };
    let simbox = SimBox::orthorhombic([30.0, 40.0, 50.0]).unwrap();
    let positions: Vec<Vec3> = (0..5).map(|k| Vector([f64::from(k), -99.5, 9999.999])).collect();
    let mut writer = TrajectoryWriter::create(&path, TrajectoryFormat::Pdb, header.clone()).unwrap();
    let frame = Frame {
        step: 3,
        time: Some(1.5),
        simbox: &simbox,
        positions: &positions,
        velocities: None,
        images: None,
    };
    writer.write(&frame).unwrap();
    let far = [Vector([0.0, -1000.0, 0.0]); 5];
    let refused = writer.write(&Frame { positions: &far, ..frame }).unwrap_err();
    assert!(refused.message().contains("too far away"), "{refused}");
    let text = std::fs::read_to_string(&path).unwrap();
    let line = "ATOM      2 HG11 VAL B   7       1.000 -99.5009999.999  1.00  0.00           H\n";
    assert!(text.contains(line), "{text}");
    let (reader, got) = read(&path, &Open::default()).unwrap();
    assert_eq!((got.len(), got[0].time, got[0].step), (1, Some(1.5), 3));
    assert_eq!(reader.header(&got[0], None).atoms.residues, names.residues);
    let capitals: Vec<_> = reader.header(&got[0], None).atoms.atoms;
    assert_eq!(capitals, names.atoms);
    // Species are elements; calcium is not carbon.
    assert_eq!(reader.names(), ["N", "H", "C", "CA", "O"]);
    let long = TrajectoryHeader { names: vec!["Argon".into()], atoms: Names::default(), ..header };
    let refused = TrajectoryWriter::create(&path, TrajectoryFormat::Pdb, long).map(drop).unwrap_err();
    assert!(refused.message().contains("\"Argon\""), "{refused}");
    let plain = "CRYST1   30.000   40.000   50.000  90.00  90.00  90.00 P 1           1\n\
        HETATM    1 NA   NA  A   1      -2.500  10.000   0.250  1.00  0.00          NA\nEND\n";
    let model = |k: u32| format!("MODEL        {k}\n{}ENDMDL\n", plain.split_inclusive('\n').nth(1).unwrap());
    let first = plain.split_inclusive('\n').next().unwrap();
    for (text, frames) in [(plain.to_string(), 1), (format!("{first}{}{}END\n", model(1), model(2)), 2)] {
        std::fs::write(&path, &text).unwrap();
        let (reader, got) = read(&path, &Open::default()).unwrap();
        assert_eq!((got.len(), reader.units()), (frames, UnitSystem::Real));
        assert!(got.iter().all(|f| f.positions == [[-2.5, 10.0, 0.25]] && f.simbox == simbox));
        assert_eq!(got[frames - 1].step, frames as u64 - 1);
    }
    // An atom that becomes another.
    let other = format!("{first}{}{}", model(1), model(2).replace(" NA   NA", " K    K "));
    std::fs::write(&path, other).unwrap();
    let refused = read(&path, &Open::default()).map(drop).unwrap_err();
    assert!(refused.message().contains("same order") || refused.to_string().contains("NA in models before"));
    assert_eq!(refused.place().unwrap().line, Some(6));
}

/// Bonds of all but water and proteins are in the file, and come back.
#[test]
fn bonds_stand_in_pdb() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pdb");
    let residue =
        |name: &str| Residue { name: name.into(), number: 1, chain: "A".into(), ..Residue::default() };
    let atom = |residue| AtomName { name: "C".into(), element: "C".into(), residue };
    let residues = vec![residue("ALA"), residue("LIG"), residue("HOH")];
    let atoms = [0, 0, 1, 1, 1, 1, 1, 1, 2, 2].map(atom).to_vec();
    let bonds = vec![[0, 1], [1, 2], [2, 3], [2, 4], [2, 5], [2, 6], [6, 7], [8, 9]];
    let atoms = Names { atoms, residues, ..Names::default() };
    let header = TrajectoryHeader {
        species: vec![0; 10],
        names: vec!["C".into()],
        atoms,
        bonds,
        ..header(UnitSystem::Real)
    };
    let simbox = SimBox::orthorhombic([30.0; 3]).unwrap();
    let positions: Vec<Vec3> = (0..10).map(|k| Vector([f64::from(k), 0.0, 0.0])).collect();
    let mut writer = TrajectoryWriter::create(&path, TrajectoryFormat::Pdb, header).unwrap();
    for step in 0..2 {
        let frame = Frame {
            step,
            time: Some(0.0),
            simbox: &simbox,
            positions: &positions,
            velocities: None,
            images: None,
        };
        writer.write(&frame).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().filter(|l| l.starts_with("CONECT")).collect();
    let all =
        ["    2    3", "    3    2    4    5    6", "    3    7", "    4    3", "    5    3", "    6    3"];
    assert_eq!(lines[..6], all.map(|line| format!("CONECT{line}")));
    let (reader, got) = read(&path, &Open::default()).unwrap();
    assert_eq!((got.len(), reader.bonds()), (2, &[[1, 2], [2, 3], [2, 4], [2, 5], [2, 6], [6, 7]][..]));
    // Other programs have bonds behind the only model.
    let (model, _) = text.split_once("TITLE").map(|(_, rest)| rest.split_once("CONECT").unwrap()).unwrap();
    std::fs::write(&path, format!("TITLE{model}ENDMDL\nCONECT    9    1\nCONECT    1    9\nEND\n")).unwrap();
    let (reader, got) = read(&path, &Open::default()).unwrap();
    assert_eq!((got.len(), reader.bonds()), (1, &[[0, 8]][..]));
}
