//! Units of the run in those of a format.

use jostle_core::quantity::parse_quantity;
use jostle_core::{Dimension, UnitSystem};

/// Unit of length of the run, in `unit`.
pub(super) fn length_factor(units: UnitSystem, unit: &str) -> f64 {
    factor(units, unit, Dimension::LENGTH)
}

/// Unit of time of the run, in ps.
pub(super) fn picoseconds(units: UnitSystem) -> f64 {
    factor(units, "ps", Dimension::TIME)
}

fn factor(units: UnitSystem, unit: &str, dimension: Dimension) -> f64 {
    match units {
        UnitSystem::Lj | UnitSystem::Nuclear | UnitSystem::Plasma => 1.0,
        _ => parse_quantity(&format!("1 {unit}"), &[dimension], units).map_or(1.0, |(x, _)| 1.0 / x),
    }
}
