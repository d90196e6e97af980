//! mmCIF: the atoms of the first model, and the cell; angstrom.

use super::Coordinates;
use crate::forcefield::assembly::factor;
use crate::trajectory::first_of_mmcif;
use jostle_core::{Dimension, Result, SimBox, UnitSystem, Vec3};
use std::path::Path;

pub(super) fn read(path: &Path, text: &str, units: UnitSystem) -> Result<Coordinates> {
    let angstrom = factor(UnitSystem::Real, units, Dimension::LENGTH);
    let (frame, names, alternatives) = first_of_mmcif(path, text)?;
    let scaled = |v: Vec3| v * angstrom;
    let simbox = Some(frame.simbox).filter(|simbox| simbox.periodic() == [true; 3]);
    let in_units = |simbox: SimBox| simbox.converted(|x| x * angstrom);
    Ok(Coordinates {
        positions: frame.positions.into_iter().map(scaled).collect(),
        simbox: simbox.map(in_units).transpose()?,
        names: Some(names),
        alternatives,
        ..Coordinates::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Atoms as the Protein Data Bank writes them.
    const TEXT: &str = "\
data_1ABC
#
_entry.id   1ABC
_cell.length_a           30.000
_cell.length_b           40.00(2)
_cell.length_c           50.000
_cell.angle_alpha        90.00
_cell.angle_beta         90.00
_cell.angle_gamma        90.00
_struct.title
;A protein
loop_ in its title
;
#
loop_
_atom_site.group_PDB
_atom_site.id
_atom_site.type_symbol
_atom_site.label_atom_id
_atom_site.label_alt_id
_atom_site.label_comp_id
_atom_site.label_asym_id
_atom_site.label_entity_id
_atom_site.label_seq_id
_atom_site.pdbx_PDB_ins_code
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
_atom_site.occupancy
_atom_site.auth_seq_id
_atom_site.auth_comp_id
_atom_site.auth_asym_id
_atom_site.auth_atom_id
_atom_site.pdbx_PDB_model_num
ATOM   1 N  N     . ALA A 1 1 ? 2.876  0.867  2.169 1.00 11 ALA B N     1
ATOM   2 O  \"O5'\" . ALA A 1 1 ? -2.500 10.000 0.250 1.00 11 ALA B \"O5'\" 1
HETATM 3 NA NA    . NA  C 2 . ? 0.1 0.2
0.3 1.00 101 NA D NA 1
ATOM   1 N  N     . ALA A 1 1 ? 9.0 9.0 9.0 1.00 11 ALA B N     2
#
";

    #[test]
    fn atoms_and_cell_of_the_first_model_are_read() {
        let found = read(Path::new("a.cif"), TEXT, UnitSystem::Nano).unwrap();
        assert_eq!(found.positions.len(), 3);
        assert!((found.positions[1][1] - 1.0).abs() < 1e-14 && (found.positions[2][2] - 0.03).abs() < 1e-14);
        assert!((found.simbox.unwrap().lengths()[1] - 4.0).abs() < 1e-14);
        let names = found.names.unwrap();
        assert_eq!(names.describe(1), "atom 2 (O5' of ALA 11, chain B)");
        assert_eq!((names.residues.len(), names.atoms[2].element.as_str()), (2, "NA"));
        assert_eq!((names.occupancy, names.b_factor), (vec![1.0; 3], vec![]));
        let free = TEXT.replace("_cell.", "_other.");
        assert!(read(Path::new("a.cif"), &free, UnitSystem::Nano).unwrap().simbox.is_none());
    }

    #[test]
    fn damaged_files_are_refused_at_their_line() {
        let line = |from: &str, to: &str| {
            let bad = TEXT.replacen(from, to, 1);
            let error = read(Path::new("a.cif"), &bad, UnitSystem::Real).unwrap_err();
            error.place().unwrap().line
        };
        assert_eq!(line("-2.500", "-2.5x0"), Some(36));
        let rest = TEXT.split_once("0.3 1.00").unwrap().1;
        assert_eq!(line(&format!("0.3 1.00{rest}"), ""), Some(37));
        assert_eq!(line("_atom_site.Cartn_z\n", ""), Some(34));
        assert_eq!(line("length_a           30.000", "length_a"), Some(5));
        assert_eq!(line(";\n#", "#"), Some(39));
        assert!(read(Path::new("a.cif"), "data_x\n", UnitSystem::Real).is_err());
    }
}
