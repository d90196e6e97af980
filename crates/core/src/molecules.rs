//! Molecules: atoms that are joined, which a change of the box moves as a whole.

use crate::{Error, Result, SimBox, Species, State, Topology, Vec3};
use serde::{Deserialize, Serialize};

/// The molecules of a system: atoms that bonds, constraints, virtual sites or rigid bodies join, and every other
/// atom by itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Molecules {
    /// Molecule of each atom, by id.
    molecule: Vec<u32>,
    /// Part of each atom in the mass of its molecule, by id.
    share: Vec<f64>,
    /// Masses of molecules.
    mass: Vec<f64>,
    /// Links of a spanning tree: the ids of an atom and of one that it is joined to, which comes earlier in
    /// the list or is the first atom of the molecule.
    links: Vec<[u32; 2]>,
    /// Joined atoms that close rings.
    rings: Vec<[u32; 2]>,
    constrained: bool,
}

impl Molecules {
    /// Molecules of a system.
    pub fn new(topology: &Topology, species: &[Species], state: &State) -> Self {
        let n = state.len();
        let mut mass_of = vec![0.0; n];
        for (id, s) in state.id.iter().zip(&state.species) {
            mass_of[*id as usize] = species[usize::from(*s)].mass;
        }
        let bonds = topology.bonds.iter().map(|b| b.atoms);
        let constraints = topology.constraints.iter().map(|c| c.atoms);
        let sites = topology.virtual_sites.iter().flat_map(|v| v.atoms.map(|atom| [atom, v.site]));
        let mut partners = vec![Vec::new(); n];
        let bodies = topology.rigid_bodies.iter().map(|body| &body.atoms[..]);
        let bodies = bodies.flat_map(|atoms| atoms.iter().skip(1).map(|atom| [atoms[0], *atom]));
        for [a, b] in bonds.chain(constraints).chain(sites).chain(bodies) {
            partners[a as usize].push(b);
            partners[b as usize].push(a);
        }
        const UNMET: u32 = u32::MAX;
        let mut found = Molecules {
            molecule: vec![UNMET; n],
            share: mass_of.clone(),
            mass: Vec::new(),
            links: Vec::new(),
            rings: Vec::new(),
            constrained: topology.is_constrained(),
        };
        let mut waiting = Vec::new();
        for first in 0..n as u32 {
            if found.molecule[first as usize] != UNMET {
                continue;
            }
            let molecule = found.mass.len() as u32;
            found.molecule[first as usize] = molecule;
            found.mass.push(0.0);
            waiting.push(first);
            while let Some(atom) = waiting.pop() {
                found.mass[molecule as usize] += mass_of[atom as usize];
                for &other in &partners[atom as usize] {
                    if found.molecule[other as usize] == UNMET {
                        found.molecule[other as usize] = molecule;
                        found.links.push([other, atom]);
                        waiting.push(other);
                    } else if atom < other {
                        found.rings.push([atom, other]);
                    }
                }
            }
        }
        for (share, molecule) in found.share.iter_mut().zip(&found.molecule) {
            *share /= found.mass[*molecule as usize];
        }
        found
    }

    /// Number of molecules.
    pub fn count(&self) -> usize {
        self.mass.len()
    }

    /// Molecule of each atom, by id; molecules are counted by their first atoms.
    pub fn of_atoms(&self) -> &[u32] {
        &self.molecule
    }

    /// Part of each atom in the mass of its molecule, by id.
    pub fn shares(&self) -> &[f64] {
        &self.share
    }

    /// Masses of molecules.
    pub fn masses(&self) -> &[f64] {
        &self.mass
    }

    /// Returns true where there are constraints or rigid bodies.
    pub fn are_constrained(&self) -> bool {
        self.constrained
    }

    /// Vector to each atom from the first one of its molecule along its links, by id; `position` is that of an id.
    pub fn paths(&self, simbox: &SimBox, position: impl Fn(u32) -> Vec3) -> Vec<Vec3> {
        let mut path = vec![Vec3::ZERO; self.molecule.len()];
        for &[atom, before] in &self.links {
            path[atom as usize] = path[before as usize] + step(simbox, &position, [before, atom]);
        }
        path
    }

    /// Vector to each atom from the centre of mass of its molecule, by index in the arrays. Joined atoms are
    /// taken to be nearest images of each other.
    ///
    /// # Errors
    /// If a molecule is joined to its own image, so that it has no centre.
    pub fn arms(&self, simbox: &SimBox, state: &State) -> Result<Vec<Vec3>> {
        if self.links.is_empty() {
            return Ok(vec![Vec3::ZERO; state.len()]);
        }
        let index_by_id = state.index_by_id();
        let position = |id| state.position[index_by_id.of(id)];
        let arm = self.paths(simbox, position);
        let widths = simbox.widths();
        for &[a, b] in &self.rings {
            let gap = arm[b as usize] - arm[a as usize] - step(simbox, &position, [a, b]);
            if gap.iter().zip(widths).any(|(gap, width)| gap.abs() > 1e-6 * width) {
                return Err(Error::input("a molecule is bound to its own image in the next box")
                    .hint("no volume can be changed then without stretching it, and it has no dipole moment: leave out the barostat or the measure"));
            }
        }
        let mut center = vec![Vec3::ZERO; self.count()];
        for (id, arm) in arm.iter().enumerate() {
            center[self.molecule[id] as usize] += self.share[id] * *arm;
        }
        let from_center = |id: &u32| arm[*id as usize] - center[self.molecule[*id as usize] as usize];
        Ok(state.id.iter().map(from_center).collect())
    }

    /// Velocity of the centre of mass of each atom's molecule, by index in the arrays.
    pub fn velocities(&self, state: &State) -> Vec<Vec3> {
        if self.links.is_empty() {
            return state.velocity.clone();
        }
        let mut velocity = vec![Vec3::ZERO; self.count()];
        for (id, v) in state.id.iter().zip(&state.velocity) {
            velocity[self.molecule[*id as usize] as usize] += self.share[*id as usize] * *v;
        }
        state.id.iter().map(|id| velocity[self.molecule[*id as usize] as usize]).collect()
    }

    /// Twice the kinetic energy of all molecules as points, from the velocities of [`Molecules::velocities`].
    pub fn twice_kinetic(&self, state: &State, velocities: &[Vec3]) -> f64 {
        let part = |(id, v): (&u32, &Vec3)| {
            let mass = self.share[*id as usize] * self.mass[self.molecule[*id as usize] as usize];
            mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        };
        state.id.iter().zip(velocities).map(part).sum()
    }
}

/// Vector from one of two joined atoms to the other.
fn step(simbox: &SimBox, position: &impl Fn(u32) -> Vec3, atoms: [u32; 2]) -> Vec3 {
    let [a, b] = atoms.map(position);
    simbox.nearest_image(b - a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bond, Constraint, Vector};

    /// Two bound atoms across the edge of the box, a free one, and a triangle of constraints.
    fn sample() -> (Molecules, SimBox, State) {
        let mut state = State::default();
        let places = [[0.5, 1.0, 1.0], [5.0, 5.0, 5.0], [9.5, 1.0, 1.0], [4.0, 9.5, 4.0], [4.0, 0.5, 4.0]];
        for (k, r) in places.into_iter().chain([[5.0, 9.5, 4.0]]).enumerate() {
            state.push(u16::from(k == 2), r);
            state.velocity[k] = Vector([k as f64, 1.0, 0.0]);
        }
        // Storage order is not that of ids.
        state.permute(&[3, 1, 0, 2, 5, 4]);
        let mut topology = Topology::default();
        topology.bonds.push(Bond { kind: 0, atoms: [0, 2] });
        topology.constraints =
            [[3, 4], [5, 3], [4, 5]].map(|atoms| Constraint { atoms, length: 1.0 }).to_vec();
        let species = [1.0, 3.0].map(|mass| Species { name: "A".into(), mass, charge: 0.0 });
        let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
        (Molecules::new(&topology, &species, &state), simbox, state)
    }

    #[test]
    fn centers_are_those_of_mass() {
        let (molecules, simbox, state) = sample();
        assert_eq!(molecules.count(), 3);
        assert_eq!(molecules.of_atoms(), [0, 1, 0, 2, 2, 2]);
        let index_by_id = state.index_by_id();
        let arms = molecules.arms(&simbox, &state).unwrap();
        let arm = |id: u32| arms[index_by_id.of(id)];
        assert_eq!(
            (arm(0), arm(1), arm(2)),
            (Vector([0.75, 0.0, 0.0]), Vec3::ZERO, Vector([-0.25, 0.0, 0.0]))
        );
        let third = 1.0 / 3.0;
        for (id, expected) in [(3, [-third, -third]), (4, [-third, 2.0 * third]), (5, [2.0 * third, -third])]
        {
            assert!((0..2).all(|k| (arm(id)[k] - expected[k]).abs() < 1e-15), "{id}: {:?}", arm(id));
        }
        let velocities = molecules.velocities(&state);
        let velocity: Vec<f64> = (0..6).map(|id| velocities[index_by_id.of(id)][0]).collect();
        assert_eq!(velocity, [1.5, 1.0, 1.5, 4.0, 4.0, 4.0]);
        let twice = molecules.twice_kinetic(&state, &velocities);
        assert!((twice - (4.0 * (1.5 * 1.5 + 1.0) + 2.0 + 3.0 * 17.0)).abs() < 1e-12, "{twice}");
    }

    #[test]
    fn molecules_bound_to_their_own_image_have_no_center() {
        let mut state = State::default();
        (0..4).for_each(|k| state.push(0, [2.5 * f64::from(k), 0.0, 0.0]));
        let bonds = [[0, 1], [1, 2], [2, 3], [3, 0]].map(|atoms| Bond { kind: 0, atoms }).to_vec();
        let topology = Topology { bonds, ..Topology::default() };
        let species = [Species { name: "A".into(), mass: 1.0, charge: 0.0 }];
        let molecules = Molecules::new(&topology, &species, &state);
        let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
        assert!(molecules.arms(&simbox, &state).unwrap_err().message().contains("its own image"));
        // The larger box makes of the same atoms a chain with a long bond.
        let simbox = SimBox::orthorhombic([20.0; 3]).unwrap();
        assert_eq!(molecules.arms(&simbox, &state).unwrap()[0], [-3.75, 0.0, 0.0]);
    }
}
