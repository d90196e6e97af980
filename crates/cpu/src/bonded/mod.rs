//! Forces of bonds, angles and dihedrals.
//!
//! A bond is computed for both of its atoms and an angle for all three, so that no task ever adds to
//! another's forces, and sums are always in the same order. Entries are evaluated a register full at a time
//! (`kernel`), in f64.

mod cmap;
mod kernel;

use crate::blocks::Sums;
use crate::cells::Clusters;
use crate::simd::{Level, Scalar};
use jostle_core::{Error, Evaluate, SimBox, State, System, Vec3};
use jostle_potentials::Forces;
use std::ops::Range;

/// A bond, an angle or a dihedral for one of its atoms; `N` other atoms belong to it.
#[derive(Debug, Clone, Copy)]
pub struct BondedEntry<const N: usize> {
    /// Place of the x component of the atom's force in the task.
    slot: u32,
    /// The index of the atom in storage.
    atom: u32,
    /// Indices of the others.
    others: [u32; N],
    kind: u32,
    /// Role of the atom, its place among the bound atoms; the energy is counted for the first one.
    role: u8,
    /// Images of the others, see [`Images`].
    images: [u8; N],
}

impl<const N: usize> BondedEntry<N> {
    /// Entry of an atom (id and index), from the indices `index_by_id[id]` and images `image(index)` of the
    /// others.
    fn new(
        slot: u32,
        (id, atom): (u32, u32),
        kind: u32,
        members: &[u32],
        index_by_id: &[usize],
        image: &impl Fn(usize) -> u8,
    ) -> Self {
        let role = members.iter().position(|member| *member == id).unwrap_or(0);
        let rest = members.iter().enumerate().filter(|(k, _)| *k != role);
        let mut others = [0; N];
        for (other, (_, member)) in others.iter_mut().zip(rest) {
            *other = index_by_id[*member as usize] as u32;
        }
        let images = others.map(|other| image(other as usize));
        BondedEntry { slot, atom, others, kind, role: role as u8, images }
    }
}

/// Entries of the atoms of a task, by term.
#[derive(Debug, Clone, Default)]
pub struct TaskBonds {
    bonds: Vec<Vec<BondedEntry<1>>>,
    angles: Vec<Vec<BondedEntry<2>>>,
    dihedrals: Vec<Vec<BondedEntry<3>>>,
    cmaps: Vec<Vec<BondedEntry<4>>>,
}

impl TaskBonds {
    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        fn of<const N: usize>(lists: &[Vec<BondedEntry<N>>]) -> usize {
            lists.iter().map(Vec::capacity).sum::<usize>() * size_of::<BondedEntry<N>>()
        }
        of(&self.bonds) + of(&self.angles) + of(&self.dihedrals) + of(&self.cmaps)
    }
}

/// A bond that is longer than its function allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Broken {
    /// Indices of its atoms.
    pub atoms: [usize; 2],
    /// Length of the bond.
    pub length: f64,
}

impl Broken {
    /// Error that names the atoms.
    pub fn error(&self, state: &State) -> Error {
        let [a, b] = self.atoms.map(|place| state.id[place] + 1);
        let (a, b, length) = (a.min(b), a.max(b), self.length);
        Error::simulation(format!("the bond between atoms {a} and {b} is {length:.4} long and broken")).hint(
            "minimise first, shorten the time step, or give bound beads a repulsion (exclude = \"none\")",
        )
    }
}

/// All bonds, angles, dihedrals and maps of a system, with their forces.
pub struct BondedKernels<S> {
    bonds: Family<S, 1, 2>,
    angles: Family<S, 2, 3>,
    dihedrals: Family<S, 3, 4>,
    cmaps: Family<S, 4, 5>,
    images: Images,
}

/// Groups of `M` atoms, each of which has `N` others, and their forces.
struct Family<S, const N: usize, const M: usize> {
    /// Type and ids of the groups.
    groups: Vec<(u32, [u32; M])>,
    /// Groups that contain an atom, by id.
    of: Lists,
    terms: Vec<Box<dyn BondedKernel<S, N>>>,
}

impl<S: Scalar, const N: usize, const M: usize> Family<S, N, M> {
    fn new(n: usize, groups: Vec<(u32, [u32; M])>, terms: Vec<Box<dyn BondedKernel<S, N>>>) -> Self {
        Family { of: Lists::of(n, groups.iter().map(|g| g.1)), groups, terms }
    }

    fn clear(&self, found: &mut Vec<Vec<BondedEntry<N>>>) {
        found.resize_with(self.terms.len(), Vec::new);
        found.iter_mut().for_each(Vec::clear);
    }

    /// Puts the groups of an atom (id and index) on the lists of their terms.
    fn place(
        &self,
        slot: u32,
        atom: (u32, u32),
        index_by_id: &[usize],
        image: &impl Fn(usize) -> u8,
        found: &mut [Vec<BondedEntry<N>>],
    ) {
        for &number in self.of.get(atom.0) {
            let (kind, members) = self.groups[number as usize];
            let entry = BondedEntry::new(slot, atom, kind, &members, index_by_id, image);
            for (_, list) in self.terms.iter().zip(&mut *found).filter(|(term, _)| term.has(kind)) {
                list.push(entry);
            }
        }
    }

    fn add_forces(
        &self,
        level: Level,
        scene: &mut BondedContext<S>,
        found: &[Vec<BondedEntry<N>>],
        (sums, broken): &mut (Vec<Sums>, Option<Broken>),
    ) {
        for (term, entries) in self.terms.iter().zip(found) {
            let (sum, bad) = term.add_forces(level, scene, entries);
            sums.push(sum);
            *broken = broken.or(bad);
        }
    }
}

/// Several lists in one.
struct Lists {
    first: Vec<u32>,
    members: Vec<u32>,
}

impl Lists {
    /// Lists of the `groups` that contain each of `n` atoms.
    fn of<const M: usize>(n: usize, groups: impl Iterator<Item = [u32; M]> + Clone) -> Lists {
        let mut first = vec![0; n + 1];
        for atom in groups.clone().flatten() {
            first[atom as usize + 1] += 1;
        }
        for k in 0..n {
            first[k + 1] += first[k];
        }
        let mut next = first.clone();
        let mut members = vec![0; first[n] as usize];
        for (number, group) in groups.enumerate() {
            for atom in group {
                members[next[atom as usize] as usize] = number as u32;
                next[atom as usize] += 1;
            }
        }
        Lists { first, members }
    }

    fn get(&self, atom: u32) -> &[u32] {
        let atom = atom as usize;
        &self.members[self.first[atom] as usize..self.first[atom + 1] as usize]
    }
}

impl<S: Scalar> BondedKernels<S> {
    /// Makes the terms ready.
    pub fn new(system: &System, forces: &Forces) -> Self {
        let (n, topology) = (system.state.len(), &system.topology);
        let bonds = topology.bonds.iter().map(|b| (b.kind, b.atoms)).collect();
        let angles = topology.angles.iter().map(|a| (a.kind, a.atoms)).collect();
        let dihedrals = topology.dihedrals.iter().map(|d| (d.kind, d.atoms)).collect();
        let cmaps = topology.cross_terms.iter().map(|c| (c.kind, c.atoms)).collect();
        BondedKernels {
            bonds: Family::new(n, bonds, forces.bonds.iter().map(kernel::of_bonds).collect()),
            angles: Family::new(n, angles, forces.angles.iter().map(kernel::of_angles).collect()),
            dihedrals: Family::new(n, dihedrals, forces.dihedrals.iter().map(kernel::of_dihedrals).collect()),
            cmaps: Family::new(n, cmaps, cmap::of_maps(&forces.cmaps).into_iter().collect()),
            images: Images::new(&system.simbox),
        }
    }

    /// Returns true if nothing is bound.
    pub fn is_empty(&self) -> bool {
        self.bonds.terms.is_empty()
            && self.angles.terms.is_empty()
            && self.dihedrals.terms.is_empty()
            && self.cmaps.terms.is_empty()
    }

    /// Changes the box; everything is to be placed again.
    pub fn fit(&mut self, simbox: &SimBox) {
        self.images = Images::new(simbox);
    }

    /// Makes the entries of a task's atoms, with the images of the others. Atoms have just been wrapped into
    /// the box; images are right until they are wrapped again. `index_by_id[id]` is an atom's index.
    pub fn place(
        &self,
        simbox: &SimBox,
        state: &State,
        index_by_id: &[usize],
        clusters: &Clusters<S>,
        own: Range<usize>,
        found: &mut TaskBonds,
    ) {
        self.bonds.clear(&mut found.bonds);
        self.angles.clear(&mut found.angles);
        self.dihedrals.clear(&mut found.dihedrals);
        self.cmaps.clear(&mut found.cmaps);
        for (c, cluster) in own.enumerate() {
            for (lane, place) in clusters.atoms(cluster).enumerate() {
                let slot = (c * 3 * clusters.width + lane) as u32;
                let image =
                    |other: usize| self.images.of(simbox, state.position[place], state.position[other]);
                let atom = (state.id[place], place as u32);
                self.bonds.place(slot, atom, index_by_id, &image, &mut found.bonds);
                self.angles.place(slot, atom, index_by_id, &image, &mut found.angles);
                self.dihedrals.place(slot, atom, index_by_id, &image, &mut found.dihedrals);
                self.cmaps.place(slot, atom, index_by_id, &image, &mut found.cmaps);
            }
        }
    }

    /// Adds the bonded forces on a task's atoms; returns sums by term, and a bond that has broken.
    pub fn add_forces(
        &self,
        level: Level,
        position: &[Vec3],
        width: usize,
        found: &TaskBonds,
        forces: &mut [S],
        evaluate: Evaluate,
    ) -> (Vec<Sums>, Option<Broken>) {
        let vectors = BondVectors { position, images: &self.images };
        let mut scene = BondedContext { vectors, width, forces, evaluate };
        let mut sums = (Vec::new(), None);
        self.bonds.add_forces(level, &mut scene, &found.bonds, &mut sums);
        self.angles.add_forces(level, &mut scene, &found.angles, &mut sums);
        self.dihedrals.add_forces(level, &mut scene, &found.dihedrals, &mut sums);
        self.cmaps.add_forces(level, &mut scene, &found.cmaps, &mut sums);
        sums
    }
}

/// Images of atoms, by number.
struct Images {
    /// Lattice vectors by number.
    shifts: Vec<Vec3>,
    /// Square of the distance within which no image is nearer than the atom itself.
    near2: f64,
}

impl Images {
    /// Largest number of boxes to another atom's image along an edge: two with tilts.
    const MOST: i32 = 2;
    const ACROSS: i32 = 2 * Images::MOST + 1;
    /// Number of the image without a shift.
    const NONE: u8 = ((Images::MOST * Images::ACROSS + Images::MOST) * Images::ACROSS + Images::MOST) as u8;

    fn new(simbox: &SimBox) -> Images {
        let along = -Images::MOST..=Images::MOST;
        let mut shifts = Vec::new();
        for x in along.clone() {
            for y in along.clone() {
                shifts.extend(along.clone().map(|z| simbox.shift([x, y, z])));
            }
        }
        Images { shifts, near2: simbox.largest_cutoff().powi(2) }
    }

    /// The image of `b` that is nearest to `a`, both inside the box along its periodic axes.
    #[inline(always)]
    fn of(&self, simbox: &SimBox, a: Vec3, b: Vec3) -> u8 {
        let d: Vec3 = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
        if d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < self.near2 {
            return Images::NONE;
        }
        Images::beyond(simbox, d)
    }

    #[cold]
    fn beyond(simbox: &SimBox, d: Vec3) -> u8 {
        let nearest = simbox.nearest_image(d);
        let origin = simbox.origin();
        let shift = simbox.to_fractional(std::array::from_fn(|k| origin[k] + nearest[k] - d[k]));
        let number = shift.map(|s| (s.round() as i32).clamp(-Images::MOST, Images::MOST) + Images::MOST);
        ((number[0] * Images::ACROSS + number[1]) * Images::ACROSS + number[2]) as u8
    }
}

/// Vectors between bound atoms, by positions and images.
#[derive(Clone, Copy)]
struct BondVectors<'a> {
    position: &'a [Vec3],
    images: &'a Images,
}

impl BondVectors<'_> {
    /// Vector from another atom to the entry's.
    #[inline(always)]
    fn towards<const N: usize>(&self, entry: &BondedEntry<N>, k: usize) -> Vec3 {
        let (a, b) = (self.position[entry.atom as usize], self.position[entry.others[k] as usize]);
        let shift = self.images.shifts[entry.images[k] as usize];
        [a[0] - (b[0] + shift[0]), a[1] - (b[1] + shift[1]), a[2] - (b[2] + shift[2])]
    }
}

/// Atoms and forces that entries refer to.
struct BondedContext<'a, S> {
    vectors: BondVectors<'a>,
    width: usize,
    forces: &'a mut [S],
    evaluate: Evaluate,
}

impl<S: Scalar> BondedContext<'_, S> {
    /// Adds a force on the entry's atom.
    #[inline(always)]
    fn add<const N: usize>(&mut self, entry: &BondedEntry<N>, force: Vec3) {
        for (k, f) in force.into_iter().enumerate() {
            let sum = &mut self.forces[entry.slot as usize + k * self.width];
            *sum = S::from_f64(sum.to_f64() + f);
        }
    }
}

/// A term made ready.
trait BondedKernel<S, const N: usize>: Send + Sync {
    /// Returns true if a type is of this term's kind.
    fn has(&self, kind: u32) -> bool;

    fn add_forces(
        &self,
        level: Level,
        scene: &mut BondedContext<S>,
        entries: &[BondedEntry<N>],
    ) -> (Sums, Option<Broken>);
}

/// The order of a symmetric tensor's elements.
pub const TENSOR: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];

/// Vectors from atom to atom along a group, from the vectors that point from the others to the atom of this
/// role.
#[inline(always)]
fn chain<const N: usize>(role: u8, towards: [Vec3; N]) -> [Vec3; N] {
    let role = usize::from(role);
    // Position of the k-th atom relative to the one of this role.
    let at = |k: usize| match k.cmp(&role) {
        std::cmp::Ordering::Less => towards[k].map(|x| -x),
        std::cmp::Ordering::Equal => [0.0; 3],
        std::cmp::Ordering::Greater => towards[k - 1].map(|x| -x),
    };
    std::array::from_fn(|k| {
        let (from, to) = (at(k), at(k + 1));
        [to[0] - from[0], to[1] - from[1], to[2] - from[2]]
    })
}

/// Force on the atom of this role, from the forces on the tips of these vectors.
#[inline(always)]
fn on_chain<const N: usize>(role: u8, forces: [Vec3; N]) -> Vec3 {
    let role = usize::from(role);
    let before = if role == 0 { [0.0; 3] } else { forces[role - 1] };
    let after = if role == N { [0.0; 3] } else { forces[role] };
    [before[0] - after[0], before[1] - after[1], before[2] - after[2]]
}
