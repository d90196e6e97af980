//! PDB (wwPDB format 3.3): ATOM and HETATM of the first model, and CRYST1. Columns are fixed; angstrom.

use super::{Coordinates, cell};
use crate::forcefield::assembly::factor;
use crate::pdb::{Collector, PdbLine};
use crate::structure::Lines;
use jostle_core::{Dimension, Result, UnitSystem};

pub(super) fn read(mut lines: Lines, units: UnitSystem) -> Result<Coordinates> {
    let angstrom = factor(UnitSystem::Real, units, Dimension::LENGTH);
    let (mut found, mut collector) = (Coordinates::default(), Collector::default());
    while let Some(line) = lines.next().map(PdbLine) {
        match line.record() {
            _ if line.is_atom() => {
                found.positions.push(line.position(&lines)?.map(|x| x * angstrom));
                collector.add_line(line);
            }
            "CRYST1" => {
                if let Some((lengths, angles)) = line.cell(&lines)? {
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
    found.alternatives = collector.alternatives();
    found.names = Some(collector.into_names());
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

    /// A column without a number of any atom is not stored.
    #[test]
    fn occupancies_and_b_factors_are_kept_where_they_are() {
        let text = TEXT.replacen("1.00  0.00", "0.25      ", 1).replacen("1.00  0.00", "  no      ", 1);
        let names = read(Lines::new(Path::new("a.pdb"), &text), UnitSystem::Nano).unwrap().names.unwrap();
        assert!(names.occupancy[0] == 0.25 && names.occupancy[1].is_nan(), "{:?}", names.occupancy);
        assert_eq!((names.occupancy.len(), names.b_factor.capacity()), (2, 0));
        let names = read(Lines::new(Path::new("a.pdb"), TEXT), UnitSystem::Nano).unwrap().names.unwrap();
        assert_eq!((names.occupancy, names.b_factor), (vec![1.0; 2], vec![0.0; 2]));
    }

    /// Elements where the columns of the symbol are empty: names in proteins and water tell, no others do.
    #[test]
    fn elements_follow_from_usual_names() {
        let text = |name: &str, residue: &str| {
            format!("ATOM      1 {name:<4} {residue:<4}A   1       2.876   0.867   2.169  1.00  0.00")
        };
        for (name, residue, element) in [
            (" CA", "ALA", "C"),
            ("1HB2", "ALA", "H"),
            ("HG11", "VAL", "H"),
            (" SG", "CYS", "S"),
            (" OW", "HOH", "O"),
            ("SC1", "ALA", ""),
            (" BB", "ALA", ""),
            ("CA", "CAL", ""),
        ] {
            assert_eq!(PdbLine(&text(name, residue)).element(), element, "{name} of {residue}");
        }
    }

    #[test]
    fn damaged_files_are_refused_at_their_line() {
        let bad = TEXT.replace("-2.500", "-2.5x0");
        let error = read(Lines::new(Path::new("a.pdb"), &bad), UnitSystem::Real).unwrap_err();
        assert_eq!(error.place().unwrap().line, Some(3));
        assert!(read(Lines::new(Path::new("a.pdb"), "END\n"), UnitSystem::Real).is_err());
    }
}
