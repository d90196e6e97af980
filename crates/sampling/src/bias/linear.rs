//! Constant force along a variable.

use super::{Bias, BiasVariable, Moment};
use jostle_core::Result;

/// U = -force (s - centre)
pub struct Linear {
    variables: [BiasVariable; 1],
    force: f64,
    center: f64,
}

impl Linear {
    /// A constant force, whose energy vanishes at the centre.
    pub fn new(variable: BiasVariable, force: f64, center: f64) -> Self {
        Linear { variables: [variable], force, center }
    }
}

impl Bias for Linear {
    fn variables(&self) -> &[BiasVariable] {
        &self.variables
    }

    fn evaluate(&mut self, values: &[f64], _now: &Moment, slopes: &mut [f64]) -> Result<f64> {
        slopes[0] = -self.force;
        Ok(-self.force * (values[0] - self.center))
    }

    fn end_step(&mut self, _values: &[f64], _now: &Moment) -> Result<()> {
        Ok(())
    }
}
