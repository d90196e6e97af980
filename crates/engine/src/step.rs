//! One time step.

use SubStep::*;
use jostle_core::thermostat::{SubStep, with_contact_friction, with_reflection};
use jostle_core::{Backend, ClosingKick, Evaluate, NoiseKey, Result, Thermostat};
use std::borrow::Cow;

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

/// One step: the sub-steps of the thermostat ([`Thermostat::step`]), one after the other, by the operations of
/// the device. The forces at its start are those of the last evaluation.
///
/// # Errors
/// Errors of `ForceEvaluation::update_neighbors` and `ForceEvaluation::compute_forces`.
pub fn step(
    backend: &mut dyn Backend,
    thermostat: &mut Thermostat,
    context: &StepContext,
    evaluate: Evaluate,
) -> Result<()> {
    let all = sub_steps_on(backend, thermostat);
    let mut sub_steps = &all[..];
    let dt = context.timestep;
    let mut closing = ClosingKick { time: 0.5 * dt, drift: dt };
    while let [first, rest @ ..] = sub_steps {
        sub_steps = match sub_steps {
            // In one pass over the atoms, where the device can.
            [Kick, Drift(1.0), rest @ ..] => {
                backend.kick_drift(dt)?;
                closing.drift = dt;
                rest
            }
            _ => {
                sub_step(backend, thermostat, context, evaluate, *first, &mut closing)?;
                rest
            }
        };
    }
    Ok(())
}

/// Sub-steps of a thermostat, with those that the device's walls and contacts need besides.
fn sub_steps_on(backend: &dyn Backend, thermostat: &Thermostat) -> Cow<'static, [SubStep]> {
    let mut sub_steps = Cow::Borrowed(thermostat.step());
    if backend.has_contacts() {
        sub_steps = with_contact_friction(&sub_steps).into();
    }
    if backend.has_reflecting_walls() {
        sub_steps = with_reflection(&sub_steps).into();
    }
    sub_steps
}

/// One sub-step by the operations of the device. `closing` is the kick that is to end the step, with the drift
/// made last.
fn sub_step(
    backend: &mut dyn Backend,
    thermostat: &mut Thermostat,
    context: &StepContext,
    evaluate: Evaluate,
    sub_step: SubStep,
    closing: &mut ClosingKick,
) -> Result<()> {
    let dt = context.timestep;
    let key = NoiseKey { seed: context.seed, step: context.step };
    match sub_step {
        Kick => backend.kick(0.5 * dt)?,
        Drift(part) => {
            closing.drift = part * dt;
            backend.drift(closing.drift)?;
        }
        ConstrainPositions => backend.constrain_positions(closing.drift)?,
        Reflect(part) => backend.reflect(part)?,
        ScaleByState => backend.scale_velocities(thermostat.scale_by_state(dt))?,
        ScaleByKinetic => {
            if thermostat.schedule().is_due(context.step) {
                let kinetic = backend.kinetic()?.energy();
                let deviates = thermostat.deviates(context.seed, context.step);
                backend.scale_velocities(thermostat.scale_by_kinetic(kinetic, dt, deviates))?;
            }
        }
        Noise => {
            if let Some(noise) = thermostat.noise() {
                backend.ornstein_uhlenbeck(noise.decay, noise.thermal_energy, key)?;
            }
        }
        PairNoise => {
            if let Some(pairs) = thermostat.pair_noise() {
                backend.apply_dpd_thermostat(pairs, key)?;
            }
        }
        ContactFriction => backend.apply_contact_friction(dt)?,
        UpdateNeighbors => backend.update_neighbors()?,
        EvaluateForces => evaluate_forces(backend, evaluate, context.long_range_weight, Some(*closing))?,
        ConstrainVelocities => backend.constrain_velocities(Some(*closing))?,
    }
    Ok(())
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
