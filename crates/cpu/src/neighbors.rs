//! The neighbour list: which clusters each atom meets.
//!
//! A task owns a run of clusters. For each of its clusters the list has one or more blocks: the
//! other clusters within reach of it (entries), and for each of its atoms (rows) which of these
//! have an atom within reach of that atom. Every pair of clusters is listed once, with one of the
//! two; a pair force acts on both (reaction forces).

use crate::cells::Clusters;
use crate::simd::{Kernel, Lanes, Scalar, Simd};
use jostle_core::{SimBox, Vec3};
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
    /// Clusters of other tasks that this one exerts forces on.
    pub foreign: Vec<u32>,
}

impl<S: Scalar> PairList<S> {
    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<Block>()
            + self.entries.capacity() * size_of::<Entry<S>>()
            + self.row_ends.capacity() * size_of::<u32>()
            + self.rows.capacity()
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
        list.rows.clear();
        list.foreign.clear();
        let own = list.clusters.clone();
        let mut targets = Targets { own: own.clone(), foreign_target: vec![0; clusters.count()] };
        let mut rows = RowMasks::<S::Lanes<I>>::default();
        for cluster in own {
            let mut open = OpenBlock::start(list, cluster, true);
            search(clusters, simbox, cluster, reach, &mut |other, shift| {
                let mut offset = [S::default(); 3];
                for k in 0..3 {
                    let d = clusters.origin[other][k] + shift[k] - clusters.origin[cluster][k];
                    offset[k] = S::from_f64(d);
                }
                let meeting = rows.meeting(clusters, cluster, other, offset, reach);
                if meeting == 0 {
                    return;
                }
                if open.entries.len() == MOST_ENTRIES {
                    open.finish(list, clusters.atoms(cluster).len());
                    open = OpenBlock::start(list, cluster, false);
                }
                let target = targets.of(other, &mut list.foreign);
                open.entries.push((Entry { cluster: other as u32, target, offset }, meeting));
            });
            open.finish(list, clusters.atoms(cluster).len());
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

/// A block being filled.
struct OpenBlock<S> {
    block: Block,
    /// Entries, each with the rows that meet it.
    entries: Vec<(Entry<S>, u32)>,
}

impl<S: Scalar> OpenBlock<S> {
    fn start(list: &PairList<S>, cluster: usize, own: bool) -> Self {
        let (first_entry, first_row) = (list.entries.len() as u32, list.row_ends.len() as u32);
        let block = Block { cluster: cluster as u32, own, first_entry, first_row };
        OpenBlock { block, entries: Vec::with_capacity(MOST_ENTRIES) }
    }

    fn finish(&mut self, list: &mut PairList<S>, n_rows: usize) {
        list.blocks.push(self.block);
        list.entries.extend(self.entries.iter().map(|(entry, _)| *entry));
        for row in 0..n_rows {
            let start = list.rows.len();
            list.rows.resize(start + self.entries.len(), 0);
            let mut end = start;
            for (k, (_, meeting)) in self.entries.iter().enumerate() {
                list.rows[end] = k as u8;
                end += (meeting >> row & 1) as usize;
            }
            list.rows.truncate(end);
            list.row_ends.push(end as u32);
        }
    }
}

/// Calls `found` with every cluster and image shift that `cluster` lists: those whose bounding box
/// is within `reach` of its own, each pair of clusters from one side only. A cluster meets its own
/// images once each, not itself.
#[inline(always)]
fn search<S: Scalar>(
    clusters: &Clusters<S>,
    simbox: &SimBox,
    cluster: usize,
    reach: f64,
    found: &mut impl FnMut(usize, Vec3),
) {
    let columns = &clusters.columns;
    let mine = columns.first_cluster.partition_point(|&first| first as usize <= cluster) - 1;
    let (widths, periodic) = (simbox.widths(), simbox.periodic());
    let here = clusters.fractional[cluster];
    let bounds = clusters.bounds[cluster];
    let reach2 = reach * reach;
    // Fractional coordinates differ by at most distance / width.
    let low: Vec3 = std::array::from_fn(|k| here.low[k] - reach / widths[k]);
    let high: Vec3 = std::array::from_fn(|k| here.high[k] + reach / widths[k]);
    let span = |k: usize| {
        let (a, b) = (columns.place(k, low[k]).floor() as i64, columns.place(k, high[k]).floor() as i64);
        let last = columns.n[k] as i64 - 1;
        if periodic[k] { a..=b } else { a.clamp(0, last)..=b.clamp(0, last) }
    };
    let z_images = if periodic[2] { low[2].floor() as i32..=high[2].floor() as i32 } else { 0..=0 };
    for column_x in span(0) {
        let (x, image_x) = fold(column_x, columns.n[0]);
        for column_y in span(1) {
            let (y, image_y) = fold(column_y, columns.n[1]);
            let column = x * columns.n[1] + y;
            let members = columns.first_cluster[column] as usize..columns.first_cluster[column + 1] as usize;
            let same = members.contains(&cluster);
            // Which of two columns lists their pairs alternates, so that every stretch of columns
            // has the same work; inside a column the lower cluster does.
            if !same && (column + mine).is_multiple_of(2) != (mine < column) {
                continue;
            }
            let members = if same { cluster..members.end } else { members };
            for image_z in z_images.clone() {
                let image = [image_x, image_y, image_z];
                let shift = simbox.shift(image);
                let (z_low, z_high) = (low[2] - f64::from(image_z), high[2] - f64::from(image_z));
                let others = &clusters.fractional[members.clone()];
                let skip = others.partition_point(|b| b.high[2] < z_low);
                for (other, b) in members.clone().zip(others).skip(skip) {
                    if b.low[2] > z_high {
                        break;
                    }
                    if bounds.gap2(&clusters.bounds[other], shift) > reach2 {
                        continue;
                    }
                    if other != cluster || image > [0, 0, 0] {
                        found(other, shift);
                    }
                }
            }
        }
    }
}

/// A column beyond the edge is an image of one inside.
#[inline(always)]
fn fold(column: i64, n: usize) -> (usize, i32) {
    let n = n as i64;
    (column.rem_euclid(n) as usize, column.div_euclid(n) as i32)
}

/// Finds which atoms of a cluster meet another cluster.
struct RowMasks<L>(std::marker::PhantomData<L>);

impl<L> Default for RowMasks<L> {
    fn default() -> Self {
        RowMasks(std::marker::PhantomData)
    }
}

impl<L: Lanes> RowMasks<L> {
    /// Bit k: atom k of `cluster` has an atom of `other` within `reach`.
    #[inline(always)]
    fn meeting(
        &mut self,
        clusters: &Clusters<L::Scalar>,
        cluster: usize,
        other: usize,
        offset: [L::Scalar; 3],
        reach: f64,
    ) -> u32 {
        let stride = 3 * L::WIDTH;
        let mine = &clusters.position[cluster * stride..(cluster + 1) * stride];
        let theirs = &clusters.position[other * stride..(other + 1) * stride];
        // A little more than the reach, so that rounding never loses a pair.
        let reach2 = L::lit(reach * reach * (1.0 + 1e-5));
        let x = L::load(theirs) + L::splat(offset[0]);
        let y = L::load(&theirs[L::WIDTH..]) + L::splat(offset[1]);
        let z = L::load(&theirs[2 * L::WIDTH..]) + L::splat(offset[2]);
        let mut meeting = 0;
        for row in self.near_box(clusters, cluster, other, offset, reach) {
            let dx = L::splat(mine[row]) - x;
            let dy = L::splat(mine[L::WIDTH + row]) - y;
            let dz = L::splat(mine[2 * L::WIDTH + row]) - z;
            let r2 = dx.mul_add(dx, dy.mul_add(dy, dz * dz));
            let near = L::bits(r2.lt(reach2));
            meeting |= u32::from(near != 0) << row;
        }
        meeting
    }

    /// The atoms of `cluster` that are within `reach` of the bounding box of `other`.
    #[inline(always)]
    fn near_box(
        &self,
        clusters: &Clusters<L::Scalar>,
        cluster: usize,
        other: usize,
        offset: [L::Scalar; 3],
        reach: f64,
    ) -> impl Iterator<Item = usize> + use<L> {
        let stride = 3 * L::WIDTH;
        let mine = &clusters.position[cluster * stride..(cluster + 1) * stride];
        let (bounds, origin) = (&clusters.bounds[other], &clusters.origin[other]);
        let slack = 1e-5 * reach;
        let mut gap2 = L::lit(0.0);
        for k in 0..3 {
            let x = L::load(&mine[k * L::WIDTH..]) - L::splat(offset[k]);
            let below = L::lit(bounds.low[k] - origin[k] - slack) - x;
            let above = x - L::lit(bounds.high[k] - origin[k] + slack);
            let gap = below.max(above).max(L::lit(0.0));
            gap2 = gap.mul_add(gap, gap2);
        }
        let mut bits = L::bits(gap2.lt(L::lit(reach * reach)));
        std::iter::from_fn(move || {
            (bits != 0).then(|| {
                let row = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                row
            })
        })
    }
}
