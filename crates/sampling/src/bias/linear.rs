//! Constant force along a variable.

use super::{Bias, BiasVariable, Moment, refuse_period};
use jostle_core::backend::BiasFunction;
use jostle_core::{Dual, Real, Result};

/// Energy of a constant force and its derivative.
pub fn linear<R: Real>(off: R, force: R) -> (R, R) {
    let energy = -(Dual::constant(force) * Dual::variable(off));
    (energy.value, energy.slope)
}

/// U = -force (s - centre)
pub struct Linear {
    variables: [BiasVariable; 1],
    force: f64,
    center: f64,
}

impl Linear {
    /// A constant force, whose energy vanishes at the centre.
    ///
    /// # Errors
    /// If the variable has a period.
    pub fn new(variable: BiasVariable, force: f64, center: f64) -> Result<Self> {
        refuse_period(
            &variable,
            "a linear bias",
            "kind = \"torque\" is a constant force along an angle, whose full turns count",
        )?;
        Ok(Linear { variables: [variable], force, center })
    }
}

impl Bias for Linear {
    fn variables(&self) -> &[BiasVariable] {
        &self.variables
    }

    fn evaluate(&mut self, values: &[f64], _now: &Moment, slopes: &mut [f64]) -> Result<f64> {
        let energy;
        (energy, slopes[0]) = linear(values[0] - self.center, self.force);
        Ok(energy)
    }

    fn function(&self) -> Option<BiasFunction> {
        Some(BiasFunction::Linear { force: self.force, center: self.center })
    }

    fn end_step(&mut self, _values: &[f64], _now: &Moment) -> Result<()> {
        Ok(())
    }
}
