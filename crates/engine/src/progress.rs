//! What a run says while it goes on. The engine prints nothing itself.

use crate::report::StageReport;
use crate::thermo::Thermo;
use crate::warnings::Warning;
use std::path::Path;
use std::time::Duration;

/// A listener. Every method does nothing unless it is written; `()` listens to nothing.
pub trait Progress {
    /// A stage begins, or goes on after a checkpoint.
    fn stage_begins(&mut self, _stage: &StageStart) {}
    /// So many steps of the stage are done; called after every step, or after every batch where the
    /// device makes many steps on its own.
    fn stepped(&mut self, _stage_step: u64) {}
    /// The same; called a few times a second.
    fn advanced(&mut self, _stage_step: u64) {}
    /// The run has waited for so long, as it was told to.
    fn rested(&mut self, _time: Duration) {}
    /// A row of `thermo.csv`.
    fn measured(&mut self, _thermo: &Thermo) {}
    /// A checkpoint has been written.
    fn saved(&mut self, _checkpoint: &Path) {}
    /// A stage is over.
    fn stage_ends(&mut self, _report: &StageReport) {}
    /// A reason to doubt a stage.
    fn warned(&mut self, _warning: &Warning) {}
    /// Something a person should know.
    fn note(&mut self, _message: &str) {}
}

impl Progress for () {}

/// A stage about to run.
#[derive(Debug, Clone, Copy)]
pub struct StageStart<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its place among the stages, from 0.
    pub index: usize,
    /// How many stages there are.
    pub stages: usize,
    /// How many steps it has; for a minimisation, at most.
    pub steps: u64,
    /// How many of them are done already.
    pub done: u64,
    /// The length of a step.
    pub timestep: f64,
    /// What temperatures are counted with.
    pub degrees_of_freedom: usize,
}
