//! Frames of a trajectory for the commands that go through one, with a bar that shows how far.

use crate::arguments::ReadingOptions;
use indicatif::{ProgressBar, ProgressStyle};
use jostle_core::{Error, Result};
use jostle_engine::SUMMARY;
use jostle_io::{Open, Snapshot, TrajectoryReader};
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};

/// Listener to messages of an analysis.
pub type Tell<'a> = &'a mut dyn FnMut(&str);

/// Refuses a path that is there twice: its samples would count as independent ones.
///
/// # Errors
/// If one is.
pub fn refuse_twice(paths: &[PathBuf]) -> Result<()> {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    for (k, path) in paths.iter().enumerate() {
        if let Some(first) = paths[..k].iter().find(|first| real(first) == real(path)) {
            return Err(Error::file(path, format!("this is {} once more", first.display()))
                .hint("name each run once: its samples would be counted twice"));
        }
    }
    Ok(())
}

/// Refuses a run that has failed: what it has sampled ends at, or was led by, what made it fail.
///
/// # Errors
/// If the summary in a folder, or in that of a file, says so.
pub fn refuse_failed(paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        let text = std::fs::read_to_string(folder.join(SUMMARY)).unwrap_or_default();
        let summary: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        if let Some(reason) = summary["status"].as_str().and_then(|status| status.strip_prefix("failed")) {
            let reason = reason.trim_start_matches(':').trim();
            return Err(Error::file(path, format!("this run has failed: {reason}"))
                .hint("finish it by jostle resume, or leave it out"));
        }
    }
    Ok(())
}

/// Refuses samples that are those of an earlier run to the last digit: a copy, or the same seed, and no new samples.
///
/// # Errors
/// If there are some.
pub fn refuse_copies<T>(runs: &[(&Path, T)], is_copy: impl Fn(&T, &T) -> bool) -> Result<()> {
    for (k, (path, samples)) in runs.iter().enumerate() {
        if let Some((first, _)) = runs[..k].iter().find(|(_, other)| is_copy(other, samples)) {
            let message = format!("its samples are those of {} to the last digit", first.display());
            return Err(Error::file(path, message)
                .hint("name each run once, and give runs another seed: samples would be counted twice"));
        }
    }
    Ok(())
}

/// The trajectory at a path: the file itself; of the folder of a run, that of a stage, else the last one.
///
/// # Errors
/// If the run has written none, or the stage has not.
pub fn trajectory_at(path: &Path, stage: Option<&str>) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let all = jostle_show::trajectories(path).1;
    let stem = |file: &PathBuf| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut wanted = all.iter().rev().filter(|file| stage.is_none_or(|stage| stem(file) == stage));
    if let Some(found) = wanted.next() {
        return Ok(found.clone());
    }
    if all.is_empty() {
        return Err(Error::file(path, "there is no trajectory in this folder")
            .hint("a stage writes one with trajectory = { every = ... }"));
    }
    let names = all.iter().map(stem).collect::<Vec<_>>().join(", ");
    Err(Error::file(path, format!("stage \"{}\" has written no trajectory", stage.unwrap_or_default()))
        .hint(format!("there are those of {names}")))
}

/// The frames that were asked for.
pub struct FrameSelection {
    reader: TrajectoryReader,
    /// The number of the next frame in the file.
    number: u64,
    options: ReadingOptions,
    bar: Option<ProgressBar>,
}

impl FrameSelection {
    /// Opens a trajectory. Notes about it go to `tell`.
    ///
    /// # Errors
    /// See [`TrajectoryReader::open`].
    pub fn open(path: &Path, options: &ReadingOptions, tell: &mut dyn FnMut(&str)) -> Result<Self> {
        options.refuse_empty()?;
        let open = Open { units: options.units, names: options.names.clone(), timestep: options.timestep };
        let reader = TrajectoryReader::open(path, &open)?;
        reader.notes().iter().for_each(|note| tell(&format!("{}: {note}", path.display())));
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:24.cyan/dim} {percent:>3}%  {eta} left");
            ProgressBar::new(reader.progress().1)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─"))
        });
        Ok(FrameSelection { reader, number: 0, options: options.clone(), bar })
    }

    /// The next of the frames asked for.
    ///
    /// # Errors
    /// See [`TrajectoryReader::next_frame`].
    pub fn next_frame(&mut self) -> Result<Option<Snapshot>> {
        while self.number <= self.options.last.unwrap_or(u64::MAX) {
            self.options.check_stop()?;
            let Some(frame) = self.reader.next_frame()? else { return Ok(None) };
            let number = self.number;
            self.number += 1;
            if let Some(bar) = &self.bar {
                bar.set_position(self.reader.progress().0);
            }
            if self.options.takes(number) {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// The trajectory.
    pub fn reader(&self) -> &TrajectoryReader {
        &self.reader
    }

    /// Takes the bar away.
    pub fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
