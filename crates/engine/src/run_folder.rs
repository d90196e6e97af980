//! The folder a run writes to: `thermo.csv`, trajectories, checkpoints, `summary.json`, a log and
//! a copy of the input.

use crate::checkpoint::Checkpoint;
use crate::thermo::{Quantity, Thermo};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, UnitSystem};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const LOG: &str = "jostle.log";
const THERMO: &str = "thermo.csv";
const SUMMARY: &str = "summary.json";
const INPUT: &str = "input.toml";
/// The name of the last checkpoint in a run folder.
pub const CHECKPOINT: &str = "latest.checkpoint";
const PREVIOUS: &str = "previous.checkpoint";

/// What to do with a folder that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// Leave it alone: an error.
    #[default]
    Refuse,
    /// Replace the files of an earlier run; other files are left alone.
    Replace,
}

/// The open folder of a run.
pub(crate) struct RunFolder {
    path: PathBuf,
    thermo: Table,
    log: File,
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
        match (occupied(path)?, existing) {
            (None, _) => {}
            (Some(Occupant::Run), Existing::Refuse) => {
                return Err(Error::file(path, "this folder holds the results of an earlier run").hint(format!(
                    "go on with it: jostle resume {}; replace it: --overwrite; write elsewhere: --output DIR",
                    path.display()
                )));
            }
            (Some(Occupant::Other), Existing::Refuse) => {
                return Err(Error::file(path, "this folder is not empty, and no run of Jostle made it")
                    .hint("choose another folder with --output DIR"));
            }
            (Some(_), Existing::Replace) => remove_run(path)?,
        }
        std::fs::create_dir_all(path).map_err(|e| Error::io("create", path, &e))?;
        let log = path.join(LOG);
        let log = File::create(&log).map_err(|e| Error::io("create", &log, &e))?;
        if let Some(text) = input {
            replace_file(&path.join(INPUT), text.as_bytes())?;
        }
        let thermo = Table::create(path.join(THERMO), &header(units, quantities))?;
        Ok(RunFolder { path: path.to_path_buf(), thermo, log })
    }

    /// Opens the folder of a run to go on with it: its newest checkpoint that is whole, and a note
    /// if that is not the newest one. Files are cut back to where they were at the checkpoint.
    pub(crate) fn resume(path: &Path) -> Result<(Self, Checkpoint, Option<String>)> {
        let (checkpoint, note) = newest_checkpoint(path)?;
        let mut thermo = None;
        for (name, length) in &checkpoint.header.files {
            let table = Table::cut_back(path.join(name), *length)?;
            if name == THERMO {
                thermo = Some(table);
            }
        }
        let thermo = thermo.ok_or_else(|| Error::file(path, "the checkpoint does not mention thermo.csv"))?;
        let log = path.join(LOG);
        let log = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&log)
            .map_err(|e| Error::io("open", &log, &e))?;
        Ok((RunFolder { path: path.to_path_buf(), thermo, log }, checkpoint, note))
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a row to `thermo.csv`.
    pub(crate) fn row(&mut self, stage: &str, thermo: &Thermo) -> Result<()> {
        let mut row = format!("{},{},{}", quoted(stage), thermo.step, number(thermo.time));
        for value in thermo.values() {
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

    /// What has been written so far, safely on the disk: names and lengths for a checkpoint.
    pub(crate) fn settle(&mut self) -> Result<Vec<(String, u64)>> {
        self.thermo.sync()?;
        Ok(vec![(THERMO.into(), self.thermo.length)])
    }

    /// Writes a checkpoint beside the last one, then puts it in its place; the last one is kept as
    /// a backup.
    pub(crate) fn save(&mut self, checkpoint: &Checkpoint) -> Result<PathBuf> {
        let (latest, previous) = (self.path.join(CHECKPOINT), self.path.join(PREVIOUS));
        let bytes = checkpoint.encode()?;
        let written = write_beside(&latest, &bytes)?;
        match std::fs::rename(&latest, &previous) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(Error::io("rename", &latest, &e)),
            _ => put_in_place(&written, &latest)?,
        }
        Ok(latest)
    }

    /// Replaces `summary.json`.
    pub(crate) fn summarize(&mut self, summary: &serde_json::Value) -> Result<()> {
        replace_file(&self.path.join(SUMMARY), format!("{summary:#}\n").as_bytes())
    }
}

/// Who lives in a folder.
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

/// Removes the files of an earlier run, and nothing else.
fn remove_run(path: &Path) -> Result<()> {
    let own = [LOG, THERMO, SUMMARY, INPUT, CHECKPOINT, PREVIOUS].map(String::from);
    for name in own {
        let file = path.join(name);
        match std::fs::remove_file(&file) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(Error::io("remove", &file, &e)),
            _ => {}
        }
    }
    Ok(())
}

fn newest_checkpoint(path: &Path) -> Result<(Checkpoint, Option<String>)> {
    let (latest, previous) = (path.join(CHECKPOINT), path.join(PREVIOUS));
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

/// A file that grows by whole lines.
struct Table {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Table {
    fn create(path: PathBuf, header: &str) -> Result<Self> {
        let file = File::create(&path).map_err(|e| Error::io("create", &path, &e))?;
        let mut table = Table { path, file, length: 0 };
        table.append(header)?;
        Ok(table)
    }

    /// Opens a file of a run and drops what was written after its checkpoint.
    fn cut_back(path: PathBuf, length: u64) -> Result<Self> {
        let failed = |e| Error::io("open", &path, &e);
        let mut file = OpenOptions::new().write(true).open(&path).map_err(failed)?;
        let now = file.metadata().map_err(failed)?.len();
        if now < length {
            return Err(Error::file(
                &path,
                format!("the file has {now} bytes, but had {length} at the checkpoint"),
            )
            .hint("it was changed since; put it back, or start the run anew"));
        }
        file.set_len(length).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
        Ok(Table { path, file, length })
    }

    /// Appends all of a text or, if the disk is full, nothing.
    fn append(&mut self, text: &str) -> Result<()> {
        match self.file.write_all(text.as_bytes()) {
            Ok(()) => {
                self.length += text.len() as u64;
                Ok(())
            }
            Err(e) => {
                // The first error is the one to report.
                let _ = self.file.set_len(self.length);
                Err(Error::io("write", &self.path, &e))
            }
        }
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(|e| Error::io("write", &self.path, &e))
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

/// Replaces a file by new content: whatever happens, it is the old one or the new one.
fn replace_file(path: &Path, bytes: &[u8]) -> Result<()> {
    put_in_place(&write_beside(path, bytes)?, path)
}

/// Writes to a temporary file beside `path`, down to the disk.
fn write_beside(path: &Path, bytes: &[u8]) -> Result<PathBuf> {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let beside = PathBuf::from(name);
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|e| {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&beside);
        Error::io("write", path, &e)
    })?;
    Ok(beside)
}

/// Renames a finished temporary file, and makes the renaming safe, too.
fn put_in_place(beside: &Path, path: &Path) -> Result<()> {
    std::fs::rename(beside, path).map_err(|e| Error::io("rename", beside, &e))?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Not every file system can sync a folder; the file itself is safe by now.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}
