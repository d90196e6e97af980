//! Langevin dynamics: every atom feels friction and noise of its own.
//!
//! Integrated as BAOAB (B. Leimkuhler and C. Matthews, J. Chem. Phys. 138 (2013) 174102): half a
//! kick, half a drift, the exact Ornstein-Uhlenbeck step for friction and noise, half a drift, half
//! a kick. The noise moves the centre of mass, which is thermal like every other degree of freedom:
//! temperatures count 3 N of them, and the next stage that conserves momentum brings it to rest.

use crate::step::Tick;
use jostle_core::Backend;
use serde::{Deserialize, Serialize};

/// Langevin dynamics (BAOAB).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Langevin {
    thermal_energy: f64,
    decay: f64,
}

impl Langevin {
    /// `friction` is a rate: velocities decay as exp(-friction t).
    pub fn new(thermal_energy: f64, friction: f64, timestep: f64) -> Self {
        Langevin { thermal_energy, decay: (-friction * timestep).exp() }
    }

    /// The O of BAOAB.
    #[inline]
    pub fn noise(&self, backend: &mut dyn Backend, tick: &Tick) {
        backend.ornstein_uhlenbeck(self.decay, self.thermal_energy, tick.noise());
    }
}
