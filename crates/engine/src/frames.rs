//! Writing of frames in a thread of its own, which compresses them and writes them to the disk beside the
//! run.

use crate::atomic_file::refuse_lost;
use jostle_core::{AtomVector, Error, Result, SimBox, Snapshot};
use jostle_io::trajectory::{Frame, TrajectoryWriter, WrittenSoFar};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Most frames in the queue; the run blocks while it is full, so that memory is not filled with frames.
const MOST_QUEUED: usize = 2;

/// A frame whose atoms may still be on their way from the device; see [`Frame`].
pub(crate) struct OwnedFrame {
    pub step: u64,
    pub time: f64,
    pub simbox: SimBox,
    pub atoms: Snapshot,
}

impl OwnedFrame {
    /// Writes the frame once its atoms are there.
    fn write(self, writer: &mut TrajectoryWriter) -> Result<()> {
        let mut atoms = self.atoms.wait()?;
        let (positions, velocities) = (atoms.take(AtomVector::Position), atoms.take(AtomVector::Velocity));
        writer.write(&Frame {
            step: self.step,
            time: Some(self.time),
            simbox: &self.simbox,
            positions: &positions,
            velocities: (!velocities.is_empty()).then_some(&velocities[..]),
            images: None,
        })
    }
}

/// A message to the thread.
enum WriterMessage {
    Write(OwnedFrame),
    /// Request for a reply once all frames before it are in the file.
    Flush(Sender<()>),
    /// Request to sync the file to the disk; the reply is the length of the file.
    Settle(Sender<Result<WrittenSoFar>>),
}

/// Writer of a trajectory, with a thread of its own.
pub(crate) struct FrameWriter {
    messages: Option<SyncSender<WriterMessage>>,
    /// Channel on which the thread reports its first failure.
    failures: Receiver<Error>,
    /// Notes for the user about frames in the file.
    notes: Receiver<String>,
    thread: Option<JoinHandle<()>>,
    path: PathBuf,
    written: WrittenSoFar,
    /// True if frames have been handed over since the last time that the file was known to have all.
    pending: bool,
}

impl FrameWriter {
    /// Begins to write.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub(crate) fn new(writer: TrajectoryWriter) -> Result<Self> {
        let (path, written) = (writer.path().to_path_buf(), writer.written_so_far());
        let (messages, queue) = sync_channel(MOST_QUEUED);
        let (failed, failures) = channel();
        let (noted, notes) = channel();
        let thread = std::thread::Builder::new()
            .name("frames".into())
            .spawn(move || write(writer, &queue, &failed, &noted))
            .map_err(|e| Error::io("write", &path, &e))?;
        Ok(FrameWriter {
            messages: Some(messages),
            failures,
            notes,
            thread: Some(thread),
            path,
            written,
            pending: false,
        })
    }

    /// Hands a frame over.
    ///
    /// # Errors
    /// If an earlier one could not be written.
    pub(crate) fn write(&mut self, frame: OwnedFrame) -> Result<()> {
        match self.failures.try_recv() {
            Ok(error) => Err(error),
            Err(_) => {
                self.pending = true;
                self.order(WriterMessage::Write(frame))
            }
        }
    }

    /// Waits until all frames are in the file, for any reader.
    ///
    /// # Errors
    /// If one could not be written.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.pending) {
            return Ok(());
        }
        let (reply, answer) = channel();
        self.order(WriterMessage::Flush(reply))?;
        let answered = answer.recv();
        match self.failures.try_recv() {
            Ok(error) => Err(error),
            Err(_) => answered.map_err(|_| self.ended()),
        }
    }

    /// Waits until all frames are safely on the disk.
    ///
    /// # Errors
    /// If one could not be written.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let (reply, answer) = channel();
        self.order(WriterMessage::Settle(reply))?;
        let outcome = answer.recv().unwrap_or_else(|_| Err(self.ended()));
        self.written = match self.failures.try_recv() {
            Ok(error) => return Err(error),
            Err(_) => outcome?,
        };
        match self.written.bytes {
            0 => Ok(()),
            bytes => refuse_lost(&self.path, bytes),
        }
    }

    /// Notes for the user since the last call, about frames that are in the file.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        self.notes.try_iter().collect()
    }

    /// Length of the file when it was last settled.
    pub(crate) fn written_so_far(&self) -> WrittenSoFar {
        self.written
    }

    fn order(&self, order: WriterMessage) -> Result<()> {
        let sent = self.messages.as_ref().is_some_and(|messages| messages.send(order).is_ok());
        if sent { Ok(()) } else { Err(self.ended()) }
    }

    fn ended(&self) -> Error {
        Error::file(&self.path, "the thread that writes this trajectory has ended")
    }
}

impl Drop for FrameWriter {
    fn drop(&mut self) {
        self.messages = None;
        // The thread writes the frames that are left; its failures have been reported before.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Handles messages until the channel is closed. After a failure no frame is written any more: a frame must
/// not be missing in the middle.
fn write(
    mut writer: TrajectoryWriter,
    messages: &Receiver<WriterMessage>,
    failures: &Sender<Error>,
    notes: &Sender<String>,
) {
    let mut sound = true;
    for order in messages {
        match order {
            WriterMessage::Write(_) if !sound => {}
            WriterMessage::Write(frame) => {
                if let Err(error) = frame.write(&mut writer) {
                    sound = false;
                    // The receiver is gone only where the run has ended.
                    let _ = failures.send(error);
                }
                if let Some(note) = writer.take_note() {
                    let _ = notes.send(note);
                }
            }
            // The thread that asked may have ended.
            WriterMessage::Flush(reply) => drop(reply.send(())),
            WriterMessage::Settle(reply) => {
                let _ = reply.send(writer.sync().map(|()| writer.written_so_far()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::{AtomRows, Names, UnitSystem, Vector};
    use jostle_io::input::model::TrajectoryFormat;
    use jostle_io::trajectory::TrajectoryHeader;
    use std::path::Path;

    fn frames(path: &Path) -> FrameWriter {
        let (units, names) = (UnitSystem::Lj, vec!["A".to_string()]);
        let (atoms, bonds, periodic) = (Names::default(), Vec::new(), [true; 3]);
        let header = TrajectoryHeader {
            units,
            names,
            species: vec![0],
            masses: Vec::new(),
            charges: Vec::new(),
            atoms,
            bonds,
            periodic,
            timestep: 0.1,
            every: 1,
            images: false,
        };
        FrameWriter::new(TrajectoryWriter::create(path, TrajectoryFormat::Xyz, header).unwrap()).unwrap()
    }

    fn frame(step: u64) -> OwnedFrame {
        let simbox = SimBox::orthorhombic([4.0; 3]).unwrap();
        let rows = AtomRows::new(vec![(AtomVector::Position, vec![Vector([1.0; 3])])]);
        OwnedFrame { step, time: 0.1 * step as f64, simbox, atoms: Snapshot::new(|| Ok(rows)) }
    }

    #[test]
    fn all_frames_arrive_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.xyz");
        let mut frames = frames(&path);
        for step in 0..20 {
            frames.write(frame(step)).unwrap();
        }
        frames.flush().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3 * 20);
        frames.settle().unwrap();
        assert_eq!(frames.written_so_far().frames, 20);
        assert_eq!(frames.written_so_far().bytes, path.metadata().unwrap().len());
        // Frames in the queue are written also without a call of `settle`.
        frames.write(frame(20)).unwrap();
        drop(frames);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3 * 21);
    }

    #[test]
    fn a_full_disk_is_noticed() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            println!("this system has no {}", full.display());
            return;
        }
        let mut frames = frames(full);
        let wrote = (0..3).try_for_each(|step| frames.write(frame(step)));
        let error = wrote.and_then(|()| frames.settle()).unwrap_err();
        assert!(error.to_string().contains("/dev/full"), "{error}");
    }
}
