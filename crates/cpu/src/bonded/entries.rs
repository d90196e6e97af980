//! Entries of bonds, angles, dihedrals and maps, and what kernels need to evaluate them: vectors between bound
//! atoms, images, and forces.

use crate::blocks::Sums;
use crate::simd::{Level, Scalar};
use jostle_core::{Error, Evaluate, SimBox, State, Vec3};

/// A bond, an angle or a dihedral for one of its atoms; it joins `N + 1` atoms.
#[derive(Debug, Clone, Copy)]
pub struct BondedEntry<const N: usize> {
    /// Place of the x component of the atom's force in the task.
    pub(super) slot: u32,
    /// Index of the first of the bound atoms in storage.
    pub(super) first: u32,
    /// Indices of the others, in their order.
    pub(super) others: [u32; N],
    pub(super) kind: u32,
    /// Role of the atom, its place among the bound atoms; the energy is counted for the first one.
    pub(super) role: u8,
    /// Images of the others, each nearest to the atom before it; see [`Images`].
    pub(super) images: [u8; N],
}

impl<const N: usize> BondedEntry<N> {
    /// Entry of the `role`-th of some bound atoms, at the index `first` and those of the `others`, from the images
    /// `image(from, to)` of atoms that are next to each other.
    pub(super) fn new(
        slot: u32,
        role: usize,
        kind: u32,
        (first, others): (u32, [u32; N]),
        image: &impl Fn(u32, u32) -> u8,
    ) -> Self {
        let mut from = first;
        let images = others.map(|to| image(std::mem::replace(&mut from, to), to));
        BondedEntry { slot, first, others, kind, role: role as u8, images }
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

/// Images of atoms, by number.
pub(super) struct Images {
    /// Lattice vectors by number.
    pub(super) shifts: Vec<Vec3>,
    /// Square of the distance within which no image is nearer than the atom itself.
    pub(super) near2: f64,
}

impl Images {
    /// Largest number of boxes to another atom's image along an edge: two with tilts.
    const MOST: i32 = 2;
    const ACROSS: i32 = 2 * Images::MOST + 1;
    /// Number of the image without a shift.
    const NONE: u8 = ((Images::MOST * Images::ACROSS + Images::MOST) * Images::ACROSS + Images::MOST) as u8;

    pub(super) fn new(simbox: &SimBox) -> Images {
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
    pub(super) fn of(&self, simbox: &SimBox, a: Vec3, b: Vec3) -> u8 {
        let d: Vec3 = b - a;
        if d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < self.near2 {
            return Images::NONE;
        }
        Images::beyond(simbox, d)
    }

    #[cold]
    fn beyond(simbox: &SimBox, d: Vec3) -> u8 {
        let nearest = simbox.nearest_image(d);
        let origin = simbox.origin();
        let shift = simbox.to_fractional(origin + nearest - d);
        let number = shift.map(|s| (s.round() as i32).clamp(-Images::MOST, Images::MOST) + Images::MOST);
        ((number[0] * Images::ACROSS + number[1]) * Images::ACROSS + number[2]) as u8
    }
}

/// Vectors between bound atoms, by positions and images.
#[derive(Clone, Copy)]
pub(super) struct BondVectors<'a> {
    pub(super) position: &'a [Vec3],
    pub(super) images: &'a Images,
}

impl BondVectors<'_> {
    /// Vectors from atom to atom along the group of an entry.
    #[inline(always)]
    pub(super) fn chain<const N: usize>(&self, entry: &BondedEntry<N>) -> [Vec3; N] {
        let mut from = self.position[entry.first as usize];
        let mut vectors = [Vec3::ZERO; N];
        for k in 0..N {
            let to = self.position[entry.others[k] as usize];
            vectors[k] = to + self.images.shifts[entry.images[k] as usize] - from;
            from = to;
        }
        vectors
    }
}

/// Atoms and forces that entries refer to.
pub(super) struct BondedContext<'a, S> {
    pub(super) vectors: BondVectors<'a>,
    pub(super) width: usize,
    pub(super) forces: &'a mut [S],
    pub(super) evaluate: Evaluate,
}

impl<S: Scalar> BondedContext<'_, S> {
    /// Adds a force on the entry's atom.
    #[inline(always)]
    pub(super) fn add<const N: usize>(&mut self, entry: &BondedEntry<N>, force: Vec3) {
        for (k, f) in force.into_iter().enumerate() {
            let sum = &mut self.forces[entry.slot as usize + k * self.width];
            *sum = S::from_f64(sum.to_f64() + f);
        }
    }
}

/// A term made ready.
pub(super) trait BondedKernel<S, const N: usize>: Send + Sync {
    /// Returns true if a type is of this term's kind.
    fn has(&self, kind: u32) -> bool;

    fn add_forces(
        &self,
        level: Level,
        context: &mut BondedContext<S>,
        entries: &[BondedEntry<N>],
    ) -> (Sums, Option<Broken>);
}

/// The order of a symmetric tensor's elements.
pub const TENSOR: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];

/// Force on the atom of this role, from the forces on the tips of these vectors.
#[inline(always)]
pub(super) fn on_chain<const N: usize>(role: u8, forces: [Vec3; N]) -> Vec3 {
    let role = usize::from(role);
    let before = if role == 0 { Vec3::ZERO } else { forces[role - 1] };
    let after = if role == N { Vec3::ZERO } else { forces[role] };
    before - after
}
