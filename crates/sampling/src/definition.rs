//! Definitions of variables and biases as an input has them: selections and named parameters.

use crate::formula::VariableFormula;
use jostle_core::{Dimension, Vec3};

/// A parameter of a kind of variable.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Key in an input file.
    pub name: &'static str,
    /// Explanation in one line.
    pub about: &'static str,
    /// Values that it takes.
    pub values: Values,
    /// Value where it is not given.
    pub default: Absent,
}

/// Values of a parameter.
#[derive(Debug, Clone, Copy)]
pub enum Values {
    /// A positive quantity.
    Quantity(Dimension),
    /// A whole number, at least one.
    Count,
    /// A word out of a few, with explanations.
    Words(fn() -> Vec<(&'static str, &'static str)>),
    /// A formula of other variables.
    Formula,
    /// A name that the run knows.
    Name,
    /// Numbers by name.
    Numbers,
    /// A file with positions.
    File,
}

/// Value of a parameter that is not given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Absent {
    /// The input is refused.
    Refused,
    /// This one, in TOML.
    Value(&'static str),
    /// One of these, by the unit system.
    ByUnits([&'static str; 6]),
    /// None; the words say what happens then.
    None(&'static str),
}

/// Selections of a kind of variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selections {
    /// None.
    None,
    /// One: `atoms` or `group`.
    One,
    /// Two: `between`.
    Two,
    /// So many: `centers`.
    Several(usize),
}

impl Selections {
    /// Number of selections.
    pub fn count(self) -> usize {
        match self {
            Selections::None => 0,
            Selections::One => 1,
            Selections::Two => 2,
            Selections::Several(count) => count,
        }
    }
}

/// Value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number, in the units of the run.
    Number(f64),
    /// A word or the text of a formula.
    Word(String),
    /// Numbers by name.
    Numbers(Vec<(String, f64)>),
}

/// Groups and parameters of a variable.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    /// Numbers of its groups among those of all variables.
    pub groups: Vec<usize>,
    /// Parameters by name, defaults included.
    pub values: Vec<(&'static str, Value)>,
    /// Positions of a reference file, whole, in the order of the atoms of the first group.
    pub reference: Option<Vec<Vec3>>,
    /// The formula, of variables that come before.
    pub formula: Option<VariableFormula>,
}

impl Arguments {
    /// Value of a parameter; NaN where it is not given.
    pub fn number(&self, name: &str) -> f64 {
        let found = self.values.iter().find(|(key, _)| *key == name);
        match found {
            Some((_, Value::Number(x))) => *x,
            _ => f64::NAN,
        }
    }

    /// Word that a parameter has.
    pub fn word(&self, name: &str) -> Option<&str> {
        match self.values.iter().find(|(key, _)| *key == name) {
            Some((_, Value::Word(word))) => Some(word),
            _ => None,
        }
    }

    /// Number of a group.
    pub fn group(&self, which: usize) -> usize {
        self.groups.get(which).copied().unwrap_or(usize::MAX)
    }
}
