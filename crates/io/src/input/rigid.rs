//! `[[rigid]]`: atoms that move as one.

use super::fields::Fields;
use super::group;
use super::model::{BodyDivision, Input, Located, RigidInput, Source};
use jostle_core::{BodyForm, Error, Molecules, Result, RigidBody, System};
use jostle_potentials::Forces;
use std::collections::BTreeMap;

/// Largest number of atoms of a body whose pairs beyond the cut-off are left out of sums over all images, too.
const MOST_EXCLUDED: usize = 1000;

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
        self.refuse_beside_bodies(forces).map_err(|e| self.at(first, e))?;
        let index_by_id = system.state.index_by_id();
        let mut memberships = memberships(system);
        let [of_small, of_large] = reach_of_exclusions(system, forces);
        let mut bodies = Vec::new();
        for rigid in &self.rigid {
            let chosen = self.chosen(system, &rigid.value.atoms)?;
            let divided = divided(system, chosen, rigid.value.by).map_err(|e| self.at(rigid, e))?;
            let before = bodies.len();
            for atoms in divided {
                join(system, &atoms, &mut memberships).map_err(|e| self.at(rigid, e))?;
                if atoms.len() > 1 {
                    let within = if atoms.len() > MOST_EXCLUDED { of_large } else { of_small };
                    let body = RigidBody::new(system, &index_by_id, &atoms, within);
                    bodies.push(body.map_err(|e| self.at(rigid, e))?);
                }
            }
            if bodies.len() == before {
                let error = Error::input("no two of these atoms are in one rigid body");
                let hint = match rigid.value.by {
                    BodyDivision::All => "a body has two atoms at least: choose more of them",
                    _ => "by = \"all\" joins all of them",
                };
                return Err(self.at(rigid, error.hint(hint)));
            }
        }
        let linear = bodies.iter().filter(|body| body.form == BodyForm::Linear);
        linear.for_each(|body| body.straighten(system, &index_by_id));
        system.topology.rigid_bodies = bodies;
        Ok(())
    }

    /// An error at a section.
    fn at(&self, rigid: &Located<RigidInput>, error: Error) -> Error {
        error.at_span(&self.source.path, &self.source.text, rigid.span.clone())
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

/// Atoms with which an atom moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Membership {
    /// None.
    Alone,
    /// Atoms of a constraint or a virtual site.
    Constrained,
    /// Atoms of a rigid body.
    Body,
}

/// Membership of each atom before bodies are joined, by id.
fn memberships(system: &System) -> Vec<Membership> {
    let topology = &system.topology;
    let held = topology.constraints.iter().flat_map(|c| c.atoms);
    let sites = topology.virtual_sites.iter().flat_map(|v| v.atoms.into_iter().chain([v.site]));
    let mut memberships = vec![Membership::Alone; system.state.len()];
    held.chain(sites).for_each(|id| memberships[id as usize] = Membership::Constrained);
    memberships
}

/// Notes that atoms are in a body, or refuses one that is in something else.
fn join(system: &System, atoms: &[u32], memberships: &mut [Membership]) -> Result<()> {
    for id in atoms {
        let name = || system.names.describe(*id);
        match std::mem::replace(&mut memberships[*id as usize], Membership::Body) {
            Membership::Alone => {}
            Membership::Constrained => {
                let message = format!("{} has a constraint or a virtual site already", name());
                return Err(Error::input(message).hint(
                    "leave out rigid = ... of its molecule, and choose a model of water without virtual sites",
                ));
            }
            Membership::Body => {
                return Err(Error::input(format!("{} is in two rigid bodies", name()))
                    .hint("take it out of one: \"and not ...\""));
            }
        }
    }
    Ok(())
}

/// Distances up to which atoms of small and of large bodies have no pair force: a little more than the longest cut-off,
/// since distances in a body do not change; without a limit where forces have no cut-off. Sums over all images keep pairs
/// whose energy is constant: those further apart than half the box, of which another image is nearer, and in large bodies
/// those beyond the cut-off. Many-body forces leave out no pairs.
fn reach_of_exclusions(system: &System, forces: &Forces) -> [f64; 2] {
    let charged = (0..system.state.len()).any(|index| system.charge(index) != 0.0);
    let summed = forces.has_reciprocal_sum() && (charged || forces.dispersion.is_some());
    let within_cutoff = forces.largest_cutoff() * (1.0 + 1e-6);
    match () {
        () if forces.embedded.is_some() || forces.three_body.is_some() => [0.0; 2],
        () if forces.vacuum.is_some() => [f64::INFINITY; 2],
        () if summed => [system.simbox.largest_cutoff(), within_cutoff],
        () => [within_cutoff; 2],
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
