//! Constraints (distances that do not change), virtual sites and rigid bodies: groups of atoms that are joined by
//! them, and their effect on positions and velocities.
//!
//! Positions after a drift are moved back along the distances before the drift (SHAKE: Ryckaert, Ciccotti and
//! Berendsen, J. Comput. Phys. 23 (1977) 327), all of a group at once (Kräutler, van Gunsteren and
//! Hünenberger, J. Comput. Chem. 22 (2001) 501), and for molecules of water in closed form (SETTLE: Miyamoto
//! and Kollman, J. Comput. Chem. 13 (1992) 952). Velocities lose the part that would change a distance
//! (RATTLE: Andersen, J. Comput. Phys. 52 (1983) 24).

mod first_positions;
mod rigid;
mod settle;
mod shake;

pub use first_positions::{MovedAtom, put_on_constraints};
pub use rigid::{
    ATOM_NUMBERS, Axes, Body, BodyAtom, INERTIA_NUMBERS, Inertia, angular_velocity, axes, begin_turn,
    improve_turn, in_space, turn_of_atom, turned,
};
pub use settle::{Water, settle};
pub use shake::{ImpulseCoupling, rattle, shake};

use crate::virtual_sites::Site;
use crate::{Constraint, Error, Result, RigidBody, System, VirtualSite};
use std::collections::BTreeMap;

/// Largest number of constraints that are solved together.
pub const MOST: usize = 12;

/// Largest number of atoms in a group, virtual sites included.
pub const MOST_ATOMS: usize = 16;

/// Relative error of squared distances at which iterations end.
pub const TOLERANCE: f64 = 1e-12;

/// Largest number of rounds of [`shake`]: more than any intact molecule needs.
pub const MOST_ROUNDS: usize = 100;

/// All constraints, virtual sites and rigid bodies of a system.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Groups {
    /// Distinct shapes of groups.
    pub shapes: Vec<Shape>,
    /// Groups, sorted by shape.
    pub groups: Vec<Group>,
    /// Rigid bodies, sorted by form and number of atoms.
    pub bodies: Vec<Body>,
}

/// Common properties of groups of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// Number of atoms, virtual sites included.
    pub atoms: usize,
    /// The two atoms of each constraint.
    pub pairs: Vec<[usize; 2]>,
    /// Virtual sites, which are the last of the atoms.
    pub sites: Vec<Site>,
    /// Method by which positions are found.
    pub solver: Solver,
}

/// Method by which the positions of a group are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Solver {
    /// Iteration: [`shake`].
    Shake,
    /// Closed form for rigid molecules of water: [`settle`].
    Settle,
}

/// Atoms that are joined by constraints or by a virtual site.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Index into [`Groups::shapes`].
    pub shape: usize,
    /// Ids of the atoms.
    pub atoms: Vec<u32>,
    /// Lengths of the constraints.
    pub lengths: Vec<f64>,
    /// Geometry for [`settle`]; `None` for other solvers.
    pub water: Option<Water<f64>>,
}

impl Groups {
    /// Groups of a system. In each group, atoms with more constraints come first and virtual sites last, so
    /// that groups of one kind have the same pairs.
    ///
    /// # Errors
    /// If more than [`MOST`] constraints or [`MOST_ATOMS`] atoms are joined, an atom of a rigid body is in
    /// something else, or a group reaches across half the box.
    pub fn new(system: &System) -> Result<Self> {
        let (_, inverse_mass) = system.dynamic_masses();
        let inverse_mass = inverse_mass.by_id(&system.state);
        // A constraint between two atoms that no force moves is left out.
        let held = |c: &&Constraint| c.atoms.iter().any(|id| inverse_mass[*id as usize] > 0.0);
        let constraints = || system.topology.constraints.iter().filter(held);
        let sites = &system.topology.virtual_sites;
        let mut leader: Vec<u32> = (0..system.state.len() as u32).collect();
        let find = |leader: &[u32], mut a: u32| {
            while leader[a as usize] != a {
                a = leader[a as usize];
            }
            a
        };
        let followed = sites.iter().flat_map(|v| v.atoms.map(|atom| [v.site, atom]));
        for [a, b] in constraints().map(|c| c.atoms).chain(followed) {
            let [a, b] = [a, b].map(|id| find(&leader, id));
            leader[a.max(b) as usize] = a.min(b);
        }
        let mut by_leader: BTreeMap<u32, Members> = BTreeMap::new();
        for constraint in constraints() {
            by_leader.entry(find(&leader, constraint.atoms[0])).or_default().constraints.push(*constraint);
        }
        for site in sites {
            by_leader.entry(find(&leader, site.site)).or_default().sites.push(*site);
        }
        let mass: Vec<f64> = inverse_mass.iter().map(|inverse| inverse.recip()).collect();
        let mut all = Groups::default();
        for members in by_leader.into_values() {
            let (constraints, atoms) = (members.constraints.len(), members.atoms());
            let (n, what, most) = match constraints > MOST {
                true => (constraints, "constraints", MOST),
                false => (atoms.len(), "atoms", MOST_ATOMS),
            };
            if n > most {
                let name = system.names.describe(atoms[0]);
                let message = format!("{n} {what} are joined in one group at {name}");
                return Err(Error::input(message).hint(format!("at most {most} may be")));
            }
            all.add(&members, atoms, &mass);
        }
        all.check_extent(system)?;
        all.groups.sort_by_key(|group| group.shape);
        all.add_bodies(system, &mass)?;
        Ok(all)
    }

    /// Returns true where there are neither groups nor bodies.
    pub fn are_empty(&self) -> bool {
        self.groups.is_empty() && self.bodies.is_empty()
    }

    /// Refuses groups whose atoms are not joined where each is nearest to the first one: there motion has them.
    fn check_extent(&self, system: &System) -> Result<()> {
        /// Relative difference of vectors that is rounding: others differ by an edge of the box.
        const ROUNDING: f64 = 1e-3;
        let (simbox, index_by_id) = (&system.simbox, system.state.index_by_id());
        for group in &self.groups {
            let Shape { pairs, sites, .. } = &self.shapes[group.shape];
            let position = |k: usize| system.state.position[index_by_id.of(group.atoms[k])];
            let from_first = |k: usize| simbox.nearest_image(position(k) - position(0));
            let arms = sites.iter().flat_map(|Site { atoms: [a, b, c], .. }| [[*a, *b], [*a, *c]]);
            let is_apart = |[a, b]: &[usize; 2]| {
                let nearest = simbox.nearest_image(position(*b) - position(*a));
                let off = from_first(*b) - from_first(*a) - nearest;
                off.norm() > ROUNDING * nearest.norm()
            };
            if pairs.iter().copied().chain(arms).any(|pair| is_apart(&pair)) {
                let name = system.names.describe(group.atoms[0]);
                let message = format!("constraints or virtual sites at {name} reach across half the box");
                return Err(Error::input(message).hint("use a larger box"));
            }
        }
        Ok(())
    }

    /// Adds the rigid bodies, sorted by form and number of atoms.
    fn add_bodies(&mut self, system: &System, mass: &[f64]) -> Result<()> {
        let mut taken = vec![false; mass.len()];
        self.groups.iter().flat_map(|group| &group.atoms).for_each(|id| taken[*id as usize] = true);
        let mut bodies: Vec<&RigidBody> = system.topology.rigid_bodies.iter().collect();
        bodies.sort_by_key(|body| (body.form.degrees_of_freedom(), body.atoms.len()));
        for body in bodies {
            for id in &body.atoms {
                if std::mem::replace(&mut taken[*id as usize], true) {
                    let name = system.names.describe(*id);
                    let message = format!(
                        "{name} is in a rigid body and in another one, a constraint or a virtual site"
                    );
                    return Err(Error::input(message).hint("let it move with one of them"));
                }
            }
            if let Some(id) = body.atoms.iter().find(|id| !mass[**id as usize].is_finite()) {
                let message =
                    format!("no force moves {}, which is in a rigid body", system.names.describe(*id));
                return Err(Error::input(message).hint("take it out of the body"));
            }
            let masses: Vec<f64> = body.atoms.iter().map(|id| mass[*id as usize]).collect();
            self.bodies.push(Body::new(body, &masses));
        }
        Ok(())
    }

    fn add(&mut self, members: &Members, mut atoms: Vec<u32>, mass: &[f64]) {
        let Members { constraints, sites } = members;
        let held = |id: u32| constraints.iter().filter(|c| c.atoms.contains(&id)).count();
        let follows = |id: u32| sites.iter().any(|v| v.site == id);
        atoms.sort_by_key(|id| (follows(*id), std::cmp::Reverse(held(*id)), *id));
        let n_led = atoms.len() - sites.len();
        if n_led == 3 && constraints.len() == 3 {
            // The atom whose mass differs from that of both others comes first.
            let [a, b, c] = [0, 1, 2].map(|k| mass[atoms[k] as usize]);
            match () {
                () if b == c => {}
                () if a == c => atoms.swap(0, 1),
                () if a == b => atoms[..3].rotate_right(1),
                () => {}
            }
        }
        let index = |id: u32| atoms.iter().position(|a| *a == id).unwrap_or(0);
        let mut held: Vec<([usize; 2], f64)> = constraints
            .iter()
            .map(|c| {
                let [a, b] = c.atoms.map(index);
                ([a.min(b), a.max(b)], c.length)
            })
            .collect();
        held.sort_by_key(|(pair, _)| *pair);
        let (pairs, lengths): (Vec<_>, Vec<_>) = held.into_iter().unzip();
        let mut sites: Vec<Site> = sites
            .iter()
            .map(|v| Site { site: index(v.site), atoms: v.atoms.map(index), rule: v.rule })
            .collect();
        sites.sort_by_key(|site| site.site);
        let masses: Vec<f64> = atoms[..n_led].iter().map(|id| mass[*id as usize]).collect();
        let water = Water::new(&pairs, &lengths, &masses);
        let solver = if water.is_some() { Solver::Settle } else { Solver::Shake };
        let shape = Shape { atoms: atoms.len(), pairs, sites, solver };
        let known = self.shapes.iter().position(|known| *known == shape);
        let shape = known.unwrap_or_else(|| {
            self.shapes.push(shape);
            self.shapes.len() - 1
        });
        self.groups.push(Group { shape, atoms, lengths, water });
    }
}

/// Constraints and virtual sites of a group.
#[derive(Debug, Default)]
struct Members {
    constraints: Vec<Constraint>,
    sites: Vec<VirtualSite>,
}

impl Members {
    /// Ids, in ascending order.
    fn atoms(&self) -> Vec<u32> {
        let held = self.constraints.iter().flat_map(|c| c.atoms);
        let mut atoms: Vec<u32> =
            held.chain(self.sites.iter().flat_map(|v| v.atoms.into_iter().chain([v.site]))).collect();
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }
}

#[cfg(test)]
mod rigid_tests;
#[cfg(test)]
mod tests;
