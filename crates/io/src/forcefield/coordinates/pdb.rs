//! PDB (wwPDB format 3.3): ATOM and HETATM of the first model, and CRYST1. Columns are fixed; angstrom.

use super::{Coordinates, cell};
use crate::forcefield::assembly::factor;
use crate::structure::Lines;
use jostle_core::{AtomName, Dimension, Names, Residue, Result, UnitSystem, Vec3};

pub(super) fn read(mut lines: Lines, units: UnitSystem) -> Result<Coordinates> {
    let angstrom = factor(UnitSystem::Real, units, Dimension::LENGTH);
    let (mut found, mut names) = (Coordinates::default(), Names::default());
    let mut last = None;
    while let Some(line) = lines.next() {
        let field = |from: usize, to: usize| line.get(from..to.min(line.len())).unwrap_or("").trim();
        let number = |from: usize, to: usize, what: &str| lines.number(Some(field(from, to)), what);
        match field(0, 6) {
            "ATOM" | "HETATM" => {
                let position: Vec3 = [number(30, 38, "x")?, number(38, 46, "y")?, number(46, 54, "z")?];
                found.positions.push(position.map(|x| x * angstrom));
                // Insertion codes and what follows the last number tell residues apart, too.
                let residue = (field(17, 21), field(21, 27), field(72, 76));
                if last != Some(residue) {
                    last = Some(residue);
                    let chain = if field(21, 22).is_empty() { field(72, 76) } else { field(21, 22) };
                    names.residues.push(Residue {
                        name: residue.0.to_string(),
                        number: field(22, 26).parse().unwrap_or(0),
                        chain: chain.to_string(),
                    });
                }
                names.atoms.push(AtomName {
                    name: field(12, 16).to_string(),
                    element: field(76, 78).to_string(),
                    residue: names.residues.len() as u32 - 1,
                });
            }
            "CRYST1" => {
                let lengths = [number(6, 15, "a")?, number(15, 24, "b")?, number(24, 33, "c")?];
                let angles = [number(33, 40, "alpha")?, number(40, 47, "beta")?, number(47, 54, "gamma")?];
                // A cube of one angstrom stands where there is no crystal.
                if lengths != [1.0; 3] && lengths != [0.0; 3] {
                    let simbox = cell(lengths.map(|x| x * angstrom), angles);
                    found.simbox = Some(simbox.map_err(|e| lines.error(e.message()))?);
                }
            }
            "ENDMDL" => break,
            _ => {}
        }
    }
    if found.positions.is_empty() {
        return Err(lines.error("the file has no ATOM").hint("is it a PDB file?"));
    }
    found.names = Some(names);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TEXT: &str = "\
CRYST1   30.000   40.000   50.000  90.00  90.00  90.00 P 1           1
ATOM      1  N   ALA A   1       2.876   0.867   2.169  1.00  0.00           N
HETATM    2 NA   NA  A   2      -2.500  10.000   0.250  1.00  0.00      ION NA
ENDMDL
ATOM      3  N   ALA A   1       2.876   0.867   2.169  1.00  0.00           N
";

    #[test]
    fn atoms_and_box_of_the_first_model_are_read() {
        let found = read(Lines::new(Path::new("a.pdb"), TEXT), UnitSystem::Nano).unwrap();
        assert_eq!(found.positions.len(), 2);
        assert!((found.positions[1][1] - 1.0).abs() < 1e-14);
        assert!((found.simbox.unwrap().lengths()[2] - 5.0).abs() < 1e-14);
        let names = found.names.unwrap();
        assert_eq!(names.describe(0), "atom 1 (N of ALA 1, chain A)");
        assert_eq!((names.atoms[1].name.as_str(), names.atoms[1].element.as_str()), ("NA", "NA"));
    }

    #[test]
    fn damaged_files_are_refused_at_their_line() {
        let bad = TEXT.replace("-2.500", "-2.5x0");
        let error = read(Lines::new(Path::new("a.pdb"), &bad), UnitSystem::Real).unwrap_err();
        assert_eq!(error.place().unwrap().line, Some(3));
        assert!(read(Lines::new(Path::new("a.pdb"), "END\n"), UnitSystem::Real).is_err());
    }
}
