//! Atoms: a plain structure of arrays.

use crate::{Driven, Group, Masses, Names, SimBox, Topology, Vec3};

/// Common properties of atoms of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Species {
    /// Name in the input file, in pairs and in trajectories.
    pub name: String,
    /// Mass in energy * time^2 / length^2 of the unit system, so that `force / mass` is an
    /// acceleration and `mass * v^2 / 2` an energy without any further factor.
    /// [`crate::UnitSystem::mass_from_user`] converts.
    pub mass: f64,
    /// Charge in units of the unit system (elementary charges; reduced in `lj`); without effect where atoms
    /// have charges of their own ([`System::charges`]).
    pub charge: f64,
}

/// Atoms in storage order. Storage order changes as the run goes (atoms near in space are kept near in
/// memory); `id` identifies an atom. Files and observers use ids.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// Number of the atom, from 0, in the order of the file or the builder.
    pub id: Vec<u32>,
    /// Index into [`System::species`].
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

/// The whole of a simulated system: box, species, atoms and topology.
#[derive(Debug, Clone, PartialEq)]
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
                let places = self.state.index_by_id().into_iter();
                let (mass, inverse) = places.map(|index| of(self.driven(index), self.mass(index))).unzip();
                (Masses::ById(mass), Masses::ById(inverse))
            }
        }
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
