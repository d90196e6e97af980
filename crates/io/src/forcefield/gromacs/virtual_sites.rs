//! Virtual sites of GROMACS by the functions of its manual: 2, 2fd, 3, 3fd, 3fad and 3out.

use super::super::assembly::TOWARDS;
use super::preprocess::SourceLine;
use super::types::ParameterRow;
use jostle_core::{LocalFrame, Result, SiteRule};

/// Rule by which a virtual site follows this number of atoms.
///
/// # Errors
/// If the function is another one, or has too few parameters.
pub(super) fn rule(line: &SourceLine, row: &ParameterRow, atoms: usize) -> Result<SiteRule> {
    let frame = |x, place| SiteRule::Frame(LocalFrame { x, place, ..TOWARDS });
    Ok(match (atoms, row.function, &row.parameters[..]) {
        (2, 1, [a, ..]) => SiteRule::Average([1.0 - a, *a, 0.0]),
        (2, 2, [distance, ..]) => frame(TOWARDS.x, [*distance, 0.0, 0.0]),
        (3, 1, [a, b, ..]) => SiteRule::Average([1.0 - a - b, *a, *b]),
        (3, 2, [a, distance, ..]) => frame([1.0 - a, *a], [*distance, 0.0, 0.0]),
        (3, 3, [angle, distance, ..]) => {
            let (sin, cos) = angle.to_radians().sin_cos();
            frame(TOWARDS.x, [distance * cos, distance * sin, 0.0])
        }
        (3, 4, [a, b, c, ..]) => SiteRule::OutOfPlane([*a, *b, *c]),
        (_, 1 | 2, _) | (3, 3 | 4, _) => {
            return Err(line.error("this virtual site has too few parameters"));
        }
        (_, function, _) => {
            let message = format!("the function {function} of virtual sites of {atoms} atoms is not read");
            return Err(line.error(message).hint("1 and 2 of two atoms, and 1 to 4 of three are"));
        }
    })
}
