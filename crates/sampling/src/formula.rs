//! Formulas of variables.

use jostle_core::backend::VariableExpression;
use jostle_core::{Dual, Error, Real, Result};
use jostle_potentials::Formula;
use jostle_potentials::formula::Mistake;
use std::collections::HashMap;
use std::sync::Arc;

/// A formula of variables, differentiated by numbers that carry their derivative.
#[derive(Debug, Clone)]
pub struct VariableFormula {
    formula: Arc<Formula>,
    /// Numbers by name.
    numbers: Arc<HashMap<String, f64>>,
    /// Variables that its names stand for, by number.
    pub(crate) variables: Vec<usize>,
}

impl VariableFormula {
    /// Numbers of the variables that it has.
    pub fn variables(&self) -> &[usize] {
        &self.variables
    }

    /// Reads a formula in which names stand for numbers or for variables.
    ///
    /// # Errors
    /// If it cannot be understood, or has a name that stands for nothing, with the place of the mistake.
    pub fn new(
        text: &str,
        numbers: &HashMap<String, f64>,
        variables: &[&str],
    ) -> std::result::Result<Self, Mistake> {
        let formula = Formula::with(text, numbers)?;
        if formula.depends_on_distance() {
            return Err(Mistake {
                at: 0..text.len(),
                message: "r is the distance of a pair, which no variable has".into(),
                hint: "give the variable another name than r".into(),
            });
        }
        let number = |name: &String| {
            variables.iter().position(|variable| variable == name).ok_or_else(|| Mistake {
                at: formula.place_of(name),
                message: format!("there is no variable \"{name}\" before this one"),
                hint: match variables {
                    [] => "define the variables of a formula before it".into(),
                    known => format!("there are {}", known.join(", ")),
                },
            })
        };
        let variables = formula.parameters().iter().map(number).collect::<std::result::Result<_, _>>()?;
        Ok(VariableFormula { formula: formula.into(), numbers: numbers.clone().into(), variables })
    }

    /// The variables of the formula, and the formula of these alone, in this order.
    pub fn numbered(self) -> (Vec<usize>, VariableFormula) {
        let variables = (0..self.variables.len()).collect();
        (self.variables, VariableFormula { formula: self.formula, numbers: self.numbers, variables })
    }

    /// The formula as plain data.
    pub fn expression(&self) -> VariableExpression {
        let mut numbers: Vec<(String, f64)> = self.numbers.iter().map(|(k, x)| (k.clone(), *x)).collect();
        numbers.sort_by(|a, b| a.0.cmp(&b.0));
        let variables = self.formula.parameters().iter().cloned().zip(self.variables.iter().copied());
        VariableExpression { text: self.formula.text().to_string(), numbers, variables: variables.collect() }
    }

    fn evaluate<R: Real>(&self, values: impl Fn(usize) -> R) -> R {
        let parameters: Vec<R> = self.variables.iter().map(|k| values(*k)).collect();
        self.formula.constant(&parameters)
    }

    /// Value for values of all variables.
    pub fn value(&self, values: &[f64]) -> f64 {
        self.evaluate(|k| values[k])
    }

    /// Derivative with one of the variables.
    pub fn slope(&self, values: &[f64], variable: usize) -> f64 {
        let dual = |k: usize| Dual { value: values[k], slope: f64::from(k == variable) };
        self.evaluate(dual).slope
    }
}

/// A formula for devices: from the values of its variables to its value and its derivative with each of them.
///
/// # Errors
/// If it cannot be read.
pub fn with_slopes<R: Real>(expression: &VariableExpression, x: &[R]) -> Result<Vec<R>> {
    let numbers = expression.numbers.iter().cloned().collect();
    let formula =
        Formula::with(&expression.text, &numbers).map_err(|mistake| Error::input(mistake.message))?;
    let slope = |k: usize| {
        let dual = |(j, x): (usize, &R)| Dual { value: *x, slope: R::lit(f64::from(u8::from(j == k))) };
        formula.constant(&x.iter().enumerate().map(dual).collect::<Vec<_>>()).slope
    };
    let value = formula.constant(x);
    Ok(std::iter::once(value).chain((0..x.len()).map(slope)).collect())
}
