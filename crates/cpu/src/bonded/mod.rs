//! Forces of bonds, angles and dihedrals.
//!
//! A bond is computed for both of its atoms and an angle for all three, so that no task ever adds to
//! another's forces, and sums are always in the same order. Entries are evaluated a register full at a time
//! (`kernel`), in f64.

mod cmap;
mod entries;
mod kernel;

pub use entries::{BondedEntry, Broken, TENSOR};

use crate::blocks::Sums;
use crate::cells::Clusters;
use crate::simd::{Level, Scalar};
use entries::{BondVectors, BondedContext, BondedKernel, Images};
use jostle_core::{Evaluate, IdIndex, SimBox, State, System, Vec3};
use jostle_potentials::Forces;
use std::ops::Range;

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

    /// Puts the members of the groups of an atom on a list.
    fn members_with(&self, id: u32, members: &mut Vec<u32>) {
        let groups = self.of.get(id).iter().map(|number| self.groups[*number as usize].1);
        members.extend(groups.flatten());
    }

    fn clear(&self, found: &mut Vec<Vec<BondedEntry<N>>>) {
        found.resize_with(self.terms.len(), Vec::new);
        found.iter_mut().for_each(Vec::clear);
    }

    /// Puts the groups of an atom on the lists of their terms.
    fn place(
        &self,
        slot: u32,
        id: u32,
        index_by_id: &IdIndex,
        image: &impl Fn(u32, u32) -> u8,
        found: &mut [Vec<BondedEntry<N>>],
    ) {
        let index = |member: u32| index_by_id.of(member) as u32;
        for &number in self.of.get(id) {
            let (kind, members) = self.groups[number as usize];
            let role = members.iter().position(|member| *member == id).unwrap_or(0);
            let others = std::array::from_fn(|k| index(members[k + 1]));
            let entry = BondedEntry::new(slot, role, kind, (index(members[0]), others), image);
            for (_, list) in self.terms.iter().zip(&mut *found).filter(|(term, _)| term.has(kind)) {
                list.push(entry);
            }
        }
    }

    fn add_forces(
        &self,
        level: Level,
        context: &mut BondedContext<S>,
        found: &[Vec<BondedEntry<N>>],
        (sums, broken): &mut (Vec<Sums>, Option<Broken>),
    ) {
        for (term, entries) in self.terms.iter().zip(found) {
            let (sum, bad) = term.add_forces(level, context, entries);
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

    /// Atoms bound to these that are absent, by id, each once.
    pub(crate) fn absent(&self, ids: &[u32], index_by_id: &IdIndex) -> Vec<u32> {
        let mut absent = Vec::new();
        for id in ids {
            let found = absent.len();
            self.bonds.members_with(*id, &mut absent);
            self.angles.members_with(*id, &mut absent);
            self.dihedrals.members_with(*id, &mut absent);
            self.cmaps.members_with(*id, &mut absent);
            let mut last = found;
            for k in found..absent.len() {
                if index_by_id.get(absent[k]).is_none() {
                    absent[last] = absent[k];
                    last += 1;
                }
            }
            absent.truncate(last);
        }
        absent.sort_unstable();
        absent.dedup();
        absent
    }

    /// Changes the box; everything is to be placed again.
    pub fn fit(&mut self, simbox: &SimBox) {
        self.images = Images::new(simbox);
    }

    /// Makes the entries of a task's atoms, with the images of those that are next to each other. Atoms have just been
    /// wrapped into the box; images are right until they are wrapped again. `index_by_id` has the indices of atoms.
    pub fn place(
        &self,
        simbox: &SimBox,
        state: &State,
        index_by_id: &IdIndex,
        clusters: &Clusters<S>,
        own: Range<usize>,
        found: &mut TaskBonds,
    ) {
        self.bonds.clear(&mut found.bonds);
        self.angles.clear(&mut found.angles);
        self.dihedrals.clear(&mut found.dihedrals);
        self.cmaps.clear(&mut found.cmaps);
        let position = |index: u32| state.position[index as usize];
        let image = |from: u32, to: u32| self.images.of(simbox, position(from), position(to));
        for (c, cluster) in own.enumerate() {
            for (lane, place) in clusters.atoms(cluster).enumerate() {
                let slot = (c * 3 * clusters.width + lane) as u32;
                let id = state.id[place];
                self.bonds.place(slot, id, index_by_id, &image, &mut found.bonds);
                self.angles.place(slot, id, index_by_id, &image, &mut found.angles);
                self.dihedrals.place(slot, id, index_by_id, &image, &mut found.dihedrals);
                self.cmaps.place(slot, id, index_by_id, &image, &mut found.cmaps);
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
        let mut context = BondedContext { vectors, width, forces, evaluate };
        let mut sums = (Vec::new(), None);
        self.bonds.add_forces(level, &mut context, &found.bonds, &mut sums);
        self.angles.add_forces(level, &mut context, &found.angles, &mut sums);
        self.dihedrals.add_forces(level, &mut context, &found.dihedrals, &mut sums);
        self.cmaps.add_forces(level, &mut context, &found.cmaps, &mut sums);
        sums
    }
}
