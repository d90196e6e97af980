//! Damping and friction at the contacts of grains, with each other and with walls.
//!
//! Contacts are found once a step in the neighbour lists and used twice, as in [`crate::dissipative`]:
//! for the velocities half-way, and for those after it.
//!
//! Contacts that remember move their springs with the positions of grains, which have the velocities before friction for
//! the half of a step and those after it for the other half: grains at rest do not creep.
//!
//! They keep their springs from step to step: pairs come in the order of a list, so that those of
//! this step and of the one before are passed through together. When lists are built anew, contacts of all tasks and
//! ranks go into the state ([`jostle_core::State::contacts`]), where the next step finds them by ids.

use crate::blocks::TaskForces;
use crate::cells::Clusters;
use crate::near::{NearPair, act, each_pair};
use crate::neighbors::PairList;
use crate::simd::Scalar;
use jostle_core::{Masses, RememberedContact, State, System, Vec3};
use jostle_potentials::Grains;
use jostle_potentials::external::{Surface, Wall};
use jostle_potentials::grains::{Contact, Law, Springs, contact_forces, stretched, wall_number};

/// The grains of a system, made ready.
pub struct Contacts {
    /// Law of all contacts.
    pub law: Law<f64>,
    /// True where contacts remember.
    pub remember: bool,
    /// True where tasks have contacts that are newer than those of the state.
    pub newer: bool,
    /// Time at the end of the step.
    pub time: f64,
    /// Radius of each species.
    radius: Vec<f64>,
    inverse_mass: Masses,
    /// Inverse moments of inertia; 0 for grains that do not rotate.
    pub inverse_inertia: Masses,
    /// Walls with friction, and their velocities.
    walls: Vec<(Wall, Vec3)>,
}

impl Contacts {
    /// Contacts of the grains of a system, with each other and with its walls.
    pub fn new(system: &System, grains: &Grains, walls: &[Wall]) -> Self {
        Contacts {
            law: Law::from_numbers(grains.law()),
            remember: grains.remember(),
            newer: false,
            time: 0.0,
            radius: grains.radius.clone(),
            inverse_mass: system.dynamic_masses().1,
            inverse_inertia: grains.inverse_inertia(system),
            walls: walls
                .iter()
                .filter(|wall| wall.surface == Surface::Grains)
                .map(|wall| (wall.clone(), Vec3::ZERO))
                .collect(),
        }
    }

    /// Moves walls to the middle of the step of this length that ends at [`Contacts::time`].
    pub fn move_walls(&mut self, timestep: f64) {
        let middle = self.time - 0.5 * timestep;
        for (wall, velocity) in &mut self.walls {
            wall.set_time(middle);
            *velocity = wall.velocity(middle);
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
    /// Ids of both, or of one and the number of the wall.
    names: [u32; 2],
    /// Places of the forces, see [`NearPair::slots`].
    slots: [u32; 2],
    /// Number in the list, see [`NearPair::number`].
    number: u64,
    contact: Contact<f64>,
    springs: Springs<f64>,
    /// Velocity of the wall, if it is one.
    of_wall: Vec3,
}

impl Touching {
    /// Velocity of the first grain relative to the other one or to a wall, and the angular velocities of both.
    fn motion(&self, state: &State) -> (Vec3, [Vec3; 2]) {
        let (v, w) = (&state.velocity, &state.angular_velocity);
        let [a, b] = self.atoms.map(|atom| atom as usize);
        match a == b {
            true => (v[a] - self.of_wall, [w[a], Vec3::ZERO]),
            false => (v[a] - v[b], [w[a], w[b]]),
        }
    }
}

/// Fate of the springs of contacts in a pass over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpringsLeft {
    /// They stay as they are: velocities are a guess.
    AsTheyAre,
    /// Friction limits them.
    Limited,
}

/// The contacts of a task: of grains, and of grains with walls.
#[derive(Debug, Clone, Default)]
pub struct TaskContacts {
    grains: Vec<Touching>,
    walls: Vec<Touching>,
    /// Contacts of the step before, while those of this one are found.
    before: Vec<Touching>,
}

/// Springs that contacts had in the step before, asked for in the order of the list.
struct Memory<'a> {
    /// Contacts of the step before.
    before: std::iter::Peekable<std::slice::Iter<'a, Touching>>,
    /// Contacts of the state, where lists are new.
    state: Option<&'a [RememberedContact]>,
}

impl Memory<'_> {
    fn springs(&mut self, number: u64, names: [u32; 2]) -> Springs<f64> {
        let found = match self.state {
            Some(contacts) => {
                RememberedContact::find(contacts, names).map(|contact| Springs::seen_by_first(contact, names))
            }
            None => {
                while self.before.next_if(|old| old.number < number).is_some() {}
                self.before.next_if(|old| old.number == number).map(|old| old.springs)
            }
        };
        found.unwrap_or(Springs::NEW)
    }
}

impl TaskContacts {
    /// Finds the contacts, with the springs that they had in the step before.
    pub fn find<S: Scalar>(
        &mut self,
        clusters: &Clusters<S>,
        list: &PairList<S>,
        state: &State,
        contacts: &Contacts,
    ) {
        let TaskContacts { grains, walls, before } = self;
        let Contacts { radius, inverse_mass, .. } = contacts;
        let remembered = (!contacts.newer).then_some(&state.contacts[..]);
        std::mem::swap(grains, before);
        grains.clear();
        let mut memory = Memory { before: before.iter().peekable(), state: remembered };
        let inverse_of = |atom: usize| inverse_mass.of(state.species[atom], state.id[atom]);
        let longest = 2.0 * radius.iter().fold(0.0, |longest: f64, r| longest.max(*r));
        each_pair(clusters, list, longest, |NearPair { atoms, slots, along, distance, number }| {
            let [a, b] = atoms.map(|atom| radius[usize::from(state.species[atom as usize])]);
            let [of_a, of_b] = atoms.map(|atom| inverse_of(atom as usize));
            let (size, inverse) = (a + b, of_a + of_b);
            if distance < size && inverse > 0.0 {
                // The point of contact divides the line as the radii do, so that no angular momentum
                // is lost.
                let arms = [a, b].map(|radius| radius * distance / size);
                let (overlap, mass) = (size - distance, 1.0 / inverse);
                let contact = Contact { overlap, mass, radius: a * b / size, arms, normal: along };
                let names = atoms.map(|atom| state.id[atom as usize]);
                let springs = memory.springs(number, names);
                grains.push(Touching { atoms, names, slots, number, contact, springs, of_wall: Vec3::ZERO });
            }
        });
        std::mem::swap(walls, before);
        walls.clear();
        let mut memory = Memory { before: before.iter().peekable(), state: remembered };
        let mut number = 0;
        for (w, (wall, of_wall)) in contacts.walls.iter().enumerate() {
            for (c, cluster) in list.clusters.clone().enumerate() {
                for (lane, atom) in clusters.atoms(cluster).enumerate() {
                    number += 1;
                    let radius = radius[usize::from(state.species[atom])];
                    let height = wall.height(state.position[atom]);
                    if height >= radius || inverse_of(atom) == 0.0 {
                        continue;
                    }
                    let mut normal = Vec3::ZERO;
                    normal[wall.axis] = wall.side.sign();
                    let slot = (c * 3 * clusters.width + lane) as u32;
                    let (overlap, mass) = (radius - height, 1.0 / inverse_of(atom));
                    let contact = Contact { overlap, mass, radius, arms: [height, 0.0], normal };
                    let names = [state.id[atom], wall_number(w)];
                    let springs = memory.springs(number, names);
                    let (atoms, slots) = ([atom as u32; 2], [slot; 2]);
                    walls.push(Touching { atoms, names, slots, number, contact, springs, of_wall: *of_wall });
                }
            }
        }
    }

    /// Moves springs with the surfaces, which have these velocities for some time.
    pub fn stretch(&mut self, state: &State, time: f64) {
        for touching in self.grains.iter_mut().chain(&mut self.walls) {
            let (velocity, angular) = touching.motion(state);
            touching.springs = stretched(touching.springs, &touching.contact, velocity, angular, time);
        }
    }

    /// Adds forces and torques on each grain, at these velocities.
    pub fn act<S: Scalar>(
        &mut self,
        width: usize,
        state: &State,
        law: &Law<f64>,
        left: SpringsLeft,
        forces: &mut TaskForces<S>,
        torques: &mut TaskForces<S>,
    ) {
        for touching in self.grains.iter_mut().chain(&mut self.walls) {
            let (velocity, angular) = touching.motion(state);
            let Touching { atoms, slots, contact, springs, .. } = touching;
            let (found, limited) = contact_forces(law, contact, velocity, angular, *springs);
            if left == SpringsLeft::Limited {
                *springs = limited;
            }
            let n_grains = if atoms[0] == atoms[1] { 1 } else { 2 };
            for (k, sign) in [1.0, -1.0].into_iter().enumerate().take(n_grains) {
                act(forces, width, slots[k], sign * found.force);
                act(torques, width, slots[k], sign * found.torque - contact.arms[k] * found.twist);
            }
        }
    }

    /// Contacts to be remembered by ids.
    pub fn remembered(&self) -> impl Iterator<Item = RememberedContact> {
        self.grains.iter().chain(&self.walls).map(|touching| touching.springs.of(touching.names))
    }
}
