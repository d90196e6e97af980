//! Hills that several walkers, runs of the same metadynamics, share (Raiteri, Laio, Gervasio, Micheletti and Parrinello
//! 2006): each adds its own to a file in a folder, and takes those of all other files.
//!
//! Files only grow, by whole lines, and belong to one life of a run: from its beginning, or from a checkpoint, to its
//! end. A life may be lost with hills that its checkpoint does not have, and that others may have taken: they stand for as
//! many that the walker makes again, which it does not write. A line without its end is left for later; a walker that is
//! dead adds nothing more.

use crate::custom_force::After;
use jostle_core::{Error, Result};
use jostle_sampling::bias::{Metadynamics, PendingHill, add_row};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Most bytes that are read of a file at a time.
const MOST_BYTES: u64 = 1 << 26;
/// Most lives of walkers in a folder.
const MOST_LIVES: u32 = 100_000;

/// One walker among others.
pub(crate) struct Walker {
    /// Name of its bias.
    pub name: String,
    folder: PathBuf,
    every: u64,
    /// Step of the last exchange in this life.
    last: Option<u64>,
    state: WalkerState,
}

/// State of a walker in a checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WalkerState {
    /// File of its present life, of which it has written so many bytes.
    file: Option<(String, u64)>,
    /// Number of its hills that are in files, or for which others are.
    written: usize,
    /// Bytes that it has taken of the files of others.
    taken: BTreeMap<String, u64>,
}

impl Walker {
    /// A walker with a bias of this name in a folder, which exchanges hills after so many steps at the earliest.
    pub fn new(name: &str, folder: &Path, every: u64) -> Self {
        let (name, folder) = (name.to_string(), folder.to_path_buf());
        Walker { name, folder, every, last: None, state: WalkerState::default() }
    }

    /// Returns true where hills are to be exchanged: others have all of a stage when it is over.
    pub fn is_due(&self, after: After) -> bool {
        match after {
            After::Step(step) => self.last.is_none_or(|last| step >= last + self.every),
            After::Stage(_) => true,
        }
    }

    /// State for a checkpoint.
    pub fn state(&self) -> WalkerState {
        self.state.clone()
    }

    /// Goes on from a checkpoint, in a new life.
    ///
    /// # Errors
    /// If the file of the life before cannot be read, or a line of it is no hill.
    pub fn restore(&mut self, state: WalkerState, metadynamics: &Metadynamics) -> Result<()> {
        self.state = state;
        if let Some((file, bytes)) = self.state.file.take() {
            self.state.taken.insert(file.clone(), bytes);
            loop {
                let lost = self.take(&file, metadynamics)?.len();
                if lost == 0 {
                    break;
                }
                self.state.written += lost;
            }
        }
        Ok(())
    }

    /// Takes the hills of others, and writes its own that have begun to act; at the end of a stage, which may be that of the
    /// run, also the one that has yet to.
    ///
    /// # Errors
    /// If a file cannot be read or written, or a line of it is no hill, or one of other settings.
    pub fn exchange(&mut self, after: After, metadynamics: &mut Metadynamics) -> Result<()> {
        let (After::Step(step) | After::Stage(step)) = after;
        self.last = Some(step);
        std::fs::create_dir_all(&self.folder).map_err(|e| Error::io("create", &self.folder, &e))?;
        // Its own before those of others come in, and none where these are refused.
        let mut taken = Vec::new();
        for file in self.others()? {
            taken.extend(self.take(&file, metadynamics)?);
        }
        let pending = match after {
            After::Step(_) => PendingHill::LeftOut,
            After::Stage(_) => PendingHill::Included,
        };
        self.write(metadynamics, pending)?;
        metadynamics.add_rows(&taken);
        Ok(())
    }

    fn write(&mut self, metadynamics: &Metadynamics, pending: PendingHill) -> Result<()> {
        if self.state.file.is_none() {
            self.state.file = Some(self.begin_file(&metadynamics.head())?);
        }
        let mut text = String::new();
        let rows = metadynamics.rows(self.state.written, pending);
        rows.iter().for_each(|row| add_row(&mut text, row));
        let Some((file, bytes)) = self.state.file.as_mut().filter(|_| !text.is_empty()) else {
            return Ok(());
        };
        let path = self.folder.join(&*file);
        let open = OpenOptions::new().append(true).open(&path);
        let mut open = open.map_err(|e| Error::io("open", &path, &e))?;
        open.write_all(text.as_bytes()).map_err(|e| Error::io("write", &path, &e))?;
        *bytes += text.len() as u64;
        self.state.written += rows.len();
        Ok(())
    }

    /// A new file, which no other walker has; its name and its length.
    fn begin_file(&self, head: &str) -> Result<(String, u64)> {
        for life in 1..MOST_LIVES {
            let file = format!("{}.{life}.hills", self.name);
            let path = self.folder.join(&file);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut open) => {
                    open.write_all(head.as_bytes()).map_err(|e| Error::io("write", &path, &e))?;
                    return Ok((file, head.len() as u64));
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io("create", &path, &e)),
            }
        }
        Err(Error::file(&self.folder, "there are too many files of walkers in this folder")
            .hint("choose another folder for new walkers"))
    }

    /// Files of other walkers, in the order of their names.
    fn others(&self) -> Result<Vec<String>> {
        let entries =
            std::fs::read_dir(&self.folder).map_err(|e| Error::io("open the folder", &self.folder, &e))?;
        let own = self.state.file.as_ref().map(|(file, _)| file.as_str());
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let is_other = |file: &String| {
            let life =
                file.strip_prefix(&self.name).and_then(|rest| rest.strip_prefix('.')?.strip_suffix(".hills"));
            life.is_some_and(|life| life.parse::<u32>().is_ok()) && Some(file.as_str()) != own
        };
        let mut others: Vec<String> = names.filter(is_other).collect();
        others.sort();
        Ok(others)
    }

    /// Rows that a file has more than were taken before: whole lines alone, of hills with the settings of this walker.
    fn take(&mut self, file: &str, metadynamics: &Metadynamics) -> Result<Vec<Vec<f64>>> {
        let row_length = metadynamics.row_length();
        let path = self.folder.join(file);
        let before = self.state.taken.get(file).copied().unwrap_or_default();
        let read = |e: std::io::Error| Error::io("read", &path, &e);
        let mut open = match File::open(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened.map_err(read)?,
        };
        open.seek(SeekFrom::Start(before)).map_err(read)?;
        let mut bytes = Vec::new();
        open.take(MOST_BYTES).read_to_end(&mut bytes).map_err(read)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let text = String::from_utf8_lossy(&bytes[..whole]);
        let row = |line: &str| -> Result<Vec<f64>> {
            let numbers: Option<Vec<f64>> = line.split_whitespace().map(|x| x.parse().ok()).collect();
            let finite = |row: &Vec<f64>| row.len() == row_length && row.iter().all(|x| x.is_finite());
            numbers.filter(finite).ok_or_else(|| {
                Error::file(&path, format!("\"{line}\" is no hill of these variables"))
                    .hint("walkers of one folder have the same variables; take this file out of it")
            })
        };
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        let rows = lines.map(row).collect::<Result<Vec<_>>>()?;
        metadynamics.check_alike(&text, &rows).map_err(|e| e.in_file(&path))?;
        self.state.taken.insert(file.to_string(), before + whole as u64);
        Ok(rows)
    }
}
