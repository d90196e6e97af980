//! GROMACS' coordinates (gro): a title, the number of atoms, atoms in columns, the box; nm.

use super::Coordinates;
use crate::forcefield::assembly::factor;
use crate::forcefield::edges_to_box;
use crate::structure::Lines;
use jostle_core::{AtomName, Dimension, Names, Residue, Result, UnitSystem, Vec3};

/// Column at which the numbers begin.
const FIRST: usize = 20;

pub(super) fn read(mut lines: Lines, units: UnitSystem) -> Result<Coordinates> {
    let _title = lines.next();
    let n: usize = lines.parse(lines.clone().next().map(str::trim), "the number of atoms")?;
    lines.next();
    let length = factor(UnitSystem::Nano, units, Dimension::LENGTH);
    let velocity = factor(UnitSystem::Nano, units, Dimension::VELOCITY);
    let (mut found, mut names) = (Coordinates::default(), Names::default());
    let (mut velocities, mut last) = (Vec::new(), None);
    for k in 0..n {
        let Some(line) = lines.next() else {
            return Err(lines.error(format!("the file ends after {k} of {n} atoms")));
        };
        let field = |from: usize, to: usize| line.get(from..to.min(line.len())).unwrap_or("").trim();
        // Numbers are as wide as their points are apart.
        let numbers = line.get(FIRST..).unwrap_or("");
        let mut points = numbers.match_indices('.').map(|(at, _)| at);
        let width = points.next().zip(points.next()).map(|(a, b)| b - a);
        let width = width.ok_or_else(|| lines.error("an atom has no coordinates"))?;
        let number = |k: usize, what: &str| {
            let from = FIRST + k * width;
            lines.number(Some(field(from, from + width)), what)
        };
        let position: Vec3 = [number(0, "x")?, number(1, "y")?, number(2, "z")?];
        found.positions.push(position.map(|x| x * length));
        // Velocities have one digit more behind the point, and the same width.
        if line.trim_end().len() > FIRST + 3 * width {
            let v: Vec3 = [number(3, "vx")?, number(4, "vy")?, number(5, "vz")?];
            velocities.push(v.map(|x| x * velocity));
        }
        let residue = (field(0, 5), field(5, 10));
        if last != Some(residue) {
            last = Some(residue);
            names.residues.push(Residue {
                name: residue.1.to_string(),
                number: residue.0.parse().unwrap_or(0),
                chain: String::new(),
            });
        }
        let residue = names.residues.len() as u32 - 1;
        names.atoms.push(AtomName { name: field(10, 15).to_string(), element: String::new(), residue });
    }
    let line = lines.next().ok_or_else(|| lines.error("the file ends before the box"))?;
    let edges: Vec<f64> =
        line.split_whitespace().map(|word| lines.number(Some(word), "the box")).collect::<Result<_>>()?;
    let edges = match edges[..] {
        [a, b, c] => [[a, 0.0, 0.0], [0.0, b, 0.0], [0.0, 0.0, c]],
        [xx, yy, zz, xy, xz, yx, yz, zx, zy] => [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]],
        _ => return Err(lines.error("the box has neither three nor nine numbers")),
    };
    // A box of nothing stands where there is none.
    if edges.as_flattened().iter().any(|x| *x != 0.0) {
        let simbox = edges_to_box(edges.map(|edge| edge.map(|x| x * length)));
        found.simbox = Some(simbox.map_err(|e| lines.error(e.message()))?);
    }
    found.velocities = (velocities.len() == n && n > 0).then_some(velocities);
    found.names = Some(names);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TEXT: &str = "water
    2
    1WATER  OW1    1   0.126   1.624   1.679  0.1227 -0.0580  0.0434
    1WATER  HW2    2   0.190   1.661   1.747  0.8085  0.3191 -0.7791
   1.82060   1.82060   1.82060
";

    #[test]
    fn atoms_velocities_and_box_are_read() {
        let found = read(Lines::new(Path::new("a.gro"), TEXT), UnitSystem::Real).unwrap();
        assert!((found.positions[1][2] - 17.47).abs() < 1e-12);
        assert!((found.velocities.unwrap()[0][1] + 0.00058).abs() < 1e-15);
        assert!((found.simbox.unwrap().lengths()[0] - 18.206).abs() < 1e-12);
        assert_eq!(found.names.unwrap().describe(1), "atom 2 (HW2 of WATER 1)");
    }

    #[test]
    fn damaged_files_are_refused() {
        for (from, to) in
            [("    2\n", "    3\n"), ("1.679", "1.6x9"), ("   1.82060   1.82060   1.82060", "1 2")]
        {
            let text = TEXT.replacen(from, to, 1);
            assert!(read(Lines::new(Path::new("a.gro"), &text), UnitSystem::Nano).is_err(), "{to}");
        }
    }
}
