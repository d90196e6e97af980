//! Driven atoms, which keep a velocity whatever acts on them, and the masses that integrators use.

use crate::{State, Vec3};
use serde::{Deserialize, Serialize};

/// Velocities of driven atoms; zero for frozen ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Driven {
    /// Velocities by species; empty where no atom is driven.
    BySpecies(Vec<Option<Vec3>>),
    /// Velocities by id.
    ById(Vec<Option<Vec3>>),
}

impl Default for Driven {
    fn default() -> Self {
        Driven::BySpecies(Vec::new())
    }
}

impl Driven {
    /// Velocity that an atom keeps; `None` where forces move it.
    pub fn of(&self, species: u16, id: u32) -> Option<Vec3> {
        match self {
            Driven::BySpecies(all) => all.get(usize::from(species)).copied().flatten(),
            Driven::ById(all) => all.get(id as usize).copied().flatten(),
        }
    }

    /// Velocities with those of a group added, which keeps `velocity` from now on.
    pub fn with(self, state: &State, group: &[u32], velocity: Vec3) -> Self {
        let mut all = vec![None; state.len()];
        for (species, id) in state.species.iter().zip(&state.id) {
            all[*id as usize] = self.of(*species, *id);
        }
        group.iter().for_each(|id| all[*id as usize] = Some(velocity));
        Driven::ById(all)
    }
}

/// A number for every atom, such as a mass or its inverse: the same for all atoms of a species unless only
/// some of them are driven.
#[derive(Debug, Clone, PartialEq)]
pub enum Masses {
    /// Numbers by species.
    BySpecies(Vec<f64>),
    /// Numbers by id.
    ById(Vec<f64>),
}

impl Default for Masses {
    fn default() -> Self {
        Masses::BySpecies(Vec::new())
    }
}

impl Masses {
    /// Number of an atom.
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

    /// Numbers of all atoms, by id.
    pub fn by_id(&self, state: &State) -> Vec<f64> {
        let mut all = vec![0.0; state.len()];
        for (species, id) in state.species.iter().zip(&state.id) {
            all[*id as usize] = self.of(*species, *id);
        }
        all
    }
}
