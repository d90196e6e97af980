//! Atoms: a plain structure of arrays.

use crate::{SimBox, Vec3};
use serde::{Deserialize, Serialize};

/// Common properties of atoms of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Species {
    /// Name in the input file, in pairs and in trajectories.
    pub name: String,
    /// Mass in energy * time^2 / length^2 of the unit system, so that `force / mass` is an
    /// acceleration and `mass * v^2 / 2` an energy without any further factor.
    /// [`crate::UnitSystem::mass_from_user`] converts.
    pub mass: f64,
    /// Charge in units of the unit system (elementary charges; reduced in `lj`); without effect where atoms
    /// have charges of their own ([`crate::System::charges`]).
    pub charge: f64,
}

/// Atoms in storage order. Storage order changes as the run goes (atoms near in space are kept near in
/// memory); `id` identifies an atom. Files and observers use ids.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Number of the atom, from 0, in the order of the file or the builder.
    pub id: Vec<u32>,
    /// Index into [`crate::System::species`].
    pub species: Vec<u16>,
    /// Positions, wrapped into the box now and then (at every rebuild of the neighbour list).
    pub position: Vec<Vec3>,
    /// Numbers of times that each atom has crossed the box: the unwrapped position is `position +
    /// simbox.shift(image)`.
    pub image: Vec<[i32; 3]>,
    /// Velocities, length / time.
    pub velocity: Vec<Vec3>,
    /// Forces of the last evaluation, energy / length.
    pub force: Vec<Vec3>,
    /// Angular velocities of spheres that turn, 1 / time; empty where none do.
    pub angular_velocity: Vec<Vec3>,
}

impl State {
    /// Number of atoms.
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// Returns true where there are no atoms.
    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }

    /// Adds an atom at rest; its id is the number of atoms before it.
    pub fn push(&mut self, species: u16, position: Vec3) {
        self.id.push(self.len() as u32);
        self.species.push(species);
        self.position.push(position);
        self.image.push([0; 3]);
        self.velocity.push([0.0; 3]);
        self.force.push([0.0; 3]);
    }

    /// Index of each atom in the arrays, by id.
    pub fn index_by_id(&self) -> Vec<usize> {
        let mut index_by_id = vec![0; self.len()];
        for (index, &id) in self.id.iter().enumerate() {
            index_by_id[id as usize] = index;
        }
        index_by_id
    }

    /// Moves all atoms to another box; fractional coordinates stay.
    pub fn follow(&mut self, from: &SimBox, to: &SimBox) {
        for position in &mut self.position {
            *position = to.to_cartesian(from.to_fractional(*position));
        }
    }

    /// Rearranges all arrays: the atom at `order[k]` moves to `k`.
    pub fn permute(&mut self, order: &[u32]) {
        fn gather<T: Copy>(values: &mut Vec<T>, order: &[u32]) {
            *values = order.iter().map(|&k| values[k as usize]).collect();
        }
        gather(&mut self.id, order);
        gather(&mut self.species, order);
        gather(&mut self.position, order);
        gather(&mut self.image, order);
        gather(&mut self.velocity, order);
        gather(&mut self.force, order);
        if !self.angular_velocity.is_empty() {
            gather(&mut self.angular_velocity, order);
        }
    }
}
