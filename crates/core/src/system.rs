//! The whole of a simulated system.

use crate::{Driven, Group, Masses, Names, SimBox, Species, State, Topology, Vec3};
use serde::{Deserialize, Serialize};

/// The whole of a simulated system: box, species, atoms and topology.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// The box.
    pub simbox: SimBox,
    /// The kinds of atoms.
    pub species: Vec<Species>,
    /// The atoms.
    pub state: State,
    /// Bonds, constraints and everything else that joins atoms.
    pub topology: Topology,
    /// Charge of every atom, by id; empty where the charges of the species hold.
    pub charges: Vec<f64>,
    /// Atoms that keep a velocity whatever acts on them.
    pub driven: Driven,
    /// Groups of atoms, chosen when the run began.
    pub groups: Vec<Group>,
    /// Unwrapped positions when the run began, by id; empty where they are not needed.
    pub reference_positions: Vec<Vec3>,
    /// Box when the run began; `None` where it is not needed.
    pub reference_box: Option<SimBox>,
    /// Names of the atoms; empty where only their species have names.
    pub names: Names,
}

impl System {
    /// A system without atoms yet.
    pub fn new(simbox: SimBox, species: Vec<Species>) -> Self {
        System {
            simbox,
            species,
            state: State::default(),
            topology: Topology::default(),
            charges: Vec::new(),
            driven: Driven::default(),
            groups: Vec::new(),
            reference_positions: Vec::new(),
            reference_box: None,
            names: Names::default(),
        }
    }

    /// The charge of the atom at an index of the arrays.
    pub fn charge(&self, index: usize) -> f64 {
        let of_species = || self.species[self.state.species[index] as usize].charge;
        self.charges.get(self.state.id[index] as usize).copied().unwrap_or_else(of_species)
    }

    /// The velocity that the atom at an index of the arrays keeps; `None` where forces move it.
    pub fn driven(&self, index: usize) -> Option<Vec3> {
        self.driven.of(self.state.species[index], self.state.id[index])
    }

    /// Mass and inverse mass of atoms that forces move; zeros for driven atoms and for virtual sites, so that no
    /// force moves them and they have no part in temperature or momentum.
    pub fn dynamic_masses(&self) -> (Masses, Masses) {
        let of = |driven: Option<Vec3>, mass: f64| match driven {
            None if mass > 0.0 => (mass, 1.0 / mass),
            _ => (0.0, 0.0),
        };
        match &self.driven {
            Driven::BySpecies(_) => {
                let species = (0..).zip(&self.species);
                let (mass, inverse) = species.map(|(k, s)| of(self.driven.of(k, 0), s.mass)).unzip();
                (Masses::BySpecies(mass), Masses::BySpecies(inverse))
            }
            Driven::ById(_) => {
                let indices = self.state.index_by_id().into_iter();
                let (mass, inverse) = indices.map(|index| of(self.driven(index), self.mass(index))).unzip();
                (Masses::ById(mass), Masses::ById(inverse))
            }
        }
    }

    /// Positions of all atoms on unbroken paths, by id.
    pub fn unwrapped_by_id(&self) -> Vec<Vec3> {
        let place = |index: usize| self.state.unwrapped_position(&self.simbox, index);
        self.state.index_by_id().iter().map(place).collect()
    }

    /// Returns true where there are driven atoms.
    pub fn has_driven(&self) -> bool {
        (0..self.state.len()).any(|index| self.driven(index).is_some())
    }

    /// Number of atoms that forces move.
    pub fn n_free(&self) -> usize {
        (0..self.state.len()).filter(|index| self.driven(*index).is_none() && self.mass(*index) > 0.0).count()
    }

    /// Total charge.
    pub fn total_charge(&self) -> f64 {
        (0..self.state.len()).map(|index| self.charge(index)).sum()
    }

    /// The mass of the atom at an index of the arrays.
    pub fn mass(&self, index: usize) -> f64 {
        self.species[self.state.species[index] as usize].mass
    }

    /// Replaces the box; fractional coordinates and velocities stay.
    pub fn deform(&mut self, simbox: SimBox) {
        self.state.follow(&self.simbox, &simbox);
        self.simbox = simbox;
    }

    /// Number of atoms of each species.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.species.len()];
        for &s in &self.state.species {
            counts[s as usize] += 1;
        }
        counts
    }
}
