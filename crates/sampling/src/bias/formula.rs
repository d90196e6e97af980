//! An energy as a formula of variables.

use super::{Bias, BiasVariable, Moment};
use crate::formula::VariableFormula;
use jostle_core::backend::BiasFunction;
use jostle_core::{Error, Result};

/// U = a formula of some variables.
pub struct FormulaBias {
    variables: Vec<BiasVariable>,
    formula: VariableFormula,
}

impl FormulaBias {
    /// The energy of a formula whose variables, in their order, are these.
    pub fn new(variables: Vec<BiasVariable>, formula: VariableFormula) -> Self {
        FormulaBias { variables, formula }
    }
}

impl Bias for FormulaBias {
    fn variables(&self) -> &[BiasVariable] {
        &self.variables
    }

    fn evaluate(&mut self, values: &[f64], _now: &Moment, slopes: &mut [f64]) -> Result<f64> {
        for (k, slope) in slopes.iter_mut().enumerate() {
            *slope = self.formula.slope(values, k);
        }
        match self.formula.value(values) {
            energy if energy.is_finite() && slopes.iter().all(|slope| slope.is_finite()) => Ok(energy),
            energy => Err(Error::simulation(format!("the formula of a bias gives {energy} at {values:?}"))),
        }
    }

    fn function(&self) -> Option<BiasFunction> {
        Some(BiasFunction::Formula(self.formula.expression()))
    }

    fn end_step(&mut self, _values: &[f64], _now: &Moment) -> Result<()> {
        Ok(())
    }
}
