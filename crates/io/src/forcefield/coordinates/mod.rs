//! Positions of the atoms of molecules: PDB, mmCIF, AMBER restart files, GROMACS gro, extended XYZ.

mod amber;
mod cif;
mod gro;
mod pdb;

use crate::pdb::is_comment;
use crate::structure::{Lines, Reading, Structure};
use crate::text;
use jostle_core::{Error, Names, Result, SimBox, UnitSystem, Vec3};
use std::path::Path;

/// Positions of atoms, in the units of the input and the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Coordinates {
    /// The atoms; not wrapped into a box.
    pub positions: Vec<Vec3>,
    /// Their velocities, where the file has them.
    pub velocities: Option<Vec<Vec3>>,
    /// Their momenta, where the file has these instead, as [`Structure::momenta`]; else empty.
    pub momenta: Vec<Vec3>,
    /// The box, where the file has one.
    pub simbox: Option<SimBox>,
    /// Names of the atoms, where the file has them.
    pub names: Option<Names>,
    /// Atoms that the file has in more than one place, in words: they may be the reason for a number of
    /// atoms that is not that of the topology.
    pub alternatives: Option<String>,
}

impl Coordinates {
    /// Reads a file: by its name, `.pdb`, `.ent` and NAMD's `.fep` (PDB), `.cif` and `.mmcif` (mmCIF), `.inpcrd`, `.rst7`,
    /// `.rst`, `.crd` (AMBER), `.gro` (GROMACS), `.xyz` and `.extxyz`.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub fn read(path: &Path, units: UnitSystem) -> Result<Coordinates> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_lowercase();
        let is_comment = match extension.as_str() {
            "pdb" | "ent" | "fep" => is_comment,
            _ => |_: &[u8]| false,
        };
        let text = text::read_for_beginning(path, is_comment)?;
        let lines = Lines::new(path, &text);
        match extension.as_str() {
            "pdb" | "ent" | "fep" => pdb::read(lines, units),
            "cif" | "mmcif" => cif::read(path, &text, units),
            "inpcrd" | "rst7" | "rst" | "restrt" | "crd" => amber::read(lines, units),
            "gro" => gro::read(lines, units),
            "xyz" | "extxyz" => {
                let reading = Reading { units, types: &[], periodic: None };
                Structure::parse(path, text.as_bytes(), reading).map(Coordinates::from)
            }
            _ => Err(Error::file(path, "it is not clear what kind of coordinates these are")
                .hint("PDB (.pdb), mmCIF (.cif), AMBER (.inpcrd, .rst7), GROMACS (.gro) and extended XYZ (.xyz) are read")),
        }
    }
}

impl From<Structure> for Coordinates {
    fn from(structure: Structure) -> Self {
        let Structure { simbox, state, has_velocities, momenta, .. } = structure;
        let whole = |k: usize| -> Vec3 {
            let shift = simbox.shift(state.image[k]);
            state.position[k] + shift
        };
        Coordinates {
            positions: (0..state.len()).map(whole).collect(),
            simbox: (simbox.periodic() == [true; 3]).then_some(simbox),
            velocities: has_velocities.then_some(state.velocity),
            momenta,
            ..Coordinates::default()
        }
    }
}

/// A box from the lengths of its edges and the angles between them in degrees: b and c, a and c, a
/// and b.
pub(crate) fn cell(lengths: [f64; 3], angles: [f64; 3]) -> Result<SimBox> {
    let [a, b, c] = lengths;
    // Right angles must come out as such.
    let cosine = |degrees: f64| if degrees == 90.0 { 0.0 } else { degrees.to_radians().cos() };
    let [alpha, beta, gamma] = angles.map(cosine);
    let sine = (1.0 - gamma * gamma).sqrt();
    let (xy, xz) = (b * gamma, c * beta);
    let yz = c * (alpha - beta * gamma) / sine;
    let height = (c * c - xz * xz - yz * yz).sqrt();
    SimBox::new([0.0; 3], [a, b * sine, height], [xy, xz, yz], [true; 3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Vector;

    #[test]
    fn cells_have_the_angles_that_they_are_given() {
        let simbox = cell([3.0, 4.0, 5.0], [80.0, 70.0, 60.0]).unwrap();
        let [a, b, c] = simbox.edges();
        let dot = |u: Vec3, v: Vec3| (0..3).map(|k| u[k] * v[k]).sum::<f64>();
        let angle = |u: Vec3, v: Vec3| (dot(u, v) / (dot(u, u) * dot(v, v)).sqrt()).acos().to_degrees();
        for (got, wanted) in [(angle(b, c), 80.0), (angle(a, c), 70.0), (angle(a, b), 60.0)] {
            assert!((got - wanted).abs() < 1e-10, "{got} is not {wanted}");
        }
        assert!((dot(c, c).sqrt() - 5.0).abs() < 1e-12);
        assert_eq!(cell([3.0, 4.0, 5.0], [90.0; 3]).unwrap(), SimBox::orthorhombic([3.0, 4.0, 5.0]).unwrap());
        assert!(cell(*Vector([3.0, 4.0, 5.0]), *Vector([10.0, 10.0, 170.0])).is_err());
    }
}
