//! One time step.

use crate::thermostat::{after_drift, before_drift, end_step};
use jostle_core::{Backend, ClosingKick, Evaluate, NoiseKey, Result, Thermostat};

/// Number and length of a step, and the seed of its random numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepContext {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the step, counted over all stages from 1.
    pub step: u64,
    /// Length of the step.
    pub timestep: f64,
    /// Weight of long-range forces at the end of the step, see [`jostle_core::RespaSchedule`].
    pub long_range_weight: f64,
}

/// Velocity Verlet (Swope, Andersen, Berens, Wilson 1982) with a thermostat that scales velocities when atoms
/// have moved or, where it is noise on atoms or between them, in the middle of that (BAOAB; Leimkuhler and
/// Matthews 2013), as is the friction of grains. Constraints are satisfied after every drift and, by
/// velocities, after every kick that ends a step (RATTLE; Andersen 1983; Leimkuhler and Matthews 2016). After
/// noise they need not be: what RATTLE would take is along the distances before a drift, as is what is made
/// up for after it, so that atoms come to the same places, and by these to the same velocities. The forces at
/// the start of the step are those of the last evaluation.
///
/// # Errors
/// Those of [`Backend::update_neighbors`] and [`Backend::compute_forces`].
pub fn step(
    backend: &mut dyn Backend,
    thermostat: &mut Thermostat,
    context: &StepContext,
    evaluate: Evaluate,
) -> Result<()> {
    let dt = context.timestep;
    let mut closing = ClosingKick { time: 0.5 * dt, drift: dt };
    match thermostat {
        Thermostat::Langevin(langevin) => {
            let noise = NoiseKey { seed: context.seed, step: context.step };
            backend.kick(0.5 * dt)?;
            backend.drift(0.5 * dt)?;
            backend.constrain_positions(0.5 * dt)?;
            backend.ornstein_uhlenbeck(langevin.decay, langevin.thermal_energy, noise)?;
            backend.drift(0.5 * dt)?;
            backend.constrain_positions(0.5 * dt)?;
            closing.drift = 0.5 * dt;
        }
        Thermostat::Dissipative(pairs) => {
            let noise = NoiseKey { seed: context.seed, step: context.step };
            backend.kick(0.5 * dt)?;
            backend.drift(0.5 * dt)?;
            backend.update_neighbors()?;
            backend.apply_dpd_thermostat(pairs, noise)?;
            backend.drift(0.5 * dt)?;
        }
        _ if backend.has_contacts() => {
            backend.kick(0.5 * dt)?;
            before_drift(thermostat, backend, dt)?;
            backend.drift(0.5 * dt)?;
            backend.update_neighbors()?;
            backend.apply_contact_friction(dt)?;
            backend.drift(0.5 * dt)?;
        }
        Thermostat::NoseHoover(_) => {
            backend.kick(0.5 * dt)?;
            before_drift(thermostat, backend, dt)?;
            backend.drift(dt)?;
            backend.constrain_positions(dt)?;
        }
        _ => {
            backend.kick_drift(dt)?;
            backend.constrain_positions(dt)?;
        }
    }
    after_drift(thermostat, backend, context)?;
    backend.update_neighbors()?;
    evaluate_forces(backend, evaluate, context.long_range_weight, Some(closing))?;
    backend.kick(0.5 * dt)?;
    backend.constrain_velocities(Some(closing))?;
    end_step(thermostat, backend, context)
}

/// Evaluates forces with this weight of long-range forces. Energies and virial take long-range forces at
/// weight 1, with the virial of constraints in the kick that is to end a step, if there is one.
///
/// # Errors
/// As for [`jostle_core::ForceEvaluation::compute_forces`].
pub fn evaluate_forces(
    backend: &mut dyn Backend,
    mut evaluate: Evaluate,
    long_range_weight: f64,
    closing: Option<ClosingKick>,
) -> Result<()> {
    if evaluate == Evaluate::ForcesAndEnergies && long_range_weight != 1.0 {
        backend.set_long_range_weight(1.0)?;
        backend.compute_forces(evaluate)?;
        if let Some(kick) = closing {
            backend.add_constraint_virial(kick)?;
        }
        evaluate = Evaluate::Forces;
    }
    backend.set_long_range_weight(long_range_weight)?;
    backend.compute_forces(evaluate)
}
