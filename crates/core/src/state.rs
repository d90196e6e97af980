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

/// Indices of atoms in the arrays of a state, by id. Ids of atoms that the state does not have are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdIndex(Vec<u32>);

/// Index of an absent atom.
const ABSENT: u32 = u32::MAX;

impl IdIndex {
    /// Indices of atoms with these ids, in storage order. Of several atoms with one id, as ghosts have, it is the first.
    pub fn new(ids: &[u32]) -> Self {
        let n_ids = ids.iter().max().map_or(0, |last| *last as usize + 1);
        let mut index_by_id = vec![ABSENT; n_ids];
        for (index, id) in ids.iter().enumerate().rev() {
            index_by_id[*id as usize] = index as u32;
        }
        IdIndex(index_by_id)
    }

    /// Number of ids up to the largest.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true where there are no atoms.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Index of an atom; `None` where it is absent.
    pub fn get(&self, id: u32) -> Option<usize> {
        self.0.get(id as usize).copied().and_then(present)
    }

    /// Index of an atom that is known to be there.
    ///
    /// # Panics
    /// If there is no such id.
    #[inline(always)]
    pub fn of(&self, id: u32) -> usize {
        self.0[id as usize] as usize
    }

    /// Indices of the atoms that are there, in the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied().filter_map(present)
    }
}

/// An index, unless it is that of an absent atom.
fn present(index: u32) -> Option<usize> {
    (index != ABSENT).then_some(index as usize)
}

/// Indices of the atoms that are there, in the order of ids.
impl IntoIterator for IdIndex {
    type Item = usize;
    type IntoIter = std::iter::FilterMap<std::vec::IntoIter<u32>, fn(u32) -> Option<usize>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().filter_map(present)
    }
}

/// A contact of two grains, or of a grain with a wall, that remembers how the surfaces have moved on each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RememberedContact {
    /// Ids of the two atoms, the lower one first; a wall has a number beyond all ids.
    pub atoms: [u32; 2],
    /// Spring of sliding, of the first on the second, length.
    pub slide: Vec3,
    /// Spring of rolling, length.
    pub roll: Vec3,
}

impl RememberedContact {
    /// Atoms by which contacts are sorted and found.
    pub fn key(&self) -> [u32; 2] {
        self.atoms
    }

    /// Contact of two atoms, in any order, among contacts that are sorted by their keys.
    pub fn find(contacts: &[Self], [a, b]: [u32; 2]) -> Option<&Self> {
        let place = contacts.binary_search_by_key(&[a.min(b), a.max(b)], Self::key).ok()?;
        contacts.get(place)
    }
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
    /// Contacts of grains that remember, by ascending keys; empty where none do.
    pub contacts: Vec<RememberedContact>,
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
    pub fn push(&mut self, species: u16, position: impl Into<Vec3>) {
        self.id.push(self.len() as u32);
        self.species.push(species);
        self.position.push(position.into());
        self.image.push([0; 3]);
        self.velocity.push(Vec3::ZERO);
        self.force.push(Vec3::ZERO);
    }

    /// Index of each atom in the arrays, by id.
    pub fn index_by_id(&self) -> IdIndex {
        IdIndex::new(&self.id)
    }

    /// Moves all atoms to another box; fractional coordinates stay.
    pub fn follow(&mut self, from: &SimBox, to: &SimBox) {
        for position in &mut self.position {
            *position = to.to_cartesian(from.to_fractional(*position));
        }
    }

    /// Rearranges all arrays in the order of ids.
    pub fn sort_by_id(&mut self) {
        let order: Vec<u32> = self.index_by_id().into_iter().map(|index| index as u32).collect();
        self.permute(&order);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_by_id_name_absent_atoms() {
        let index_by_id = IdIndex::new(&[4, 0, 2]);
        let expected = [Some(1), None, Some(2), None, Some(0), None];
        assert_eq!([0, 1, 2, 3, 4, 5].map(|id| index_by_id.get(id)), expected);
        assert_eq!((index_by_id.len(), index_by_id.of(4)), (5, 0));
        assert_eq!(index_by_id.iter().collect::<Vec<_>>(), [1, 2, 0]);
        assert_eq!(index_by_id.into_iter().collect::<Vec<_>>(), [1, 2, 0]);
        assert!(IdIndex::new(&[]).is_empty());
    }
}
