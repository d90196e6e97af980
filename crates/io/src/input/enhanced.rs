//! `[[enhanced]]`: atoms of which there are several copies.

use super::fields::Fields;
use super::group;
use super::model::{AtomsInput, EnhancedInput, Input, Located, Source};
use crate::forcefield::Molecules;
use crate::forcefield::coordinates::Coordinates;
use jostle_core::{Error, Result, System, Vec3};
use jostle_potentials::Forces;

/// Part of the smallest width of a periodic box that two atoms of a copy may be apart.
const LARGEST_PART: f64 = 0.45;

/// All `[[enhanced]]` of a system with these atoms.
pub(super) fn enhanced(
    source: &Source,
    tables: &[Fields],
    system: &AtomsInput,
) -> Result<Vec<Located<EnhancedInput>>> {
    let one = |fields: &Fields| {
        let span = fields.span.clone();
        if !matches!(system, AtomsInput::Molecules(_)) {
            let error = source.error(&span, "only atoms of a topology can have copies");
            return Err(error.hint("write topology = \"...\" and coordinates = \"...\" in [system]"));
        }
        let Some(atoms) = group::atoms(source, fields)? else {
            return Err(source.error(&span, "there are no atoms to copy").hint("give atoms = \"...\""));
        };
        let value =
            EnhancedInput { atoms, copies: fields.need("copies")?, mass: fields.need_choice("mass")? };
        Ok(Located { value, span })
    };
    tables.iter().map(one).collect()
}

impl Input {
    /// Replaces atoms of molecules by the copies that the input wants.
    ///
    /// # Errors
    /// If atoms are chosen twice, belong to several molecules, are too far apart, or their copies would be too many; the
    /// error points at the section.
    pub(crate) fn enhance(&self, molecules: &mut Molecules, coordinates: &mut Coordinates) -> Result<()> {
        if self.enhanced.is_empty() {
            return Ok(());
        }
        let (system, _) = molecules.clone().into_system(coordinates.clone(), self.system.periodic)?;
        let mut taken = vec![false; system.state.len()];
        for given in &self.enhanced {
            let at = |e: Error| e.at_span(&self.source.path, &self.source.text, given.span.clone());
            let EnhancedInput { atoms, copies, mass } = &given.value;
            let chosen = group::some_ids(&self.source, atoms, &system, self.units)?;
            for id in &chosen {
                if std::mem::replace(&mut taken[*id as usize], true) {
                    let message = format!("{} is copied by two sections", system.names.describe(*id));
                    return Err(at(Error::input(message).hint("take it out of one: \"and not ...\"")));
                }
            }
            check_part(&system, &chosen).map_err(at)?;
            let divided = molecules.enhance(coordinates, (&chosen, *copies), *mass).map_err(at)?;
            self.refuse_to_name(&divided, "copies of atoms have made other species of those called")?;
        }
        Ok(())
    }

    /// Refuses forces that copies cannot have.
    ///
    /// # Errors
    /// If charges have no sum over all images in a periodic box, or there are windows.
    pub(crate) fn check_enhanced(&self, system: &System, forces: &Forces) -> Result<()> {
        let Some(first) = self.enhanced.first() else { return Ok(()) };
        let at = |message: &str, hint: &str| Err(self.source.error(&first.span, message).hint(hint));
        if self.alchemy.is_some() {
            return at("copies of atoms beside [alchemy]", "leave out one of them");
        }
        let charged = system.charges.iter().any(|charge| *charge != 0.0);
        let term = forces.electrostatics.as_ref().filter(|_| charged);
        match term.is_some_and(|term| term.method.alpha().is_none() || term.kappa().is_some()) {
            true => at(
                "charges of copies need a sum over all images that nothing screens",
                "write [electrostatics] kind = \"pme\"",
            ),
            false => Ok(()),
        }
    }
}

/// Refuses atoms of several molecules, and those that are so far apart that another image may be nearer.
fn check_part(system: &System, chosen: &[u32]) -> Result<()> {
    let molecules = jostle_core::Molecules::new(&system.topology, &system.species, &system.state);
    let of = molecules.of_atoms();
    let describe = |id: u32| system.names.describe(id);
    if let Some(id) = chosen.iter().find(|id| of[**id as usize] != of[chosen[0] as usize]) {
        let message = format!("{} and {} belong to two molecules", describe(chosen[0]), describe(*id));
        return Err(Error::input(message).hint("give each molecule a section of its own"));
    }
    if system.simbox.periodic() == [false; 3] {
        return Ok(());
    }
    let index_by_id = system.state.index_by_id();
    let paths = molecules.paths(&system.simbox, |id| system.state.position[index_by_id.of(id)]);
    let widths = system.simbox.widths().into_iter().zip(system.simbox.periodic());
    let width =
        widths.filter(|(_, periodic)| *periodic).map(|(width, _)| width).fold(f64::INFINITY, f64::min);
    let far = |a: Vec3, b: Vec3| (a - b).norm() > LARGEST_PART * width;
    for (k, a) in chosen.iter().enumerate() {
        if let Some(b) = chosen[k + 1..].iter().find(|b| far(paths[*a as usize], paths[**b as usize])) {
            let message = format!(
                "{} and {} are too far apart in a box of width {width:.4}",
                describe(*a),
                describe(*b)
            );
            return Err(Error::input(message).hint("copy a smaller part, or take a larger box"));
        }
    }
    Ok(())
}
