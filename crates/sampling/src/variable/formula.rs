//! A formula of other variables.

use super::{Origin, Unit, Variable, VariableKind};
use crate::definition::{Absent, Parameter, Selections, Values};
use crate::formula::VariableFormula;
use crate::frame::{Frame, Gradient};
use jostle_core::backend::CenterFunction;
use jostle_core::{Dimension, Error, Result};

pub(super) const KIND: VariableKind = VariableKind {
    name: "formula",
    about: "a formula of variables that come before, in the language of kind = \"formula\" of forces",
    selections: Selections::None,
    parameters: &[
        Parameter {
            name: "value",
            about: "the formula, with names of variables: \"sqrt(x^2 + y^2)\"",
            values: Values::Formula,
            default: Absent::Refused,
        },
        Parameter {
            name: "parameters",
            about: "numbers by name, for the formula",
            values: Values::Numbers,
            default: Absent::None("all names are those of variables"),
        },
    ],
    unit: Unit::Dimension(Dimension::NUMBER),
    frame: Origin::Relative,
    build: |arguments| match &arguments.formula {
        Some(formula) => Ok(Box::new(FormulaVariable(formula.clone()))),
        None => Err(Error::input("a variable of kind \"formula\" has no formula")),
    },
};

/// The variable, whose derivative goes to those it is made of ([`crate::Variables`]).
struct FormulaVariable(VariableFormula);

impl Variable for FormulaVariable {
    fn value(&self, frame: &Frame) -> Result<f64> {
        match self.0.value(&frame.values) {
            value if value.is_finite() => Ok(value),
            value => Err(Error::simulation(format!("its formula gives {value}"))),
        }
    }

    fn add_gradient(&self, _frame: &Frame, _weight: f64, _gradient: &mut Gradient) {}

    fn add_weights(&self, frame: &Frame, weight: f64, weights: &mut [f64]) {
        for k in &self.0.variables {
            weights[*k] += weight * self.0.slope(&frame.values, *k);
        }
    }

    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        Some((CenterFunction::Formula(self.0.expression()), Vec::new()))
    }
}
