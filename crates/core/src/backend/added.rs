//! Forces that the host adds to those of a device.

use crate::{Error, Result, SymTensor, Vec3};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Forces on chosen atoms, computed outside the device at the positions of its last evaluation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AddedForces {
    /// Ids of the atoms; an id may occur more than once.
    pub ids: Vec<u32>,
    /// Force on each of them.
    pub forces: Vec<Vec3>,
    /// Energy of each source of forces, in a fixed order.
    pub energies: Vec<f64>,
    /// Virial of all of them together, as [`super::Energies::virial`].
    pub virial: SymTensor,
}

impl AddedForces {
    /// Refuses forces on atoms that do not exist, and lists of different lengths.
    ///
    /// # Errors
    /// If there are not as many forces as ids, or an id is not below `n_atoms`.
    pub fn check(&self, n_atoms: usize) -> Result<()> {
        if self.ids.len() != self.forces.len() {
            let (ids, forces) = (self.ids.len(), self.forces.len());
            return Err(Error::input(format!("{forces} added forces for {ids} atoms")));
        }
        match self.ids.iter().find(|id| **id as usize >= n_atoms) {
            Some(id) => Err(Error::input(format!(
                "a force is added to atom {id}, but there are {n_atoms} atoms, counted from 0"
            ))),
            None => Ok(()),
        }
    }

    /// Sum of the forces on each atom, by id; these forces themselves where they are one for each atom, in that order.
    pub fn by_id(&self, n_atoms: usize) -> Cow<'_, [Vec3]> {
        if self.ids.len() == n_atoms && self.ids.iter().zip(0..).all(|(id, k)| *id == k) {
            return Cow::Borrowed(&self.forces);
        }
        let mut sums = vec![Vec3::ZERO; n_atoms];
        for (id, force) in self.ids.iter().zip(&self.forces) {
            sums[*id as usize] += *force;
        }
        Cow::Owned(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vector;

    #[test]
    fn forces_on_one_atom_add_up() {
        let added = AddedForces {
            ids: vec![2, 0, 2],
            forces: vec![Vector([1.0, 0.0, 0.0]), Vector([0.0, 1.0, 0.0]), Vector([1.0, 0.0, 3.0])],
            ..AddedForces::default()
        };
        assert_eq!(*added.by_id(3), [[0.0, 1.0, 0.0], [0.0; 3], [2.0, 0.0, 3.0]]);
        let in_order = AddedForces { ids: vec![0, 1, 2], ..added.clone() };
        assert_eq!(*in_order.by_id(3), *added.forces);
        assert!(added.check(3).is_ok());
        assert!(added.check(2).unwrap_err().message().contains("atom 2"));
        let short = AddedForces { ids: vec![0], ..AddedForces::default() };
        assert!(short.check(3).is_err());
    }
}
