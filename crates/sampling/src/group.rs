//! Groups of atoms as variables have them: whole across periodic boundaries, with a centre.

use jostle_core::{Error, IdIndex, Result, SimBox, System, Vec3, WholeGroups};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Distance of a molecule from the first one of a group, in edges of the box, beyond which images are not certain.
const LOOSE: f64 = 0.4;

/// Atoms whose positions the variables of a run need: each of them has one place in a list.
#[derive(Debug, Clone, Default)]
pub struct AtomList {
    ids: Vec<u32>,
    places: HashMap<u32, usize>,
}

impl AtomList {
    /// Ids of the atoms, in the order of the list.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    fn place(&mut self, id: u32) -> usize {
        *self.places.entry(id).or_insert_with(|| {
            self.ids.push(id);
            self.ids.len() - 1
        })
    }
}

/// Weights of atoms in the centre of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weights {
    /// Masses.
    #[default]
    Mass,
    /// Equal weights.
    Equal,
}

/// A group of atoms.
#[derive(Debug, Clone)]
pub struct Group {
    /// Place of each atom in the list of all atoms.
    pub(crate) places: Vec<usize>,
    /// Part of each atom in the centre.
    pub(crate) shares: Vec<f64>,
    /// Charges of the atoms.
    pub(crate) charges: Vec<f64>,
    pub(crate) start: GroupStart,
}

/// Facts about a group when the run began, which cannot be found again later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct GroupStart {
    /// Image of each unwrapped position that belongs to the group.
    pub images: Vec<[i32; 3]>,
    /// Positions at the start, whole.
    pub positions: Vec<Vec3>,
}

/// A system in which groups are found, with its molecules.
pub struct Surroundings<'a> {
    system: &'a System,
    index_by_id: IdIndex,
    groups: WholeGroups,
}

impl<'a> Surroundings<'a> {
    /// Surroundings in a system as it is now.
    pub fn new(system: &'a System) -> Self {
        Surroundings::with_paths(system, system.unwrapped_by_id())
    }

    /// Surroundings in a system whose atoms have followed these unbroken paths, by id.
    pub fn with_paths(system: &'a System, unwrapped: Vec<Vec3>) -> Self {
        let index_by_id = system.state.index_by_id();
        Surroundings { system, index_by_id, groups: WholeGroups::now(system, unwrapped) }
    }

    /// The box.
    pub fn simbox(&self) -> &SimBox {
        &self.system.simbox
    }

    /// Positions of some atoms, whole: see [`WholeGroups::positions`].
    pub fn whole(&self, atoms: &[u32]) -> Vec<Vec3> {
        self.groups.positions(atoms)
    }

    /// Returns true where several molecules of these atoms are so far apart that other images of them may be the
    /// nearest ones in the next frame.
    pub(crate) fn is_loose(&self, atoms: &[u32]) -> bool {
        let simbox = &self.system.simbox;
        let whole = self.whole(atoms);
        let (Some(first), Some(origin)) = (atoms.first(), whole.first()) else { return false };
        let periodic = simbox.periodic();
        atoms.iter().zip(&whole).any(|(id, r)| {
            let apart = simbox.to_fractional(simbox.origin() + (*r - *origin));
            self.groups.molecule(*id) != self.groups.molecule(*first)
                && (0..3).any(|k| periodic[k] && apart[k].abs() > LOOSE)
        })
    }

    /// A group of these atoms, which it adds to the list.
    ///
    /// # Errors
    /// If there are no atoms, none of them exists, or they have no mass to weigh them by.
    pub fn group(&self, atoms: &[u32], weights: Weights, list: &mut AtomList) -> Result<Group> {
        if atoms.is_empty() {
            return Err(Error::input("a group of a variable has no atoms").hint("choose at least one atom"));
        }
        if let Some(id) = atoms.iter().find(|id| self.index_by_id.get(**id).is_none()) {
            return Err(Error::input(format!("a variable has atom {id}, which does not exist")));
        }
        let index = |id: &u32| self.index_by_id.of(*id);
        let weight = |id: &u32| match weights {
            Weights::Mass => self.system.mass(index(id)),
            Weights::Equal => 1.0,
        };
        let total: f64 = atoms.iter().map(weight).sum();
        if !(total > 0.0 && total.is_finite()) {
            return Err(Error::input("the atoms of a group of a variable have no mass")
                .hint("weigh them alike: weights = \"equal\""));
        }
        let positions = self.whole(atoms);
        let images = self.images(atoms);
        Ok(Group {
            places: atoms.iter().map(|id| list.place(*id)).collect(),
            shares: atoms.iter().map(|id| weight(id) / total).collect(),
            charges: atoms.iter().map(|id| self.system.charge(index(id))).collect(),
            start: GroupStart { images, positions },
        })
    }

    /// Image of each atom's unwrapped position that belongs to a group of these atoms.
    pub(crate) fn images(&self, atoms: &[u32]) -> Vec<[i32; 3]> {
        self.groups.images(atoms)
    }
}

impl Group {
    /// Positions of the atoms, whole, from the unwrapped positions of the list.
    pub(crate) fn positions(&self, simbox: &SimBox, unwrapped: &[Vec3]) -> Vec<Vec3> {
        let atoms = self.places.iter().zip(&self.start.images);
        atoms.map(|(place, image)| unwrapped[*place] + simbox.shift(*image)).collect()
    }

    /// Centre of the atoms at such positions.
    pub(crate) fn center(&self, positions: &[Vec3]) -> Vec3 {
        let mut center = Vec3::ZERO;
        for (r, share) in positions.iter().zip(&self.shares) {
            center += *share * *r;
        }
        center
    }

    /// Number of atoms.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns true where there are no atoms.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}
