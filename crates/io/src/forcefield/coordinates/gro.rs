//! GROMACS' coordinates (gro).

use super::Coordinates;
use crate::forcefield::assembly::factor;
use crate::forcefield::edges_to_box;
use crate::gro::GroCount;
use crate::structure::Lines;
use jostle_core::{AtomName, Components, Dimension, Names, Residue, Result, UnitSystem};

pub(super) fn read(mut lines: Lines, units: UnitSystem) -> Result<Coordinates> {
    let _title = lines.next();
    let n: usize = lines.parse(lines.clone().next().map(str::trim), "the number of atoms")?;
    lines.next();
    let count = GroCount { atoms: n as u64, line: lines.at() };
    let length = factor(UnitSystem::Nano, units, Dimension::LENGTH);
    let velocity = factor(UnitSystem::Nano, units, Dimension::VELOCITY);
    let (mut found, mut names) = (Coordinates::default(), Names::default());
    let (mut velocities, mut last) = (Vec::new(), None);
    for k in 0..n {
        let Some(line) = lines.next() else {
            return Err(lines
                .error(format!("the file ends after {k} of {n} atoms"))
                .hint("the file seems to be truncated; make or copy it again"));
        };
        let atom = count.read_atom(k, &lines, line)?;
        found.positions.push(atom.position.map(|x| x * length));
        velocities.extend(atom.velocity.map(|v| v.map(|x| x * velocity)));
        if last != Some(atom.residue) {
            last = Some(atom.residue);
            let [number, name] = atom.residue;
            names.residues.push(Residue {
                name: name.to_string(),
                number: number.parse().unwrap_or(0),
                ..Residue::default()
            });
        }
        let residue = names.residues.len() as u32 - 1;
        names.atoms.push(AtomName { name: atom.name.to_string(), element: String::new(), residue });
    }
    let line = lines.next().ok_or_else(|| lines.error("the file ends before the box"))?;
    let edges = count.read_box(&lines, line)?;
    if edges.as_flattened().iter().any(|x| *x != 0.0) {
        let simbox = edges_to_box(edges.map(|edge| edge.map(|x| x * length)));
        found.simbox = Some(simbox.map_err(|e| lines.error(e.message()))?);
    }
    found.velocities = count.all_velocities(&lines, velocities)?;
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
        for (from, to, message) in [
            ("    2\n", "    3\n", "the box stands here, but by line 2 atom 3 of 3 should"),
            ("    2\n", "    1\n", "an atom stands here, but by line 2 there are 1 and then the box"),
            ("1.679", "1.6x9", "z cannot be read from \"1.6x9\""),
            ("   1.82060   1.82060   1.82060", "1 2", "neither three nor nine"),
            ("  0.1227 -0.0580  0.0434", "", "1 of the 2 atoms before this line have velocities"),
            (
                " -0.7791\n   1.82060   1.82060   1.82060\n",
                "",
                "vz cannot be read from \"\": the file ends within",
            ),
            ("  1.82060\n", "", "neither three nor nine numbers: the file ends within this line"),
        ] {
            let text = TEXT.replacen(from, to, 1);
            let error = read(Lines::new(Path::new("a.gro"), &text), UnitSystem::Nano).unwrap_err();
            assert!(error.message().contains(message) && error.place().unwrap().line.is_some(), "{error}");
        }
    }
}
