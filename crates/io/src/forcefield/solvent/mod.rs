//! Water and ions by name, with published parameters: a file and a line in a registry for each.

mod ions;
mod water;

use super::Molecules;
use super::assembly::Assembly;
use super::lorentz_berthelot;
use crate::input::NamedChoice;
pub use ions::{Ion, IonSet};
use jostle_core::{AtomName, Error, Residue, Result, UnitSystem, WaterShape};
use std::collections::BTreeSet;
pub use water::{Reach, WaterModel};

/// Residue of water, as GROMACS has it.
const WATER: &str = "SOL";

/// Mass of water in g/mol.
pub const WATER_MASS: f64 = OXYGEN + 2.0 * HYDROGEN;

/// Masses that all models share, in g/mol.
const OXYGEN: f64 = 15.9994;
const HYDROGEN: f64 = 1.008;

impl WaterModel {
    /// One rigid molecule: oxygen, two hydrogens and, in models of four sites, the point between; nm and kJ/mol.
    ///
    /// # Errors
    /// None with the models of the registry.
    pub fn molecules(&self) -> Result<Molecules> {
        let mut assembly = Assembly::new(UnitSystem::Nano, UnitSystem::Nano)?;
        let WaterShape { bond_length, angle, .. } = self.shape;
        let site = self.shape.site_rule();
        let of_oxygen = if site.is_some() { 0.0 } else { -2.0 * self.hydrogen };
        assembly.atom("OW", 0, OXYGEN, of_oxygen)?;
        assembly.atom("HW", 1, HYDROGEN, self.hydrogen)?;
        assembly.atom("HW", 1, HYDROGEN, self.hydrogen)?;
        let across = 2.0 * bond_length * (0.5 * angle.to_radians()).sin();
        for (length, atoms) in [(bond_length, [0, 1]), (bond_length, [0, 2]), (across, [1, 2])] {
            assembly.constraint(length, atoms)?;
            assembly.exclude(atoms)?;
        }
        let mut names = vec![("OW", "O"), ("HW1", "H"), ("HW2", "H")];
        if let Some(rule) = site {
            assembly.atom("MW", 2, 0.0, -2.0 * self.hydrogen)?;
            names.push(("MW", ""));
            assembly.virtual_site(3, [0, 1, 2], rule)?;
            (0..3).try_for_each(|atom| assembly.exclude([atom, 3]))?;
        }
        name(&mut assembly, WATER, &names);
        let wells = [[self.epsilon, self.sigma], self.hydrogen_well, [0.0; 2]];
        assembly.finish(|a, b| lorentz_berthelot(wells[a], wells[b]))
    }
}

impl Ion {
    /// The ion by itself; nm and kJ/mol.
    ///
    /// # Errors
    /// None with the sets of the registry.
    pub fn molecules(&self) -> Result<Molecules> {
        let mut assembly = Assembly::new(UnitSystem::Nano, UnitSystem::Nano)?;
        assembly.atom(self.name, 0, self.mass, f64::from(self.charge))?;
        let element = self.element();
        name(&mut assembly, &element.to_uppercase(), &[(&element.to_uppercase(), element)]);
        assembly.finish(|_, _| [self.epsilon(), self.sigma()])
    }
}

fn name(assembly: &mut Assembly, residue: &str, atoms: &[(&str, &str)]) {
    assembly.names.residues.push(Residue { name: residue.into(), number: 1, ..Residue::default() });
    for (name, element) in atoms {
        let (name, element) = ((*name).into(), (*element).into());
        assembly.names.atoms.push(AtomName { name, element, residue: 0 });
    }
}

impl NamedChoice for &'static WaterModel {
    const ALL: &'static [Self] = water::ALL;

    fn name(self) -> &'static str {
        self.name
    }

    fn about(self) -> &'static str {
        self.about
    }
}

impl WaterModel {
    /// Ions with parameters for this model, by names such as `Na+`.
    ///
    /// # Errors
    /// If there are none for the model, or none of this name.
    pub fn ion(&self, name: &str) -> Result<&'static Ion> {
        let set = self.ions.ok_or_else(|| {
            let others = water::ALL.iter().filter(|model| model.ions.is_some()).map(|model| model.name);
            Error::input(format!("Jostle has no ions for the water model {}", self.name))
                .hint(format!("there are ions for {}", others.collect::<Vec<_>>().join(", ")))
        })?;
        set.ions.iter().find(|ion| ion.name == name).ok_or_else(|| {
            let names: Vec<&str> = set.ions.iter().map(|ion| ion.name).collect();
            let near = jostle_core::quantity::nearest(name, names.iter().copied());
            let near = near.map_or(String::new(), |near| format!("did you mean {near}? "));
            Error::input(format!("there is no ion \"{name}\" for {}", self.name)).hint(format!(
                "{near}{} have: {}",
                set.about,
                names.join(", ")
            ))
        })
    }
}

/// Names of all ions.
pub fn ion_names() -> Vec<&'static str> {
    let all = ions::ALL.iter().flat_map(|set| set.ions.iter().map(|ion| ion.name));
    let mut seen = BTreeSet::new();
    all.filter(|name| seen.insert(*name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::SiteRule;

    #[test]
    fn waters_are_neutral_and_rigid() {
        for model in water::ALL {
            let water = model.molecules().unwrap();
            assert_eq!(water.atoms.len(), model.shape.atoms(), "{}", model.name);
            assert!(water.charges.iter().sum::<f64>().abs() < 1e-12, "{}", model.name);
            assert_eq!(water.topology.constraints.len(), 3);
            let n = water.atoms.len();
            assert_eq!(water.topology.excluded.len(), n * (n - 1) / 2);
            let mass: f64 = water
                .atoms
                .iter()
                .map(|s| water.units.mass_to_user(water.species[usize::from(*s)].mass))
                .sum();
            assert!((mass - WATER_MASS).abs() < 1e-9);
        }
    }

    /// Dipole moments in debye, from the papers of the models.
    #[test]
    fn waters_have_their_published_dipole_moments() {
        for (name, published) in [
            ("spce", 2.351),
            ("tip3p", 2.347),
            ("tip3p-charmm", 2.347),
            ("tip4p-ew", 2.32),
            ("tip4p-2005", 2.305),
        ] {
            let model = <&WaterModel>::from_name(name).unwrap();
            let height = model.shape.bond_length * (0.5 * model.shape.angle.to_radians()).cos();
            let arm = height - model.shape.site_distance.unwrap_or(0.0);
            let dipole = 2.0 * model.hydrogen * arm * 48.032;
            assert!((dipole - published).abs() < 0.006, "{name}: {dipole}");
        }
        let water = <&WaterModel>::from_name("tip4p-ew").unwrap().molecules().unwrap();
        let SiteRule::Average([_, a, b]) = water.topology.virtual_sites[0].rule else { panic!() };
        // OpenMM's file of the model has this weight.
        assert!((a - 0.106676721).abs() < 1e-8 && a == b, "{a}");
    }

    /// Values of sigma and epsilon from AmberTools' and CHARMM's files as OpenMM has them, in nm and kJ/mol.
    #[test]
    fn ions_belong_to_their_model() {
        let known = [
            ("tip3p", "Na+", 0.2439280690268249, 0.3658460312),
            ("spce", "Cl-", 0.48304528497569194, 0.05349244),
            ("tip4p-ew", "K+", 0.2833057923686279, 1.1692819784),
            ("tip3p-charmm", "Cl-", 0.4044680180357141, 0.6276),
        ];
        for (model, ion, sigma, epsilon) in known {
            let ion = <&WaterModel>::from_name(model).unwrap().ion(ion).unwrap();
            let molecules = ion.molecules().unwrap();
            let [e, s] = molecules.lennard_jones[0];
            assert!((s / sigma - 1.0).abs() < 1e-9 && (e / epsilon - 1.0).abs() < 1e-9, "{model} {s} {e}");
            assert_eq!(molecules.charges, [f64::from(ion.charge)]);
        }
    }

    /// Values of OpenMM's `charmm36_2024/water.xml`, in nm and kJ/mol.
    #[test]
    fn charmm_has_exceptions_from_the_rule() {
        let set = <&WaterModel>::from_name("tip3p-charmm").unwrap().ions.unwrap();
        for (a, b, sigma, epsilon) in [
            ("CLA", "POT", 0.3635757668730725, 0.4778128),
            ("CAL", "CLA", 0.3320379522509045, 0.561342176),
            ("LIT", "ON3", 0.28308306768909286, 0.0698728),
            ("OC", "SOD", 0.2877602859593296, 0.31388368),
            ("OBL", "SOD", 0.2788512987779262, 0.31388368),
            ("OG2D2", "POT", 0.3139527082726556, 0.4276048),
            ("CAL", "O2L", 0.2900766226264945, 0.50208),
        ] {
            let [e, s] = set.unlike(a, b).unwrap();
            assert!((s / sigma - 1.0).abs() < 1e-9 && (e / epsilon - 1.0).abs() < 1e-9, "{a} {b} {s} {e}");
            assert_eq!(set.unlike(b, a), Some([e, s]));
        }
        assert_eq!(set.unlike("MG", "OC"), None);
        // CHARMM's oxygen of esters, and AMBER's of the same name.
        assert_eq!(set.type_of("OS", [0.6363864, 0.31537814622168014]), Some("OS"));
        assert_eq!(set.type_of("OS", [0.71128, 0.30000123414376054]), None);
        assert_eq!(set.type_of("Na+", [0.1962296, 0.2513670733232967]), Some("SOD"));
    }

    #[test]
    fn unknown_ions_are_refused_with_a_name_that_exists() {
        let spce = <&WaterModel>::from_name("spce").unwrap();
        let error = spce.ion("NA+").unwrap_err();
        assert!(error.help().unwrap().contains("did you mean Na+?"), "{error:?}");
        let other = <&WaterModel>::from_name("tip4p-2005").unwrap();
        assert!(other.ion("Na+").unwrap_err().help().unwrap().contains("tip3p"));
    }
}
