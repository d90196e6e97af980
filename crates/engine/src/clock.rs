//! The clock of a run: stage, step and simulated time.

use serde::{Deserialize, Serialize};

/// Progress of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Clock {
    /// Index of the stage; the number of stages when all are over.
    pub stage: usize,
    /// Steps over all stages.
    pub step: u64,
    /// Simulated time.
    pub time: f64,
}
