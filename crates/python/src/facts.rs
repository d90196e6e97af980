//! Facts about the atoms that do not change.

use crate::arrays::{array, rows};
use crate::error::OrRaise;
use jostle_core::AtomName;
use jostle_engine::Simulation;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Name of an atom, its element, and name, number and chain of its residue.
pub type AtomNames = (String, String, String, i32, String);

/// Names and masses of the species, and the species of each atom.
pub type Species<'py> = (Vec<String>, Vec<f64>, Bound<'py, PyAny>);

/// Names and masses of the species, and the species of each atom.
///
/// # Errors
/// If the device failed.
pub fn species<'py>(py: Python<'py>, simulation: &mut Simulation) -> PyResult<Species<'py>> {
    let units = simulation.units();
    let species = simulation.species();
    let names = species.iter().map(|s| s.name.clone()).collect();
    let masses = species.iter().map(|s| units.mass_to_user(s.mass)).collect();
    let by_id = simulation.species_by_id().or_raise(py)?;
    Ok((names, masses, array(py, &by_id)?))
}

/// Names of the atoms, their elements and residues; empty where files have not given any.
pub fn names(simulation: &Simulation) -> Vec<AtomNames> {
    let names = simulation.names();
    let one = |atom: &AtomName| {
        let residue = names.residues.get(atom.residue as usize).cloned().unwrap_or_default();
        (atom.name.clone(), atom.element.clone(), residue.name, residue.number, residue.chain)
    };
    names.atoms.iter().map(one).collect()
}

/// Ids of the atoms of bonds, angles, dihedrals and constraints.
///
/// # Errors
/// If NumPy is missing, or memory.
pub fn topology<'py>(py: Python<'py>, simulation: &Simulation) -> PyResult<Bound<'py, PyDict>> {
    let topology = simulation.topology();
    let all = PyDict::new(py);
    let ids: Vec<[u32; 2]> = topology.bonds.iter().map(|bond| bond.atoms).collect();
    all.set_item("bonds", rows(py, &ids)?)?;
    let ids: Vec<[u32; 3]> = topology.angles.iter().map(|angle| angle.atoms).collect();
    all.set_item("angles", rows(py, &ids)?)?;
    let ids: Vec<[u32; 4]> = topology.dihedrals.iter().map(|dihedral| dihedral.atoms).collect();
    all.set_item("dihedrals", rows(py, &ids)?)?;
    let ids: Vec<[u32; 2]> = topology.constraints.iter().map(|constraint| constraint.atoms).collect();
    all.set_item("constraints", rows(py, &ids)?)?;
    Ok(all)
}
