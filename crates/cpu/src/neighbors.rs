//! The neighbour list: which atoms each atom meets.
//!
//! A task owns a run of clusters. For each of its clusters the list has one or more blocks: the
//! other clusters within reach of it (entries). Put side by side, first the cluster itself, then
//! its entries, their atoms form a tile; and for each atom of the cluster (row) the list says at
//! which places of the tile it meets a register full of atoms (starts). Atoms of a column lie in
//! the order of height, so those within reach of an atom lie in a few short runs, and since a
//! register may start anywhere, few of its lanes are wasted.
//!
//! Every pair is listed once, with one of its two atoms; a pair force acts on both (reaction
//! forces).

use crate::cells::Clusters;
use crate::search::{Candidate, Search};
use crate::simd::{Kernel, Lanes, Scalar, Simd};
use jostle_core::SimBox;
use std::ops::Range;

/// Blocks hold at most so many entries, which keeps the tile in the first-level cache while the
/// rows meet it.
pub const MOST_ENTRIES: usize = 63;

/// A cluster within reach.
#[derive(Debug, Clone, Copy)]
pub struct Entry<S> {
    /// Which cluster.
    pub cluster: u32,
    /// Where the task keeps the forces on it: first its own clusters, then foreign ones.
    pub target: u32,
    /// Its origin, image shift included, relative to that of the block's cluster.
    pub offset: [S; 3],
}

/// A cluster and others within its reach.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// The cluster whose atoms are the rows.
    pub cluster: u32,
    /// Its entries, up to those of the next block.
    pub first_entry: u32,
    /// Its first place in [`PairList::row_ends`].
    pub first_row: u32,
}

/// The neighbour list of a task.
#[derive(Debug, Clone, Default)]
pub struct PairList<S> {
    /// The clusters whose atoms are rows.
    pub clusters: Range<usize>,
    /// The blocks, by cluster.
    pub blocks: Vec<Block>,
    /// The entries of all blocks.
    pub entries: Vec<Entry<S>>,
    /// For every row of every block, the end of its part of `starts`.
    pub row_ends: Vec<u32>,
    /// Places of the tile where a row meets a register of atoms; registers of a row do not
    /// overlap.
    pub starts: Vec<u16>,
    /// Clusters of other tasks that this one exerts forces on.
    pub foreign: Vec<u32>,
}

impl<S: Scalar> PairList<S> {
    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<Block>()
            + self.entries.capacity() * size_of::<Entry<S>>()
            + self.row_ends.capacity() * size_of::<u32>()
            + self.starts.capacity() * size_of::<u16>()
            + self.foreign.capacity() * size_of::<u32>()
    }

    /// The entries of a block.
    #[inline(always)]
    pub fn block_entries(&self, block: usize) -> &[Entry<S>] {
        let end = self.blocks.get(block + 1).map_or(self.entries.len(), |b| b.first_entry as usize);
        &self.entries[self.blocks[block].first_entry as usize..end]
    }
}

/// Builds the list of one task.
pub struct Build<'a, S: Scalar> {
    /// The clusters.
    pub clusters: &'a Clusters<S>,
    /// The box.
    pub simbox: &'a SimBox,
    /// How far lists reach: cut-off and skin.
    pub reach: f64,
    /// The list; its `clusters` say which rows to build.
    pub list: &'a mut PairList<S>,
}

impl<S: Scalar> Kernel for Build<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Simd>(self) {
        let Build { clusters, simbox, reach, list } = self;
        list.blocks.clear();
        list.entries.clear();
        list.row_ends.clear();
        list.starts.clear();
        list.foreign.clear();
        let own = list.clusters.clone();
        let mut targets = Targets { own: own.clone(), foreign_target: vec![0; clusters.count()] };
        let mut search = Search::new(clusters, simbox, reach);
        let mut candidates = Vec::new();
        let mut meetings = Meetings::new();
        for cluster in own {
            search.around(cluster, &mut candidates);
            let n_rows = clusters.atoms(cluster).len();
            list.open_block(cluster);
            meetings.clear();
            meetings.add::<S::Lanes<I>>(clusters, [cluster; 2], [S::default(); 3], reach);
            for &Candidate { cluster: other, shift } in &candidates {
                let mut offset = [S::default(); 3];
                for k in 0..3 {
                    let d = clusters.origin[other][k] + shift[k] - clusters.origin[cluster][k];
                    offset[k] = S::from_f64(d);
                }
                if meetings.places > MOST_ENTRIES {
                    list.close_block(&meetings, n_rows, clusters.width);
                    list.open_block(cluster);
                    meetings.clear();
                    // The rows' own cluster has been met in the block before.
                    meetings.places = 1;
                }
                if meetings.add::<S::Lanes<I>>(clusters, [cluster, other], offset, reach) {
                    let target = targets.of(other, &mut list.foreign);
                    list.entries.push(Entry { cluster: other as u32, target, offset });
                }
            }
            list.close_block(&meetings, n_rows, clusters.width);
        }
    }
}

/// Where a task keeps the forces on each cluster.
struct Targets {
    own: Range<usize>,
    /// By cluster: place among the foreign ones plus one; 0 if it has none yet.
    foreign_target: Vec<u32>,
}

impl Targets {
    #[inline(always)]
    fn of(&mut self, cluster: usize, foreign: &mut Vec<u32>) -> u32 {
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
    fn open_block(&mut self, cluster: usize) {
        let (first_entry, first_row) = (self.entries.len() as u32, self.row_ends.len() as u32);
        self.blocks.push(Block { cluster: cluster as u32, first_entry, first_row });
    }

    /// Covers the atoms that each row meets with as few registers as possible.
    fn close_block(&mut self, meetings: &Meetings, n_rows: usize, width: usize) {
        for row in 0..n_rows {
            let mut covered = 0;
            let mut places = meetings.of_row[row];
            while places != 0 {
                let place = places.trailing_zeros() as usize;
                places &= places - 1;
                let begin = place * width;
                let mut atoms = u32::from(meetings.atoms[place][row]);
                if covered > begin {
                    atoms &= u32::MAX << (covered - begin);
                }
                if atoms != 0 {
                    // What is left of this place fits into the register that starts here.
                    let start = begin + atoms.trailing_zeros() as usize;
                    self.starts.push(start as u16);
                    covered = start + width;
                }
            }
            self.row_ends.push(self.starts.len() as u32);
        }
    }
}

/// Which atoms of a block's tile are within reach of which row.
struct Meetings {
    /// How many places of the tile there are: the cluster itself and the entries.
    places: usize,
    /// For each row, the places where it meets any atom.
    of_row: [u64; 16],
    /// For each place and row, the atoms it meets.
    atoms: [[u16; 16]; MOST_ENTRIES + 1],
}

impl Meetings {
    fn new() -> Self {
        Meetings { places: 0, of_row: [0; 16], atoms: [[0; 16]; MOST_ENTRIES + 1] }
    }

    fn clear(&mut self) {
        self.places = 0;
        self.of_row = [0; 16];
    }

    /// Adds a place for the second cluster, moved by `offset`, if any of its atoms is within
    /// `reach` of any of the first; of a cluster and itself, each pair once.
    #[inline(always)]
    fn add<L: Lanes>(
        &mut self,
        clusters: &Clusters<L::Scalar>,
        [cluster, other]: [usize; 2],
        offset: [L::Scalar; 3],
        reach: f64,
    ) -> bool {
        let stride = 3 * L::WIDTH;
        let mine = &clusters.position[cluster * stride..(cluster + 1) * stride];
        let theirs = &clusters.position[other * stride..(other + 1) * stride];
        // A little more than the reach, so that rounding never loses a pair.
        let reach2 = L::lit(reach * reach * (1.0 + 1e-5));
        // First all atoms of the cluster at once against the box around the others.
        let [low, high] = &clusters.extent[other];
        let mut gap2 = L::lit(0.0);
        for k in 0..3 {
            let x = L::load(&mine[k * L::WIDTH..]) - L::splat(offset[k]);
            let gap = (L::splat(low[k]) - x).max(x - L::splat(high[k])).max(L::lit(0.0));
            gap2 = gap.mul_add(gap, gap2);
        }
        let mut near_box = L::bits(gap2.lt(reach2));
        if near_box == 0 && self.places > 0 {
            return false;
        }
        let x = L::load(theirs) + L::splat(offset[0]);
        let y = L::load(&theirs[L::WIDTH..]) + L::splat(offset[1]);
        let z = L::load(&theirs[2 * L::WIDTH..]) + L::splat(offset[2]);
        // Then each that is near enough against the others one by one.
        let place = self.places;
        let mut any = self.places == 0;
        while near_box != 0 {
            let row = near_box.trailing_zeros() as usize;
            near_box &= near_box - 1;
            let dx = L::splat(mine[row]) - x;
            let dy = L::splat(mine[L::WIDTH + row]) - y;
            let dz = L::splat(mine[2 * L::WIDTH + row]) - z;
            let r2 = dx.mul_add(dx, dy.mul_add(dy, dz * dz));
            let mut atoms = L::bits(r2.lt(reach2));
            if place == 0 {
                atoms &= u32::MAX << (row + 1);
            }
            self.atoms[place][row] = atoms as u16;
            self.of_row[row] |= u64::from(atoms != 0) << place;
            any |= atoms != 0;
        }
        self.places += usize::from(any);
        any
    }
}
