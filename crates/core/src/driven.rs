//! Driven atoms, which keep a velocity whatever acts on them, and the masses that integrators use.

use crate::{State, System, Vec3};
use serde::{Deserialize, Serialize};

/// Velocities of driven atoms; zero for frozen ones. A virtual site has that of its atoms, see [`Driven::with_sites`].
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

    /// Gives driven atoms their velocities.
    pub fn hold(&self, state: &mut State) {
        let State { id, species, velocity, .. } = state;
        for ((velocity, species), id) in velocity.iter_mut().zip(species).zip(id) {
            *velocity = self.of(*species, *id).unwrap_or(*velocity);
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

    /// Velocities in which each virtual site of a system has the one that all of its atoms keep, and none where they
    /// keep none in common: it moves with them whatever was said of it.
    pub fn with_sites(self, system: &System) -> Self {
        let System { state, topology, .. } = system;
        let index_by_id = state.index_by_id();
        let own = |id: u32| self.of(state.species[index_by_id.of(id)], id);
        let of_atoms =
            |atoms: [u32; 3]| own(atoms[0]).filter(|v| atoms.iter().all(|atom| own(*atom) == Some(*v)));
        let sites = topology.virtual_sites.iter().map(|v| (v.site, of_atoms(v.atoms)));
        let changed: Vec<_> = sites.filter(|(site, velocity)| own(*site) != *velocity).collect();
        if changed.is_empty() {
            return self;
        }
        let mut all: Vec<_> = (0..state.len() as u32).map(own).collect();
        changed.into_iter().for_each(|(site, velocity)| all[site as usize] = velocity);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{SiteRule, VirtualSite};
    use crate::{SimBox, Species, Vector};

    /// A site keeps the velocity that all of its atoms keep, whatever was said of it.
    #[test]
    fn sites_are_driven_as_their_atoms() {
        let species = |name: &str, mass| Species { name: name.into(), mass, charge: 0.0 };
        let simbox = SimBox::new([0.0; 3], [5.0; 3], [0.0; 3], [true; 3]).unwrap();
        let mut system = System::new(simbox, vec![species("O", 16.0), species("H", 1.0), species("M", 0.0)]);
        [0, 1, 1, 2].iter().for_each(|kind| system.state.push(*kind, [1.0; 3]));
        let rule = SiteRule::Average([0.6, 0.2, 0.2]);
        system.topology.virtual_sites = vec![VirtualSite { site: 3, atoms: [0, 1, 2], rule }];
        let (still, moving) = (Some(Vec3::ZERO), Some(Vector([1.0, 0.0, 0.0])));
        for (given, site) in [
            ([still, still, still, None], still),
            ([moving, moving, moving, still], moving),
            ([None, still, still, still], None),
            ([still, moving, moving, still], None),
        ] {
            let Driven::ById(kept) = Driven::ById(given.to_vec()).with_sites(&system) else {
                panic!("{given:?} is by species")
            };
            assert_eq!(kept, [given[0], given[1], given[2], site]);
        }
        let consistent = Driven::BySpecies(vec![still, still, still]);
        assert_eq!(consistent.clone().with_sites(&system), consistent);
        let followed = Driven::BySpecies(vec![still, still, None]).with_sites(&system);
        assert_eq!(followed, Driven::ById(vec![still; 4]));
    }
}
