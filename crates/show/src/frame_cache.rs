//! The frames of a trajectory, ready to be shown in any order: a thread reads the files from
//! beginning to end, and goes on as they grow; the part of a frame that a page shows is kept in a temporary
//! file, so that memory does not grow with the trajectory.

use crate::run::trajectories;
use crate::scene::{Scene, ScenePositions};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, UnitSystem};
use jostle_engine::{CHECKPOINT, Checkpoint};
use jostle_io::{Open, Snapshot, TrajectoryReader};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval between two looks at files that may grow.
const PATIENCE: Duration = Duration::from_millis(300);
/// Number of times that a frame may look damaged because it is being written.
const TRIES: u32 = 20;

/// Frames, as far as they have been read.
pub(crate) struct FrameCache {
    shared: Arc<Mutex<CacheState>>,
    /// Identity of the atoms.
    pub scene: Scene,
    /// The unit of the times of frames; empty where they have none.
    pub time_unit: String,
}

struct CacheState {
    file: File,
    /// Ends of the frames in the temporary file, in bytes.
    ends: Vec<u64>,
    progress: CacheProgress,
}

/// Progress of the thread that reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CacheProgress {
    /// More frames may follow.
    Reading,
    /// All frames are read.
    Done,
    /// A frame could not be read, for this reason.
    Failed(String),
}

impl FrameCache {
    /// Begins to read a trajectory, or all trajectories of a run one after the other.
    ///
    /// # Errors
    /// If there is no first frame, or it cannot be read.
    pub fn open(path: &Path, how: Open) -> Result<Self> {
        let mut shared = CacheState::new()?;
        let run = path.is_dir().then(|| path.to_path_buf());
        let last = run.as_ref().map(|run| run.join(CHECKPOINT)).filter(|last| last.is_file());
        let checkpoint = last.map(|last| Scene::of_checkpoint(Checkpoint::read(&last)?)).transpose()?;
        let file = (!path.is_dir()).then(|| path.to_path_buf());
        let mut files = Files { run, read: Vec::new(), file, growth: Growth::BySummary };
        let Some(first) = files.next() else {
            // A run without trajectories has its last configuration.
            let (scene, frame) = checkpoint.ok_or_else(|| {
                Error::file(path, "there is nothing to show yet: no trajectory and no checkpoint")
                    .hint("trajectory = { every = ... } in a stage writes one; or wait for the first frame")
            })?;
            shared.append(&frame)?;
            shared.progress = CacheProgress::Done;
            let time_unit = String::new();
            return Ok(FrameCache { shared: Arc::new(Mutex::new(shared)), scene, time_unit });
        };
        let reader = TrajectoryReader::open(&first, &how)?;
        let of_run = checkpoint.map(|(scene, _)| scene);
        let scene = of_run.filter(|s| s.species.len() == reader.species().len()).unwrap_or_else(|| Scene {
            names: reader.names().to_vec(),
            species: reader.species().to_vec(),
            bonds: reader.bonds().to_vec(),
            water: Vec::new(),
        });
        let time_unit = unit_name(reader.units(), Dimension::TIME);
        let read = move |shared: &Mutex<CacheState>| fill(reader, &mut files, &how, shared);
        let shared = shared.read_aside(path, read)?;
        Ok(FrameCache { shared, scene, time_unit })
    }

    /// Begins to read the trajectories of a run under way with these atoms, which may have none yet.
    ///
    /// # Errors
    /// If there is no temporary file or no thread.
    pub fn of_run(folder: &Path, scene: Scene, units: UnitSystem) -> Result<Self> {
        let how = Open { units: Some(units), names: None, timestep: None };
        let run = Some(folder.to_path_buf());
        let mut files = Files { run, read: Vec::new(), file: None, growth: Growth::UnderWay };
        let read = move |shared: &Mutex<CacheState>| {
            let first = loop {
                match files.next() {
                    Some(first) => break first,
                    None => std::thread::sleep(PATIENCE),
                }
            };
            fill(opened(&first, &how, 0)?, &mut files, &how, shared)
        };
        let shared = CacheState::new()?.read_aside(folder, read)?;
        Ok(FrameCache { shared, scene, time_unit: unit_name(units, Dimension::TIME) })
    }

    /// Number of frames so far, and the progress of the thread that reads.
    pub fn progress(&self) -> (usize, CacheProgress) {
        let shared = locked(&self.shared);
        (shared.ends.len(), shared.progress.clone())
    }

    /// A frame, see [`ScenePositions::bytes`]; `None` if there is none with this number.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub fn frame(&self, number: usize) -> Result<Option<Vec<u8>>> {
        let mut shared = locked(&self.shared);
        let Some(end) = shared.ends.get(number).copied() else { return Ok(None) };
        let begin = number.checked_sub(1).map_or(0, |before| shared.ends[before]);
        let mut bytes = vec![0; (end - begin) as usize];
        let file = &mut shared.file;
        let read = file.seek(SeekFrom::Start(begin)).and_then(|_| file.read_exact(&mut bytes));
        read.map_err(|e| Error::simulation(format!("the temporary file of frames cannot be read: {e}")))?;
        Ok(Some(bytes))
    }
}

impl CacheState {
    fn new() -> Result<Self> {
        let file = tempfile::tempfile().map_err(|e| Error::io("write to", &std::env::temp_dir(), &e))?;
        Ok(CacheState { file, ends: Vec::new(), progress: CacheProgress::Reading })
    }

    /// Reads frames in a thread.
    fn read_aside(
        self,
        path: &Path,
        read: impl FnOnce(&Mutex<CacheState>) -> Result<()> + Send + 'static,
    ) -> Result<Arc<Mutex<CacheState>>> {
        let shared = Arc::new(Mutex::new(self));
        let theirs = shared.clone();
        let spawned = std::thread::Builder::new().name("frames".into()).spawn(move || {
            let end = match read(&theirs) {
                Ok(()) => CacheProgress::Done,
                Err(error) => CacheProgress::Failed(error.to_string()),
            };
            locked(&theirs).progress = end;
        });
        spawned.map_err(|e| Error::io("read", path, &e))?;
        Ok(shared)
    }

    fn append(&mut self, frame: &[u8]) -> Result<()> {
        let end = self.ends.last().copied().unwrap_or(0);
        let written = self.file.seek(SeekFrom::Start(end)).and_then(|_| self.file.write_all(frame));
        written.map_err(|e| Error::io("write to", &std::env::temp_dir(), &e))?;
        self.ends.push(end + frame.len() as u64);
        Ok(())
    }
}

/// A thread that failed has left whole frames behind.
fn locked(shared: &Mutex<CacheState>) -> MutexGuard<'_, CacheState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The trajectories to read.
struct Files {
    run: Option<PathBuf>,
    read: Vec<PathBuf>,
    file: Option<PathBuf>,
    growth: Growth,
}

/// Growth of the trajectories of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// Until its summary says that it has ended.
    BySummary,
    /// As long as this program, which makes the run.
    UnderWay,
}

impl Files {
    /// The next trajectory, if its file exists.
    fn next(&mut self) -> Option<PathBuf> {
        if let Some(file) = self.file.take() {
            return Some(file);
        }
        let (_, names) = trajectories(self.run.as_ref()?);
        let next = names.into_iter().find(|name| !self.read.contains(name) && name.is_file())?;
        self.read.push(next.clone());
        Some(next)
    }

    /// Returns true where a run is under way that may write more.
    fn grow(&self) -> bool {
        self.growth == Growth::UnderWay || self.run.as_ref().is_some_and(|run| trajectories(run).0)
    }
}

/// Reads all frames, those that are still to be written included.
fn fill(mut reader: TrajectoryReader, files: &mut Files, how: &Open, to: &Mutex<CacheState>) -> Result<()> {
    let (mut frames, mut tries) = (0, 0);
    loop {
        // Asked before reading: what is written between the two is not missed.
        let growing = files.grow();
        match reader.next_frame() {
            Ok(Some(frame)) => {
                locked(to).append(&bytes(&frame))?;
                (frames, tries) = (frames + 1, 0);
            }
            Ok(None) => match files.next() {
                Some(next) => {
                    reader = opened(&next, how, 0)?;
                    frames = 0;
                }
                None if growing => {
                    std::thread::sleep(PATIENCE);
                    // A file that is just being written is looked at again.
                    let _ = reader.refresh();
                }
                None => return Ok(()),
            },
            Err(error) if !growing || tries == TRIES => return Err(error),
            Err(_) => {
                tries += 1;
                std::thread::sleep(PATIENCE);
                reader = opened(reader.path(), how, frames)?;
            }
        }
    }
}

/// A trajectory after so many frames; its first may still be on its way.
fn opened(path: &Path, how: &Open, frames: u64) -> Result<TrajectoryReader> {
    let mut tries = 0;
    let mut reader = loop {
        match TrajectoryReader::open(path, how) {
            Ok(reader) => break reader,
            Err(error) if tries == 10 * TRIES => return Err(error),
            Err(_) => std::thread::sleep(PATIENCE),
        }
        tries += 1;
    };
    for _ in 0..frames {
        reader.next_frame()?;
    }
    Ok(reader)
}

fn bytes(frame: &Snapshot) -> Vec<u8> {
    let time = frame.time.unwrap_or(f64::NAN);
    let (simbox, positions) = (&frame.simbox, &frame.positions[..]);
    ScenePositions { step: frame.step, time, simbox, positions, velocities: frame.velocities.as_deref() }
        .bytes()
}
