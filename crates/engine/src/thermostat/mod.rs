//! Temperature control, one file each.

mod bussi;
mod langevin;
mod nose_hoover;
mod rescale;

pub use bussi::Bussi;
pub use langevin::Langevin;
pub use nose_hoover::NoseHoover;
pub use rescale::Rescale;

use crate::freedom::Momentum;
use crate::step::Tick;
use jostle_core::Backend;
use jostle_io::input::model::Thermostat;
use serde::{Deserialize, Serialize};

/// What a stage's atoms exchange heat with; everything it has to remember from step to step is in
/// here and in the checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum HeatBath {
    /// None: constant energy.
    Isolated,
    /// See [`Rescale`].
    Rescale(Rescale),
    /// See [`Langevin`].
    Langevin(Langevin),
    /// See [`NoseHoover`].
    NoseHoover(NoseHoover),
    /// See [`Bussi`].
    Bussi(Bussi),
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

/// How a thermostat treats the total momentum.
pub fn momentum(thermostat: Option<&Thermostat>) -> Momentum {
    match thermostat {
        Some(Thermostat::Langevin { .. }) => Momentum::Thermal,
        _ => Momentum::Conserved,
    }
}

impl HeatBath {
    /// The bath for a thermostat of the input, before its first step. `boltzmann` turns its
    /// temperature into an energy.
    pub fn new(
        thermostat: Option<&Thermostat>,
        boltzmann: f64,
        degrees_of_freedom: usize,
        timestep: f64,
    ) -> Self {
        let target =
            |temperature: f64| Target { thermal_energy: boltzmann * temperature, degrees_of_freedom };
        match *match thermostat {
            None => return HeatBath::Isolated,
            Some(thermostat) => thermostat,
        } {
            Thermostat::Rescale { temperature, every } => {
                HeatBath::Rescale(Rescale::new(target(temperature), every))
            }
            Thermostat::Langevin { temperature, friction } => {
                HeatBath::Langevin(Langevin::new(boltzmann * temperature, friction, timestep))
            }
            Thermostat::NoseHoover { temperature, period, chain } => {
                HeatBath::NoseHoover(NoseHoover::new(target(temperature), period, chain))
            }
            Thermostat::Bussi { temperature, period } => {
                HeatBath::Bussi(Bussi::new(target(temperature), period, timestep))
            }
        }
    }

    /// Whether the bath acts by scaling velocities, so that it can do nothing with atoms at rest.
    pub fn scales_velocities(&self) -> bool {
        matches!(self, HeatBath::Rescale(_) | HeatBath::NoseHoover(_) | HeatBath::Bussi(_))
    }

    /// What happens before the forces of a step act.
    #[inline]
    pub fn before(&mut self, backend: &mut dyn Backend, tick: &Tick) {
        if let HeatBath::NoseHoover(chain) = self {
            chain.before(backend, tick);
        }
    }

    /// What happens when the atoms have arrived and the forces have acted.
    #[inline]
    pub fn after(&mut self, backend: &mut dyn Backend, tick: &Tick) {
        match self {
            HeatBath::Isolated | HeatBath::Langevin(_) => {}
            HeatBath::Rescale(bath) => bath.after(backend, tick),
            HeatBath::NoseHoover(chain) => chain.after(backend, tick),
            HeatBath::Bussi(bath) => bath.after(backend, tick),
        }
    }

    /// The energy the atoms have drawn from the bath since the stage began: their total energy
    /// less this is conserved. `None` for Langevin dynamics, where keeping count would cost two
    /// sums over all atoms a step.
    pub fn heat(&self) -> Option<f64> {
        match self {
            HeatBath::Isolated => Some(0.0),
            HeatBath::Rescale(bath) => Some(bath.heat()),
            HeatBath::Langevin(_) => None,
            HeatBath::NoseHoover(chain) => Some(-chain.energy()),
            HeatBath::Bussi(bath) => Some(bath.heat()),
        }
    }
}

/// The factor that brings a kinetic energy to the wanted one; 1 for atoms at rest.
fn scale_to(wanted: f64, kinetic_energy: f64) -> f64 {
    if kinetic_energy > 0.0 { (wanted / kinetic_energy).sqrt() } else { 1.0 }
}
