//! Atoms: a plain structure of arrays.

use crate::{Driven, Group, Masses, Names, SimBox, Topology, Vec3};

/// What atoms of one kind have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Species {
    /// The name used in the input file, in pairs and in trajectories.
    pub name: String,
    /// Mass in energy * time^2 / length^2 of the unit system, so that `force / mass` is an
    /// acceleration and `mass * v^2 / 2` an energy without any further factor.
    /// [`crate::UnitSystem::mass_from_user`] converts.
    pub mass: f64,
    /// Charge in units of the unit system (elementary charges; reduced in `lj`). Where atoms have
    /// charges of their own ([`System::charges`]) nobody looks at it.
    pub charge: f64,
}

/// The atoms, in storage order. Storage order changes as the run goes (atoms near in space are
/// kept near in memory); `id` says who is who. Files and observers speak in ids.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// The atom's number, from 0, in the order of the file or the builder.
    pub id: Vec<u32>,
    /// Index into [`System::species`].
    pub species: Vec<u16>,
    /// Positions, wrapped into the box now and then (at every rebuild of the neighbour list).
    pub position: Vec<Vec3>,
    /// How many times each atom has crossed the box: the unwrapped position is
    /// `position + simbox.shift(image)`.
    pub image: Vec<[i32; 3]>,
    /// Velocities, length / time.
    pub velocity: Vec<Vec3>,
    /// Forces of the last evaluation, energy / length.
    pub force: Vec<Vec3>,
    /// Angular velocities of spheres that turn, 1 / time; empty where none do.
    pub angular_velocity: Vec<Vec3>,
}

impl State {
    /// How many atoms there are.
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// Whether there are none.
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

    /// By id, the index of each atom in the arrays.
    pub fn index_by_id(&self) -> Vec<usize> {
        let mut index_by_id = vec![0; self.len()];
        for (index, &id) in self.id.iter().enumerate() {
            index_by_id[id as usize] = index;
        }
        index_by_id
    }

    /// Moves all atoms to where they are in another box if each keeps its place relative to the edges.
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

/// Everything that is simulated: the box, the kinds of atoms, the atoms, and what binds them.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    /// The box.
    pub simbox: SimBox,
    /// The kinds of atoms.
    pub species: Vec<Species>,
    /// The atoms.
    pub state: State,
    /// What binds them.
    pub topology: Topology,
    /// By id, the charge of every atom; empty where the charges of the species hold.
    pub charges: Vec<f64>,
    /// Atoms that keep a velocity whatever acts on them.
    pub driven: Driven,
    /// Atoms that were chosen when the run began.
    pub groups: Vec<Group>,
    /// By id, where atoms were then, on unbroken paths; empty where nobody asks.
    pub reference_positions: Vec<Vec3>,
    /// The box then; `None` where nobody asks.
    pub reference_box: Option<SimBox>,
    /// What the atoms are called; empty where only their species have names.
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

    /// Mass and inverse mass of what forces move; zeros for atoms that are driven and for points that
    /// follow atoms, so that no force moves them and they have no part in temperature or momentum.
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

    /// Whether there are atoms that move in their own way, whatever acts on them.
    pub fn has_driven(&self) -> bool {
        (0..self.state.len()).any(|index| self.driven(index).is_some())
    }

    /// How many atoms are free to move as forces tell.
    pub fn n_free(&self) -> usize {
        (0..self.state.len()).filter(|index| self.driven(*index).is_none() && self.mass(*index) > 0.0).count()
    }

    /// The charge of all atoms together.
    pub fn total_charge(&self) -> f64 {
        (0..self.state.len()).map(|index| self.charge(index)).sum()
    }

    /// The mass of the atom at an index of the arrays.
    pub fn mass(&self, index: usize) -> f64 {
        self.species[self.state.species[index] as usize].mass
    }

    /// Another box; every atom keeps its place relative to the edges, and its velocity.
    pub fn deform(&mut self, simbox: SimBox) {
        self.state.follow(&self.simbox, &simbox);
        self.simbox = simbox;
    }

    /// How many atoms of each species there are.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.species.len()];
        for &s in &self.state.species {
            counts[s as usize] += 1;
        }
        counts
    }
}
