//! Files of a run and messages to its listener; a run without a folder writes none.

use super::checkpoint_clock::CheckpointClock;
use crate::checkpoint::Checkpoint;
use crate::commands::IssuedCommand;
use crate::frames::OwnedFrame;
use crate::progress::Progress;
use crate::report::Warning;
use crate::run_folder::RunFolder;
use jostle_core::Result;
use std::path::Path;
use std::time::Instant;

/// The folder of a run, if there is one, and the times of its checkpoints.
pub(super) struct Output {
    folder: Option<RunFolder>,
    clock: CheckpointClock,
    /// Step of the last checkpoint.
    saved: Option<u64>,
}

impl Output {
    /// No files of a run of so many atoms.
    pub fn none(atoms: usize) -> Self {
        Output { folder: None, clock: CheckpointClock::start(atoms), saved: None }
    }

    /// Writes to a folder from now on; `saved` is the step of its last checkpoint.
    pub fn open(&mut self, folder: RunFolder, saved: Option<u64>) {
        self.folder = Some(folder);
        self.saved = saved;
    }

    /// Writes to no folder any more.
    pub fn close(&mut self) {
        self.folder = None;
    }

    /// Restarts the clock of checkpoints, for a run of so many atoms.
    pub fn restart_clock(&mut self, atoms: usize) {
        self.clock = CheckpointClock::start(atoms);
    }

    /// The folder, if there is one.
    pub fn folder(&mut self) -> Option<&mut RunFolder> {
        self.folder.as_mut()
    }

    /// True if the run writes to a folder.
    pub fn has_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Path of the folder, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.folder.as_ref().map(RunFolder::path)
    }

    /// Names of the files of the run; `None` without a folder.
    pub fn files(&self) -> Option<Vec<&str>> {
        self.folder.as_ref().map(RunFolder::files)
    }

    /// Step of the last checkpoint.
    pub fn last_checkpoint(&self) -> Option<u64> {
        self.saved
    }

    /// True if a checkpoint is due by the wall clock.
    pub fn is_checkpoint_due(&self) -> bool {
        self.folder.is_some() && self.clock.is_due()
    }

    /// Writes a checkpoint of a step, whose preparation began at `begun`.
    pub fn save(
        &mut self,
        checkpoint: &Checkpoint,
        begun: Instant,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let Some(folder) = &mut self.folder else { return Ok(()) };
        let path = folder.save(checkpoint)?;
        let step = checkpoint.step();
        self.clock.written(begun.elapsed());
        self.saved = Some(step);
        folder.log(&format!("checkpoint at step {step}"))?;
        progress.saved(&path);
        Ok(())
    }

    /// Adds a row to `thermo.csv`.
    pub fn row(
        &mut self,
        stage: &str,
        (step, time): (u64, f64),
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Result<()> {
        self.folder.as_mut().map_or(Ok(()), |folder| folder.row(stage, (step, time), values))
    }

    /// Adds a frame to the trajectory of the stage.
    pub fn frame(&mut self, frame: OwnedFrame) -> Result<()> {
        self.folder.as_mut().map_or(Ok(()), |folder| folder.frame(frame))
    }

    /// Waits until all frames are in their file.
    pub fn flush(&mut self) -> Result<()> {
        self.folder.as_mut().map_or(Ok(()), RunFolder::flush)
    }

    /// Gives notes about the trajectory of the stage to the listener and to the log.
    pub fn note_frames(&mut self, progress: &mut dyn Progress) -> Result<()> {
        let notes = self.folder.as_mut().map_or(Vec::new(), RunFolder::take_notes);
        notes.iter().try_for_each(|note| self.note(progress, note))
    }

    /// Closes the trajectory of the stage.
    pub fn end_trajectory(&mut self, progress: &mut dyn Progress) -> Result<()> {
        self.flush()?;
        self.note_frames(progress)?;
        self.folder.as_mut().map_or(Ok(()), RunFolder::end_trajectory)
    }

    /// Replaces `summary.json`.
    pub fn summarize(&mut self, summary: &serde_json::Value) -> Result<()> {
        self.folder.as_mut().map_or(Ok(()), |folder| folder.summarize(summary))
    }

    /// Takes the command from the folder, if there is one; a file that is no command becomes a note.
    pub fn take_command(&mut self, progress: &mut dyn Progress) -> Result<Option<IssuedCommand>> {
        match self.folder.as_ref().map_or(Ok(None), RunFolder::take_command) {
            Ok(given) => Ok(given),
            Err(error) => self.note(progress, &error.to_string()).map(|()| None),
        }
    }

    /// Answers a command, with the reason if it was refused.
    pub fn answer(&mut self, id: String, refused: Option<String>) -> Result<()> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.answer(id, refused))
    }

    /// Gives a message to the listener and to the log.
    pub fn note(&mut self, progress: &mut dyn Progress, message: &str) -> Result<()> {
        progress.note(message);
        self.log(message)
    }

    /// Gives a warning to the listener and to the log.
    pub fn warn(&mut self, progress: &mut dyn Progress, warning: &Warning) -> Result<()> {
        progress.warned(warning);
        self.log(&format!("warning: {}", warning.message))
    }

    /// Adds a line to the log.
    pub fn log(&mut self, text: &str) -> Result<()> {
        self.folder.as_mut().map_or(Ok(()), |folder| folder.log(text))
    }
}
