//! Reference values of OpenMM: energies by term, and forces.

use jostle_core::{Vec3, Vector};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Reference values of OpenMM for a case.
pub struct Reference {
    /// Folder of the files of the case.
    pub folder: PathBuf,
    values: Value,
    /// Positions in nm.
    pub positions: Vec<Vec3>,
    /// Forces in kJ/mol/nm.
    pub forces: Vec<Vec3>,
}

impl Reference {
    /// The reference of a case, if its folder is beside the repository.
    pub fn open(case: &str) -> Option<Reference> {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference")).join(case);
        let Ok(text) = fs::read_to_string(folder.join("reference.json")) else {
            println!("skipped: there is no {}", folder.display());
            return None;
        };
        let values = serde_json::from_str(&text).unwrap();
        let atoms = fs::read_to_string(folder.join("forces.txt")).unwrap();
        let rows = atoms.lines().filter(|l| !l.starts_with('#'));
        let rows: Vec<Vec<f64>> =
            rows.map(|l| l.split_whitespace().map(|w| w.parse().unwrap()).collect()).collect();
        let three = |row: &Vec<f64>, from: usize| Vector([row[from], row[from + 1], row[from + 2]]);
        Some(Reference {
            folder,
            values,
            positions: rows.iter().map(|r| three(r, 1)).collect(),
            forces: rows.iter().map(|r| three(r, 4)).collect(),
        })
    }

    /// The sum of the energies of some force groups.
    fn groups(&self, names: &[&str]) -> f64 {
        let groups = self.values["energy_by_group"].as_object().unwrap();
        let named = groups.iter().filter(|(name, _)| names.contains(&name.split(':').nth(1).unwrap_or("")));
        named.map(|(_, energy)| energy.as_f64().unwrap()).sum()
    }

    /// A part of the nonbonded energy.
    fn split(&self, name: &str) -> f64 {
        let split = self.values["nonbonded_split"].as_object().unwrap();
        split.iter().find(|(key, _)| key.starts_with(name)).unwrap().1.as_f64().unwrap()
    }

    /// Energies by the names of Jostle's terms.
    pub fn energies(&self) -> Vec<(&'static str, f64)> {
        let (lj, lj_14) = match self.split("lj_total") {
            // Files of CHARMM36 have Lennard-Jones forces as custom forces.
            0.0 => (self.groups(&["LennardJones"]), self.groups(&["LennardJones14"])),
            total => (total - self.split("lj_1-4"), self.split("lj_1-4")),
        };
        let coulomb_14 = self.split("coulomb_1-4");
        vec![
            // The sum includes Urey-Bradley springs, which have the same name in OpenMM.
            ("bond_harmonic|urey", self.groups(&["HarmonicBondForce"])),
            ("angle_harmonic", self.groups(&["HarmonicAngleForce"])),
            ("dihedral_periodic", self.groups(&["PeriodicTorsionForce"])),
            ("dihedral_harmonic", self.groups(&["CustomTorsionForce"])),
            ("cmap", self.groups(&["CMAPTorsionForce"])),
            ("scaled_pair", coulomb_14 + lj_14),
            ("coulomb", self.split("coulomb_total") - coulomb_14),
            ("lennard_jones", lj),
        ]
    }

    /// The total potential energy.
    pub fn total(&self) -> f64 {
        self.values["potential_energy_total"].as_f64().unwrap()
    }
}

/// Writes positions in full precision, as extended XYZ in nm.
pub fn write_positions(reference: &Reference, path: &Path) {
    let mut text = format!("{}\nProperties=species:S:1:pos:R:3\n", reference.positions.len());
    for Vector([x, y, z]) in &reference.positions {
        text += &format!("X {x:?} {y:?} {z:?}\n");
    }
    fs::write(path, text).unwrap();
}
