//! Input of a run in its checkpoints: text, place, and the files that it names, for runs that go on.

use jostle_core::{Error, Result, Settings};
use jostle_io::Input;
use jostle_io::input::model::{DeviceInput, RunInput, Strictness};
use jostle_io::read_files::{self, FileUse, ReadFile};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The input a run was started from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct InputText {
    /// Path of the file, from the root.
    pub path: PathBuf,
    /// Folder of the run when the checkpoint was written, from the root.
    pub run_folder: Option<PathBuf>,
    /// Files that the input names, see [`InputText::set_files`], with checksums.
    pub files: Vec<(PathBuf, u32)>,
    /// Files with coordinates that the run began with, likewise.
    pub began_with: Vec<(PathBuf, u32)>,
    pub text: String,
    /// Largest number of steps of a stage; `None`: as the input says.
    pub most_steps: Option<u64>,
    /// `[run]` of the text, unless a program has changed it in memory.
    pub run: RunSettings,
}

/// Settings of `[run]` that a resumed run goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunSettings {
    pub device: DeviceInput,
    pub settings: Settings,
    pub strictness: Strictness,
}

impl RunSettings {
    /// The settings of an input.
    pub fn of(input: &Input) -> Self {
        let RunInput { device, settings, strictness, .. } = input.run;
        RunSettings { device, settings, strictness }
    }

    /// Gives them to an input.
    pub fn apply(self, input: &mut Input) {
        let RunSettings { device, settings, strictness } = self;
        input.run = RunInput { device, settings, strictness, output: input.run.output.take() };
    }
}

impl InputText {
    /// Takes over the files that were read for this input: paths below its folder are kept relative to it.
    pub fn set_files(&mut self, read: Vec<ReadFile>) {
        let (forces, beginning) = read.into_iter().partition(|file| file.use_of == FileUse::Forces);
        (self.files, self.began_with) = (self.relative(forces), self.relative(beginning));
    }

    fn relative(&self, read: Vec<ReadFile>) -> Vec<(PathBuf, u32)> {
        let folder = self.folder();
        let one = |file: ReadFile| {
            let path = absolute(&file.path);
            (path.strip_prefix(folder).map(Path::to_path_buf).unwrap_or(path), file.sum)
        };
        read.into_iter().map(one).collect()
    }

    /// Refuses files that have changed since the run began: a resumed run would have other forces.
    ///
    /// # Errors
    /// If one of those that were read now has another content than then.
    pub fn refuse_changed(&self, read: Vec<ReadFile>) -> Result<()> {
        let read = Vec::from_iter(read.into_iter().filter(|file| file.use_of == FileUse::Forces));
        let paths: Vec<PathBuf> = read.iter().map(|file| file.path.clone()).collect();
        for ((name, sum), path) in self.relative(read).into_iter().zip(paths) {
            let mut before =
                self.files.iter().filter(|(other, _)| *other == name).map(|(_, sum)| *sum).peekable();
            if before.peek().is_some() && before.all(|before| before != sum) {
                return Err(Error::file(&path, "the file is not as it was when the run began")
                    .hint("put it back as it was, or begin a new run with jostle run"));
            }
        }
        Ok(())
    }

    /// Refuses an input whose files are not all as they were when the run began.
    ///
    /// # Errors
    /// If one of them has another content now, or cannot be read.
    pub fn refuse_changed_files(&self) -> Result<()> {
        let now = |(name, _): &(PathBuf, u32)| {
            let path = self.folder().join(name);
            read_files::checksum(&path).map(|sum| ReadFile { path, sum, use_of: FileUse::Forces })
        };
        self.refuse_changed(self.files.iter().map(now).collect::<Result<_>>()?)
    }

    /// Returns true where all files are as they were when the run began, those with coordinates, too: a run begun now
    /// would be the same.
    pub fn would_begin_alike(&self) -> bool {
        let as_it_was = |(name, sum): &(PathBuf, u32)| {
            read_files::checksum(&self.folder().join(name)).is_ok_and(|now| now == *sum)
        };
        self.files.iter().chain(&self.began_with).all(as_it_was)
    }

    /// Folder of the input, which paths are relative to.
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// This input in the checkpoint of a run that is written to a folder.
    pub fn of_run(mut self, folder: &Path) -> Self {
        self.run_folder = Some(absolute(folder));
        self
    }

    /// This input, read from the checkpoint of a folder: where folders have moved together, it has moved with them.
    pub fn found_in(mut self, folder: &Path) -> Self {
        let moved = self.run_folder.as_deref().and_then(|then| moved(&self.path, then, &absolute(folder)));
        if let Some(path) = moved.filter(|path| path.parent().is_some_and(Path::is_dir)) {
            self.path = path;
        }
        self
    }
}

/// Path with a root; the path itself where the current directory is not known.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Place of a file after the folder of its run, which was at `then`, has come to `now` with all around it; `None` where
/// nothing that both have in common has moved.
fn moved(path: &Path, then: &Path, now: &Path) -> Option<PathBuf> {
    let common: PathBuf = then.iter().zip(path.iter()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    let below = then.strip_prefix(&common).ok()?;
    let mut root = now;
    for name in below.iter().rev() {
        if root.file_name() != Some(name) {
            return None;
        }
        root = root.parent()?;
    }
    Some(root.join(path.strip_prefix(&common).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_move_with_their_runs() {
        let now = |path: &str, then: &str, now: &str| moved(path.as_ref(), then.as_ref(), now.as_ref());
        assert_eq!(now("/a/p/m.toml", "/a/p/out", "/b/q/out"), Some("/b/q/m.toml".into()));
        assert_eq!(now("/a/in/m.toml", "/a/runs/1", "/b/runs/1"), Some("/b/in/m.toml".into()));
        assert_eq!(now("/a/p/m.toml", "/a/p/out", "/a/p/out"), Some("/a/p/m.toml".into()));
        assert_eq!(now("/a/p/m.toml", "/a/p/out", "/a/p/other"), None);
    }
}
