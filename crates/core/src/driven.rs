//! Atoms that keep a velocity whatever acts on them, and what masses that leaves to the loops.

use crate::{State, Vec3};

/// Which atoms keep a velocity whatever acts on them; zero for those that are frozen.
#[derive(Debug, Clone, PartialEq)]
pub enum Driven {
    /// All of some species, or, empty, none.
    BySpecies(Vec<Option<Vec3>>),
    /// Some, by id.
    ById(Vec<Option<Vec3>>),
}

impl Default for Driven {
    fn default() -> Self {
        Driven::BySpecies(Vec::new())
    }
}

impl Driven {
    /// The velocity that an atom keeps; `None` where forces move it.
    pub fn of(&self, species: u16, id: u32) -> Option<Vec3> {
        match self {
            Driven::BySpecies(all) => all.get(usize::from(species)).copied().flatten(),
            Driven::ById(all) => all.get(id as usize).copied().flatten(),
        }
    }

    /// The same atoms and those of a group, which keep this velocity from now on.
    pub fn with(self, state: &State, group: &[u32], velocity: Vec3) -> Self {
        let mut all = vec![None; state.len()];
        for (species, id) in state.species.iter().zip(&state.id) {
            all[*id as usize] = self.of(*species, *id);
        }
        group.iter().for_each(|id| all[*id as usize] = Some(velocity));
        Driven::ById(all)
    }
}

/// A number of every atom, a mass or what follows from one: the same for all atoms of a species unless
/// some are driven and others are not.
#[derive(Debug, Clone, PartialEq)]
pub enum Masses {
    /// By species.
    BySpecies(Vec<f64>),
    /// By id.
    ById(Vec<f64>),
}

impl Default for Masses {
    fn default() -> Self {
        Masses::BySpecies(Vec::new())
    }
}

impl Masses {
    /// That of an atom.
    #[inline(always)]
    pub fn of(&self, species: u16, id: u32) -> f64 {
        match self {
            Masses::BySpecies(all) => all[usize::from(species)],
            Masses::ById(all) => all[id as usize],
        }
    }

    /// All numbers, in the order of species or of ids.
    pub fn values(&self) -> &[f64] {
        match self {
            Masses::BySpecies(all) | Masses::ById(all) => all,
        }
    }

    /// Those of all atoms, by id.
    pub fn by_id(&self, state: &State) -> Vec<f64> {
        let mut all = vec![0.0; state.len()];
        for (species, id) in state.species.iter().zip(&state.id) {
            all[*id as usize] = self.of(*species, *id);
        }
        all
    }
}
