//! Trajectories read back: what was written comes back, other programs' files are read, and what
//! is damaged is an error that names file, frame and cause.

use jostle_core::{Components, Error, Names, SimBox, UnitSystem, Vec3, Vector};
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

pub fn close(got: &[Vec3], want: &[Vec3], tolerance: f64) {
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
        assert!(error.to_string().contains("truncated"), "{error}");
    }
    // Texts that were cut anywhere, within a line or behind one.
    for format in TrajectoryFormat::ALL.iter().filter(|format| ["xyz", "gro"].contains(&format.name())) {
        let path = write(folder.path(), *format, UnitSystem::Real);
        let bytes = std::fs::read(&path).unwrap();
        for cut in (1..bytes.len()).step_by(61) {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            if let Err(error) = read(&path, &Open::default()) {
                let told = error.to_string();
                assert!(told.contains("truncated") || told.contains("empty"), "{cut}: {error}");
            }
        }
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
