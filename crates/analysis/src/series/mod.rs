//! Analysis of what was measured of the system as a whole, the rows of `thermo.csv`: one file a
//! kind and one line in [`ALL`].

mod heat_capacity;
mod viscosity;

use crate::report::Results;
use crate::settings::{Setting, Settings};
use jostle_core::{Error, Result, UnitSystem};

/// Quantities of one system over time, in user units.
#[derive(Debug, Clone)]
pub struct Series {
    /// The unit system.
    pub units: UnitSystem,
    /// How many atoms there are.
    pub atoms: usize,
    /// What temperatures are counted with.
    pub degrees_of_freedom: usize,
    /// The volume of the box.
    pub volume: f64,
    /// The times of the rows.
    pub time: Vec<f64>,
    /// Names and values, as in `thermo.csv`.
    pub columns: Vec<(String, Vec<f64>)>,
}

/// A kind of analysis.
#[derive(Debug, Clone, Copy)]
pub struct SeriesKind {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// What can be set.
    pub settings: &'static [Setting],
    /// Does it.
    pub analyze: fn(&Series, &Settings) -> Result<Results>,
}

/// All kinds.
pub static ALL: &[SeriesKind] = &[viscosity::KIND, heat_capacity::KIND];

/// The kind with this name.
pub fn find(name: &str) -> Option<&'static SeriesKind> {
    ALL.iter().find(|k| k.name == name)
}

impl Series {
    /// All values of a quantity.
    ///
    /// # Errors
    /// If there are none, or one is missing.
    pub fn column(&self, name: &str) -> Result<&[f64]> {
        let found = self.columns.iter().find(|(n, _)| n == name).map(|(_, values)| values.as_slice());
        found.filter(|values| values.iter().all(|v| v.is_finite())).ok_or_else(|| {
            Error::input(format!("the stage has no {name}"))
                .hint("a box that is open along an axis has no pressure, a minimisation no velocities")
        })
    }
}
