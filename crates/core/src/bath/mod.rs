//! Heat baths: what atoms exchange heat with, one file each.
//!
//! A bath is plain data, all that has to be remembered from one step to the next. What it does to
//! the kinetic energy is a function of a few numbers, generic over [`Real`]: the engine evaluates
//! it between the verbs of a step, a GPU gets it as source code and needs no host in between.

mod bussi;
mod dissipative;
mod langevin;
mod nose_hoover;
mod rescale;

pub use bussi::{Bussi, Deviates, bussi_factor};
pub use dissipative::{Dissipative, pair_impulse, pair_noise};
pub use langevin::{Langevin, noise_amplitude};
pub use nose_hoover::{Chain, NoseHoover, drag};
pub use rescale::{Rescale, rescale_factor};

use crate::Real;
use serde::{Deserialize, Serialize};

/// What the atoms of a stage exchange heat with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Bath {
    /// Nothing: constant energy.
    Isolated,
    /// See [`Rescale`].
    Rescale(Rescale),
    /// See [`Langevin`].
    Langevin(Langevin),
    /// See [`NoseHoover`].
    NoseHoover(NoseHoover),
    /// See [`Bussi`].
    Bussi(Bussi),
    /// See [`Dissipative`].
    Dissipative(Dissipative),
}

/// The temperature a bath holds, in energies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// k_B T.
    pub thermal_energy: f64,
    /// How many degrees of freedom share the kinetic energy.
    pub degrees_of_freedom: usize,
}

impl Target {
    /// The mean kinetic energy at the target temperature.
    pub fn kinetic_energy(&self) -> f64 {
        0.5 * self.degrees_of_freedom as f64 * self.thermal_energy
    }
}

impl Bath {
    /// Whether the bath acts by scaling velocities, so that it can do nothing with atoms at rest.
    pub fn scales_velocities(&self) -> bool {
        matches!(self, Bath::Rescale(_) | Bath::NoseHoover(_) | Bath::Bussi(_))
    }

    /// k_B T of what it holds the atoms at; `None` for isolated ones.
    pub fn thermal_energy(&self) -> Option<f64> {
        match self {
            Bath::Isolated => None,
            Bath::Rescale(bath) => Some(bath.target.thermal_energy),
            Bath::Langevin(bath) => Some(bath.thermal_energy),
            Bath::NoseHoover(bath) => Some(bath.target.thermal_energy),
            Bath::Bussi(bath) => Some(bath.target.thermal_energy),
            Bath::Dissipative(bath) => Some(bath.thermal_energy()),
        }
    }

    /// Holds another k_B T between two steps. What the atoms have drawn so far stays, so that the
    /// conserved quantity goes on without a jump. Isolated atoms stay isolated.
    pub fn set_thermal_energy(&mut self, thermal_energy: f64) {
        match self {
            Bath::Isolated => {}
            Bath::Rescale(bath) => bath.target.thermal_energy = thermal_energy,
            Bath::Langevin(bath) => bath.thermal_energy = thermal_energy,
            Bath::NoseHoover(bath) => bath.set_thermal_energy(thermal_energy),
            Bath::Bussi(bath) => bath.target.thermal_energy = thermal_energy,
            Bath::Dissipative(bath) => bath.set_thermal_energy(thermal_energy),
        }
    }

    /// The energy the atoms have drawn from the bath since the stage began: their total energy
    /// less this is conserved. `None` where keeping count would cost two sums over all atoms a step.
    pub fn heat(&self) -> Option<f64> {
        match self {
            Bath::Isolated => Some(0.0),
            Bath::Rescale(bath) => Some(bath.heat),
            Bath::Langevin(_) | Bath::Dissipative(_) => None,
            Bath::NoseHoover(chain) => Some(-chain.energy()),
            Bath::Bussi(bath) => Some(bath.heat),
        }
    }
}

/// The energy that scaling all velocities by a factor gives to atoms with a kinetic energy.
pub fn heat_of_scaling<R: Real>(factor: R, kinetic: R) -> R {
    (factor * factor - R::lit(1.0)) * kinetic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_temperature_makes_the_bath_of_that_temperature() {
        let target = |thermal_energy| Target { thermal_energy, degrees_of_freedom: 30 };
        let baths = |kt: f64| {
            [
                Bath::Rescale(Rescale::new(target(kt), 10, 0)),
                Bath::Langevin(Langevin::new(kt, 0.5, 0.01)),
                Bath::NoseHoover(NoseHoover::new(target(kt), 0.4, 3)),
                Bath::Bussi(Bussi::new(target(kt), 0.4, 0.01)),
                Bath::Dissipative(Dissipative::new(kt, 4.5, 1.0, 0.125)),
            ]
        };
        for (mut bath, wanted) in baths(1.0).into_iter().zip(baths(4.0)) {
            bath.set_thermal_energy(4.0);
            assert_eq!(bath, wanted);
            assert!((bath.thermal_energy().unwrap() - 4.0).abs() < 1e-14);
        }
        let mut isolated = Bath::Isolated;
        isolated.set_thermal_energy(2.0);
        assert_eq!((isolated.thermal_energy(), isolated), (None, Bath::Isolated));
    }
}
