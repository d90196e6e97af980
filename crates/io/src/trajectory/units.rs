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

/// Returns true for unit systems in which formats with units of their own have the numbers as they are: reduced ones, and
/// those of nuclei, whose lengths would vanish in the digits of a file.
pub(super) fn are_written_as_they_are(units: UnitSystem) -> bool {
    units.is_reduced() || units == UnitSystem::Nuclear
}

fn factor(units: UnitSystem, unit: &str, dimension: Dimension) -> f64 {
    match are_written_as_they_are(units) {
        true => 1.0,
        false => parse_quantity(&format!("1 {unit}"), &[dimension], units).map_or(1.0, |(x, _)| 1.0 / x),
    }
}
