//! Damping and friction at the contacts of grains, with each other and with walls.
//!
//! Contacts are found once a step in the neighbour lists and used twice, as in [`crate::dissipative`]:
//! for the velocities half-way, and for those after it.

use crate::blocks::TaskForces;
use crate::cells::Clusters;
use crate::near::{NearPair, act, each_pair};
use crate::neighbors::PairList;
use crate::simd::Scalar;
use jostle_core::{Masses, State, System, Vec3};
use jostle_potentials::Grains;
use jostle_potentials::external::{Surface, Wall};
use jostle_potentials::grains::{Contact, friction};

/// The grains of a system, made ready.
pub struct Contacts {
    /// Stiffness, normal damping, tangential damping and the coefficient of friction.
    law: [f64; 4],
    /// Radius of each species.
    radius: Vec<f64>,
    inverse_mass: Masses,
    /// Inverse moments of inertia; 0 for grains that do not rotate.
    pub inverse_inertia: Masses,
    /// Walls with friction.
    walls: Vec<Wall>,
}

impl Contacts {
    /// Contacts of the grains of a system, with each other and with its walls.
    pub fn new(system: &System, grains: &Grains, walls: &[Wall]) -> Self {
        Contacts {
            law: [grains.stiffness, grains.normal_damping, grains.tangential_damping, grains.friction],
            radius: grains.radius.clone(),
            inverse_mass: system.dynamic_masses().1,
            inverse_inertia: grains.inverse_inertia(system),
            walls: walls.iter().filter(|wall| wall.surface == Surface::Grains).cloned().collect(),
        }
    }

    /// Kinetic energy of rotation of the first `n` atoms.
    pub fn rotation(&self, state: &State, n: usize) -> f64 {
        let turning = state.angular_velocity.iter().take(n).zip(&state.species).zip(&state.id);
        let energies = turning.map(|((w, species), id)| {
            let inverse = self.inverse_inertia.of(*species, *id);
            let square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
            if inverse > 0.0 { 0.5 * square / inverse } else { 0.0 }
        });
        energies.sum()
    }
}

/// Two grains that touch, or one that touches a wall.
#[derive(Debug, Clone, Copy)]
struct Touching {
    /// Indices in storage; the same one twice at a wall.
    atoms: [u32; 2],
    /// Places of the forces, see [`NearPair::slots`].
    slots: [u32; 2],
    contact: Contact<f64>,
}

/// The contacts of a task: of grains, and of grains with walls.
#[derive(Debug, Clone, Default)]
pub struct TaskContacts {
    grains: Vec<Touching>,
    walls: Vec<Touching>,
}

impl TaskContacts {
    /// Finds the contacts.
    pub fn find<S: Scalar>(
        &mut self,
        clusters: &Clusters<S>,
        list: &PairList<S>,
        state: &State,
        contacts: &Contacts,
    ) {
        let TaskContacts { grains, walls } = self;
        let Contacts { radius, inverse_mass, .. } = contacts;
        grains.clear();
        walls.clear();
        let inverse_of = |atom: usize| inverse_mass.of(state.species[atom], state.id[atom]);
        let longest = 2.0 * radius.iter().fold(0.0, |longest: f64, r| longest.max(*r));
        each_pair(clusters, list, longest, |NearPair { atoms, slots, along, distance }| {
            let [a, b] = atoms.map(|atom| usize::from(state.species[atom as usize]));
            let [of_a, of_b] = atoms.map(|atom| inverse_of(atom as usize));
            let (size, inverse) = (radius[a] + radius[b], of_a + of_b);
            if distance < size && inverse > 0.0 {
                // The point of contact divides the line as the radii do, so that no angular momentum
                // is lost.
                let arms = [a, b].map(|s| radius[s] * distance / size);
                let (overlap, mass) = (size - distance, 1.0 / inverse);
                let contact = Contact { overlap, mass, arms, normal: along };
                grains.push(Touching { atoms, slots, contact });
            }
        });
        for wall in &contacts.walls {
            for (c, cluster) in list.clusters.clone().enumerate() {
                for (lane, atom) in clusters.atoms(cluster).enumerate() {
                    let species = usize::from(state.species[atom]);
                    let height = wall.height(state.position[atom]);
                    if height >= radius[species] || inverse_of(atom) == 0.0 {
                        continue;
                    }
                    let mut normal = Vec3::ZERO;
                    normal[wall.axis] = wall.side.sign();
                    let slot = (c * 3 * clusters.width + lane) as u32;
                    let (overlap, mass) = (radius[species] - height, 1.0 / inverse_of(atom));
                    let contact = Contact { overlap, mass, arms: [height, 0.0], normal };
                    walls.push(Touching { atoms: [atom as u32; 2], slots: [slot; 2], contact });
                }
            }
        }
    }

    /// Adds forces and torques on each grain, at these velocities.
    pub fn act<S: Scalar>(
        &self,
        width: usize,
        state: &State,
        contacts: &Contacts,
        forces: &mut TaskForces<S>,
        torques: &mut TaskForces<S>,
    ) {
        let (v, w) = (&state.velocity, &state.angular_velocity);
        for Touching { atoms, slots, contact } in &self.grains {
            let [a, b] = atoms.map(|atom| atom as usize);
            let velocity = v[a] - v[b];
            let (force, twist) = friction(contacts.law, contact, velocity, [w[a], w[b]]);
            for (k, sign) in [1.0, -1.0].into_iter().enumerate() {
                act(forces, width, slots[k], force.map(|f| sign * f));
                act(torques, width, slots[k], twist.map(|t| -contact.arms[k] * t));
            }
        }
        for Touching { atoms, slots, contact } in &self.walls {
            let grain = atoms[0] as usize;
            let (force, twist) = friction(contacts.law, contact, v[grain], [w[grain], Vec3::ZERO]);
            act(forces, width, slots[0], force);
            act(torques, width, slots[0], twist.map(|t| -contact.arms[0] * t));
        }
    }
}
