//! Thermostats: what atoms exchange heat with, one file each.
//!
//! A thermostat is plain data, all that has to be remembered from one step to the next. What it does to
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
pub enum Thermostat {
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

/// The temperature a thermostat holds, in energies.
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

impl Thermostat {
    /// Whether the thermostat acts by scaling velocities, so that it can do nothing with atoms at rest.
    pub fn scales_velocities(&self) -> bool {
        matches!(self, Thermostat::Rescale(_) | Thermostat::NoseHoover(_) | Thermostat::Bussi(_))
    }

    /// k_B T of what it holds the atoms at; `None` for isolated ones.
    pub fn thermal_energy(&self) -> Option<f64> {
        match self {
            Thermostat::Isolated => None,
            Thermostat::Rescale(thermostat) => Some(thermostat.target.thermal_energy),
            Thermostat::Langevin(thermostat) => Some(thermostat.thermal_energy),
            Thermostat::NoseHoover(thermostat) => Some(thermostat.target.thermal_energy),
            Thermostat::Bussi(thermostat) => Some(thermostat.target.thermal_energy),
            Thermostat::Dissipative(thermostat) => Some(thermostat.thermal_energy()),
        }
    }

    /// Holds another k_B T between two steps. What the atoms have drawn so far stays, so that the
    /// conserved quantity goes on without a jump. Isolated atoms stay isolated.
    pub fn set_thermal_energy(&mut self, thermal_energy: f64) {
        match self {
            Thermostat::Isolated => {}
            Thermostat::Rescale(thermostat) => thermostat.target.thermal_energy = thermal_energy,
            Thermostat::Langevin(thermostat) => thermostat.thermal_energy = thermal_energy,
            Thermostat::NoseHoover(thermostat) => thermostat.set_thermal_energy(thermal_energy),
            Thermostat::Bussi(thermostat) => thermostat.target.thermal_energy = thermal_energy,
            Thermostat::Dissipative(thermostat) => thermostat.set_thermal_energy(thermal_energy),
        }
    }

    /// The energy the atoms have drawn from the thermostat since the stage began: their total energy
    /// less this is conserved. `None` where keeping count would cost two sums over all atoms a step.
    pub fn heat(&self) -> Option<f64> {
        match self {
            Thermostat::Isolated => Some(0.0),
            Thermostat::Rescale(thermostat) => Some(thermostat.heat),
            Thermostat::Langevin(_) | Thermostat::Dissipative(_) => None,
            Thermostat::NoseHoover(chain) => Some(-chain.energy()),
            Thermostat::Bussi(thermostat) => Some(thermostat.heat),
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
    fn another_temperature_makes_the_thermostat_of_that_temperature() {
        let target = |thermal_energy| Target { thermal_energy, degrees_of_freedom: 30 };
        let thermostats = |kt: f64| {
            [
                Thermostat::Rescale(Rescale::new(target(kt), 10, 0)),
                Thermostat::Langevin(Langevin::new(kt, 0.5, 0.01)),
                Thermostat::NoseHoover(NoseHoover::new(target(kt), 0.4, 3)),
                Thermostat::Bussi(Bussi::new(target(kt), 0.4, 0.01)),
                Thermostat::Dissipative(Dissipative::new(kt, 4.5, 1.0, 0.125)),
            ]
        };
        for (mut thermostat, wanted) in thermostats(1.0).into_iter().zip(thermostats(4.0)) {
            thermostat.set_thermal_energy(4.0);
            assert_eq!(thermostat, wanted);
            assert!((thermostat.thermal_energy().unwrap() - 4.0).abs() < 1e-14);
        }
        let mut isolated = Thermostat::Isolated;
        isolated.set_thermal_energy(2.0);
        assert_eq!((isolated.thermal_energy(), isolated), (None, Thermostat::Isolated));
    }
}
