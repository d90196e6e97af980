//! Temperature control: the [`Thermostat`] of a stage. What it does in a step is in
//! [`jostle_core::thermostat`].

use crate::degrees_of_freedom::Momentum;
use jostle_core::Thermostat;
use jostle_core::thermostat::{Conditions, Target};
use jostle_io::input::model::ThermostatInput;

/// Behaviour of the total momentum under a thermostat; `isolated` is that without one.
pub fn momentum(thermostat: Option<&ThermostatInput>, isolated: Momentum) -> Momentum {
    match thermostat {
        Some(thermostat) if thermostat.kind.moves_center_of_mass() => Momentum::Thermal,
        _ => isolated,
    }
}

/// The thermostat that the input asks for, for a stage that begins when `start` steps have been
/// made. `boltzmann` turns its temperature into an energy.
pub fn from_input(
    thermostat: Option<&ThermostatInput>,
    boltzmann: f64,
    degrees_of_freedom: usize,
    timestep: f64,
    start: u64,
) -> Thermostat {
    let Some(thermostat) = thermostat else { return Thermostat::Isolated };
    let target = Target { thermal_energy: boltzmann * thermostat.temperature, degrees_of_freedom };
    thermostat.begin(&Conditions { target, timestep, start })
}
