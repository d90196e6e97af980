//! Times of frames: what programs mean by those in their files, and time steps that the user gives.

use jostle_core::{Names, SimBox, UnitSystem, Vector};
use jostle_io::input::model::TrajectoryFormat;
use jostle_io::{Frame, Open, TrajectoryHeader, TrajectoryReader, TrajectoryWriter};
use std::path::Path;

/// Writes an atom at step 0 and at step 10, 2 fs later, in real units.
fn write(path: &Path, format: TrajectoryFormat) {
    let header = TrajectoryHeader {
        units: UnitSystem::Real,
        names: vec!["Ar".into()],
        species: vec![0],
        masses: vec![1.0],
        charges: vec![0.0],
        atoms: Names::default(),
        bonds: Vec::new(),
        periodic: [true; 3],
        timestep: 0.2,
        every: 10,
        images: false,
    };
    let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
    let mut writer = TrajectoryWriter::create(path, format, header).unwrap();
    for (step, time) in [(0, Some(0.0)), (10, Some(2.0))] {
        let positions = &[Vector([1.0; 3])][..];
        let frame = Frame { step, time, simbox: &simbox, positions, velocities: None, images: None };
        writer.write(&frame).unwrap();
    }
}

/// Times of all frames, and notes in one text.
fn times(path: &Path, open: &Open) -> (Vec<Option<f64>>, String) {
    let mut reader = TrajectoryReader::open(path, open).unwrap();
    let notes = reader.notes().join("; ");
    let mut times = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        times.push(frame.time);
    }
    (times, notes)
}

/// The time step in the header of a DCD file is in AKMA units, or in those of LAMMPS' run, or no time step, as its title
/// says.
#[test]
fn the_program_that_wrote_a_dcd_file_decides_about_its_times() {
    use UnitSystem::{Lj, Metal, Nano, Real};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dcd");
    write(&path, TrajectoryFormat::Dcd);
    let ours = std::fs::read(&path).unwrap();
    let lammps = "Written by LAMMPS";
    let vmd = "Created by DCD plugin";
    // 2 fs in AKMA units of 48.88821 fs.
    let akma = 2.0 / 48.88821;
    for (title, steps, timestep, units, expected, note) in [
        (lammps, [1500, 50], 4.0, Some(Real), Some([6000.0, 6200.0]), ""),
        (lammps, [1500, 50], 0.004, Some(Metal), Some([6.0, 6.2]), ""),
        (lammps, [0, 50], 0.005, Some(Lj), Some([0.0, 0.25]), ""),
        (lammps, [0, 50], 4.0, None, None, "the unit of time of its run"),
        (lammps, [0, 50], 4.0, Some(Nano), None, "the unit of time of its run"),
        ("Created by OpenMM", [10, 10], akma, Some(Real), Some([20.0, 40.0]), ""),
        ("REMARKS FILENAME=a.dcd CREATED BY NAMD", [10, 10], akma, Some(Metal), Some([0.02, 0.04]), ""),
        (vmd, [0, 1], 1.0, Some(Real), None, "puts 1 into the header"),
        (vmd, [10, 10], akma, None, Some([20.0, 40.0]), ""),
        ("Cpptraj generated dcd file.", [1, 1], 0.001, None, None, "puts 0.001 into the header"),
        (" CORD DCD file created by CP2K 2024.1", [0, 10], 0.5, None, None, "--timestep"),
    ] {
        let mut bytes = ours.clone();
        bytes[12..16].copy_from_slice(&i32::to_le_bytes(steps[0]));
        bytes[16..20].copy_from_slice(&i32::to_le_bytes(steps[1]));
        bytes[44..48].copy_from_slice(&f32::to_le_bytes(timestep as f32));
        bytes[100..180].copy_from_slice(format!("{title:\0<80}").as_bytes());
        std::fs::write(&path, bytes).unwrap();
        let (got, notes) = times(&path, &Open { units, ..Open::default() });
        let close = got.iter().enumerate().all(|(k, time)| match (time, expected) {
            (Some(time), Some(expected)) => (time - expected[k]).abs() <= 1e-6 * expected[1],
            (time, expected) => time.is_none() && expected.is_none(),
        });
        assert!(got.len() == 2 && close, "{title} {units:?}: {got:?} is not {expected:?}");
        assert!(notes.contains(note) && notes.is_empty() == note.is_empty(), "{title} {units:?}: {notes}");
        let (given, notes) = times(&path, &Open { units, timestep: Some(0.25), ..Open::default() });
        let last = f64::from(steps[0] + steps[1]);
        assert_eq!(given[1], Some(0.25 * last), "{title} {units:?}");
        assert_eq!(notes.contains("by --timestep"), expected.is_some(), "{title} {units:?}: {notes}");
    }
}

/// The user knows better than a file, which a note says where they differ.
#[test]
fn a_time_step_that_is_given_counts() {
    let folder = tempfile::tempdir().unwrap();
    for format in TrajectoryFormat::ALL.iter().filter(|format| format.has_times()) {
        let path = folder.path().join(format!("a.{}", format.extension()));
        write(&path, *format);
        let with =
            |timestep| times(&path, &Open { units: Some(UnitSystem::Real), timestep, ..Open::default() });
        let (own, notes) = with(None);
        assert!((own[1].unwrap() - 2.0).abs() < 1e-3 && notes.is_empty(), "{own:?} {notes}");
        let (given, notes) = with(Some(0.5));
        assert_eq!(given, [Some(0.0), Some(5.0)], "{}", format.name());
        let said = notes.contains("step 10 is at 5 fs by --timestep, which counts, and at 2 fs by the file");
        assert!(said, "{}: {notes}", format.name());
        let (given, notes) = with(Some(0.2));
        assert_eq!((given, notes.as_str()), (vec![Some(0.0), Some(2.0)], ""), "{}", format.name());
    }
}
