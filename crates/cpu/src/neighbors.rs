//! The neighbour list: the clusters within reach of each atom.
//!
//! A task owns a run of clusters. For each of its clusters the list has one or more blocks: the
//! other clusters within reach of it (entries), and for each of its atoms (rows) which of these
//! have an atom within reach of that atom. Every pair of clusters is listed once, with one of the
//! two; a pair force acts on both (reaction forces).
//!
//! Frozen rows and their clusters all of whose atoms are frozen are in blocks of their own, after all others: the forces
//! of these pairs stay as they are as long as the list does.

use crate::cells::Clusters;
use crate::pair_search::{Motion, PairSearch};
use crate::search::Candidate;
use crate::simd::{Kernel, Lanes, MOST_LANES, Scalar, Simd};
use jostle_core::IdIndex;
use jostle_core::SimBox;
use std::ops::Range;

/// Largest number of entries of a block, which keeps the clusters of a block in the first-level cache for
/// the loop over its rows.
pub const MOST_ENTRIES: usize = 64;

/// A cluster within reach.
#[derive(Debug, Clone, Copy)]
pub struct ListEntry<S> {
    /// Number of the cluster.
    pub cluster: u32,
    /// Place of its forces in the task: own clusters first, then foreign ones.
    pub target: u32,
    /// Origin, image shift included, relative to that of the block's cluster.
    pub offset: [S; 3],
}

/// A cluster and others within its reach.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// The cluster whose atoms are the rows.
    pub cluster: u32,
    /// True if pairs inside the cluster are in this block.
    pub own: bool,
    /// First of its entries, which go up to those of the next block.
    pub first_entry: u32,
    /// First of its rows in [`PairList::row_ends`].
    pub first_row: u32,
}

/// A cluster within reach of which only some atoms are partners of a row.
#[derive(Debug, Clone, Copy)]
pub struct PartialEntry {
    /// The entry, counted from the first of the block.
    pub entry: u8,
    /// Set of atoms: bit k if atom k is a partner of the row.
    pub atoms: u16,
}

/// Pairs of atoms without a pair force, with the current places of the atoms.
pub struct Exclusions<'a> {
    /// Ids of the excluded partners, by id.
    by_id: &'a [Vec<u32>],
    id: &'a [u32],
    /// Index of each id.
    index_by_id: &'a IdIndex,
    /// Cluster and lane of each index.
    within: Vec<(u32, u8)>,
    /// Ids and indices of ghosts, by id; an atom may have several.
    ghosts: Vec<(u32, u32)>,
    /// Number of atoms that are not ghosts.
    n_owned: usize,
}

impl<'a> Exclusions<'a> {
    /// Exclusions from lists by id, the ids in the order of storage and the index of each id.
    pub fn new<S: Scalar>(
        clusters: &Clusters<S>,
        id: &'a [u32],
        index_by_id: &'a IdIndex,
        by_id: &'a [Vec<u32>],
    ) -> Self {
        let mut within = Vec::with_capacity(id.len());
        for cluster in 0..clusters.count() {
            within.extend((0..clusters.atoms(cluster).len()).map(|lane| (cluster as u32, lane as u8)));
        }
        let n_owned = clusters.first[clusters.owned] as usize;
        let mut ghosts: Vec<_> = (n_owned..within.len()).map(|index| (id[index], index as u32)).collect();
        ghosts.sort_unstable();
        Exclusions { by_id, id, index_by_id, within, ghosts, n_owned }
    }

    /// Cluster and lane of the atoms that are excluded from an atom, ghosts included.
    fn of(&self, atom: usize) -> impl Iterator<Item = (u32, u8)> {
        let others = self.by_id[self.id[atom] as usize].iter();
        let owned = |other| self.index_by_id.get(other).filter(|index| *index < self.n_owned);
        let indices = others.flat_map(move |other| owned(*other).into_iter().chain(self.ghosts_of(*other)));
        indices.map(|index| self.within[index])
    }

    /// Indices of the ghosts of an atom.
    fn ghosts_of(&self, id: u32) -> impl Iterator<Item = usize> {
        let ghosts = &self.ghosts[self.ghosts.partition_point(|(other, _)| *other < id)..];
        ghosts.iter().take_while(move |(other, _)| *other == id).map(|(_, index)| *index as usize)
    }
}

/// The neighbour list of a task.
#[derive(Debug, Clone, Default)]
pub struct PairList<S> {
    /// The clusters whose atoms are rows.
    pub clusters: Range<usize>,
    /// The blocks, by cluster: first those in which an atom may move, then those of frozen atoms alone.
    pub blocks: Vec<Block>,
    /// Number of blocks in which an atom may move.
    pub n_moving: usize,
    /// The entries of all blocks.
    pub entries: Vec<ListEntry<S>>,
    /// End of the part of `rows` of every row of every block.
    pub row_ends: Vec<u32>,
    /// The entries (counted from the first of the block) of each row.
    pub rows: Vec<u8>,
    /// Excluded atoms of the row's own cluster, and the end of the row's part of `some`, for every row of
    /// every block. Empty without exclusions.
    pub excluded: Vec<(u16, u32)>,
    /// The entries of which only some atoms are partners of a row.
    pub some: Vec<PartialEntry>,
    /// Clusters of other tasks that this one exerts forces on.
    pub foreign: Vec<u32>,
}

impl<S: Scalar> PairList<S> {
    /// Clears the list except for the range of its clusters.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.n_moving = 0;
        self.entries.clear();
        self.row_ends.clear();
        self.rows.clear();
        self.excluded.clear();
        self.some.clear();
        self.foreign.clear();
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<Block>()
            + self.entries.capacity() * size_of::<ListEntry<S>>()
            + self.row_ends.capacity() * size_of::<u32>()
            + self.rows.capacity()
            + self.excluded.capacity() * size_of::<(u16, u32)>()
            + self.some.capacity() * size_of::<PartialEntry>()
            + self.foreign.capacity() * size_of::<u32>()
    }

    /// The entries of a block.
    #[inline(always)]
    pub fn block_entries(&self, block: usize) -> &[ListEntry<S>] {
        let end = self.blocks.get(block + 1).map_or(self.entries.len(), |b| b.first_entry as usize);
        &self.entries[self.blocks[block].first_entry as usize..end]
    }
}

/// Builds the list of one task.
pub struct ListBuild<'a, S: Scalar> {
    /// The clusters.
    pub clusters: &'a Clusters<S>,
    /// The box.
    pub simbox: &'a SimBox,
    /// Reach of the list: cut-off and skin.
    pub reach: f64,
    /// Pairs without a force.
    pub exclusions: Option<&'a Exclusions<'a>>,
    /// Set of the frozen atoms of each cluster, bit k for atom k; empty where none is frozen.
    pub frozen: &'a [u32],
    /// The list; its `clusters` say which rows to build.
    pub list: &'a mut PairList<S>,
}

impl<S: Scalar> Kernel for ListBuild<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Simd>(self) {
        let n_clusters = self.clusters.count();
        self.list.clear();
        let targets = Targets::new(self.list, n_clusters);
        let places = Places::new(if self.exclusions.is_some() { n_clusters } else { 0 });
        let own = self.frozen.get(self.list.clusters.clone()).unwrap_or_default();
        let has_frozen = own.iter().any(|atoms| *atoms != 0);
        let mut blocks = BlockBuild { build: self, targets, places };
        blocks.add::<S::Lanes<I>>(Motion::Moving);
        blocks.build.list.n_moving = blocks.build.list.blocks.len();
        if has_frozen {
            blocks.add::<S::Lanes<I>>(Motion::Frozen);
        }
    }
}

/// Build of the blocks of a list.
struct BlockBuild<'a, S: Scalar> {
    build: ListBuild<'a, S>,
    targets: Targets,
    places: Places,
}

impl<S: Scalar> BlockBuild<'_, S> {
    /// Adds the blocks of pairs that move in this way.
    #[inline(always)]
    fn add<L: Lanes<Scalar = S>>(&mut self, motion: Motion) {
        let BlockBuild { build, targets, places } = self;
        let ListBuild { clusters, simbox, reach, exclusions, frozen, list } = build;
        let mut search = PairSearch::new(clusters, simbox, *reach, frozen);
        let (mut candidates, mut masks) = (Vec::new(), Vec::new());
        let mut row_masks = RowMasks::default();
        for cluster in list.clusters.clone() {
            let own = search.has_own(cluster, motion);
            if !search.around(cluster, motion, &mut candidates) {
                continue;
            }
            row_masks.find::<L>(clusters, cluster, &candidates, *reach);
            list.open_block(cluster, own);
            masks.clear();
            let found = candidates.iter().zip(&row_masks.offsets).zip(&row_masks.masks);
            for ((Candidate { cluster: other, .. }, offset), mask) in found {
                let mask = mask & search.rows(cluster, *other, motion);
                if mask == 0 {
                    continue;
                }
                if masks.len() == MOST_ENTRIES {
                    list.close_block(&mut masks, clusters.atoms(cluster), *exclusions, places);
                    list.open_block(cluster, false);
                    masks.clear();
                }
                let target = targets.of(*other, &mut list.foreign);
                list.entries.push(ListEntry { cluster: *other as u32, target, offset: *offset });
                masks.push(mask);
            }
            list.close_block(&mut masks, clusters.atoms(cluster), *exclusions, places);
        }
    }
}

/// Places of the forces on clusters in a task.
pub(crate) struct Targets {
    own: Range<usize>,
    /// Place of each cluster among the foreign ones plus one; 0 if it has none yet.
    foreign_target: Vec<u32>,
}

impl Targets {
    /// Places of the foreign clusters that a list has so far.
    pub(crate) fn new<S>(list: &PairList<S>, n_clusters: usize) -> Self {
        let mut foreign_target = vec![0; n_clusters];
        for (place, cluster) in list.foreign.iter().enumerate() {
            foreign_target[*cluster as usize] = place as u32 + 1;
        }
        Targets { own: list.clusters.clone(), foreign_target }
    }

    /// Place of a cluster, which becomes one of the foreign ones if it is new.
    #[inline(always)]
    pub(crate) fn of(&mut self, cluster: usize, foreign: &mut Vec<u32>) -> u32 {
        if self.own.contains(&cluster) {
            return (cluster - self.own.start) as u32;
        }
        let place = &mut self.foreign_target[cluster];
        if *place == 0 {
            foreign.push(cluster as u32);
            *place = foreign.len() as u32;
        }
        self.own.len() as u32 + *place - 1
    }
}

impl<S: Scalar> PairList<S> {
    fn open_block(&mut self, cluster: usize, own: bool) {
        let (first_entry, first_row) = (self.entries.len() as u32, self.row_ends.len() as u32);
        self.blocks.push(Block { cluster: cluster as u32, own, first_entry, first_row });
    }

    /// Turns the rows of each entry of the block into the entries of each row.
    fn close_block(
        &mut self,
        masks: &mut [u32],
        atoms: Range<usize>,
        exclusions: Option<&Exclusions>,
        places: &mut Places,
    ) {
        if let Some(exclusions) = exclusions {
            places.fill(self);
            for (row, atom) in atoms.clone().enumerate() {
                self.leave_out(masks, row, exclusions.of(atom), places);
            }
        }
        let eights = masks.len().div_ceil(8);
        // Bytes that say which of eight entries a row has, by row and by group of eight entries.
        let mut rows = [[0u8; MOST_ENTRIES / 8]; MOST_LANES];
        for (k, eight) in masks.chunks(8).enumerate() {
            for (half, rows) in rows.chunks_exact_mut(8).enumerate() {
                let mut square = [0; 8];
                square.iter_mut().zip(eight).for_each(|(byte, bits)| *byte = (bits >> (8 * half)) as u8);
                let turned = transposed(u64::from_le_bytes(square)).to_le_bytes();
                rows.iter_mut().zip(turned).for_each(|(row, bits)| row[k] = bits);
            }
        }
        let mut end = self.rows.len();
        self.rows.resize(end + atoms.len() * masks.len() + 8, 0);
        for row in &rows[..atoms.len()] {
            for (k, bits) in row[..eights].iter().enumerate() {
                let entries = PLACES_OF_BITS[usize::from(*bits)] + 8 * k as u64 * 0x0101_0101_0101_0101;
                self.rows[end..end + 8].copy_from_slice(&entries.to_le_bytes());
                end += bits.count_ones() as usize;
            }
            self.row_ends.push(end as u32);
        }
        self.rows.truncate(end);
    }

    /// Excludes some atoms from the partners of a row of the last block: cluster and lane.
    fn leave_out(
        &mut self,
        masks: &mut [u32],
        row: usize,
        others: impl Iterator<Item = (u32, u8)>,
        places: &Places,
    ) {
        let Some(&Block { cluster, .. }) = self.blocks.last() else { return };
        let (mut own, first_part) = (0, self.some.len());
        for (other, lane) in others {
            if other == cluster {
                own |= 1 << lane;
            }
            for entry in places.of(other, self.blocks.len()) {
                let mask = &mut masks[usize::from(entry)];
                if *mask >> row & 1 == 1 {
                    *mask &= !(1 << row);
                    self.some.push(PartialEntry { entry, atoms: !(1 << lane) });
                } else if let Some(part) = self.some[first_part..].iter_mut().find(|p| p.entry == entry) {
                    part.atoms &= !(1 << lane);
                }
            }
        }
        self.excluded.push((own, self.some.len() as u32));
    }
}

/// Table of the places of the set bits of each byte, a byte each, the lowest first.
const PLACES_OF_BITS: [u64; 256] = {
    let mut places = [0; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut place, mut n) = (0, 0);
        while place < 8 {
            if bits >> place & 1 == 1 {
                places[bits] |= (place as u64) << (8 * n);
                n += 1;
            }
            place += 1;
        }
        bits += 1;
    }
    places
};

/// Transposes eight rows of eight bits: bit k of byte r becomes bit r of byte k.
fn transposed(mut square: u64) -> u64 {
    // Squares of one, two and four across the diagonal change places (H. S. Warren, Hacker's Delight).
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let moved = (square ^ (square >> shift)) & mask;
        square ^= moved ^ (moved << shift);
    }
    square
}

/// Entries of the last block by cluster: several where a cluster has several images within reach.
struct Places {
    /// Number of the last block that had a cluster, from one, and its last entry there, by cluster.
    last: Vec<(u32, u8)>,
    /// Previous entry of the same cluster, by entry.
    before: [Option<u8>; MOST_ENTRIES],
}

impl Places {
    fn new(n_clusters: usize) -> Self {
        Places { last: vec![(0, 0); n_clusters], before: [None; MOST_ENTRIES] }
    }

    fn fill<S: Scalar>(&mut self, list: &PairList<S>) {
        let Some(block) = list.blocks.last() else { return };
        let number = list.blocks.len() as u32;
        for (k, entry) in list.entries[block.first_entry as usize..].iter().enumerate() {
            let last = &mut self.last[entry.cluster as usize];
            self.before[k] = (last.0 == number).then_some(last.1);
            *last = (number, k as u8);
        }
    }

    fn of(&self, cluster: u32, block: usize) -> impl Iterator<Item = u8> {
        let (number, entry) = self.last[cluster as usize];
        let last = (number as usize == block).then_some(entry);
        std::iter::successors(last, |entry| self.before[usize::from(*entry)])
    }
}

/// Atoms within reach of each other around a cluster, by candidate.
struct RowMasks<S> {
    /// Origin of the candidate relative to that of the cluster.
    offsets: Vec<[S; 3]>,
    /// Set of the cluster's atoms with an atom of the candidate within reach: bit k for atom k.
    masks: Vec<u32>,
    /// Undecided atoms: [`MOST_LANES`] times the candidate, plus the atom.
    unsure: Vec<u32>,
}

impl<S> Default for RowMasks<S> {
    fn default() -> Self {
        RowMasks { offsets: Vec::new(), masks: Vec::new(), unsure: Vec::new() }
    }
}

impl<S: Scalar> RowMasks<S> {
    /// Finds the atoms: first all atoms of the cluster at once against the box around the candidate's atoms,
    /// then each undecided atom against these atoms. Nothing branches on the result, which no processor
    /// predicts.
    #[inline(always)]
    fn find<L: Lanes<Scalar = S>>(
        &mut self,
        clusters: &Clusters<S>,
        cluster: usize,
        candidates: &[Candidate],
        reach: f64,
    ) {
        let RowMasks { offsets, masks, unsure } = self;
        offsets.resize(candidates.len(), [S::default(); 3]);
        masks.resize(candidates.len(), 0);
        unsure.resize(MOST_LANES * candidates.len(), 0);
        // The reach and a little more, so that rounding never loses a pair.
        let reach2 = L::lit(reach * reach * (1.0 + 1e-5));
        let at = |cluster: usize| &clusters.built[cluster * 3 * L::WIDTH..(cluster + 1) * 3 * L::WIDTH];
        let mine = at(cluster);
        let origin = clusters.origin[cluster];
        let mut n_unsure = 0;
        let found = candidates.iter().zip(&mut *offsets).zip(&mut *masks);
        for (k, ((Candidate { cluster: other, shift }, offset), mask)) in found.enumerate() {
            for d in 0..3 {
                offset[d] = S::from_f64(clusters.origin[*other][d] + shift[d] - origin[d]);
            }
            let [near, certain] = rows_near_box::<L>(mine, &clusters.extent[*other], *offset, reach2);
            *mask = certain;
            for (eight, bits) in (near & !certain).to_le_bytes()[..MOST_LANES / 8].iter().enumerate() {
                let rows = PLACES_OF_BITS[usize::from(*bits)].to_le_bytes();
                let first = (MOST_LANES * k + 8 * eight) as u32;
                for (to, row) in unsure[n_unsure..n_unsure + 8].iter_mut().zip(rows) {
                    *to = first + u32::from(row);
                }
                n_unsure += bits.count_ones() as usize;
            }
        }
        for unsure in unsure[..n_unsure].iter().map(|unsure| *unsure as usize) {
            let (k, row) = (unsure / MOST_LANES, unsure % MOST_LANES);
            let (theirs, offset) = (at(candidates[k].cluster), offsets[k]);
            let mut r2 = L::lit(0.0);
            for d in 0..3 {
                let x = L::load(&theirs[d * L::WIDTH..]) + L::splat(offset[d]);
                let distance = L::splat(mine[d * L::WIDTH + row]) - x;
                r2 = distance.mul_add(distance, r2);
            }
            masks[k] |= u32::from(L::bits(r2.lt(reach2)) != 0) << row;
        }
    }
}

/// Sets of the atoms of a cluster, at `mine`, that may be within reach of the atoms in a box, moved by
/// `offset`, and of those that certainly are: bit k for atom k.
///
/// An atom lies on each face of a box, so that the nearest one is no further than the far end of a near face
/// (N. Roussopoulos, S. Kelley and F. Vincent, SIGMOD Record 24 (1995) 71, section 3.2).
#[inline(always)]
fn rows_near_box<L: Lanes>(
    mine: &[L::Scalar],
    [low, high]: &[[L::Scalar; 3]; 2],
    offset: [L::Scalar; 3],
    reach2: L,
) -> [u32; 2] {
    let zero = L::lit(0.0);
    let (mut gap2, mut farthest2, mut nearer) = (zero, zero, zero);
    for k in 0..3 {
        let x = L::load(&mine[k * L::WIDTH..]) - L::splat(offset[k]);
        let (below, above) = (L::splat(low[k]) - x, x - L::splat(high[k]));
        let gap = below.max(above).max(zero);
        gap2 = gap.mul_add(gap, gap2);
        let (below2, above2) = (below * below, above * above);
        let far2 = below2.max(above2);
        farthest2 = farthest2 + far2;
        nearer = nearer.min(below2.min(above2) - far2);
    }
    let certain = farthest2 + nearer;
    [L::bits(gap2.lt(reach2)), L::bits(certain.lt(reach2))]
}
