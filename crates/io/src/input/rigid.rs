//! `[[rigid]]`: atoms that move as one.

use super::fields::Fields;
use super::group;
use super::model::{BodyDivision, Input, Located, RigidInput, Source};
use jostle_core::{BodyForm, Error, Molecules, Result, RigidBody, System};
use jostle_potentials::Forces;
use std::collections::BTreeMap;

/// All `[[rigid]]`
pub(super) fn rigid(source: &Source, tables: &[Fields]) -> Result<Vec<Located<RigidInput>>> {
    let one = |fields: &Fields| {
        let span = fields.span.clone();
        let Some(atoms) = group::atoms(source, fields)? else {
            let error = source.error(&span, "the rigid bodies have no atoms");
            return Err(error.hint("give atoms = \"...\" or group = \"...\""));
        };
        let value = RigidInput { atoms, by: fields.need_choice("by")? };
        Ok(Located { value, span })
    };
    tables.iter().map(one).collect()
}

impl Input {
    /// Joins the chosen atoms of a system to rigid bodies, in the form that they have now. Atoms of a body that are
    /// within the reach of forces have no pair force, and neither have charges that are summed in all images.
    ///
    /// # Errors
    /// If an atom is in two bodies, a constraint or a virtual site, cannot move, or a body does not fit into the box;
    /// the error points at the section.
    pub fn join_rigid_bodies(&self, system: &mut System, forces: &Forces) -> Result<()> {
        system.topology.rigid_bodies.clear();
        let Some(first) = self.rigid.first() else { return Ok(()) };
        let at = |rigid: &Located<RigidInput>, e: Error| {
            e.at_span(&self.source.path, &self.source.text, rigid.span.clone())
        };
        self.refuse_beside_bodies(forces).map_err(|e| at(first, e))?;
        let mut taken = vec![false; system.state.len()];
        let topology = &system.topology;
        let held = topology.constraints.iter().flat_map(|c| c.atoms);
        let sites = topology.virtual_sites.iter().flat_map(|v| v.atoms.into_iter().chain([v.site]));
        let mut elsewhere = vec![false; system.state.len()];
        held.chain(sites).for_each(|id| elsewhere[id as usize] = true);
        let within = reach_of_exclusions(system, forces);
        let mut bodies = Vec::new();
        for rigid in &self.rigid {
            let chosen = self.chosen(system, &rigid.value.atoms)?;
            let mut n_bodies = 0;
            for atoms in divided(system, chosen, rigid.value.by).map_err(|e| at(rigid, e))? {
                for id in &atoms {
                    let name = || system.names.describe(*id);
                    if elsewhere[*id as usize] {
                        let message = format!("{} has a constraint or a virtual site already", name());
                        return Err(at(rigid, Error::input(message).hint(
                            "leave out rigid = ... of its molecule, and choose a model of water without virtual sites",
                        )));
                    }
                    if std::mem::replace(&mut taken[*id as usize], true) {
                        let error = Error::input(format!("{} is in two rigid bodies", name()));
                        return Err(at(rigid, error.hint("take it out of one: \"and not ...\"")));
                    }
                }
                if atoms.len() > 1 {
                    bodies.push(RigidBody::new(system, &atoms, within).map_err(|e| at(rigid, e))?);
                    n_bodies += 1;
                }
            }
            if n_bodies == 0 {
                let error = Error::input("no two of these atoms are in one rigid body");
                return Err(at(rigid, error.hint("by = \"all\" joins all of them")));
            }
        }
        bodies.iter().filter(|b| b.form == BodyForm::Linear).for_each(|body| body.straighten(system));
        system.topology.rigid_bodies = bodies;
        Ok(())
    }

    /// Refuses what does not go together with rigid bodies.
    fn refuse_beside_bodies(&self, forces: &Forces) -> Result<()> {
        let beside = [(self.alchemy.is_some(), "[alchemy]"), (forces.grains.is_some(), "[grains]")];
        match beside.into_iter().find(|(present, _)| *present) {
            Some((_, section)) => {
                Err(Error::input(format!("rigid bodies beside {section}")).hint("leave out one of them"))
            }
            None => Ok(()),
        }
    }
}

/// Distance up to which atoms of a body have no pair force: a little more than the longest cut-off, since distances in a
/// body do not change; without a limit where forces have no cut-off. Forces of a metal leave out no pairs.
fn reach_of_exclusions(system: &System, forces: &Forces) -> f64 {
    let charged = (0..system.state.len()).any(|index| system.charge(index) != 0.0);
    let summed = forces.has_reciprocal_sum() && (charged || forces.dispersion.is_some());
    if forces.embedded.is_some() {
        return 0.0;
    }
    match summed || forces.vacuum.is_some() {
        true => f64::INFINITY,
        false => forces.largest_cutoff() * (1.0 + 1e-6),
    }
}

/// Chosen atoms, body by body.
fn divided(system: &System, chosen: &[u32], by: BodyDivision) -> Result<Vec<Vec<u32>>> {
    let number: Box<dyn Fn(u32) -> u32> = match by {
        BodyDivision::All => Box::new(|_| 0),
        BodyDivision::Molecule => {
            let molecules = Molecules::new(&system.topology, &system.species, &system.state);
            Box::new(move |id| molecules.of_atoms()[id as usize])
        }
        BodyDivision::Residue if system.names.atoms.is_empty() => {
            return Err(
                Error::input("these atoms have no residues").hint("choose by = \"molecule\" or by = \"all\"")
            );
        }
        BodyDivision::Residue => Box::new(|id| system.names.atoms[id as usize].residue),
    };
    let mut bodies: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    chosen.iter().for_each(|id| bodies.entry(number(*id)).or_default().push(*id));
    Ok(bodies.into_values().collect())
}
