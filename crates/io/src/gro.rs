//! Columns of GROMACS' gro files (<https://manual.gromacs.org/current/reference-manual/file-formats.html#gro>):
//! a title, the number of atoms, atoms in columns, the box; nm and ps.

use crate::structure::Lines;
use jostle_core::{Error, Names, Result, SimBox, Vec3, Vector};
use std::fmt::Write as _;

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
        let position = Vector([number(0, "x")?, number(1, "y")?, number(2, "z")?]);
        // Velocities have one digit more behind the point, and the width of positions.
        let velocity = match line.len() > FIRST + 3 * width {
            true => Some(Vector([number(3, "vx")?, number(4, "vy")?, number(5, "vz")?])),
            false => None,
        };
        Ok(GroAtom { residue: [field(0, 5), field(5, 10)], name: field(10, 15), position, velocity })
    }
}

/// Number of atoms of a frame, and the line that says it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroCount {
    pub atoms: u64,
    pub line: usize,
}

impl GroCount {
    /// Reads the line of an atom, which is the one of this number from 0.
    ///
    /// # Errors
    /// Errors of [`GroAtom::read`], or if the box stands there.
    pub fn read_atom<'a>(self, number: usize, lines: &Lines, line: &'a str) -> Result<GroAtom<'a>> {
        // Numbers of a box have points where atoms have their names.
        if line.get(5..15).is_some_and(|names| names.contains('.')) && box_edges(lines, line).is_ok() {
            let GroCount { atoms, line } = self;
            let message =
                format!("the box stands here, but by line {line} atom {} of {atoms} should", number + 1);
            return Err(lines.error(message).hint("that number is too large, or lines are missing"));
        }
        GroAtom::read(lines, line)
    }

    /// Edges of the box; all zero where there is none.
    ///
    /// # Errors
    /// If the line has neither three nor nine numbers.
    pub fn read_box(self, lines: &Lines, line: &str) -> Result<[Vec3; 3]> {
        box_edges(lines, line).map_err(|error| match GroAtom::read(lines, line) {
            Ok(_) => {
                let GroCount { atoms, line } = self;
                let message =
                    format!("an atom stands here, but by line {line} there are {atoms} and then the box");
                lines.error(message).hint("that number is too small, or lines are too many")
            }
            Err(_) => error,
        })
    }

    /// Velocities of all atoms, or of none.
    ///
    /// # Errors
    /// If only some have one.
    pub fn all_velocities(self, lines: &Lines, velocities: Vec<Vec3>) -> Result<Option<Vec<Vec3>>> {
        match velocities.len() as u64 {
            0 => Ok(None),
            n if n == self.atoms => Ok(Some(velocities)),
            n => Err(lines
                .error(format!("{n} of the {} atoms before this line have velocities", self.atoms))
                .hint("all lines of atoms have velocities, or none has")),
        }
    }
}

fn box_edges(lines: &Lines, line: &str) -> Result<[Vec3; 3]> {
    let numbers: Vec<f64> =
        line.split_whitespace().map(|word| lines.number(Some(word), "the box")).collect::<Result<_>>()?;
    match numbers[..] {
        [a, b, c] => Ok([Vector([a, 0.0, 0.0]), Vector([0.0, b, 0.0]), Vector([0.0, 0.0, c])]),
        [xx, yy, zz, xy, xz, yx, yz, zx, zy] => {
            Ok([Vector([xx, xy, xz]), Vector([yx, yy, yz]), Vector([zx, zy, zz])])
        }
        _ => Err(lines.lacking("the box has neither three nor nine numbers")),
    }
}

/// Letters that a name has room for.
const NAME: usize = 5;

/// Decimals of positions. Readers of the format take their number from the distance of the points, which is five more.
/// OpenMM's looks for numbers in the columns of three decimals, too: with nine it finds some there, with four to eight
/// none.
const DECIMALS: usize = 9;
/// Width of the column of a coordinate.
const WIDTH: usize = DECIMALS + 5;

/// Text of a gro file for the start of a simulation: positions and box in nm, to 1e-9 nm.
///
/// # Errors
/// If a name has more than five letters, or an atom is too far away for the columns.
pub fn structure(title: &str, names: &Names, positions: &[Vec3], simbox: &SimBox) -> Result<String> {
    let residues = names.residues.iter().map(|residue| &residue.name);
    let mut all = names.atoms.iter().map(|atom| &atom.name).chain(residues);
    if let Some(name) = all.find(|name| name.len() > NAME) {
        return Err(Error::input(format!("the name \"{name}\" has more than five letters"))
            .hint("the columns of gro files have no room for it; give atoms and residues shorter names"));
    }
    let mut text = format!("{}\n{:5}\n", title.replace('\n', " "), positions.len());
    for (id, r) in positions.iter().enumerate() {
        if !r.iter().all(|x| (-999.0..9999.0).contains(x)) {
            let message = format!("{} is too far away for a gro file: {r:?} nm", names.describe(id as u32));
            return Err(Error::input(message));
        }
        let atom = names.atoms.get(id);
        let residue = atom.and_then(|atom| names.residues.get(atom.residue as usize));
        // Numbers that are too large for their columns begin anew; atoms are known by their order.
        let (serial, number) = ((id + 1) % 100_000, residue.map_or(1, |r| r.number).rem_euclid(100_000));
        let (residue, atom) = (residue.map_or("MOL", |r| &r.name), atom.map_or("X", |a| &a.name));
        let _ = write!(text, "{number:5}{residue:<5}{atom:>5}{serial:5}");
        r.iter().for_each(|x| {
            let _ = write!(text, "{x:WIDTH$.DECIMALS$}");
        });
        text.push('\n');
    }
    let [a, b, c] = simbox.edges();
    let mut edges = vec![a[0], b[1], c[2]];
    if !simbox.is_orthorhombic() {
        edges.extend([a[1], a[2], b[0], b[2], c[0], c[1]]);
    }
    let edges: Vec<String> = edges.iter().map(|x| format!("{x:.9}")).collect();
    let _ = writeln!(text, "   {}", edges.join("  "));
    Ok(text)
}
