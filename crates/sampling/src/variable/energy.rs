//! Potential energy of the forces of a run, or that of one term of them.

use super::{Origin, Unit, Variable, VariableKind};
use crate::definition::{Absent, Parameter, Selections, Values};
use crate::frame::{Frame, Gradient};
use jostle_core::{Dimension, Error, Result};

pub(super) const KIND: VariableKind = VariableKind {
    name: "energy",
    about: "potential energy of all forces without biases, which a bias may act on; or that of one term, which none can act on; known during a run alone",
    selections: Selections::None,
    parameters: &[Parameter {
        name: TERM,
        about: "name of its column in thermo.csv, such as \"lennard_jones\"",
        values: Values::Name,
        default: Absent::None("all terms together"),
    }],
    unit: Unit::Dimension(Dimension::ENERGY),
    frame: Origin::Relative,
    build: |arguments| Ok(Box::new(Energy { term: arguments.word(TERM).map(str::to_string) })),
};

/// Key of the term.
pub(super) const TERM: &str = "term";

struct Energy {
    /// Name of the term; `None`: all of them.
    term: Option<String>,
}

impl Variable for Energy {
    fn value(&self, frame: &Frame) -> Result<f64> {
        let Some(energies) = frame.energies else {
            return Err(Error::input("energies are known during a run alone, not along a trajectory")
                .hint("they are columns of thermo.csv"));
        };
        match &self.term {
            None => Ok(energies.sum()),
            Some(term) => energies.of(term).ok_or_else(|| unknown_term(term, &energies.names)),
        }
    }

    /// Forces are minus the derivative of the energy of all terms: they are scaled.
    fn add_gradient(&self, _frame: &Frame, weight: f64, gradient: &mut Gradient) {
        gradient.potential += weight;
    }

    fn has_gradient(&self) -> bool {
        self.term.is_none()
    }
}

/// Error about a term that no force has.
fn unknown_term(term: &str, names: &[String]) -> Error {
    let error = Error::input(format!("there is no term \"{term}\""));
    match names {
        [] => error.hint("there are no forces"),
        names => error.hint(format!("the terms are {}", names.join(", "))),
    }
}

/// Refuses a term that is not among these.
///
/// # Errors
/// If there is no such term.
pub fn check_term(term: &str, names: &[String]) -> Result<()> {
    if names.iter().any(|name| name == term) { Ok(()) } else { Err(unknown_term(term, names)) }
}
