//! Facts about a run that its trajectory does not tell: from `start.xyz` beside it, and from titles.

use crate::reading::{frames, header, read, write};
use jostle_core::{SimBox, UnitSystem};
use jostle_io::input::model::TrajectoryFormat;
use jostle_io::{Frame, Open, Snapshot, TrajectoryHeader, TrajectoryWriter};

/// A run with open axes, in every format: where the file does not tell them, or its units, `start.xyz` beside it does.
#[test]
fn open_axes_of_a_run_come_back() {
    for periodic in [[true, true, false], [false, true, true], [false; 3]] {
        let simbox = SimBox::new([0.5, 0.0, -1.0], [20.0, 22.0, 25.0], [0.0; 3], periodic).unwrap();
        let header = TrajectoryHeader { periodic, ..header(UnitSystem::Metal) };
        for format in TrajectoryFormat::ALL {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(format!("s.{}", format.extension()));
            for (path, format) in
                [(folder.path().join("start.xyz"), TrajectoryFormat::Xyz), (path.clone(), *format)]
            {
                let mut writer = TrajectoryWriter::create(&path, format, header.clone()).unwrap();
                let Snapshot { step, time, positions, .. } = frames().remove(0);
                let (positions, velocities, images) = (&positions[..], None, None);
                writer.write(&Frame { step, time, simbox: &simbox, positions, velocities, images }).unwrap();
            }
            let (reader, got) = read(&path, &Open::default()).unwrap();
            let name = format.name();
            let found = &got[0].simbox;
            assert_eq!(found.periodic(), periodic, "{name}");
            let numbers: f64 = if reader.units() == UnitSystem::Nano { 10.0 } else { 1.0 };
            assert!(
                (numbers.powi(3) * found.volume() / simbox.volume() - 1.0).abs() < 1e-5,
                "{name} {periodic:?}"
            );
            if format.describes_atoms() || !format.has_names() || format.has_boundaries() {
                assert_eq!(reader.units(), UnitSystem::Metal, "{name}");
            }
        }
    }
}

/// Titles of formats with units of their own name those of a run whose numbers are written as they are.
#[test]
fn titles_name_units_without_counterparts() {
    let folder = tempfile::tempdir().unwrap();
    for format in [TrajectoryFormat::Gro, TrajectoryFormat::Pdb, TrajectoryFormat::Cif] {
        for units in [UnitSystem::Nuclear, UnitSystem::Plasma, UnitSystem::Lj] {
            let (reader, got) = read(&write(folder.path(), format, units), &Open::default()).unwrap();
            assert_eq!(reader.units(), units, "{}", format.name());
            assert!((got[0].simbox.lengths()[0] - 20.0).abs() < 1e-3, "{} {units}", format.name());
        }
    }
}
