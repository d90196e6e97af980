//! Groups of atoms that are whole across periodic boundaries.

use crate::{Molecules, SimBox, System, Vec3};
use std::collections::HashMap;

/// Unbroken paths of all atoms of a system, and how they are joined in molecules: what a group of atoms needs to be whole.
pub struct WholeGroups {
    simbox: SimBox,
    /// Molecule of each atom, by id, and the first atom of each molecule.
    molecule: Vec<u32>,
    first: Vec<u32>,
    /// Vector to each atom from the first one of its molecule, by id.
    paths: Vec<Vec3>,
    /// Unwrapped positions, by id.
    unwrapped: Vec<Vec3>,
}

impl WholeGroups {
    /// Groups of atoms where they are now, on these unbroken paths, by id.
    pub fn now(system: &System, unwrapped: Vec<Vec3>) -> Self {
        let (state, index_by_id) = (&system.state, system.state.index_by_id());
        WholeGroups::new(system, &system.simbox, unwrapped, |id| state.position[index_by_id.of(id)])
    }

    /// Groups of atoms where they were when a run began: at [`System::reference_positions`], in the box of that time. In a
    /// system without these it begins now.
    pub fn of_start(system: &System) -> Self {
        let simbox = system.reference_box.as_ref().unwrap_or(&system.simbox);
        let places = match system.reference_positions.is_empty() {
            true => system.unwrapped_by_id(),
            false => system.reference_positions.clone(),
        };
        WholeGroups::new(system, simbox, places.clone(), |id| places[id as usize])
    }

    fn new(system: &System, simbox: &SimBox, unwrapped: Vec<Vec3>, position: impl Fn(u32) -> Vec3) -> Self {
        let molecules = Molecules::new(&system.topology, &system.species, &system.state);
        let (molecule, paths) = (molecules.of_atoms().to_vec(), molecules.paths(simbox, position));
        let mut first = Vec::with_capacity(molecules.count());
        for (id, molecule) in (0..).zip(&molecule) {
            if *molecule as usize == first.len() {
                first.push(id);
            }
        }
        WholeGroups { simbox: *simbox, molecule, first, paths, unwrapped }
    }

    /// Positions of some atoms in the images that make their molecules whole and, of several molecules, bring
    /// the first atoms of each nearest to the first atom of all.
    pub fn positions(&self, atoms: &[u32]) -> Vec<Vec3> {
        let mut first_of: HashMap<u32, (Vec3, Vec3)> = HashMap::new();
        let Some(origin) = atoms.first().map(|id| self.unwrapped[*id as usize]) else { return Vec::new() };
        let place = |id: &u32| {
            let (r, path) = (self.unwrapped[*id as usize], self.paths[*id as usize]);
            let near = || (origin + self.simbox.nearest_image(r - origin), path);
            let (start, start_path) = *first_of.entry(self.molecule(*id)).or_insert_with(near);
            start + (path - start_path)
        };
        atoms.iter().map(place).collect()
    }

    /// Position of an atom in the image that makes its molecule whole, of which the first atom is where it is.
    pub fn in_whole_molecule(&self, id: u32) -> Vec3 {
        let first = self.first[self.molecule(id) as usize];
        self.unwrapped[first as usize] + self.paths[id as usize]
    }

    /// Image of an atom's unwrapped position that makes its molecule whole: the same at any time of a run.
    pub fn image_in_molecule(&self, id: u32) -> [i32; 3] {
        self.image(id, self.in_whole_molecule(id))
    }

    /// Image of each atom's unwrapped position that belongs to a group of these atoms.
    pub fn images(&self, atoms: &[u32]) -> Vec<[i32; 3]> {
        atoms.iter().zip(self.positions(atoms)).map(|(id, r)| self.image(*id, r)).collect()
    }

    /// Number of boxes along each axis from an atom's unwrapped position to another of its images.
    fn image(&self, id: u32, place: Vec3) -> [i32; 3] {
        let r = self.unwrapped[id as usize];
        let cells = self.simbox.to_fractional(self.simbox.origin() + (place - r));
        cells.map(|cells| cells.round() as i32).0
    }

    /// Molecule of an atom.
    pub fn molecule(&self, id: u32) -> u32 {
        self.molecule[id as usize]
    }
}
