//! Copies of a system side by side.

use crate::{
    Angle, AtomName, Bond, Constraint, CrossTerm, Dihedral, Error, Molecules, Names, Result, RigidBody,
    SimBox, State, System, Topology, Vec3, VirtualSite,
};

impl System {
    /// Copies of the system side by side along each edge of its box, which grows to hold them; velocities are
    /// copied, too. Ids and names are those of the first copy, then those of the next one along the first
    /// edge, and so on. A molecule that crosses the edge of the box stays one molecule; an atom that is bound
    /// to its own image is bound to the copy next to it.
    ///
    /// Groups, reference positions and atoms that are driven one by one are not copied: they are chosen
    /// afterwards.
    ///
    /// # Errors
    /// If there are no copies along an edge, several along one that is not periodic, or more atoms in
    /// all than 32-bit numbers count.
    pub fn replicate(self, copies: [usize; 3]) -> Result<System> {
        if copies == [1; 3] {
            return Ok(self);
        }
        if copies.contains(&0) {
            return Err(Error::input(format!("replicate = {copies:?} leaves nothing along one edge"))
                .hint("1 keeps the box as it is along an edge"));
        }
        let simbox = &self.simbox;
        if let Some(k) = (0..3).find(|k| copies[*k] > 1 && !simbox.periodic()[*k]) {
            let axis = ["x", "y", "z"][k];
            let message = format!("replicate = {copies:?} copies the box along {axis}, where it is open");
            return Err(Error::input(message).hint("only periodic boxes have copies next to them"));
        }
        let n = self.state.len();
        let total = copies.iter().try_fold(n, |total, copies| total.checked_mul(*copies));
        let Some(total) = total.filter(|total| *total <= u32::MAX as usize) else {
            let message =
                format!("{n} atoms, replicated {copies:?} times, are more than 32-bit numbers count");
            return Err(Error::input(message));
        };
        let copied = Copied::new(&self, copies);
        let mut system = System::new(copied.grown()?, self.species.clone());
        system.state = copied.state(&system.simbox);
        system.topology = copied.topology();
        system.charges = self.charges.repeat(total / n.max(1));
        system.driven = self.driven.clone();
        system.names = names(&self.names, total / n.max(1));
        Ok(system)
    }
}

/// A system and the numbers of its copies.
struct Copied<'a> {
    system: &'a System,
    copies: [usize; 3],
    /// Positions of atoms, by id.
    position: Vec<Vec3>,
    /// Image of each atom that is in one piece with the first atom of its molecule, by id.
    image: Vec<[i32; 3]>,
}

impl<'a> Copied<'a> {
    fn new(system: &'a System, copies: [usize; 3]) -> Self {
        let System { simbox, state, .. } = system;
        let index_by_id = state.index_by_id();
        let position: Vec<Vec3> = index_by_id.iter().map(|index| state.position[index]).collect();
        let molecules = Molecules::new(&system.topology, &system.species, state);
        let paths = molecules.paths(simbox, |id| state.position[index_by_id.of(id)]);
        // The first atom of a molecule has the lowest id and comes first here.
        let mut first = vec![None; molecules.count()];
        let image = paths.iter().zip(&position).zip(molecules.of_atoms()).map(|((path, r), molecule)| {
            let start = *first[*molecule as usize].get_or_insert(*r);
            images(simbox, start + *path - *r)
        });
        let image = image.collect();
        Copied { system, copies, position, image }
    }

    /// Box that holds all copies.
    fn grown(&self) -> Result<SimBox> {
        let simbox = &self.system.simbox;
        let [x, y, z] = self.copies.map(|n| n as f64);
        let ([lx, ly, lz], [xy, xz, yz]) = (simbox.lengths(), simbox.tilts());
        SimBox::new(simbox.origin(), [x * lx, y * ly, z * lz], [y * xy, z * xz, z * yz], simbox.periodic())
    }

    /// Cells of all copies, in the order of ids.
    fn cells(&self) -> impl Iterator<Item = [i32; 3]> {
        let [x, y, z] = self.copies.map(|n| n as i32);
        (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
    }

    fn state(&self, grown: &SimBox) -> State {
        let from = &self.system.state;
        let n = from.len() as u32;
        let mut state = State::default();
        for (copy, cell) in (0..).zip(self.cells()) {
            for (index, id) in from.id.iter().enumerate() {
                let image = self.image[*id as usize];
                let shift = self.system.simbox.shift(std::array::from_fn(|k| image[k] + cell[k]));
                let mut position = from.position[index] + shift;
                let mut crossed = [0; 3];
                grown.wrap(&mut position, &mut crossed);
                let at = state.len();
                state.push(from.species[index], position);
                state.id[at] = copy * n + id;
                state.image[at] = crossed;
                state.velocity[at] = from.velocity[index];
            }
            state.angular_velocity.extend(&from.angular_velocity);
        }
        state
    }

    /// Atoms that belong together, in all copies: all are nearest images of the first one.
    fn together<const N: usize>(&self, atoms: [u32; N]) -> impl Iterator<Item = [u32; N]> {
        let next = self.images_next_to_first(&atoms);
        self.cells().map(move |cell| std::array::from_fn(|a| self.copy(cell, next[a], atoms[a])))
    }

    /// Images of atoms that are next to the first one.
    fn images_next_to_first(&self, atoms: &[u32]) -> Vec<[i32; 3]> {
        let simbox = &self.system.simbox;
        let whole =
            |atom: u32| -> Vec3 { self.position[atom as usize] + simbox.shift(self.image[atom as usize]) };
        let first = whole(atoms[0]);
        let image = |atom: &u32| {
            let d = whole(*atom) - first;
            images(simbox, simbox.nearest_image(d) - d)
        };
        atoms.iter().map(image).collect()
    }

    /// Id of the copy of an atom in the image `next` to a cell.
    fn copy(&self, cell: [i32; 3], next: [i32; 3], atom: u32) -> u32 {
        let copies = self.copies;
        let [i, j, k] = std::array::from_fn(|d| (cell[d] + next[d]).rem_euclid(copies[d] as i32) as u32);
        let copy = (k * copies[1] as u32 + j) * copies[0] as u32 + i;
        copy * self.system.state.len() as u32 + atom
    }

    /// A rigid body in all copies.
    fn bodies(&self, body: &RigidBody) -> impl Iterator<Item = RigidBody> {
        let next = self.images_next_to_first(&body.atoms);
        self.cells().map(move |cell| {
            let atoms = body.atoms.iter().zip(&next).map(|(atom, next)| self.copy(cell, *next, *atom));
            RigidBody { atoms: atoms.collect(), ..body.clone() }
        })
    }

    fn topology(&self) -> Topology {
        let from = &self.system.topology;
        let bonds = from.bonds.iter().flat_map(|b| self.together(b.atoms).map(|atoms| Bond { atoms, ..*b }));
        let angles =
            from.angles.iter().flat_map(|a| self.together(a.atoms).map(|atoms| Angle { atoms, ..*a }));
        let dihedrals =
            from.dihedrals.iter().flat_map(|d| self.together(d.atoms).map(|atoms| Dihedral { atoms, ..*d }));
        let cross_terms = from
            .cross_terms
            .iter()
            .flat_map(|c| self.together(c.atoms).map(|atoms| CrossTerm { atoms, ..*c }));
        let constraints = from
            .constraints
            .iter()
            .flat_map(|c| self.together(c.atoms).map(|atoms| Constraint { atoms, ..*c }));
        let sites = from.virtual_sites.iter().flat_map(|v| {
            let [a, b, c] = v.atoms;
            let all = self.together([v.site, a, b, c]);
            all.map(|[site, a, b, c]| VirtualSite { site, atoms: [a, b, c], ..*v })
        });
        Topology {
            bond_types: from.bond_types.clone(),
            bonds: bonds.collect(),
            angle_types: from.angle_types.clone(),
            angles: angles.collect(),
            dihedral_types: from.dihedral_types.clone(),
            dihedrals: dihedrals.collect(),
            cross_terms: cross_terms.collect(),
            excluded: from.excluded.iter().flat_map(|atoms| self.together(*atoms)).collect(),
            constraints: constraints.collect(),
            virtual_sites: sites.collect(),
            rigid_bodies: from.rigid_bodies.iter().flat_map(|body| self.bodies(body)).collect(),
        }
    }
}

/// Numbers of edges in a vector that is a sum of whole edges.
fn images(simbox: &SimBox, d: Vec3) -> [i32; 3] {
    simbox.to_fractional(simbox.origin() + d).map(|s| s.round() as i32).0
}

/// Names of all copies.
fn names(from: &Names, copies: usize) -> Names {
    let n_residues = from.residues.len() as u32;
    let of_copy = |copy: u32| {
        let atoms = from.atoms.iter().cloned();
        atoms.map(move |atom| AtomName { residue: atom.residue + copy * n_residues, ..atom })
    };
    Names {
        atoms: (0..copies as u32).flat_map(of_copy).collect(),
        residues: (0..copies).flat_map(|_| from.residues.iter().cloned()).collect(),
        occupancy: from.occupancy.repeat(copies),
        b_factor: from.b_factor.repeat(copies),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Residue, SiteRule, Species, Vector};

    fn system(simbox: SimBox, positions: &[Vec3]) -> System {
        let species = vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }];
        let mut system = System::new(simbox, species);
        positions.iter().for_each(|r| system.state.push(0, *r));
        system
    }

    /// Unwrapped position of an atom.
    fn whole(system: &System, id: u32) -> Vec3 {
        let index = system.state.index_by_id().of(id);
        let shift = system.simbox.shift(system.state.image[index]);
        system.state.position[index] + shift
    }

    fn distance(system: &System, [a, b]: [u32; 2]) -> f64 {
        let (a, b) = (whole(system, a), whole(system, b));
        (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn molecules_across_an_edge_stay_whole_and_copies_have_their_own() {
        let simbox = SimBox::new([-1.0, 0.0, 2.0], [10.0, 8.0, 9.0], [2.0, -1.0, 3.0], [true; 3]).unwrap();
        // The second atom is found through the lower edge along y.
        let near = |r: Vec3| {
            let mut r = r;
            simbox.wrap(&mut r, &mut [0; 3]);
            r
        };
        let mut small = system(
            simbox,
            &[
                Vector([2.0, 0.2, 3.0]),
                near(Vector([2.0, -0.5, 3.0])),
                Vector([5.0, 4.0, 5.0]),
                near(Vector([2.4, -0.8, 3.0])),
            ],
        );
        // Storage order is not that of ids.
        small.state.permute(&[2, 0, 3, 1]);
        small.state.velocity[1] = Vector([1.0, 2.0, 3.0]);
        small.topology.bonds = vec![Bond { kind: 0, atoms: [0, 1] }, Bond { kind: 0, atoms: [1, 3] }];
        small.topology.excluded = vec![[3, 0]];
        let rule = SiteRule::Average([0.5, 0.5, 0.0]);
        small.topology.virtual_sites = vec![VirtualSite { site: 3, atoms: [0, 1, 0], rule }];
        let name = |residue| AtomName { name: "C".into(), element: "C".into(), residue };
        small.names.atoms = [0, 0, 1, 0].map(name).to_vec();
        small.names.residues =
            ["ONE", "TWO"].map(|n| Residue { name: n.into(), ..Residue::default() }).to_vec();
        small.charges = vec![1.0, 2.0, 3.0, 4.0];

        let large = small.clone().replicate([3, 2, 1]).unwrap();
        assert_eq!(large.state.len(), 24);
        assert_eq!(large.simbox.volume(), 6.0 * simbox.volume());
        let expected = distance(&small.clone().replicate([1, 1, 2]).unwrap(), [0, 1]);
        assert!((expected - 0.7).abs() < 1e-12);
        for copy in 0..6 {
            let [a, b, c, d] = [0, 1, 2, 3].map(|id| 4 * copy + id);
            assert!((distance(&large, [a, b]) - 0.7).abs() < 1e-12);
            assert!((distance(&large, [b, d]) - 0.5).abs() < 1e-12);
            assert!(large.topology.bonds.contains(&Bond { kind: 0, atoms: [a, b] }));
            assert!(large.topology.excluded.contains(&[d, a]));
            assert!(large.topology.virtual_sites.contains(&VirtualSite { site: d, atoms: [a, b, a], rule }));
            assert_eq!(large.names.atoms[c as usize].residue, 2 * copy + 1);
            assert_eq!(large.names.residues[2 * copy as usize + 1].name, "TWO");
            assert_eq!(large.charges[c as usize], 3.0);
            assert_eq!(large.state.velocity[large.state.index_by_id().of(a)], [1.0, 2.0, 3.0]);
        }
        // Images of an atom are all there, those that only the large box has included.
        for cell in 0..6 {
            let shift = simbox.shift([cell % 3, cell / 3, 0]);
            let expected = Vec3::from_fn(|k| whole(&large, 2)[k] + shift[k]);
            let d = Vec3::from_fn(|k| whole(&large, 4 * cell as u32 + 2)[k] - expected[k]);
            assert!(large.simbox.nearest_image(d).iter().all(|x| x.abs() < 1e-12));
        }
    }

    #[test]
    fn bonds_to_an_own_image_lead_to_the_next_copy() {
        // A ring of three atoms round the box.
        let simbox = SimBox::orthorhombic([3.0, 10.0, 10.0]).unwrap();
        let mut small =
            system(simbox, &[Vector([0.5, 1.0, 1.0]), Vector([1.5, 1.0, 1.0]), Vector([2.5, 1.0, 1.0])]);
        small.topology.bonds = [[0, 1], [1, 2], [2, 0]].map(|atoms| Bond { kind: 0, atoms }).to_vec();
        let large = small.clone().replicate([2, 1, 1]).unwrap();
        let bonds: Vec<[u32; 2]> = large.topology.bonds.iter().map(|b| b.atoms).collect();
        // One ring of six, of which every atom is in two bonds.
        assert_eq!(Molecules::new(&large.topology, &large.species, &large.state).count(), 1);
        let bonds_of = |atom: u32| bonds.iter().filter(|b| b.contains(&atom)).count();
        assert!((0..6).all(|atom| bonds_of(atom) == 2));
        for [a, b] in bonds {
            let (a, b) = (whole(&large, a), whole(&large, b));
            let d = large.simbox.nearest_image(b - a);
            assert!((d[0].abs() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn impossible_copies_are_refused() {
        let simbox = SimBox::new([0.0; 3], [4.0; 3], [0.0; 3], [true, true, false]).unwrap();
        let small = system(simbox, &[Vector([1.0; 3])]);
        for (copies, expected) in [
            ([1, 1, 2], "along z, where it is open"),
            ([2, 0, 1], "leaves nothing along one edge"),
            ([1 << 20, 1 << 20, 1], "more than 32-bit numbers count"),
            ([usize::MAX, 2, 1], "more than 32-bit numbers count"),
        ] {
            let message = small.clone().replicate(copies).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        assert_eq!(small.clone().replicate([1; 3]).unwrap(), small);
    }
}
