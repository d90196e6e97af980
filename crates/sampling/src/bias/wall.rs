//! Walls: a spring beyond a value of a variable.

use super::{Bias, BiasVariable, Moment};
use jostle_core::Result;

/// Side of a wall at which nothing acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Below: the wall is an upper one.
    Below,
    /// Above: the wall is a lower one.
    Above,
}

/// U = stiffness/2 (s - at)^2 beyond the wall.
pub struct Wall {
    variables: [BiasVariable; 1],
    at: f64,
    stiffness: f64,
    free: Side,
}

impl Wall {
    /// A wall with a free side.
    pub fn new(variable: BiasVariable, at: f64, stiffness: f64, free: Side) -> Self {
        Wall { variables: [variable], at, stiffness, free }
    }
}

impl Bias for Wall {
    fn variables(&self) -> &[BiasVariable] {
        &self.variables
    }

    fn evaluate(&mut self, values: &[f64], _now: &Moment, slopes: &mut [f64]) -> Result<f64> {
        let off = self.variables[0].difference(values[0], self.at);
        let beyond = match self.free {
            Side::Below => off.max(0.0),
            Side::Above => off.min(0.0),
        };
        slopes[0] = self.stiffness * beyond;
        Ok(0.5 * self.stiffness * beyond * beyond)
    }

    fn end_step(&mut self, _values: &[f64], _now: &Moment) -> Result<()> {
        Ok(())
    }
}
