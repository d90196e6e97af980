//! Unit systems by name.

use crate::error::OrRaise;
use jostle_core::{Dimension, Error, UnitSystem};
use jostle_io::input::NamedChoice;
use pyo3::prelude::*;

/// The unit system of a name.
///
/// # Errors
/// If there is none.
pub fn unit_system(name: &str) -> jostle_core::Result<UnitSystem> {
    let names = UnitSystem::ALL.map(UnitSystem::name).join(", ");
    UnitSystem::from_name(name).ok_or_else(|| {
        Error::input(format!("there is no unit system \"{name}\"")).hint(format!("there are {names}"))
    })
}

/// Length, energy, time and mass of a unit system in SI units; `None` in reduced units.
///
/// # Errors
/// If there is no such system.
#[pyfunction]
pub fn si(py: Python, units: &str) -> PyResult<Option<[f64; 4]>> {
    let units = unit_system(units).or_raise(py)?;
    let of = |dimension| units.from_si(dimension).map(|units: f64| 1.0 / units);
    let all = [Dimension::LENGTH, Dimension::ENERGY, Dimension::TIME, Dimension::MASS].map(of);
    Ok(all.into_iter().collect::<Option<Vec<f64>>>().and_then(|all| all.try_into().ok()))
}
