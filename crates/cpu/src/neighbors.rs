//! The neighbour list: which clusters each atom meets.
//!
//! A task owns a run of clusters. For each of its clusters the list has one or more blocks: the
//! other clusters within reach of it (entries), and for each of its atoms (rows) which of these
//! have an atom within reach of that atom. Every pair of clusters is listed once, with one of the
//! two; a pair force acts on both (reaction forces).

use crate::cells::Clusters;
use crate::search::{Candidate, Search};
use crate::simd::{Kernel, Lanes, Scalar, Simd};
use jostle_core::SimBox;
use std::ops::Range;

/// Blocks hold at most so many entries, which keeps the clusters of a block in the first-level
/// cache while its rows meet them.
pub const MOST_ENTRIES: usize = 64;

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
    /// Whether its atoms meet each other in this block.
    pub own: bool,
    /// Its entries, up to those of the next block.
    pub first_entry: u32,
    /// Its first place in [`PairList::row_ends`].
    pub first_row: u32,
}

/// A cluster within reach of which a row meets only some atoms.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// The entry, counted from the first of the block.
    pub entry: u8,
    /// Bit k is set if the row meets atom k.
    pub atoms: u16,
}

/// Pairs of atoms without a pair force: for each atom, by its place, the others.
pub struct Exclusions {
    first: Vec<u32>,
    /// Cluster and lane.
    others: Vec<(u32, u8)>,
}

impl Exclusions {
    /// From lists by id.
    pub fn new<S: Scalar>(clusters: &Clusters<S>, id: &[u32], order: &[usize], by_id: &[Vec<u32>]) -> Self {
        let mut cluster_of = vec![0; id.len()];
        for cluster in 0..clusters.count() {
            clusters.atoms(cluster).for_each(|atom| cluster_of[atom] = cluster as u32);
        }
        let (mut first, mut others) = (vec![0], Vec::new());
        for id in id {
            for other in &by_id[*id as usize] {
                let place = order[*other as usize];
                let cluster = cluster_of[place];
                others.push((cluster, (place - clusters.atoms(cluster as usize).start) as u8));
            }
            first.push(others.len() as u32);
        }
        Exclusions { first, others }
    }

    /// The atoms that an atom does not meet: cluster and lane.
    fn of(&self, atom: usize) -> &[(u32, u8)] {
        &self.others[self.first[atom] as usize..self.first[atom + 1] as usize]
    }
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
    /// For every row of every block, the end of its part of `rows`.
    pub row_ends: Vec<u32>,
    /// The entries (counted from the first of the block) that a row meets.
    pub rows: Vec<u8>,
    /// Where pairs are excluded, for every row of every block: the atoms of the row's own cluster
    /// that it does not meet, and the end of its part of `some`. Empty where none are.
    pub excluded: Vec<(u16, u32)>,
    /// The entries of which a row meets only some atoms.
    pub some: Vec<Part>,
    /// Clusters of other tasks that this one exerts forces on.
    pub foreign: Vec<u32>,
}

impl<S: Scalar> PairList<S> {
    /// Forgets all but whose list it is.
    pub fn clear(&mut self) {
        self.blocks.clear();
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
            + self.entries.capacity() * size_of::<Entry<S>>()
            + self.row_ends.capacity() * size_of::<u32>()
            + self.rows.capacity()
            + self.excluded.capacity() * size_of::<(u16, u32)>()
            + self.some.capacity() * size_of::<Part>()
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
    /// Pairs without a force.
    pub exclusions: Option<&'a Exclusions>,
    /// The list; its `clusters` say which rows to build.
    pub list: &'a mut PairList<S>,
}

impl<S: Scalar> Kernel for Build<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Simd>(self) {
        let Build { clusters, simbox, reach, exclusions, list } = self;
        list.clear();
        let own = list.clusters.clone();
        let mut targets = Targets { own: own.clone(), foreign_target: vec![0; clusters.count()] };
        let mut search = Search::new(clusters, simbox, reach);
        let mut places = Places::new(if exclusions.is_some() { clusters.count() } else { 0 });
        let (mut candidates, mut meetings) = (Vec::new(), Vec::new());
        for cluster in own {
            search.around(cluster, &mut candidates);
            list.open_block(cluster, true);
            meetings.clear();
            for &Candidate { cluster: other, shift } in &candidates {
                let mut offset = [S::default(); 3];
                for k in 0..3 {
                    let d = clusters.origin[other][k] + shift[k] - clusters.origin[cluster][k];
                    offset[k] = S::from_f64(d);
                }
                let meeting = rows_meeting::<S::Lanes<I>>(clusters, cluster, other, offset, reach);
                if meeting == 0 {
                    continue;
                }
                if meetings.len() == MOST_ENTRIES {
                    list.close_block(&meetings, clusters.atoms(cluster), exclusions, &mut places);
                    list.open_block(cluster, false);
                    meetings.clear();
                }
                let target = targets.of(other, &mut list.foreign);
                list.entries.push(Entry { cluster: other as u32, target, offset });
                meetings.push(meeting);
            }
            list.close_block(&meetings, clusters.atoms(cluster), exclusions, &mut places);
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
    fn open_block(&mut self, cluster: usize, own: bool) {
        let (first_entry, first_row) = (self.entries.len() as u32, self.row_ends.len() as u32);
        self.blocks.push(Block { cluster: cluster as u32, own, first_entry, first_row });
    }

    /// Turns the rows that meet each entry of the block into the entries that each row meets.
    fn close_block(
        &mut self,
        meetings: &[u32],
        atoms: Range<usize>,
        exclusions: Option<&Exclusions>,
        places: &mut Places,
    ) {
        if exclusions.is_some() {
            places.fill(self);
        }
        for (row, atom) in atoms.enumerate() {
            let start = self.rows.len();
            let mut end = start;
            self.rows.resize(end + meetings.len(), 0);
            for (k, meeting) in meetings.iter().enumerate() {
                self.rows[end] = k as u8;
                end += (meeting >> row & 1) as usize;
            }
            self.rows.truncate(end);
            if let Some(exclusions) = exclusions {
                self.leave_out(start, exclusions.of(atom), places);
            }
            self.row_ends.push(self.rows.len() as u32);
        }
    }

    /// Of the row that begins at `start`, the last one, some atoms are not met: cluster and lane.
    fn leave_out(&mut self, start: usize, others: &[(u32, u8)], places: &Places) {
        let Some(&Block { cluster, .. }) = self.blocks.last() else { return };
        let (mut own, first_part) = (0, self.some.len());
        for &(other, lane) in others {
            if other == cluster {
                own |= 1 << lane;
            }
            for entry in places.of(other, self.blocks.len()) {
                if let Some(part) = self.some[first_part..].iter_mut().find(|part| part.entry == entry) {
                    part.atoms &= !(1 << lane);
                } else if let Some(place) = self.rows[start..].iter().position(|e| *e == entry) {
                    self.rows.remove(start + place);
                    self.some.push(Part { entry, atoms: !(1 << lane) });
                }
            }
        }
        self.excluded.push((own, self.some.len() as u32));
    }
}

/// Which entries of the last block a cluster is: more than one where it has several images in reach.
struct Places {
    /// By cluster, the number of the last block that had it, from one, and its last entry there.
    last: Vec<(u32, u8)>,
    /// By entry, the one of the same cluster before it.
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

/// Which atoms of a cluster, at `mine`, are within reach of the box around another one moved by
/// `offset`: bit k for atom k.
#[inline(always)]
fn rows_near_box<L: Lanes>(
    mine: &[L::Scalar],
    [low, high]: &[[L::Scalar; 3]; 2],
    offset: [L::Scalar; 3],
    reach2: L,
) -> u32 {
    let mut gap2 = L::lit(0.0);
    for k in 0..3 {
        let x = L::load(&mine[k * L::WIDTH..]) - L::splat(offset[k]);
        let gap = (L::splat(low[k]) - x).max(x - L::splat(high[k])).max(L::lit(0.0));
        gap2 = gap.mul_add(gap, gap2);
    }
    L::bits(gap2.lt(reach2))
}

/// Which atoms of `cluster` have an atom of `other`, moved by `offset`, within `reach`: bit k for
/// atom k.
#[inline(always)]
fn rows_meeting<L: Lanes>(
    clusters: &Clusters<L::Scalar>,
    cluster: usize,
    other: usize,
    offset: [L::Scalar; 3],
    reach: f64,
) -> u32 {
    let stride = 3 * L::WIDTH;
    let mine = &clusters.built[cluster * stride..(cluster + 1) * stride];
    let theirs = &clusters.built[other * stride..(other + 1) * stride];
    // A little more than the reach, so that rounding never loses a pair.
    let reach2 = L::lit(reach * reach * (1.0 + 1e-5));
    // First all atoms of the cluster at once against the box around the others.
    let mut near_box = rows_near_box::<L>(mine, &clusters.extent[other], offset, reach2);
    let x = L::load(theirs) + L::splat(offset[0]);
    let y = L::load(&theirs[L::WIDTH..]) + L::splat(offset[1]);
    let z = L::load(&theirs[2 * L::WIDTH..]) + L::splat(offset[2]);
    // Then each that is near enough against the others one by one.
    let mut meeting = 0;
    while near_box != 0 {
        let row = near_box.trailing_zeros() as usize;
        near_box &= near_box - 1;
        let dx = L::splat(mine[row]) - x;
        let dy = L::splat(mine[L::WIDTH + row]) - y;
        let dz = L::splat(mine[2 * L::WIDTH + row]) - z;
        let r2 = dx.mul_add(dx, dy.mul_add(dy, dz * dz));
        meeting |= u32::from(L::bits(r2.lt(reach2)) != 0) << row;
    }
    meeting
}
