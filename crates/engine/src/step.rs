//! One time step.

use crate::thermostat::HeatBath;
use jostle_core::{Backend, Evaluate, NoiseKey, Result};

/// Which step is being made, and how long it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// The seed of the run.
    pub seed: u64,
    /// The step, counted over all stages, that this one completes.
    pub step: u64,
    /// The same, counted from the beginning of the stage.
    pub stage_step: u64,
    /// Its length.
    pub timestep: f64,
}

impl Tick {
    /// The random numbers of this step.
    pub fn noise(&self) -> NoiseKey {
        NoiseKey { seed: self.seed, step: self.step }
    }
}

/// Velocity Verlet (Swope, Andersen, Berens, Wilson 1982) with a heat bath around it or, for
/// Langevin dynamics, in its middle (BAOAB; Leimkuhler and Matthews 2013). The forces at the
/// start of the step are those of the last evaluation.
///
/// # Errors
/// Those of [`Backend::update_neighbors`] and [`Backend::compute_forces`].
pub fn step(backend: &mut dyn Backend, bath: &mut HeatBath, tick: &Tick, evaluate: Evaluate) -> Result<()> {
    let dt = tick.timestep;
    bath.before(backend, tick);
    match bath {
        HeatBath::Langevin(langevin) => {
            backend.kick(0.5 * dt);
            backend.drift(0.5 * dt);
            langevin.noise(backend, tick);
            backend.drift(0.5 * dt);
        }
        _ => backend.kick_drift(dt),
    }
    backend.update_neighbors()?;
    backend.compute_forces(evaluate)?;
    backend.kick(0.5 * dt);
    bath.after(backend, tick);
    Ok(())
}
