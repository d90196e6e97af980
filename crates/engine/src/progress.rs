//! Progress of a run, for listeners. The engine itself prints nothing.

use crate::report::{StageReport, Warning};
use crate::thermo::Thermo;
use std::path::Path;
use std::time::Duration;

/// A listener to the progress of a run. The default of every method does nothing; `()` ignores all events.
pub trait Progress {
    /// Called when a stage begins, or continues from a checkpoint.
    fn stage_begins(&mut self, _stage: &StageStart) {}
    /// Called with the number of steps done in the stage, after every step or, where the device makes many
    /// steps on its own, after every batch.
    fn stepped(&mut self, _stage_step: u64) {}
    /// Called with the number of steps done in the stage, a few times a second.
    fn advanced(&mut self, _stage_step: u64) {}
    /// Called after a pause by command, with its duration.
    fn rested(&mut self, _time: Duration) {}
    /// Called with the quantities of each row of `thermo.csv`; of each sample where rows are means of samples.
    fn measured(&mut self, _thermo: &Thermo) {}
    /// Called after a checkpoint has been written.
    fn saved(&mut self, _checkpoint: &Path) {}
    /// Called at the end of a stage.
    fn stage_ends(&mut self, _report: &StageReport) {}
    /// Called with each warning about a stage.
    fn warned(&mut self, _warning: &Warning) {}
    /// Called with messages for the user.
    fn note(&mut self, _message: &str) {}
}

impl Progress for () {}

/// A stage about to run.
#[derive(Debug, Clone, Copy)]
pub struct StageStart<'a> {
    /// Name of the stage.
    pub name: &'a str,
    /// Index of the stage, from 0.
    pub index: usize,
    /// Number of stages.
    pub stages: usize,
    /// Number of steps of the stage; for a minimisation, at most.
    pub steps: u64,
    /// Number of steps done already.
    pub done: u64,
    /// Length of a step.
    pub timestep: f64,
    /// Degrees of freedom, by which temperatures are computed.
    pub degrees_of_freedom: usize,
}
