//! The loop over the blocks of a neighbour list, for any interaction of atoms within reach.
//!
//! The clusters within reach of a block are copied once into a small tile, shifted to the block's cluster.
//! For every atom (row) of the cluster the kernel then goes through the clusters of this row, a register
//! full of atoms at a time. Reactions accumulate in the tile and are added to memory once.

use crate::cells::Clusters;
use crate::neighbors::{ListEntry, MOST_ENTRIES, PairList, PartialEntry};
use crate::simd::aligned::Aligned;
use crate::simd::{Kernel, Lanes, Level, Scalar, Simd};
use jostle_core::{Evaluate, Real, SymTensor};
use std::ops::Range;

/// Sums of one evaluation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    /// Energy.
    pub energy: f64,
    /// Virial, the sum of d_a f_b over pairs.
    pub virial: SymTensor,
}

/// The forces a task exerts: on its own clusters and on those of other tasks.
#[derive(Default)]
pub struct TaskForces<S> {
    /// Forces on its own clusters: x, y, z of all atoms of each.
    pub own: Aligned<S>,
    /// Forces on foreign clusters, in the order of [`PairList::foreign`].
    pub foreign: Aligned<S>,
    /// Working space.
    tile: Aligned<S>,
}

impl<S: Scalar> TaskForces<S> {
    /// Sets all forces to zero.
    pub fn clear(&mut self, list: &PairList<S>, width: usize) {
        self.clear_numbers(list, 3 * width);
    }

    /// Takes the forces of others, which are on the same clusters.
    pub fn begin_with(&mut self, others: &TaskForces<S>) {
        for (to, from) in [(&mut self.own, &others.own), (&mut self.foreign, &others.foreign)] {
            to.resize(from.len());
            to.copy_from_slice(from);
        }
    }

    /// Sets `stride` numbers of each cluster to zero.
    pub(crate) fn clear_numbers(&mut self, list: &PairList<S>, stride: usize) {
        self.own.refill(list.clusters.len() * stride, S::default());
        self.foreign.refill(list.foreign.len() * stride, S::default());
    }

    /// Sets the numbers of own clusters, so many in all, to zero.
    pub(crate) fn clear_own(&mut self, n: usize) {
        self.own.refill(n, S::default());
    }

    /// The forces on own clusters, to be changed, and on foreign ones.
    pub fn split(&mut self) -> (&mut [S], &[S]) {
        (&mut self.own, &self.foreign)
    }

    /// Numbers for foreign clusters, to be changed.
    pub(crate) fn foreign_mut(&mut self) -> &mut [S] {
        &mut self.foreign
    }

    /// Space for so many numbers of own and foreign clusters, of unspecified contents.
    pub(crate) fn resize(&mut self, own: usize, foreign: usize) {
        self.own.resize(own);
        self.foreign.resize(foreign);
    }

    /// Own clusters, foreign ones, and working space.
    pub(crate) fn parts(&mut self) -> (&mut Aligned<S>, &mut Aligned<S>, &mut Aligned<S>) {
        (&mut self.own, &mut self.foreign, &mut self.tile)
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        self.own.bytes() + self.foreign.bytes() + self.tile.bytes()
    }
}

/// Sums of a row: the force on its atom and, if asked for, energy and virial.
#[derive(Clone, Copy)]
pub(crate) struct RowSums<L> {
    /// Force, or other accumulated numbers, from the first component on.
    pub force: [L; 3],
    pub energy: L,
    pub virial: [L; 6],
}

impl<R: Real> RowSums<R> {
    #[inline(always)]
    pub fn new() -> Self {
        let zero = R::lit(0.0);
        RowSums { force: [zero; 3], energy: zero, virial: [zero; 6] }
    }

    /// Energies and virial of pairs at distances `d`.
    #[inline(always)]
    pub fn add_sums(&mut self, energy: R, force_over_r: R, d: [R; 3]) {
        self.energy = self.energy + energy;
        let f = [d[0] * force_over_r, d[1] * force_over_r, d[2] * force_over_r];
        for k in 0..3 {
            self.virial[k] = f[k].mul_add(d[k], self.virial[k]);
        }
        self.virial[3] = f[0].mul_add(d[1], self.virial[3]);
        self.virial[4] = f[0].mul_add(d[2], self.virial[4]);
        self.virial[5] = f[1].mul_add(d[2], self.virial[5]);
    }
}

impl<L: Lanes> RowSums<L> {
    /// Stores the accumulated numbers of the row for [`ListPass::over_blocks`].
    #[inline(always)]
    pub fn store_sums(&self, n_accumulated: usize, row: usize, rows: &mut [L::Scalar]) {
        for k in 0..n_accumulated {
            self.force[k].store(&mut rows[(k * L::WIDTH + row) * L::WIDTH..]);
        }
    }
}

impl Sums {
    /// Adds the sums of a row.
    #[inline(always)]
    pub(crate) fn add<L: Lanes>(&mut self, row: &RowSums<L>) {
        self.energy += row.energy.sum().to_f64();
        for k in 0..6 {
            self.virial[k] += row.virial[k].sum().to_f64();
        }
    }
}

// Code that touches registers is in functions with `#[inline(always)]`: a closure would be compiled without
// the instruction set.

/// One block of a list.
pub(crate) struct BlockView<'a, S> {
    /// Cluster whose atoms are the rows.
    pub cluster: usize,
    /// Number of rows.
    pub n_rows: usize,
    /// True if pairs inside the cluster are in this block.
    pub own: bool,
    /// Clusters within reach.
    pub entries: &'a [ListEntry<S>],
    /// All clusters.
    pub clusters: &'a Clusters<S>,
    list: &'a PairList<S>,
    first_row: usize,
}

impl<'a, S: Scalar> BlockView<'a, S> {
    /// Entries all atoms of which are partners of a row.
    #[inline(always)]
    pub fn partners(&self, row: usize) -> &'a [u8] {
        let row = self.first_row + row;
        let start = if row == 0 { 0 } else { self.list.row_ends[row - 1] };
        &self.list.rows[start as usize..self.list.row_ends[row] as usize]
    }

    /// [`BlockView::partners`] of all rows.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn all_partners(&self) -> &'a [u8] {
        let ends = &self.list.row_ends;
        let start = if self.first_row == 0 { 0 } else { ends[self.first_row - 1] };
        let end = if self.n_rows == 0 { start } else { ends[self.first_row + self.n_rows - 1] };
        &self.list.rows[start as usize..end as usize]
    }

    /// Entries of which only some atoms are partners of a row.
    #[inline(always)]
    pub fn parts(&self, row: usize) -> &'a [PartialEntry] {
        let row = self.first_row + row;
        let Some((_, end)) = self.list.excluded.get(row) else { return &[] };
        let start = if row == 0 { 0 } else { self.list.excluded[row - 1].1 };
        &self.list.some[start as usize..*end as usize]
    }

    /// Partners of a row in its own cluster: the atoms after it, so that each pair is there once.
    #[inline(always)]
    pub fn after(&self, row: usize) -> u32 {
        let excluded = self.list.excluded.get(self.first_row + row).map_or(0, |(atoms, _)| u32::from(*atoms));
        !0 << (row + 1) & !excluded
    }

    /// Cluster at a place of the tile.
    #[inline(always)]
    pub fn cluster_at(&self, place: usize) -> usize {
        match place {
            0 => self.cluster,
            _ => self.entries[place - 1].cluster as usize,
        }
    }
}

/// Arrays that a kernel adds to.
pub(crate) struct BlockArrays<'a, S> {
    /// Places of the block's clusters: coordinates, reactions, and numbers of the kernel's own.
    pub tile: &'a mut [S],
    /// Sums of each row, by component and row a register whose lanes are added later.
    pub rows: &'a mut [S],
    /// Energy and virial.
    pub sums: &'a mut Sums,
}

/// The kernel over a block. Place 0 of its tile is the cluster itself, its entries follow.
pub(crate) trait BlockKernel<L: Lanes> {
    /// Registers of a place of the tile: three coordinates, the accumulated numbers, and the extra ones.
    const PLACE: usize;
    /// Numbers that an atom accumulates: 3 are a force, 1 a density.
    const N_ACCUMULATED: usize;

    /// Loads the extra numbers of a cluster, which stand behind the accumulated ones of its place.
    fn load_extra(&self, _cluster: usize, _extra: &mut [L::Scalar]) {}
    /// Evaluates all rows with their partners: adds the reactions to the tile, and stores the sums of each
    /// row.
    fn evaluate_block(&mut self, at: &BlockView<L::Scalar>, arrays: BlockArrays<L::Scalar>);
    /// Accumulated numbers with the reactions of the tile: forces have the opposite sign.
    #[inline(always)]
    fn with_reaction(accumulated: L, in_tile: L) -> L {
        accumulated - in_tile
    }
}

/// Pairs of a list that a pass goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedPairs {
    /// All pairs.
    All,
    /// Pairs of clusters with an atom that may move.
    Moving,
    /// Pairs of frozen atoms alone.
    Frozen,
}

/// One pass over the list of a task.
pub struct ListPass<'a, S> {
    /// Instruction set.
    pub level: Level,
    /// Atoms.
    pub clusters: &'a Clusters<S>,
    /// List of the task.
    pub list: &'a PairList<S>,
    /// Forces, or other numbers, that the pass adds to.
    pub accumulated: &'a mut TaskForces<S>,
    /// Results that are asked for; without energies all sums of a pass are unspecified.
    pub evaluate: Evaluate,
    /// Pairs that the pass goes over.
    pub pairs: ListedPairs,
}

/// A kernel for passes over lists, before the registers are known.
pub(crate) trait ListKernel<S: Scalar> {
    /// Sums of a pass.
    type Output;
    /// Chooses the variant of the kernel, with which it goes [over the blocks](ListPass::over_blocks).
    fn run<L: Lanes<Scalar = S>>(self, pass: ListPass<S>) -> Self::Output;
}

impl<S: Scalar> ListPass<'_, S> {
    /// Pass for one of several kernels.
    pub(crate) fn reborrow(&mut self) -> ListPass<'_, S> {
        ListPass { accumulated: &mut *self.accumulated, ..*self }
    }

    /// Numbers of the blocks that the pass goes over.
    pub(crate) fn blocks(&self) -> Range<usize> {
        let (n_moving, n) = (self.list.n_moving, self.list.blocks.len());
        match self.pairs {
            ListedPairs::All => 0..n,
            ListedPairs::Moving => 0..n_moving,
            ListedPairs::Frozen => n_moving..n,
        }
    }

    /// Block of the list.
    pub(crate) fn view(&self, b: usize) -> BlockView<'_, S> {
        let ListPass { clusters, list, .. } = *self;
        let block = &list.blocks[b];
        let cluster = block.cluster as usize;
        BlockView {
            cluster,
            n_rows: clusters.atoms(cluster).len(),
            own: block.own,
            entries: list.block_entries(b),
            clusters,
            list,
            first_row: block.first_row as usize,
        }
    }

    /// Runs a kernel with the instruction set of the pass.
    pub(crate) fn run<K: ListKernel<S>>(self, kernel: K) -> K::Output {
        self.level.run(WithRegisters { pass: self, kernel })
    }

    /// Runs a kernel over all blocks of the list.
    #[inline(always)]
    pub(crate) fn over_blocks<L: Lanes<Scalar = S>, K: BlockKernel<L>>(self, mut kernel: K) -> Sums {
        let blocks = self.blocks();
        let ListPass { clusters, list, accumulated, .. } = self;
        let TaskForces { own, foreign, tile } = accumulated;
        let (place, square) = (K::PLACE * L::WIDTH, L::WIDTH * L::WIDTH);
        // The sums of a block's rows stand behind its tile, so that registers are added up together.
        let rows_start = (MOST_ENTRIES + 1) * place;
        tile.resize(rows_start + K::N_ACCUMULATED * square);
        let (tile, rows) = tile.split_at_mut(rows_start);
        let mut sums = Sums::default();
        let n_own = list.clusters.len();
        for b in blocks {
            let block = &list.blocks[b];
            let cluster = block.cluster as usize;
            let entries = list.block_entries(b);
            load_place(&kernel, tile, clusters, cluster, [S::default(); 3]);
            for (entry, part) in entries.iter().zip(tile[place..].chunks_exact_mut(place)) {
                load_place(&kernel, part, clusters, entry.cluster as usize, entry.offset);
            }
            let (n_rows, first_row) = (clusters.atoms(cluster).len(), block.first_row as usize);
            let at = BlockView { cluster, n_rows, own: block.own, entries, clusters, list, first_row };
            kernel.evaluate_block(&at, BlockArrays { tile, rows, sums: &mut sums });
            let mine = cluster - list.clusters.start;
            for k in 0..K::N_ACCUMULATED {
                let own = &mut own
                    [(mine * K::N_ACCUMULATED + k) * L::WIDTH..(mine * K::N_ACCUMULATED + k + 1) * L::WIDTH];
                (L::load(own) + L::sum_rows(&rows[k * square..(k + 1) * square])).store(own);
            }
            add_reactions::<L, K>(&tile[..place], own, mine);
            for (entry, part) in entries.iter().zip(tile[place..].chunks_exact(place)) {
                let target = entry.target as usize;
                if target < n_own {
                    add_reactions::<L, K>(part, own, target);
                } else {
                    add_reactions::<L, K>(part, foreign, target - n_own);
                }
            }
        }
        sums
    }
}

/// A pass whose instruction set has been entered.
struct WithRegisters<'a, S, K> {
    pass: ListPass<'a, S>,
    kernel: K,
}

impl<S: Scalar, K: ListKernel<S>> Kernel for WithRegisters<'_, S, K> {
    type Output = K::Output;

    #[inline(always)]
    fn run<I: Simd>(self) -> K::Output {
        self.kernel.run::<S::Lanes<I>>(self.pass)
    }
}

/// The position of a row's atom, in all lanes.
#[inline(always)]
pub(crate) fn center_of_row<L: Lanes>(tile: &[L::Scalar], row: usize) -> [L; 3] {
    [L::splat(tile[row]), L::splat(tile[L::WIDTH + row]), L::splat(tile[2 * L::WIDTH + row])]
}

/// Mask with lane k where bit k is set; there may be more bits than lanes.
#[inline(always)]
pub(crate) fn lanes<L: Lanes>(bits: u32) -> L::Mask {
    L::mask(bits & (!0 >> (32 - L::WIDTH)))
}

/// Fills a place of the tile: positions of a cluster, zeros, and the kernel's own numbers.
#[inline(always)]
fn load_place<L: Lanes, K: BlockKernel<L>>(
    kernel: &K,
    place: &mut [L::Scalar],
    clusters: &Clusters<L::Scalar>,
    cluster: usize,
    offset: [L::Scalar; 3],
) {
    let positions = &clusters.position[cluster * 3 * L::WIDTH..(cluster + 1) * 3 * L::WIDTH];
    for k in 0..3 {
        (L::load(&positions[k * L::WIDTH..]) + L::splat(offset[k])).store(&mut place[k * L::WIDTH..]);
    }
    for k in 3..3 + K::N_ACCUMULATED {
        L::lit(0.0).store(&mut place[k * L::WIDTH..]);
    }
    kernel.load_extra(cluster, &mut place[(3 + K::N_ACCUMULATED) * L::WIDTH..K::PLACE * L::WIDTH]);
}

/// Adds the reactions at a place of the tile to the accumulated numbers.
#[inline(always)]
fn add_reactions<L: Lanes, K: BlockKernel<L>>(
    place: &[L::Scalar],
    accumulated: &mut [L::Scalar],
    target: usize,
) {
    let accumulated =
        &mut accumulated[target * K::N_ACCUMULATED * L::WIDTH..(target + 1) * K::N_ACCUMULATED * L::WIDTH];
    for k in 0..K::N_ACCUMULATED {
        let sum =
            K::with_reaction(L::load(&accumulated[k * L::WIDTH..]), L::load(&place[(3 + k) * L::WIDTH..]));
        sum.store(&mut accumulated[k * L::WIDTH..]);
    }
}
