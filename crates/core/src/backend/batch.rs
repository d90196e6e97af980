//! Batches of steps that a device makes on its own, and parts of a step.

use super::{BiasRow, Energies, Evaluate, Kinetic};
use crate::{SymTensor, Thermostat};
use serde::{Deserialize, Serialize};

/// Which random numbers to use: every atom's noise is a function of this and of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoiseKey {
    /// The seed of the run.
    pub seed: u64,
    /// The step the noise belongs to.
    pub step: u64,
}

/// Time of an evaluation, counted in steps from the beginning of a stage, so that it does not depend on how a run
/// is cut into batches.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct StageTime {
    /// Time at the beginning of the stage.
    pub start: f64,
    /// Length of a step.
    pub timestep: f64,
    /// Number of steps since.
    pub steps: u64,
}

impl StageTime {
    /// The time.
    pub fn now(&self) -> f64 {
        self.start + self.steps as f64 * self.timestep
    }

    /// Time when this part of the last of its steps was over.
    pub fn within_last_step(&self, part: f64) -> f64 {
        self.start + (self.steps as f64 - 1.0 + part) * self.timestep
    }
}

/// A batch of steps without measurements in between: a device may make them wholly on its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StepBatch {
    /// The number of its first step, counted over all stages.
    pub first_step: u64,
    /// How many steps it has.
    pub steps: u64,
    /// How long each of them is.
    pub timestep: f64,
    /// The seed of everything random.
    pub seed: u64,
    /// A [`Sample`] is taken after every so many of its steps; 0: none. Divides `steps`.
    pub sample_every: u64,
    /// Evaluation at its last step, so that [`ForceEvaluation::energies`](super::ForceEvaluation::energies) has it.
    pub evaluate: Evaluate,
    /// The steps at which long-range forces act.
    pub long_range: RespaSchedule,
}

/// The steps at which long-range forces act: forces of the long range change slowly, so that they may act
/// in impulses (M. Tuckerman, B. J. Berne and G. J. Martyna, J. Chem. Phys. 97 (1992) 1990).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RespaSchedule {
    /// They act at every so many steps, so many times as strongly; 1: always.
    pub every: u64,
    /// Steps that were made before, counted from one at which they act.
    pub done: u64,
}

impl RespaSchedule {
    /// They act at all steps.
    pub const ALWAYS: RespaSchedule = RespaSchedule { every: 1, done: 0 };

    /// How strongly they act after so many more steps.
    pub fn after(&self, steps: u64) -> f64 {
        if (self.done + steps).is_multiple_of(self.every) { self.every as f64 } else { 0.0 }
    }
}

/// Measurement in the middle of a [`StepBatch`].
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Energies and virial.
    pub energies: Energies,
    /// Kinetic energy and momentum.
    pub kinetic: Kinetic,
    /// The thermostat as it was then.
    pub thermostat: Thermostat,
    /// Biases that the device evaluates; `None` where it has none.
    pub biases: Option<BiasRow>,
}

/// The kick that ends a step with constraints, and the drift before it.
///
/// The sum of arm times impulse by which velocities are corrected after the kick is the virial of the
/// constraints over two times: what they bear of the forces over that of the kick, and what turns
/// velocities from chords of the drift into tangents over half of that of the drift. The latter is
/// what velocities would be corrected by without the kick.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClosingKick {
    /// How long it was.
    pub time: f64,
    /// How long the drift was after which positions were corrected: a step, or a part of one.
    pub drift: f64,
}

impl ClosingKick {
    /// By how much more the part of turning counts; 0 after the drift of a whole step.
    pub fn turning(&self) -> f64 {
        2.0 * self.time / self.drift - 1.0
    }

    /// The virial from these sums: after the kick, and without it.
    pub fn virial(&self, kicked: SymTensor, unkicked: SymTensor) -> SymTensor {
        std::array::from_fn(|k| (kicked[k] + self.turning() * unkicked[k]) / self.time)
    }
}
