//! Trajectories that begin with an index of their frames: it grows, is cut back, and may be damaged.

use crate::reading::{frames, header, read, write};
use jostle_core::UnitSystem;
use jostle_io::input::model::TrajectoryFormat;
use jostle_io::{Frame, Open, TrajectoryWriter};

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
