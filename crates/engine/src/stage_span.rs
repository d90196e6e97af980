//! Stage of a run as forces from outside the devices see it.

/// Stage of a run, as custom forces need it.
#[derive(Debug, Clone, PartialEq)]
pub struct StageSpan {
    /// Name.
    pub name: String,
    /// Number of steps before it, over all stages.
    pub first_step: u64,
    /// Length of a time step; `None` where energy is minimised.
    pub timestep: Option<f64>,
    /// Beginning, or continuation of a stage that was interrupted.
    pub entry: StageEntry,
}

/// Entry into a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageEntry {
    /// The stage begins.
    Begun,
    /// The stage was interrupted and goes on.
    Continued,
}
