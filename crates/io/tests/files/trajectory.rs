//! Trajectories: what is written comes back, and a resumed file equals an uninterrupted one.
//! `tests/external/check_trajectories.py` opens them with other programs.

use jostle_core::{Components, Names, Result, SimBox, UnitSystem, Vec3, Vector};
use jostle_io::input::model::TrajectoryFormat;
use jostle_io::{Frame, Open, TrajectoryHeader, TrajectoryReader, TrajectoryWriter};
use proptest::prelude::*;
use std::path::Path;

fn header(n: usize) -> TrajectoryHeader {
    TrajectoryHeader {
        units: UnitSystem::Real,
        names: vec!["Ar".into(), "Kr".into()],
        species: (0..n).map(|k| (k % 2) as u16).collect(),
        masses: (0..n).map(|k| [39.948, 83.798][k % 2]).collect(),
        charges: (0..n).map(|k| 0.5 - k as f64).collect(),
        atoms: Names::default(),
        bonds: Vec::new(),
        periodic: [true; 3],
        timestep: 2.0,
        every: 10,
        images: false,
    }
}

fn simbox() -> SimBox {
    SimBox::new([0.0; 3], [20.0, 22.0, 18.0], [2.0, -3.0, 1.0], [true; 3]).unwrap()
}

/// Scattered positions that differ from frame to frame.
fn positions(n: usize, step: u64) -> Vec<Vec3> {
    let wave = |k: usize| 10.0 + 9.0 * (k as f64 * 1.7 + step as f64 * 0.01).sin();
    (0..n).map(|id| Vector([wave(id), wave(3 * id + 1), wave(7 * id + 2)])).collect()
}

fn write(writer: &mut TrajectoryWriter, n: usize, step: u64) -> Result<()> {
    let positions = positions(n, step);
    let velocities: Vec<Vec3> = positions.iter().map(|r| r.map(|x| 0.01 * x)).collect();
    let velocities = Some(&velocities[..]);
    writer.write(&Frame {
        step,
        time: Some(2.0 * step as f64),
        simbox: &simbox(),
        positions: &positions,
        velocities,
        images: None,
    })
}

#[test]
fn xtc_comes_back_to_its_precision() {
    let folder = tempfile::tempdir().unwrap();
    for n in [1, 9, 10, 1000] {
        let path = folder.path().join(format!("{n}.xtc"));
        let mut writer = TrajectoryWriter::create(&path, TrajectoryFormat::Xtc, header(n)).unwrap();
        for step in [100, 110, 120] {
            write(&mut writer, n, step).unwrap();
        }
        let frames = molly::XTCReader::open(&path).unwrap().read_all_frames().unwrap();
        assert_eq!(frames.len(), 3);
        for (frame, step) in frames.iter().zip([100u32, 110, 120]) {
            assert_eq!(frame.step, step);
            assert!((frame.time - 2e-3 * step as f32).abs() < 1e-7, "{} ps", frame.time);
            for (got, nm) in frame.boxvec.iter().zip([2.0, 0.0, 0.0, 0.2, 2.2, 0.0, -0.3, 0.1, 1.8]) {
                assert!((got - nm).abs() < 1e-6, "{:?}", frame.boxvec);
            }
            let expected = positions(n, u64::from(step));
            for (got, want) in frame.coords().zip(&expected) {
                for k in 0..3 {
                    let nm = want[k] as f32 * 0.1;
                    assert!((got[k] - nm).abs() <= 0.000501, "{got:?} is not {want:?}");
                }
            }
        }
    }
}

/// Record by record, as the format's readers do.
#[test]
fn dcd_has_the_records_that_readers_expect() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dcd");
    let mut writer = TrajectoryWriter::create(&path, TrajectoryFormat::Dcd, header(4)).unwrap();
    write(&mut writer, 4, 100).unwrap();
    write(&mut writer, 4, 110).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let mut rest = &bytes[..];
    let mut records = Vec::new();
    while !rest.is_empty() {
        let n = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
        assert_eq!(rest[..4], rest[4 + n..8 + n]);
        records.push(&rest[4..4 + n]);
        rest = &rest[8 + n..];
    }
    assert_eq!(records.len(), 3 + 2 * 4);
    let int = |k: usize| i32::from_le_bytes(records[0][4 + 4 * k..8 + 4 * k].try_into().unwrap());
    assert_eq!(&records[0][..4], b"CORD");
    assert_eq!([int(0), int(1), int(2), int(3)], [2, 100, 10, 20]);
    let delta = f32::from_bits(int(9) as u32);
    assert!((delta * 48.88821 - 2.0).abs() < 1e-6, "the time step is 2 fs, in AKMA units");
    assert_eq!([int(10), int(19)], [1, 24]);
    assert_eq!(records[2], 4i32.to_le_bytes());
    let cell: Vec<f64> = records[3].chunks(8).map(|c| f64::from_le_bytes(c.try_into().unwrap())).collect();
    let (b, c) = ((4.0f64 + 484.0).sqrt(), (9.0f64 + 1.0 + 324.0).sqrt());
    let expected = [20.0, 2.0 / b, b, -3.0 / c, (-6.0 + 22.0) / (b * c), c];
    for (got, want) in cell.iter().zip(expected) {
        assert!((got - want).abs() < 1e-14, "{cell:?} is not {expected:?}");
    }
    let x: Vec<f32> = records[8].chunks(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect();
    assert_eq!(x, positions(4, 110).iter().map(|r| r[0] as f32).collect::<Vec<_>>());
}

/// Frames at these times and steps, ten steps of 2 apart, and the times that come back from a DCD file of them: by
/// Jostle's reader, and as MDAnalysis finds them, (istart / nsavc + frame) * (nsavc * delta).
fn times_by_dcd(frames: &[(u64, f64)]) -> Result<[Vec<f64>; 2]> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dcd");
    let mut writer = TrajectoryWriter::create(&path, TrajectoryFormat::Dcd, header(4))?;
    let (simbox, positions) = (simbox(), positions(4, 0));
    for (step, time) in frames {
        let (time, velocities, images) = (Some(*time), None, None);
        writer.write(&Frame {
            step: *step,
            time,
            simbox: &simbox,
            positions: &positions,
            velocities,
            images,
        })?;
    }
    let bytes = std::fs::read(&path).unwrap();
    let control = |k: usize| bytes[8 + 4 * k..12 + 4 * k].try_into().unwrap();
    let [start, every] = [1, 2].map(|k| f64::from(i32::from_le_bytes(control(k))));
    let apart = every * f64::from(f32::from_le_bytes(control(9))) * 48.88821;
    let theirs = (0..frames.len()).map(|k| (start / every + k as f64) * apart).collect();
    let open = Open { units: Some(UnitSystem::Real), ..Open::default() };
    let mut reader = TrajectoryReader::open(&path, &open)?;
    let mut ours = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        ours.extend(frame.time);
    }
    Ok([ours, theirs])
}

/// Times of frames that are equally far apart come back from DCD, whatever the steps: after a stage with another time
/// step, from any first time on, less than zero, too, and for a single frame.
#[test]
fn dcd_keeps_times_of_equal_intervals() {
    let from = |first: f64, apart: f64| -> Vec<(u64, f64)> {
        (0..5).map(|k| (1000 + 10 * k, first + apart * k as f64)).collect()
    };
    let series = [
        from(2000.0, 20.0),
        from(1000.0, 20.0),
        from(1000.7, 20.0),
        from(-35.0, 20.0),
        from(1e9 / 3.0, 20.0),
        from(0.0, 0.1),
        from(1234.5, 0.37)[..1].to_vec(),
    ];
    for frames in series {
        for times in times_by_dcd(&frames).unwrap() {
            assert_eq!(times.len(), frames.len());
            for (got, (_, want)) in times.iter().zip(&frames) {
                // Single precision of the time step and of the first time.
                assert!((got - want).abs() < 2e-7 * want.abs() + 1e-5, "{times:?} is not {frames:?}");
            }
        }
    }
}

/// DCD has no place for other times: these are refused, not made up.
#[test]
fn dcd_refuses_unequal_intervals() {
    for times in [[0.0, 20.0, 60.0], [0.0, 20.0, 30.0], [0.0, -20.0, -40.0]] {
        let frames = [0, 1, 2].map(|k| (10 * k as u64, times[k]));
        let error = times_by_dcd(&frames).unwrap_err();
        assert!(error.message().contains("equally far apart"), "{error}");
        assert!(error.help().unwrap().contains("XTC"), "{error}");
    }
    // A minimisation has one time for all frames: the file has none.
    let [ours, theirs] = times_by_dcd(&[(0, 5.0), (10, 5.0), (20, 5.0)]).unwrap();
    assert_eq!((ours, theirs), (vec![], vec![0.0; 3]));
}

#[test]
fn a_resumed_file_equals_an_uninterrupted_one() {
    let folder = tempfile::tempdir().unwrap();
    for kind in TrajectoryFormat::ALL {
        let path = folder.path().join("a.trj");
        let mut writer = TrajectoryWriter::create(&path, *kind, header(20)).unwrap();
        for step in [10, 20, 30] {
            write(&mut writer, 20, step).unwrap();
        }
        let position = writer.written_so_far();
        for step in [40, 50] {
            write(&mut writer, 20, step).unwrap();
        }
        drop(writer);
        let whole = std::fs::read(&path).unwrap();
        let mut writer = TrajectoryWriter::resume(&path, *kind, header(20), position).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), position.bytes);
        for step in [40, 50] {
            write(&mut writer, 20, step).unwrap();
        }
        assert_eq!(writer.written_so_far().frames, 5);
        assert_eq!(writer.written_so_far().bytes, whole.len() as u64);
        assert!(std::fs::read(&path).unwrap() == whole, "{}", kind.name());
    }
}

/// Binary formats refuse a frame of another layout, and numbers that single precision does not reach.
#[test]
fn frames_that_a_binary_format_cannot_hold_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (far, near, simbox) = ([Vector([1e41, 1.0, 1.0])], [Vector([1.0; 3])], simbox());
    let frame = |positions, velocities| Frame {
        step: 20,
        time: Some(40.0),
        simbox: &simbox,
        positions,
        velocities,
        images: None,
    };
    let refused = |kind: TrajectoryFormat, frame: &Frame, message: &str| {
        let path = folder.path().join("a");
        let mut writer = TrajectoryWriter::create(&path, kind, header(1)).unwrap();
        write(&mut writer, 1, 10).unwrap();
        let before = std::fs::read(&path).unwrap();
        let error = writer.write(frame).unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert!(std::fs::read(&path).unwrap() == before, "{}", kind.name());
    };
    for kind in [TrajectoryFormat::Gsd, TrajectoryFormat::H5md] {
        refused(kind, &frame(&near, None), "some frames have velocities and others have none");
    }
    for kind in [TrajectoryFormat::Gsd, TrajectoryFormat::H5md, TrajectoryFormat::Trr] {
        refused(kind, &frame(&far, Some(&near)), "a number is too large for");
    }
}

/// Masses and charges are in the first frame of a GSD file.
#[test]
fn gsd_has_masses_and_charges() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut writer = TrajectoryWriter::create(&path, TrajectoryFormat::Gsd, header(5)).unwrap();
    [10, 20].into_iter().for_each(|step| write(&mut writer, 5, step).unwrap());
    let bytes = std::fs::read(&path).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let names: Vec<&[u8]> = bytes[256..512].split(|byte| *byte == 0).collect();
    // Entries: frame, rows, place, columns, name and type.
    let entries: Vec<usize> = (word(8)..).step_by(32).take(word(16)).filter(|at| word(at + 16) > 0).collect();
    let numbers = |name: &str| -> Vec<(usize, Vec<f32>)> {
        let id = |at: usize| usize::from(u16::from_le_bytes([bytes[at + 28], bytes[at + 29]]));
        let found = entries.iter().filter(|at| names[id(**at)] == name.as_bytes());
        let single = |at: usize| f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let of = |at: &usize| (word(*at), (0..word(at + 8)).map(|k| single(word(at + 16) + 4 * k)).collect());
        found.map(of).collect()
    };
    assert_eq!(numbers("particles/mass"), [(0, vec![39.948, 83.798, 39.948, 83.798, 39.948])]);
    assert_eq!(numbers("particles/charge"), [(0, vec![0.5, -0.5, -1.5, -2.5, -3.5])]);
}

/// Files that an earlier version began have neither; they are gone on with as they are.
#[test]
fn gsd_files_without_masses_are_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let early = TrajectoryHeader { masses: Vec::new(), charges: Vec::new(), ..header(7) };
    let mut writer = TrajectoryWriter::create(&path, TrajectoryFormat::Gsd, early).unwrap();
    [10, 20].into_iter().for_each(|step| write(&mut writer, 7, step).unwrap());
    let extent = writer.written_so_far();
    write(&mut writer, 7, 30).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let resume = |n: usize| TrajectoryWriter::resume(&path, TrajectoryFormat::Gsd, header(n), extent);
    write(&mut resume(7).unwrap(), 7, 30).unwrap();
    assert!(std::fs::read(&path).unwrap() == whole);
    let error = resume(8).map(drop).unwrap_err();
    assert!(error.message().contains("not of the size"), "{error}");
    assert!(std::fs::read(&path).unwrap() == whole);
}

/// Lists of formats in the documentation are those of the registry; `jostle convert --help` and messages are made
/// from it.
#[test]
fn documentation_lists_all_formats() {
    let titles = TrajectoryFormat::titles("", |_| true);
    for file in ["README.md", "ARCHITECTURE.md", "docs/features.md"] {
        let text = std::fs::read_to_string(Path::new("../..").join(file)).unwrap();
        assert!(text.contains(&titles), "{file} does not list {titles}");
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let says = |result: Result<()>, words: &[&str]| {
        let error = result.expect_err("must be refused").to_string();
        for word in words {
            assert!(error.contains(word), "{error} does not say {word}");
        }
    };
    let create = |path: &Path, kind| TrajectoryWriter::create(path, kind, header(2));
    let missing = folder.path().join("missing/a.xtc");
    says(create(&missing, TrajectoryFormat::Xtc).map(drop), &["create", "missing/a.xtc", "path"]);

    let path = folder.path().join("a.xtc");
    let mut writer = create(&path, TrajectoryFormat::Xtc).unwrap();
    write(&mut writer, 2, 10).unwrap();
    let position = writer.written_so_far();
    let mut frame = |positions: [Vec3; 2]| {
        let simbox = simbox();
        writer.write(&Frame {
            step: 20,
            time: Some(0.0),
            simbox: &simbox,
            positions: &positions,
            velocities: None,
            images: None,
        })
    };
    says(frame([Vec3::ZERO, Vector([0.0, f64::NAN, 0.0])]), &["a.xtc", "atom 1", "step 20"]);
    says(frame([Vec3::ZERO, Vector([1e40; 3])]), &["too far apart", "dcd"]);
    says(write(&mut writer, 3, 20), &["3 atoms instead of 2"]);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), position.bytes, "nothing half-written");

    let many = folder.path().join("many.xtc");
    let mut many = TrajectoryWriter::create(&many, TrajectoryFormat::Xtc, header(12)).unwrap();
    let mut positions = positions(12, 1);
    positions[7] = Vector([0.0, 1e10, 0.0]);
    let simbox = simbox();
    let frame = Frame {
        step: 5,
        time: Some(0.0),
        simbox: &simbox,
        positions: &positions,
        velocities: None,
        images: None,
    };
    says(many.write(&frame), &["many.xtc", "too far apart", "step 5", "dcd"]);

    std::fs::write(&path, b"short").unwrap();
    let resume = |path: &Path| TrajectoryWriter::resume(path, TrajectoryFormat::Xtc, header(2), position);
    says(resume(&path).map(drop), &["5 bytes", "put the file back"]);
    says(resume(&missing).map(drop), &["go on with", "path"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let full = Path::new("/dev/full");
    let mut writer = TrajectoryWriter::create(full, TrajectoryFormat::Xyz, header(2)).unwrap();
    let error = write(&mut writer, 2, 10).expect_err("the disk is full");
    assert!(error.help().unwrap().contains("disk is full"), "{error}");
    assert_eq!(writer.written_so_far().frames, 0);
}

proptest! {
    /// Positions of any size are kept to the precision of XTC or refused.
    #[test]
    fn xtc_keeps_any_positions_or_refuses_them(
        n in 1usize..40,
        scales in prop::array::uniform3(-3i32..8),
        signs in prop::array::uniform3(-1.0f64..1.0),
        clump in 0i32..5,
        seed in any::<u32>(),
    ) {
        let random = |k: usize| (f64::from(seed) * 1e-9 + k as f64 * 0.618_033_988_749_895).fract();
        let place = |id: usize| -> Vec3 {
            // Distances are small between some atoms and large between others, as of molecules.
            let near = 10f64.powi(-clump) * random(5 * id);
            Vector::from_fn(|k| 10f64.powi(scales[k]) * (signs[k] + random(id / 3 + k) + near))
        };
        let positions: Vec<Vec3> = (0..n).map(place).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.xtc");
        let header = TrajectoryHeader { units: UnitSystem::Lj, ..header(n) };
        let mut writer = TrajectoryWriter::create(&path, TrajectoryFormat::Xtc, header).unwrap();
        let simbox = simbox();
        let frame = Frame { step: 1, time: Some(0.0), simbox: &simbox, positions: &positions, velocities: None, images: None };
        if writer.write(&frame).is_ok() {
            let frames = molly::XTCReader::open(&path).unwrap().read_all_frames().unwrap();
            // Our own reader sees what molly's does.
            let open = Open { units: Some(UnitSystem::Lj), ..Open::default() };
            let read = TrajectoryReader::open(&path, &open).unwrap().next_frame().unwrap().unwrap();
            for (ours, molly) in read.positions.iter().zip(frames[0].coords()) {
                prop_assert_eq!(ours.map(|x| x as f32), molly);
            }
            let precision = f64::from(frames[0].precision);
            for (got, want) in frames[0].coords().zip(&positions) {
                for k in 0..3 {
                    let allowed = 0.51 / precision + 2e-7 * want[k].abs();
                    prop_assert!((f64::from(got[k]) - want[k]).abs() <= allowed, "{got:?} is not {want:?}");
                }
            }
        } else {
            prop_assert!(n > 9 && positions.as_flattened().iter().any(|x| x.abs() > 1e4), "{positions:?}");
        }
    }
}
