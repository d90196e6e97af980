//! Velocities scaled to the temperature every so many steps: how Rapaport brings a system to its
//! temperature. No ensemble is sampled; for equilibration.

use super::{Target, scale_to};
use crate::step::Tick;
use jostle_core::Backend;
use serde::{Deserialize, Serialize};

/// Rescaling every so many steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rescale {
    target: Target,
    every: u64,
    heat: f64,
}

impl Rescale {
    /// A thermostat that scales after every `every`th step of its stage.
    pub fn new(target: Target, every: u64) -> Self {
        Rescale { target, every, heat: 0.0 }
    }

    /// The energy given to the atoms so far.
    pub fn heat(&self) -> f64 {
        self.heat
    }

    pub(super) fn after(&mut self, backend: &mut dyn Backend, tick: &Tick) {
        if tick.stage_step.is_multiple_of(self.every) {
            let before = backend.kinetic().energy();
            let factor = scale_to(self.target.kinetic_energy(), before);
            backend.scale_velocities(factor);
            self.heat += (factor * factor - 1.0) * before;
        }
    }
}
