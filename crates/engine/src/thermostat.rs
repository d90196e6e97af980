//! Temperature control: the [`Bath`] of a stage, and where in a step it acts. What it does there
//! is in [`jostle_core::bath`].

use crate::freedom::Momentum;
use crate::step::StepContext;
use jostle_core::bath::{Bussi, Dissipative, Langevin, NoseHoover, Rescale, Target};
use jostle_core::{Backend, Bath};
use jostle_io::input::model::ThermostatInput;

/// What becomes of the total momentum under a thermostat; `isolated` is that without one.
pub fn momentum(thermostat: Option<&ThermostatInput>, isolated: Momentum) -> Momentum {
    match thermostat {
        Some(ThermostatInput::Langevin { .. }) => Momentum::Thermal,
        _ => isolated,
    }
}

/// The bath for a thermostat of the input, for a stage that begins when `start` steps have been
/// made. `boltzmann` turns its temperature into an energy.
pub fn bath(
    thermostat: Option<&ThermostatInput>,
    boltzmann: f64,
    degrees_of_freedom: usize,
    timestep: f64,
    start: u64,
) -> Bath {
    let target = |temperature: f64| Target { thermal_energy: boltzmann * temperature, degrees_of_freedom };
    match *match thermostat {
        None => return Bath::Isolated,
        Some(thermostat) => thermostat,
    } {
        ThermostatInput::Rescale { temperature, every } => {
            Bath::Rescale(Rescale::new(target(temperature), every, start))
        }
        ThermostatInput::Langevin { temperature, friction } => {
            Bath::Langevin(Langevin::new(boltzmann * temperature, friction, timestep))
        }
        ThermostatInput::Dissipative { temperature, friction, cutoff } => {
            Bath::Dissipative(Dissipative::new(boltzmann * temperature, friction, cutoff, timestep))
        }
        ThermostatInput::NoseHoover { temperature, period, chain } => {
            Bath::NoseHoover(NoseHoover::new(target(temperature), period, chain))
        }
        ThermostatInput::Bussi { temperature, period } => {
            Bath::Bussi(Bussi::new(target(temperature), period, timestep))
        }
    }
}

/// What a bath does before the first drift of a step that is `dt` long.
#[inline]
pub fn before_drift(bath: &mut Bath, backend: &mut dyn Backend, dt: f64) {
    if let Bath::NoseHoover(chain) = bath {
        backend.scale_velocities(chain.chain().drag(0.5 * dt));
    }
}

/// What a bath does after the drift, before the forces are evaluated there: what it scales and goes by
/// are the velocities that led there, whose kinetic energy has the temperature of the positions. Where
/// velocities belong to the same moment as positions it is smaller, by a part of the square of the time
/// step: 0.6% for rigid water at 2 fs.
#[inline]
pub fn after_drift(bath: &mut Bath, backend: &mut dyn Backend, context: &StepContext) {
    match bath {
        Bath::Isolated | Bath::Rescale(_) | Bath::Langevin(_) | Bath::Dissipative(_) => {}
        Bath::NoseHoover(chain) => {
            let kinetic = backend.kinetic().energy();
            let mut chain = chain.chain();
            chain.push(kinetic, context.timestep);
            backend.scale_velocities(chain.drag(0.5 * context.timestep));
        }
        Bath::Bussi(bussi) => {
            let kinetic = backend.kinetic().energy();
            let deviates = bussi.deviates(context.seed, context.step);
            backend.scale_velocities(bussi.scale(kinetic, deviates));
        }
    }
}

/// What a bath does at the end of a step.
#[inline]
pub fn end_step(bath: &mut Bath, backend: &mut dyn Backend, context: &StepContext) {
    if let Bath::Rescale(rescale) = bath
        && rescale.is_due(context.step)
    {
        let kinetic = backend.kinetic().energy();
        backend.scale_velocities(rescale.scale(kinetic));
    }
}
