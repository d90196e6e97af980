//! Potentials that users write down: `energy = "4 epsilon ((sigma/r)^12 - (sigma/r)^6)"`.
//!
//! A formula is read into a normal form ([`algebra`]), differentiated, and turned into a short list
//! of steps ([`program`]), which runs on every kind of number that the potentials of the registry
//! run on: it becomes CUDA source, SIMD registers or plain f64. What does not depend on the distance
//! is computed once for each pair of species.

pub mod algebra;
mod lower;
mod parse;
pub mod program;
mod resolve;
mod scan;
pub mod tape;

pub use parse::{FUNCTIONS, Mistake};
pub use program::{Program, Step, StepIndex};
pub use resolve::FormulaForce;

use algebra::{Algebra, Sum};
use jostle_core::Real;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;

/// Longer texts are not read.
const LONGEST_TEXT: usize = 4000;

/// An energy as a function of the distance r, with named parameters.
///
/// ```
/// use jostle_potentials::Formula;
/// let formula = Formula::new("4 epsilon [(sigma/r)^12 - (sigma/r)^6]").unwrap();
/// assert_eq!(formula.parameters(), ["epsilon", "sigma"]);
/// let c = formula.coefficients(&[1.0, 1.0]);
/// let (energy, force_over_r) = formula.evaluate(1.0, &c);
/// assert_eq!((energy, force_over_r), (0.0, 24.0));
/// ```
#[derive(Clone, Serialize, Deserialize)]
pub struct Formula {
    text: String,
    parameters: Vec<String>,
    algebra: Algebra,
    program: Program,
    coefficients: Vec<Sum>,
    energy: Sum,
    end: Option<Sum>,
}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Formula").field("text", &self.text).field("parameters", &self.parameters).finish()
    }
}

impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.parameters == other.parameters && self.program == other.program
    }
}

impl Formula {
    /// Reads a formula. Names other than `r`, `pi` and functions are its parameters.
    ///
    /// # Errors
    /// If it cannot be understood.
    pub fn new(text: &str) -> Result<Formula, Mistake> {
        Formula::with(text, &HashMap::new())
    }

    /// Reads a formula in which some names stand for numbers: their parts are computed now.
    ///
    /// # Errors
    /// If it cannot be understood.
    pub fn with(text: &str, known: &HashMap<String, f64>) -> Result<Formula, Mistake> {
        let too_long = || Mistake {
            at: 0..text.len(),
            message: "the formula is too long".into(),
            hint: "write it in fewer operations, or make a table of it".into(),
        };
        if text.len() > LONGEST_TEXT {
            return Err(too_long());
        }
        let mut parsed = parse::parse(text, known)?;
        let Some((program, coefficients)) = lower::lower(&mut parsed.algebra, &parsed.energy) else {
            return Err(too_long());
        };
        Ok(Formula {
            text: text.to_string(),
            parameters: parsed.parameters.into_iter().map(|p| p.0).collect(),
            algebra: parsed.algebra,
            program,
            coefficients,
            energy: parsed.energy,
            end: parsed.end,
        })
    }

    /// Place of the first use of a parameter, in bytes of the text.
    pub fn place_of(&self, parameter: &str) -> std::ops::Range<usize> {
        let parsed = parse::parse(&self.text, &HashMap::new()).unwrap_or_default();
        parsed.parameters.into_iter().find(|p| p.0 == parameter).map_or(0..self.text.len(), |p| p.1)
    }

    /// The formula as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names of its parameters, in the order of their first use.
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// Steps that are computed for every pair of atoms.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Number of coefficients that [`Formula::evaluate`] takes.
    pub fn n_coefficients(&self) -> usize {
        self.coefficients.len()
    }

    /// Coefficients, which do not depend on the distance, for the parameters of a pair of species.
    pub fn coefficients(&self, parameters: &[f64]) -> Vec<f64> {
        self.coefficients.iter().map(|c| self.algebra.value(c, parameters)).collect()
    }

    /// Distance at which the energy ends by itself: the expression after `, r <`.
    pub fn end(&self, parameters: &[f64]) -> Option<f64> {
        self.end.as_ref().map(|end| self.algebra.value(end, parameters))
    }

    /// Returns true where the distance r is in the formula.
    pub fn depends_on_distance(&self) -> bool {
        self.program.steps.iter().any(|step| matches!(step, Step::Square))
    }

    /// Value of a formula that does not depend on the distance, for its parameters; NaN if it does.
    pub fn constant<R: Real>(&self, parameters: &[R]) -> R {
        self.algebra.value(&self.energy, parameters)
    }

    /// Energy and force over distance, -(du/dr) / r, at a squared distance.
    pub fn evaluate<R: Real>(&self, r2: R, c: &[R]) -> (R, R) {
        self.program.evaluate(r2, c)
    }

    /// A distance below the cut-off, and not much nearer than a hundredth of it, at which energy or
    /// force is not a finite number.
    pub fn not_finite(&self, coefficients: &[f64], cutoff: f64) -> Option<f64> {
        scan::not_finite(&self.program, coefficients, cutoff)
    }

    /// A distance below the cut-off, and not nearer than a hundredth of it, at which the energy jumps, with the energies
    /// inside and outside of it.
    pub fn jump(&self, coefficients: &[f64], cutoff: f64) -> Option<(f64, [f64; 2])> {
        scan::jump(&self.program, coefficients, cutoff)
    }
}

#[cfg(test)]
mod tests;
