//! FIRE minimisation: E. Bitzek et al., Phys. Rev. Lett. 97 (2006) 170201, in the form of J. Guenole
//! et al., Comput. Mater. Sci. 175 (2020) 109584 ("FIRE 2.0", semi-implicit Euler).

use jostle_core::{Backend, Evaluate, Result};
use serde::{Deserialize, Serialize};

/// Steps downhill before the time step may grow.
const DELAY: u32 = 20;
const GROW: f64 = 1.1;
const SHRINK: f64 = 0.5;
const MIXING: f64 = 0.25;
const MIXING_DECAY: f64 = 0.99;
/// The longest and the shortest time step in terms of the first one.
const LONGEST: f64 = 10.0;
const SHORTEST: f64 = 0.02;

/// The minimiser, with all that it remembers from one iteration to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fire {
    timestep: f64,
    first_timestep: f64,
    mixing: f64,
    downhill: u32,
    longest_move: f64,
}

impl Fire {
    /// A minimiser that starts with this time step; no atom moves further than `longest_move` in
    /// one iteration, so that overlapping atoms part without being thrown apart.
    pub fn new(timestep: f64, longest_move: f64) -> Self {
        Fire { timestep, first_timestep: timestep, mixing: MIXING, downhill: 0, longest_move }
    }

    /// One iteration. The forces at its start are those of the last evaluation; atoms start at
    /// rest.
    ///
    /// # Errors
    /// Those of [`Backend::update_neighbors`] and [`Backend::compute_forces`].
    pub fn iterate(&mut self, backend: &mut dyn Backend, evaluate: Evaluate) -> Result<()> {
        if backend.descent().power > 0.0 {
            self.downhill += 1;
            if self.downhill > DELAY {
                self.timestep = (self.timestep * GROW).min(LONGEST * self.first_timestep);
                self.mixing *= MIXING_DECAY;
            }
        } else {
            // Half a step back from where it went uphill, and start again.
            if self.downhill > 0 {
                backend.drift(-0.5 * self.timestep);
                self.timestep = (self.timestep * SHRINK).max(SHORTEST * self.first_timestep);
            }
            backend.scale_velocities(0.0);
            self.downhill = 0;
            self.mixing = MIXING;
        }
        backend.kick(self.timestep);
        let sums = backend.descent();
        let mut fastest = sums.largest_speed;
        if sums.force_square > 0.0 {
            let along = self.mixing * (sums.velocity_square / sums.force_square).sqrt();
            backend.mix_velocities(1.0 - self.mixing, along);
            fastest = (1.0 - self.mixing) * fastest + along * sums.largest_force;
        }
        let reach = fastest * self.timestep;
        if reach > self.longest_move {
            // All velocities, not only the move: the step after must not be longer either.
            backend.scale_velocities(self.longest_move / reach);
        }
        backend.drift(self.timestep);
        backend.update_neighbors()?;
        backend.compute_forces(evaluate)
    }
}
