//! Trajectories read back: what was written comes back, other programs' files are read, and what
//! is damaged is an error that names file, frame and cause.

use jostle_core::{AtomName, Components, Error, Names, Residue, SimBox, UnitSystem, Vec3, Vector};
use jostle_io::input::model::TrajectoryFormat;
use jostle_io::{Frame, Open, Snapshot, TrajectoryHeader, TrajectoryReader, TrajectoryWriter};
use proptest::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};

const ATOMS: usize = 60;

pub fn header(units: UnitSystem) -> TrajectoryHeader {
    let species = (0..ATOMS).map(|k| (k % 2) as u16).collect();
    let names = vec!["Ar".into(), "Kr".into()];
    let (atoms, bonds, periodic) = (Names::default(), Vec::new(), [true; 3]);
    TrajectoryHeader {
        units,
        names,
        species,
        masses: Vec::new(),
        charges: Vec::new(),
        atoms,
        bonds,
        periodic,
        timestep: 2.0,
        every: 10,
        images: false,
    }
}

/// Frames of scattered atoms in a tilted box that grows.
pub fn frames() -> Vec<Snapshot> {
    let frame = |k: u64| {
        let wave = |n: usize| 10.0 + 9.0 * (n as f64 * 1.7 + k as f64 * 0.1).sin();
        let positions: Vec<Vec3> =
            (0..ATOMS).map(|id| Vector([wave(id), wave(3 * id + 1), wave(7 * id + 2)])).collect();
        let velocities = Some(positions.iter().map(|r| r.map(|x| 0.01 * (x - 10.0))).collect());
        let grown = 1.0 + 0.01 * k as f64;
        let lengths = [20.0 * grown, 22.0 * grown, 18.0 * grown];
        let simbox = SimBox::new([0.0; 3], lengths, [2.0, -3.0, 1.0], [true; 3]).unwrap();
        Snapshot {
            step: 100 + 10 * k,
            time: Some(200.0 + 20.0 * k as f64),
            simbox,
            positions,
            images: None,
            velocities,
        }
    };
    (0..4).map(frame).collect()
}

pub fn write(folder: &Path, format: TrajectoryFormat, units: UnitSystem) -> PathBuf {
    let path = folder.join(format!("{units}.{}", format.extension()));
    let mut writer = TrajectoryWriter::create(&path, format, header(units)).unwrap();
    for s in frames() {
        let (time, velocities) = (s.time.unwrap(), s.velocities.as_deref());
        writer
            .write(&Frame {
                step: s.step,
                time: Some(time),
                simbox: &s.simbox,
                positions: &s.positions,
                velocities,
                images: None,
            })
            .unwrap();
    }
    path
}

pub fn read(path: &Path, open: &Open) -> Result<(TrajectoryReader, Vec<Snapshot>), Error> {
    let mut reader = TrajectoryReader::open(path, open)?;
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        frames.push(frame);
    }
    Ok((reader, frames))
}

fn close(got: &[Vec3], want: &[Vec3], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (g, w) in got.as_flattened().iter().zip(want.as_flattened()) {
        assert!((g - w).abs() <= tolerance, "{g} is not {w}");
    }
}

#[test]
fn what_is_written_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    for format in TrajectoryFormat::ALL {
        for units in [UnitSystem::Real, UnitSystem::Nano, UnitSystem::Lj] {
            let path = write(folder.path(), *format, units);
            let open = Open { units: Some(units), timestep: Some(2.0), ..Open::default() };
            let (reader, got) = read(&path, &open).unwrap();
            assert_eq!(reader.units(), units);
            assert_eq!(got.len(), 4, "{}", format.name());
            // Positions are below 32 and velocities below 0.125; edges of the box are below 25.
            let precision = format.precision(units);
            let of_positions = 1.002 * precision.position + 32.0 * precision.relative;
            let of_velocities = 1.002 * precision.velocity + 0.125 * precision.relative;
            let of_edges = 1e-5 + 25.0 * precision.angle.to_radians();
            for (got, want) in got.iter().zip(frames()) {
                assert_eq!(got.step, want.step);
                assert!((got.time.unwrap() / want.time.unwrap() - 1.0).abs() < 1e-6, "{}", format.name());
                // GSD has the centre of the box at the origin.
                let middle = got.simbox.to_cartesian(Vector([0.5; 3]));
                let there = want.simbox.to_cartesian(Vector([0.5; 3]));
                let moved = *format == TrajectoryFormat::Gsd;
                let back = |r: &Vec3| if moved { *r - middle + there } else { *r };
                let positions: Vec<Vec3> = got.positions.iter().map(back).collect();
                close(&positions, &want.positions, of_positions);
                close(&got.simbox.edges(), &want.simbox.edges(), of_edges);
                assert_eq!(got.velocities.is_some(), format.has_velocities());
                if let Some(velocities) = &got.velocities {
                    close(velocities, want.velocities.as_ref().unwrap(), of_velocities);
                }
            }
            let names = if format.has_names() { vec!["Ar", "Kr"] } else { vec!["X"] };
            assert_eq!(reader.names(), names);
        }
    }
}

#[test]
fn compressed_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for format in TrajectoryFormat::ALL.iter().filter(|format| format.reads_packed()) {
        let plain = write(folder.path(), *format, UnitSystem::Real);
        let open = Open { units: Some(UnitSystem::Real), ..Open::default() };
        let want = read(&plain, &open).unwrap().1;
        let bytes = std::fs::read(&plain).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&bytes).unwrap();
        for packed in [gzip.finish().unwrap(), zstd::encode_all(&bytes[..], 1).unwrap()] {
            let path = folder.path().join("packed");
            std::fs::write(&path, packed).unwrap();
            assert_eq!(read(&path, &open).unwrap().1, want);
        }
    }
}

#[test]
fn names_and_units_stand_beside() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), TrajectoryFormat::Xtc, UnitSystem::Metal);
    std::fs::rename(
        write(folder.path(), TrajectoryFormat::Xyz, UnitSystem::Metal),
        folder.path().join("start.xyz"),
    )
    .unwrap();
    let (reader, got) = read(&path, &Open::default()).unwrap();
    assert_eq!((reader.units(), reader.names()), (UnitSystem::Metal, &["Ar".to_string(), "Kr".into()][..]));
    assert_eq!(reader.species()[..4], [0, 1, 0, 1]);
    close(&got[0].positions, &frames()[0].positions, 0.00501);
    let open = Open { units: Some(UnitSystem::Real), ..Open::default() };
    let error = read(&folder.path().join("start.xyz"), &open).map(drop).unwrap_err().to_string();
    assert!(error.contains("in units \"metal\""), "{error}");
}

#[test]
fn cut_files_are_named_with_the_frame() {
    let folder = tempfile::tempdir().unwrap();
    for format in TrajectoryFormat::ALL {
        let path = write(folder.path(), *format, UnitSystem::Real);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 150]).unwrap();
        let mut reader = TrajectoryReader::open(&path, &Open::default()).unwrap();
        for _ in 0..3 {
            reader.next_frame().unwrap().unwrap();
        }
        let error = reader.next_frame().map(drop).unwrap_err();
        assert!(error.message().contains("frame 3"), "{error}");
        assert_eq!(error.place().unwrap().file, path);
        assert!(error.to_string().contains("truncated") || error.to_string().contains("columns"), "{error}");
    }
    let empty = folder.path().join("empty.xtc");
    std::fs::write(&empty, b"").unwrap();
    let error = read(&empty, &Open::default()).map(drop).unwrap_err().to_string();
    assert!(error.contains("empty.xtc") && error.contains("empty"), "{error}");
}

/// Steps of a dump whose atoms come in any order, scaled, with images.
#[test]
fn dumps_of_other_columns_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dump");
    let text = "ITEM: UNITS\nmetal\nITEM: TIME\n0.5\nITEM: TIMESTEP\n500\nITEM: NUMBER OF ATOMS\n2\n\
        ITEM: BOX BOUNDS xy xz yz pp pp ff\n-1 13 2\n0 10 0\n0 5 0\nITEM: ATOMS id type xs ys zs ix iy iz\n\
        7 2 0.5 0.5 0.5 1 -1 0\n3 1 0 0 0 0 0 0\n";
    std::fs::write(&path, text).unwrap();
    let (reader, got) = read(&path, &Open::default()).unwrap();
    assert_eq!(reader.units(), UnitSystem::Metal);
    assert_eq!((got[0].step, got[0].time), (500, Some(0.5)));
    assert_eq!(
        got[0].simbox,
        SimBox::new([-1.0, 0.0, 0.0], [12.0, 10.0, 5.0], [2.0, 0.0, 0.0], [true, true, false]).unwrap()
    );
    assert_eq!(got[0].positions, [[-1.0, 0.0, 0.0], [6.0, 5.0, 2.5]]);
    assert_eq!(got[0].images, Some(vec![[0; 3], [1, -1, 0]]));
    assert_eq!((reader.names(), reader.species()), (&["2".to_string(), "1".into()][..], &[1, 0][..]));
}

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

/// Frames that a run has written since its trajectory was opened are found.
#[test]
fn files_that_grow_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    for format in TrajectoryFormat::ALL {
        let path = folder.path().join("growing");
        let mut writer = TrajectoryWriter::create(&path, *format, header(UnitSystem::Lj)).unwrap();
        let few = frames();
        let mut write = |steps: std::ops::Range<u64>| {
            for step in steps {
                let s = &few[step as usize % few.len()];
                let velocities = s.velocities.as_deref();
                let frame = Frame {
                    step,
                    time: Some(1.0),
                    simbox: &s.simbox,
                    positions: &s.positions,
                    velocities,
                    images: None,
                };
                writer.write(&frame).unwrap();
            }
        };
        write(0..2);
        let open = Open { units: Some(UnitSystem::Lj), ..Open::default() };
        let mut reader = TrajectoryReader::open(&path, &open).unwrap();
        let mut rest = |from: u64, to: u64| {
            reader.refresh().unwrap();
            let all: Vec<_> = std::iter::from_fn(|| reader.next_frame().unwrap()).collect();
            assert_eq!(all.len() as u64, to - from, "{}", format.name());
            let last = &few[(to - 1) as usize % few.len()];
            let velocity = |s: &Snapshot| s.velocities.as_ref().map(|v| v[7][1]);
            let precision = format.precision(UnitSystem::Lj);
            if let Some(got) = velocity(&all[all.len() - 1]) {
                let wanted = velocity(last).unwrap();
                let tolerance = 1.002 * precision.velocity + wanted.abs() * precision.relative;
                assert!((got - wanted).abs() <= tolerance, "{}: {got} is not {wanted}", format.name());
            }
        };
        rest(0, 2);
        write(2..5);
        rest(2, 5);
        write(5..150);
        rest(5, 150);
    }
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

/// Files of programs that put atoms in any order and do not repeat constant values.
#[test]
fn h5md_of_other_programs_is_read() {
    use hdf5_pure::{AttrValue, FileBuilder};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let mut file = FileBuilder::new();
    let mut all = file.create_group("particles");
    let mut atoms = all.create_group("atoms");
    let mut position = atoms.create_group("position");
    let nm: Vec<f64> = [7.0, 3.0, 5.0, 3.0, 5.0, 7.0].iter().flat_map(|x| [*x, 0.25, 0.5]).collect();
    position
        .create_dataset("value")
        .with_f64_data(&nm)
        .with_shape(&[2, 3, 3])
        .set_attr("unit", AttrValue::String("nm".into()));
    position
        .create_dataset("step")
        .with_i64_data(&[100])
        .with_shape(&[])
        .set_attr("offset", AttrValue::I64(50));
    position
        .create_dataset("time")
        .with_f64_data(&[0.5, 1.5])
        .with_shape(&[2])
        .set_attr("unit", AttrValue::String("ns".into()));
    atoms.add_group(position.finish());
    let mut id = atoms.create_group("id");
    id.create_dataset("value").with_i32_data(&[7, 3, 5, 3, 5, 7]).with_shape(&[2, 3]);
    id.create_dataset("step").with_i64_data(&[50, 150]).with_shape(&[2]);
    atoms.add_group(id.finish());
    // Velocities of the second frame alone.
    let mut velocity = atoms.create_group("velocity");
    velocity
        .create_dataset("value")
        .with_f64_data(&nm[9..])
        .with_shape(&[1, 3, 3])
        .set_attr("unit", AttrValue::String("nm ns-1".into()));
    velocity.create_dataset("step").with_i64_data(&[150]).with_shape(&[1]);
    atoms.add_group(velocity.finish());
    atoms.create_dataset("species").with_i32_data(&[18, 36, 36]).with_shape(&[3]);
    let mut simbox = atoms.create_group("box");
    simbox
        .create_dataset("edges")
        .with_f64_data(&[10.0, 11.0, 12.0])
        .with_shape(&[3])
        .set_attr("unit", AttrValue::String("nm".into()));
    let boundary = ["periodic", "periodic", "none"].map(String::from).to_vec();
    simbox.set_attr("boundary", AttrValue::StringArray(boundary));
    atoms.add_group(simbox.finish());
    all.add_group(atoms.finish());
    file.add_group(all.finish());
    file.write(&path).unwrap();

    let (reader, got) = read(&path, &Open { units: Some(UnitSystem::Metal), ..Open::default() }).unwrap();
    assert_eq!((reader.names(), reader.species()), (&["18".to_string(), "36".into()][..], &[1, 1, 0][..]));
    assert_eq!(
        got.iter().map(|f| (f.step, f.time.unwrap())).collect::<Vec<_>>(),
        [(50, 500.0), (150, 1500.0)]
    );
    let boxed = SimBox::new([0.0; 3], [100.0, 110.0, 120.0], [0.0; 3], [true, true, false]).unwrap();
    for frame in &got {
        close(
            &frame.positions,
            &[Vector([30.0, 2.5, 5.0]), Vector([50.0, 2.5, 5.0]), Vector([70.0, 2.5, 5.0])],
            1e-12,
        );
        assert_eq!(frame.simbox, boxed);
    }
    assert!(got[0].velocities.is_none());
    close(
        got[1].velocities.as_ref().unwrap(),
        &[Vector([0.03, 2.5e-3, 5e-3]), Vector([0.05, 2.5e-3, 5e-3]), Vector([0.07, 2.5e-3, 5e-3])],
        1e-15,
    );

    let mut other = FileBuilder::new();
    other.create_dataset("temperature").with_f64_data(&[1.0]);
    other.write(&path).unwrap();
    let error = read(&path, &Open::default()).map(drop).unwrap_err();
    assert!(error.message().contains("not H5MD"), "{error}");
    assert_eq!(error.place().unwrap().file, path);
}

proptest! {
    /// A damaged file gives an answer or an error, never a panic.
    #[test]
    fn damage_never_panics(which in 0..TrajectoryFormat::ALL.len(), at in 0.0f64..1.0, value in any::<u8>(), cut in 0.1f64..1.0) {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), TrajectoryFormat::ALL[which], UnitSystem::Lj);
        let mut bytes = std::fs::read(&path).unwrap();
        let place = (at * bytes.len() as f64) as usize;
        bytes[place] = value;
        bytes.truncate((cut * bytes.len() as f64) as usize);
        std::fs::write(&path, bytes).unwrap();
        let _ = read(&path, &Open::default());
    }
}

/// A frame without entries in the index of a GSD file is as the first: a damaged number of a frame must
/// not make millions of them.
#[test]
fn indices_of_gsd_do_not_speak_of_frames_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), TrajectoryFormat::Gsd, UnitSystem::Lj);
    let whole = std::fs::read(&path).unwrap();
    let number = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap());
    let (index, places) = (number(8) as usize, number(16));
    let last = (0..places as usize).map(|k| index + 32 * k).rfind(|at| number(at + 16) > 0).unwrap();
    assert_eq!(number(last), 3);
    for (frame, frames) in [(places - 1, Some(places as usize)), (places, None), (1 << 40, None)] {
        let mut bytes = whole.clone();
        bytes[last..last + 8].copy_from_slice(&frame.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        match (read(&path, &Open::default()), frames) {
            (Ok((_, got)), Some(frames)) => assert_eq!(got.len(), frames),
            (Err(error), None) => {
                let expected = format!("its index has room for {places} frames and speaks of frame {frame}");
                assert!(error.message().contains(&expected), "{error}");
            }
            (result, _) => panic!("frame {frame}: {:?}", result.map(|(_, got)| got.len())),
        }
    }
}

/// The index of a GSD or H5MD file grows with it, and is the same after an interruption. A node of
/// H5MD's has room for 64 others.
#[test]
fn an_index_grows_and_is_cut_back() {
    grows_and_is_cut_back(
        TrajectoryFormat::Gsd,
        700,
        &[(40, 45), (60, 70), (130, 400), (500, 501), (700, 700)],
    );
    let cuts = [(0, 3), (40, 64), (64, 65), (65, 70), (4090, 4097), (4096, 4100), (4200, 4200)];
    grows_and_is_cut_back(TrajectoryFormat::H5md, 4200, &cuts);
}

fn grows_and_is_cut_back(format: TrajectoryFormat, end: u64, cuts: &[(u64, u64)]) {
    let folder = tempfile::tempdir().unwrap();
    let (whole, pieces) = (folder.path().join("whole"), folder.path().join("pieces"));
    let few = frames();
    let write = |writer: &mut TrajectoryWriter, steps: std::ops::Range<u64>| {
        for step in steps {
            let s = &few[step as usize % few.len()];
            let velocities = s.velocities.as_deref();
            let time = 0.5 * step as f64;
            let frame = Frame {
                step,
                time: Some(time),
                simbox: &s.simbox,
                positions: &s.positions,
                velocities,
                images: None,
            };
            writer.write(&frame).unwrap();
        }
    };
    write(&mut TrajectoryWriter::create(&whole, format, header(UnitSystem::Metal)).unwrap(), 0..end);
    let mut writer = TrajectoryWriter::create(&pieces, format, header(UnitSystem::Metal)).unwrap();
    let mut at = 0;
    for &(until, beyond) in cuts {
        write(&mut writer, at..until);
        let position = writer.written_so_far();
        write(&mut writer, until..beyond);
        drop(writer);
        writer = TrajectoryWriter::resume(&pieces, format, header(UnitSystem::Metal), position).unwrap();
        at = until;
    }
    assert!(std::fs::read(&whole).unwrap() == std::fs::read(&pieces).unwrap());
    let (reader, got) = read(&whole, &Open::default()).unwrap();
    assert_eq!(reader.units(), UnitSystem::Metal);
    assert_eq!(got.iter().map(|f| f.step).collect::<Vec<_>>(), (0..end).collect::<Vec<_>>());
    assert!(got.iter().all(|f| f.time == Some(0.5 * f.step as f64)));
    assert_eq!(got[end as usize - 2].velocities, got[2].velocities);
}
