//! The folder a run writes to: `thermo.csv`, trajectories, checkpoints, `summary.json`, a log and
//! a copy of the input.

use crate::atomic_file::{AppendFile, put_in_place, remove_leftovers, replace_file, write_temporary};
use crate::checkpoint::Checkpoint;
use crate::commands::{self, IssuedCommand};
use crate::frames::{FrameWriter, OwnedFrame};
use crate::input_text::absolute;
use crate::run_files::{
    CHECKPOINT, COMMAND_FILE, INPUT, LOG, OWN_FILES, PREVIOUS, START, SUMMARY, THERMO, trajectory_name,
};
use crate::thermo::Quantity;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, UnitSystem, shell_word};
use jostle_io::input::model::TrajectoryFormat;
use jostle_io::trajectory::{Frame, TrajectoryHeader, TrajectoryWriter, WrittenSoFar};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Treatment of a folder that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// Refuse the folder with an error.
    #[default]
    Refuse,
    /// Replace the files of an earlier run; other files are kept, unless a file of the run has the same name.
    Replace,
}

/// The open folder of a run.
pub(crate) struct RunFolder {
    path: PathBuf,
    thermo: AppendFile,
    log: File,
    /// Trajectory of the stage under way.
    trajectory: Option<FrameWriter>,
    /// Names of the trajectories begun and of the results written so far.
    others: Vec<String>,
}

/// Refuses a path that checkpoints and summaries, which are text, could not name.
///
/// # Errors
/// If it is not UTF-8.
pub(crate) fn must_be_text(path: &Path) -> Result<()> {
    match absolute(path).to_str() {
        Some(_) => Ok(()),
        None => {
            Err(Error::file(path, "this path is not text (UTF-8), and the files of a run have to name it")
                .hint("rename it, or choose another folder with --output DIR"))
        }
    }
}

impl RunFolder {
    /// Makes a new folder, or empties that of an earlier run.
    pub(crate) fn create(
        path: &Path,
        existing: Existing,
        units: UnitSystem,
        quantities: &[Quantity],
        input: Option<&str>,
    ) -> Result<Self> {
        must_be_text(path)?;
        let occupant = occupied(path)?;
        match (&occupant, existing) {
            (None, _) | (Some(Occupant::Run), Existing::Replace) => {}
            (Some(Occupant::Run), Existing::Refuse) => {
                refuse_written(path)?;
                return Err(Error::file(path, "this folder holds the results of an earlier run").hint(format!(
                    "go on with it: jostle resume {}; replace it: --overwrite; write elsewhere: --output DIR",
                    shell_word(path)
                )));
            }
            (Some(Occupant::Other), Existing::Refuse) => {
                return Err(Error::file(path, "this folder is not empty, and no run of Jostle made it")
                    .hint("choose another folder with --output DIR"));
            }
            (Some(Occupant::Other), Existing::Replace) => refuse_strange_files(path)?,
        }
        std::fs::create_dir_all(path).map_err(|e| Error::io("create", path, &e))?;
        let log = open_log(path)?;
        if matches!(occupant, Some(Occupant::Run)) {
            remove_run(path)?;
        }
        log.set_len(0).map_err(|e| Error::io("write", &path.join(LOG), &e))?;
        remove_stale_command(path)?;
        if let Some(text) = input {
            replace_file(&path.join(INPUT), text.as_bytes())?;
        }
        let thermo = AppendFile::create(path.join(THERMO), &header(units, quantities))?;
        let (path, others) = (path.to_path_buf(), Vec::new());
        Ok(RunFolder { path, thermo, log, trajectory: None, others })
    }

    /// Opens the folder of a run to go on with it; `thermo.csv` is cut back to the length it had
    /// at the checkpoint.
    pub(crate) fn resume(path: &Path, thermo_bytes: u64) -> Result<Self> {
        must_be_text(path)?;
        let log = open_log(path)?;
        remove_stale_command(path)?;
        let thermo = AppendFile::cut_back(path.join(THERMO), thermo_bytes)?;
        let others = others_of(path);
        remove_leftovers(path);
        Ok(RunFolder { path: path.to_path_buf(), thermo, log, trajectory: None, others })
    }

    /// Path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes trajectories and results that are not among these files.
    pub(crate) fn keep(&mut self, files: &[String]) -> Result<()> {
        for name in self.others.extract_if(.., |name| !files.contains(name)) {
            remove(&self.path.join(name))?;
        }
        Ok(())
    }

    /// Adds a row to `thermo.csv`.
    pub(crate) fn row(
        &mut self,
        stage: &str,
        (step, time): (u64, f64),
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Result<()> {
        let mut row = format!("{},{step},{}", quoted(stage), number(time));
        for value in values {
            row.push(',');
            row.push_str(&value.map(number).unwrap_or_default());
        }
        row.push('\n');
        self.thermo.append(&row)
    }

    /// Adds a line to the log.
    pub(crate) fn log(&mut self, line: &str) -> Result<()> {
        let path = self.path.join(LOG);
        writeln!(self.log, "{line}").map_err(|e| Error::io("write", &path, &e))
    }

    /// Writes the atoms at the start of the run, for viewers that need names beside a trajectory.
    pub(crate) fn start(&mut self, header: TrajectoryHeader, frame: &Frame) -> Result<()> {
        let mut writer = TrajectoryWriter::create(&self.path.join(START), TrajectoryFormat::Xyz, header)?;
        writer.write(frame)?;
        writer.sync()
    }

    /// Begins the trajectory of a stage.
    pub(crate) fn begin_trajectory(
        &mut self,
        index: usize,
        stage: &str,
        format: TrajectoryFormat,
        header: TrajectoryHeader,
    ) -> Result<()> {
        let name = trajectory_name(index, stage, format);
        let writer = TrajectoryWriter::create(&self.path.join(&name), format, header)?;
        self.trajectory = Some(FrameWriter::new(writer)?);
        if !self.others.contains(&name) {
            self.others.push(name);
        }
        Ok(())
    }

    /// Resumes the trajectory of a stage; frames after the checkpoint are cut off.
    pub(crate) fn resume_trajectory(
        &mut self,
        index: usize,
        stage: &str,
        format: TrajectoryFormat,
        header: TrajectoryHeader,
        written: WrittenSoFar,
    ) -> Result<()> {
        let path = self.path.join(trajectory_name(index, stage, format));
        let writer = TrajectoryWriter::resume(&path, format, header, written)?;
        self.trajectory = Some(FrameWriter::new(writer)?);
        Ok(())
    }

    /// Adds a frame to the trajectory of the stage.
    pub(crate) fn frame(&mut self, frame: OwnedFrame) -> Result<()> {
        self.trajectory.as_mut().map_or(Ok(()), |trajectory| trajectory.write(frame))
    }

    /// Replaces the results of a measure: names and texts.
    pub(crate) fn results(&mut self, files: &[(String, String)]) -> Result<()> {
        for (name, text) in files {
            replace_file(&self.path.join(name), text.as_bytes())?;
            if !self.others.contains(name) {
                self.others.push(name.clone());
            }
        }
        Ok(())
    }

    /// Removes results that are known no more: the numbers of an interrupted run may be doubtful after it went on.
    pub(crate) fn remove_results(&mut self, name: &str) -> Result<()> {
        let path = self.path.join(name);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(Error::io("remove", &path, &e)),
            _ => self.others.retain(|other| other != name),
        }
        Ok(())
    }

    /// Notes for the user about the trajectory of the stage, since the last call.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        self.trajectory.as_mut().map_or(Vec::new(), FrameWriter::take_notes)
    }

    /// Closes the trajectory of a stage.
    pub(crate) fn end_trajectory(&mut self) -> Result<()> {
        self.trajectory.take().map_or(Ok(()), |mut trajectory| trajectory.settle())
    }

    /// Length of the trajectory of the stage under way when the folder was last synced.
    pub(crate) fn trajectory_written(&self) -> Option<WrittenSoFar> {
        self.trajectory.as_ref().map(FrameWriter::written_so_far)
    }

    /// Names of the files of the run.
    pub(crate) fn files(&self) -> Vec<&str> {
        let own = OWN_FILES.iter().copied().filter(|name| self.path.join(name).exists());
        own.chain(self.others.iter().map(String::as_str)).collect()
    }

    /// Waits until all frames are in their file.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.trajectory.as_mut().map_or(Ok(()), FrameWriter::flush)
    }

    /// Syncs all files to the disk; returns the length of `thermo.csv`.
    pub(crate) fn settle(&mut self) -> Result<u64> {
        self.thermo.sync()?;
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.settle()?;
        }
        Ok(self.thermo.length)
    }

    /// Writes a checkpoint to a temporary file, then renames it; the last checkpoint is kept as a backup.
    pub(crate) fn save(&mut self, checkpoint: &Checkpoint) -> Result<PathBuf> {
        let (latest, previous) = (self.path.join(CHECKPOINT), self.path.join(PREVIOUS));
        let bytes = checkpoint.encode()?;
        let written = write_temporary(&latest, &bytes)?;
        match std::fs::rename(&latest, &previous) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(Error::io("rename", &latest, &e)),
            _ => put_in_place(written, &latest)?,
        }
        Ok(latest)
    }

    /// Takes a command from the folder, see [`commands::take`].
    pub(crate) fn take_command(&self) -> Result<Option<IssuedCommand>> {
        commands::take(&self.path)
    }

    /// Answers a command, see [`commands::answer`].
    pub(crate) fn answer(&self, id: String, refused: Option<String>) -> Result<()> {
        commands::answer(&self.path, id, refused)
    }

    /// Replaces `summary.json`.
    pub(crate) fn summarize(&mut self, summary: &serde_json::Value) -> Result<()> {
        replace_file(&self.path.join(SUMMARY), format!("{summary:#}\n").as_bytes())
    }
}

/// Content of a folder that is not empty.
enum Occupant {
    Run,
    Other,
}

fn occupied(path: &Path) -> Result<Option<Occupant>> {
    let mut entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io("open the folder", path, &e)),
    };
    if entries.next().is_none() {
        return Ok(None);
    }
    Ok(Some(if path.join(LOG).is_file() { Occupant::Run } else { Occupant::Other }))
}

/// Refuses a folder with a file that has the name of one of a run, and is not of one: somebody may need it.
fn refuse_strange_files(path: &Path) -> Result<()> {
    let named = [INPUT, THERMO, CHECKPOINT].into_iter().find(|name| path.join(name).exists());
    match named {
        Some(name) => Err(Error::file(
            &path.join(name),
            "a run writes a file of this name, and no run of Jostle made it",
        )
        .hint("choose another folder with --output DIR")),
        None => Ok(()),
    }
}

/// Opens the log and locks it for the duration of the run: two runs in one folder would overwrite each
/// other's files.
fn open_log(path: &Path) -> Result<File> {
    let path = path.join(LOG);
    let opened = OpenOptions::new().append(true).create(true).open(&path);
    let log = opened.map_err(|e| Error::io("open", &path, &e))?;
    let begun = Instant::now();
    loop {
        match log.try_lock() {
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => thread::sleep(PATIENCE / 50),
            Err(TryLockError::WouldBlock) => {
                return Err(written_now(&path));
            }
            // Some network file systems have no locks; a run must not fail for that.
            _ => return Ok(log),
        }
    }
}

/// Error of a folder or its log to which another run writes.
pub(crate) fn written_now(path: &Path) -> Error {
    Error::file(path, "another run is writing to this folder now")
        .hint("wait for it to end, or choose another folder with --output DIR")
}

/// Refuses the folder of a run that is under way.
///
/// # Errors
/// If another run has its lock.
pub(crate) fn refuse_written(path: &Path) -> Result<()> {
    if path.join(LOG).is_file() { open_log(path).map(drop) } else { Ok(()) }
}

/// Time for which a folder's lock is tried: a program that this process starts has the lock of a run that has just ended
/// for a moment more, until it closes the files that it inherits.
const PATIENCE: Duration = Duration::from_millis(500);

/// Removes a command that an earlier run has not taken; it is not meant for the next run.
fn remove_stale_command(path: &Path) -> Result<()> {
    remove(&path.join(COMMAND_FILE))
}

/// Removes a file, if it is there.
fn remove(file: &Path) -> Result<()> {
    match std::fs::remove_file(file) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io("remove", file, &e)),
        _ => Ok(()),
    }
}

/// Removes the files of an earlier run, and no others. The log stays, since it is the lock.
fn remove_run(path: &Path) -> Result<()> {
    let others = others_of(path);
    remove_leftovers(path);
    let own = OWN_FILES.iter().copied().filter(|name| *name != LOG);
    for name in own.chain(others.iter().map(String::as_str)) {
        remove(&path.join(name))?;
    }
    Ok(())
}

/// The trajectories and results that the summary of an earlier run mentions; none if there is no summary.
fn others_of(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path.join(SUMMARY)).unwrap_or_default();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let names = summary["files"].as_array().into_iter().flatten().filter_map(|name| name.as_str());
    // Only plain names: a summary that was tampered with must not reach outside the folder.
    let plain = |name: &&str| Path::new(name).file_name() == Some(name.as_ref());
    names.filter(plain).filter(|name| !OWN_FILES.contains(name)).map(String::from).collect()
}

/// The newest undamaged checkpoint of a run, and a note if the newest of all is damaged.
pub(crate) fn newest_checkpoint(path: &Path) -> Result<(Checkpoint, Option<String>)> {
    let (latest, previous) = (path.join(CHECKPOINT), path.join(PREVIOUS));
    if !latest.exists() && !previous.exists() && path.join(LOG).is_file() {
        return Err(Error::file(path, "the run in this folder stopped before its first checkpoint")
            .hint("start it anew: jostle run with --overwrite; in Python, close() writes a checkpoint"));
    }
    if !latest.exists() && !previous.exists() {
        return Err(Error::file(path, "there is no checkpoint in this folder")
            .hint("jostle resume wants the folder of a run, not its input file"));
    }
    let error = match Checkpoint::read(&latest) {
        Ok(checkpoint) => return Ok((checkpoint, None)),
        Err(error) => error,
    };
    match Checkpoint::read(&previous) {
        Ok(checkpoint) => {
            let step = checkpoint.step();
            let note = format!("{error}; going on from the one before it, step {step}");
            Ok((checkpoint, Some(note)))
        }
        Err(_) => Err(error),
    }
}

impl Checkpoint {
    /// The last checkpoint of the run in a folder.
    ///
    /// # Errors
    /// If there is none yet; as for [`Checkpoint::read`].
    pub fn of_run(folder: &Path) -> Result<Self> {
        let path = folder.join(CHECKPOINT);
        match (path.exists(), folder.join(LOG).is_file()) {
            (true, _) => Checkpoint::read(&path),
            (false, true) => Err(Error::file(folder, "the run in this folder has written no checkpoint yet")
                .hint("jostle control DIR pause has a run under way write one")),
            (false, false) => {
                Err(Error::file(folder, "there is no checkpoint in this folder")
                    .hint("give the folder of a run"))
            }
        }
    }
}

/// The first line of `thermo.csv`: names with units.
fn header(units: UnitSystem, quantities: &[Quantity]) -> String {
    let named = |name: &str, unit: &str| match unit {
        "" => name.to_string(),
        _ => format!("{name} ({unit})"),
    };
    let mut line = format!("stage,step,{}", named("time", &unit_name(units, Dimension::TIME)));
    for q in quantities {
        let _ = write!(line, ",{}", named(&q.name, &q.unit));
    }
    line.push('\n');
    line
}

/// A number that reads back as the same one, with an exponent where that is shorter.
fn number(x: f64) -> String {
    match x.abs() {
        0.0 | 1e-4..1e9 => format!("{x}"),
        _ => format!("{x:e}"),
    }
}

/// A field of a CSV file (RFC 4180).
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_as_they_were() {
        for x in [0.0, -0.1, 1.0 / 3.0, 1e-300, -2.5e-5, 6.02214076e23, 123_456.789, f64::MIN_POSITIVE] {
            assert_eq!(number(x).parse::<f64>().unwrap(), x);
            assert!(number(x).len() < 26, "{}", number(x));
        }
        assert_eq!(number(94.4), "94.4");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("plain name"), "plain name");
    }

    /// A lock of a moment is waited for, another one is that of a run.
    #[test]
    fn a_folder_is_locked_by_one_run() {
        let folder = tempfile::tempdir().unwrap();
        let held = open_log(folder.path()).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(PATIENCE / 5);
                held.unlock().unwrap();
            });
            let own = open_log(folder.path()).unwrap();
            let create = || {
                let created = RunFolder::create(folder.path(), Existing::Refuse, UnitSystem::Lj, &[], None);
                created.map(drop).unwrap_err()
            };
            for error in [open_log(folder.path()).unwrap_err(), create()] {
                assert!(error.message().contains("another run"), "{error}");
            }
            drop(own);
            assert!(create().message().contains("an earlier run"));
        });
    }

    #[test]
    fn a_summary_does_not_reach_outside_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let summary = r#"{ "files": ["thermo.csv", "a.xtc", "../b.xtc", "/c.xtc", "..", 7] }"#;
        std::fs::write(folder.path().join(SUMMARY), summary).unwrap();
        assert_eq!(others_of(folder.path()), ["a.xtc"]);
        std::fs::write(folder.path().join(SUMMARY), "no json").unwrap();
        assert!(others_of(folder.path()).is_empty());
    }
}
