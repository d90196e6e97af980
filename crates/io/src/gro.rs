//! Columns of GROMACS' gro files (<https://manual.gromacs.org/current/reference-manual/file-formats.html#gro>):
//! a title, the number of atoms, atoms in columns, the box; nm and ps.

use crate::structure::Lines;
use jostle_core::{Result, Vec3};

/// Column at which the numbers begin.
const FIRST: usize = 20;

/// Line of an atom.
pub(crate) struct GroAtom<'a> {
    /// Number and name of the residue.
    pub residue: [&'a str; 2],
    /// Name.
    pub name: &'a str,
    /// Position.
    pub position: Vec3,
    /// Velocity, where the line has one.
    pub velocity: Option<Vec3>,
}

impl<'a> GroAtom<'a> {
    /// Reads the line of an atom.
    ///
    /// # Errors
    /// If there are no numbers.
    pub fn read(lines: &Lines, line: &'a str) -> Result<Self> {
        let line = line.trim_end();
        let field = |from: usize, to: usize| line.get(from..to.min(line.len())).unwrap_or("").trim();
        // Numbers are as wide as their points are apart.
        let mut points = line.get(FIRST..).unwrap_or("").match_indices('.').map(|(at, _)| at);
        let width = points.next().zip(points.next()).map(|(a, b)| b - a);
        let no_coordinates = || {
            lines
                .error("an atom has no coordinates in the columns behind the twentieth")
                .hint("the file is truncated, or is no gro file")
        };
        let width = width.filter(|width| line.len() > FIRST + 2 * width).ok_or_else(no_coordinates)?;
        let number = |k: usize, what: &str| {
            let from = FIRST + k * width;
            lines.number(Some(field(from, from + width)), what)
        };
        let position = [number(0, "x")?, number(1, "y")?, number(2, "z")?];
        // Velocities have one digit more behind the point, and the width of positions.
        let velocity = match line.len() > FIRST + 3 * width {
            true => Some([number(3, "vx")?, number(4, "vy")?, number(5, "vz")?]),
            false => None,
        };
        Ok(GroAtom { residue: [field(0, 5), field(5, 10)], name: field(10, 15), position, velocity })
    }
}

/// Edges of the box; all zero where there is none.
///
/// # Errors
/// If the line has neither three nor nine numbers.
pub(crate) fn box_edges(lines: &Lines, line: &str) -> Result<[Vec3; 3]> {
    let numbers: Vec<f64> =
        line.split_whitespace().map(|word| lines.number(Some(word), "the box")).collect::<Result<_>>()?;
    match numbers[..] {
        [a, b, c] => Ok([[a, 0.0, 0.0], [0.0, b, 0.0], [0.0, 0.0, c]]),
        [xx, yy, zz, xy, xz, yx, yz, zx, zy] => Ok([[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]]),
        _ => Err(lines.error("the box has neither three nor nine numbers")),
    }
}
