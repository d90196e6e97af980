//! First positions on the constraints, and a warning where those of the files are far from them.

use crate::report::{Warning, WarningKind};
use jostle_core::constraints::put_on_constraints;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Result, System, UnitSystem};

/// Move of an atom over the length of a constraint that needs no warning: digits of gro files, which end at 0.001 nm,
/// leave 2% of the shortest bond.
const NEAR: f64 = 0.05;

/// Moves the atoms of a system onto its constraints, as the first step of a run does; warns where one is moved far.
///
/// # Errors
/// If atoms are too far from their constraints.
pub fn begin_on_constraints(system: &mut System, units: UnitSystem) -> Result<Option<Warning>> {
    let moved = put_on_constraints(system)?;
    Ok(moved.filter(|moved| moved.distance > NEAR * moved.length).map(|moved| {
        let (name, unit) = (system.names.describe(moved.id), unit_name(units, Dimension::LENGTH));
        let message = format!(
            "the coordinates are far from the constraints: {name} is moved by {:.4} {unit}, where the shortest constraint \
             has {:.4} {unit}; minimise without constraints first, or look at the coordinates",
            moved.distance, moved.length
        );
        Warning { kind: WarningKind::Constraints, message }
    }))
}
