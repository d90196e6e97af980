//! The loop over the blocks of a neighbour list, for any interaction of atoms within reach.
//!
//! For each block the clusters within reach are copied once into a small tile, shifted to the
//! block's cluster; then every atom (row) of the cluster goes through the clusters of its row, a register
//! full of atoms at a time. Reactions accumulate in the tile and are added to memory once.

use crate::cells::Clusters;
use crate::neighbors::{ListEntry, MOST_ENTRIES, PairList, PartialEntry};
use crate::simd::aligned::Aligned;
use crate::simd::{Lanes, Scalar};
use jostle_core::{Real, SymTensor};

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
    /// On its own clusters: x, y, z of all atoms of each.
    pub own: Aligned<S>,
    /// On foreign clusters, in the order of [`PairList::foreign`].
    pub foreign: Aligned<S>,
    /// Working space.
    tile: Aligned<S>,
}

impl<S: Scalar> TaskForces<S> {
    /// Sets all forces to zero.
    pub fn clear(&mut self, list: &PairList<S>, width: usize) {
        self.clear_numbers(list, 3 * width);
    }

    /// The same for so many numbers a cluster.
    pub(crate) fn clear_numbers(&mut self, list: &PairList<S>, stride: usize) {
        self.own.refill(list.clusters.len() * stride, S::default());
        self.foreign.refill(list.foreign.len() * stride, S::default());
    }

    /// The forces on own clusters, to be changed, and on foreign ones.
    pub fn split(&mut self) -> (&mut [S], &[S]) {
        (&mut self.own, &self.foreign)
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
    /// Force, or what else is accumulated, from its first component on.
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
    /// Stores what the row has accumulated for [`all_blocks`].
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

// Everything that touches registers is a function and `#[inline(always)]`: a closure would be
// compiled without the instruction set.

/// One block of a list.
pub(crate) struct BlockView<'a, S> {
    /// Its cluster.
    pub cluster: usize,
    /// How many rows it has.
    pub n_rows: usize,
    /// Whether pairs of its own atoms are in this block.
    pub own: bool,
    /// The clusters within reach.
    pub entries: &'a [ListEntry<S>],
    list: &'a PairList<S>,
    first_row: usize,
}

impl<'a, S: Scalar> BlockView<'a, S> {
    /// The entries all atoms of which are partners of a row.
    #[inline(always)]
    pub fn partners(&self, row: usize) -> &'a [u8] {
        let row = self.first_row + row;
        let start = if row == 0 { 0 } else { self.list.row_ends[row - 1] };
        &self.list.rows[start as usize..self.list.row_ends[row] as usize]
    }

    /// Those of all rows.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn all_partners(&self) -> &'a [u8] {
        let ends = &self.list.row_ends;
        let start = if self.first_row == 0 { 0 } else { ends[self.first_row - 1] };
        let end = if self.n_rows == 0 { start } else { ends[self.first_row + self.n_rows - 1] };
        &self.list.rows[start as usize..end as usize]
    }

    /// The entries of which only some atoms are partners of a row.
    #[inline(always)]
    pub fn parts(&self, row: usize) -> &'a [PartialEntry] {
        let row = self.first_row + row;
        let Some((_, end)) = self.list.excluded.get(row) else { return &[] };
        let start = if row == 0 { 0 } else { self.list.excluded[row - 1].1 };
        &self.list.some[start as usize..*end as usize]
    }

    /// The partners of a row in its own cluster: those after it, so that each pair is there once.
    #[inline(always)]
    pub fn after(&self, row: usize) -> u32 {
        let excluded = self.list.excluded.get(self.first_row + row).map_or(0, |(atoms, _)| u32::from(*atoms));
        !0 << (row + 1) & !excluded
    }

    /// The cluster at a place of the tile.
    #[inline(always)]
    pub fn cluster_at(&self, place: usize) -> usize {
        match place {
            0 => self.cluster,
            _ => self.entries[place - 1].cluster as usize,
        }
    }
}

/// The kernel over a block. Place 0 of its tile is the cluster itself, its entries follow.
pub(crate) trait BlockKernel<L: Lanes> {
    /// Registers of a place of the tile: three coordinates, what is accumulated, and what is loaded
    /// besides.
    const PLACE: usize;
    /// How many numbers an atom accumulates: 3 are a force, 1 a density.
    const N_ACCUMULATED: usize;

    /// Fills a place, from where the accumulated numbers end, with what else of a cluster is needed.
    fn load_extra(&self, _cluster: usize, _brought: &mut [L::Scalar]) {}
    /// All rows with their partners: adds the reactions to the tile, and stores in `rows` what each row
    /// accumulates, by component and row a register that is to be summed.
    fn evaluate_block(
        &mut self,
        at: &BlockView<L::Scalar>,
        clusters: &Clusters<L::Scalar>,
        tile: &mut [L::Scalar],
        rows: &mut [L::Scalar],
        sums: &mut Sums,
    );
    /// The accumulated numbers with the reactions of the tile.
    fn with_reaction(accumulated: L, in_tile: L) -> L;
}

/// The interaction of two atoms, for a kernel that takes one row after the other.
pub(crate) trait PairInteraction<L: Lanes> {
    /// See [`BlockKernel::PLACE`].
    const PLACE: usize;
    /// See [`BlockKernel::N_ACCUMULATED`].
    const N_ACCUMULATED: usize;
    /// Whether rows gather energies and virials.
    const ENERGIES: bool;
    /// What of an atom of a row is kept in registers.
    type Atom: Copy;
    /// What depends on the species of an atom and of its partners.
    type Kinds: Copy;

    /// See [`BlockKernel::load_extra`].
    fn load_extra(&self, _cluster: usize, _brought: &mut [L::Scalar]) {}
    /// The numbers of an atom of a row, from the place of its cluster.
    fn atom(&self, place: &[L::Scalar], row: usize) -> Self::Atom;
    /// The kinds of an atom of a cluster and of those of another.
    fn kinds(&self, clusters: &Clusters<L::Scalar>, cluster: usize, row: usize, other: usize) -> Self::Kinds;
    /// An atom with those of a place, or only some: adds the reactions to the place, and the rest to
    /// `gathered`.
    fn interact<const ONLY_SOME: bool>(
        &self,
        atom: &Self::Atom,
        center: [L; 3],
        kinds: &Self::Kinds,
        place: &mut [L::Scalar],
        some: L::Mask,
        gathered: &mut RowSums<L>,
    );
    /// See [`BlockKernel::with_reaction`].
    fn with_reaction(accumulated: L, in_tile: L) -> L;
}

/// The block kernel of a pair interaction: one row after the other.
pub(crate) struct PerRow<E>(pub E);

impl<L: Lanes, E: PairInteraction<L>> BlockKernel<L> for PerRow<E> {
    const PLACE: usize = E::PLACE;
    const N_ACCUMULATED: usize = E::N_ACCUMULATED;

    #[inline(always)]
    fn load_extra(&self, cluster: usize, extra: &mut [L::Scalar]) {
        self.0.load_extra(cluster, extra);
    }

    #[inline(always)]
    fn evaluate_block(
        &mut self,
        at: &BlockView<L::Scalar>,
        clusters: &Clusters<L::Scalar>,
        tile: &mut [L::Scalar],
        rows: &mut [L::Scalar],
        sums: &mut Sums,
    ) {
        let place = E::PLACE * L::WIDTH;
        for row in 0..at.n_rows {
            let center = center_of_row(tile, row);
            let atom = self.0.atom(&tile[..place], row);
            let mut gathered = RowSums::<L>::new();
            for &k in at.partners(row) {
                let k = usize::from(k);
                let kinds = self.0.kinds(clusters, at.cluster, row, at.entries[k].cluster as usize);
                let part = &mut tile[(k + 1) * place..(k + 2) * place];
                self.0.interact::<false>(&atom, center, &kinds, part, L::mask(0), &mut gathered);
            }
            let itself = at.own.then(|| (0, at.after(row)));
            let parts = at.parts(row).iter().map(|part| (usize::from(part.entry) + 1, part.atoms.into()));
            for (k, atoms) in itself.into_iter().chain(parts) {
                let kinds = self.0.kinds(clusters, at.cluster, row, at.cluster_at(k));
                let part = &mut tile[k * place..(k + 1) * place];
                self.0.interact::<true>(&atom, center, &kinds, part, lanes::<L>(atoms), &mut gathered);
            }
            gathered.store_sums(E::N_ACCUMULATED, row, rows);
            if E::ENERGIES {
                sums.add(&gathered);
            }
        }
    }

    #[inline(always)]
    fn with_reaction(accumulated: L, in_tile: L) -> L {
        E::with_reaction(accumulated, in_tile)
    }
}

/// The position of a row's atom, in all lanes.
#[inline(always)]
pub(crate) fn center_of_row<L: Lanes>(tile: &[L::Scalar], row: usize) -> [L; 3] {
    [L::splat(tile[row]), L::splat(tile[L::WIDTH + row]), L::splat(tile[2 * L::WIDTH + row])]
}

/// Lane k where bit k is set; there may be more bits than lanes.
#[inline(always)]
pub(crate) fn lanes<L: Lanes>(bits: u32) -> L::Mask {
    L::mask(bits & (!0 >> (32 - L::WIDTH)))
}

/// Runs a kernel over all blocks of a task's list.
#[inline(always)]
pub(crate) fn all_blocks<L: Lanes, M: BlockKernel<L>>(
    mut meetings: M,
    clusters: &Clusters<L::Scalar>,
    list: &PairList<L::Scalar>,
    accumulated: &mut TaskForces<L::Scalar>,
) -> Sums {
    let TaskForces { own, foreign, tile } = accumulated;
    let (place, square) = (M::PLACE * L::WIDTH, L::WIDTH * L::WIDTH);
    // What the rows of a block accumulate stands behind its tile, to be summed together.
    let rows_start = (MOST_ENTRIES + 1) * place;
    tile.resize(rows_start + M::N_ACCUMULATED * square);
    let (tile, rows) = tile.split_at_mut(rows_start);
    let mut sums = Sums::default();
    let n_own = list.clusters.len();
    for (b, block) in list.blocks.iter().enumerate() {
        let cluster = block.cluster as usize;
        let entries = list.block_entries(b);
        load_place(&meetings, tile, clusters, cluster, [L::Scalar::default(); 3]);
        for (entry, part) in entries.iter().zip(tile[place..].chunks_exact_mut(place)) {
            load_place(&meetings, part, clusters, entry.cluster as usize, entry.offset);
        }
        let (n_rows, first_row) = (clusters.atoms(cluster).len(), block.first_row as usize);
        let at = BlockView { cluster, n_rows, own: block.own, entries, list, first_row };
        meetings.evaluate_block(&at, clusters, tile, rows, &mut sums);
        let mine = cluster - list.clusters.start;
        for k in 0..M::N_ACCUMULATED {
            let own = &mut own
                [(mine * M::N_ACCUMULATED + k) * L::WIDTH..(mine * M::N_ACCUMULATED + k + 1) * L::WIDTH];
            (L::load(own) + L::sum_rows(&rows[k * square..(k + 1) * square])).store(own);
        }
        add_reactions::<L, M>(&tile[..place], own, mine);
        for (entry, part) in entries.iter().zip(tile[place..].chunks_exact(place)) {
            let target = entry.target as usize;
            if target < n_own {
                add_reactions::<L, M>(part, own, target);
            } else {
                add_reactions::<L, M>(part, foreign, target - n_own);
            }
        }
    }
    sums
}

/// Fills a place of the tile: positions of a cluster, zeros, and the kernel's own numbers.
#[inline(always)]
fn load_place<L: Lanes, M: BlockKernel<L>>(
    meetings: &M,
    place: &mut [L::Scalar],
    clusters: &Clusters<L::Scalar>,
    cluster: usize,
    offset: [L::Scalar; 3],
) {
    let positions = &clusters.position[cluster * 3 * L::WIDTH..(cluster + 1) * 3 * L::WIDTH];
    for k in 0..3 {
        (L::load(&positions[k * L::WIDTH..]) + L::splat(offset[k])).store(&mut place[k * L::WIDTH..]);
    }
    for k in 3..3 + M::N_ACCUMULATED {
        L::lit(0.0).store(&mut place[k * L::WIDTH..]);
    }
    meetings.load_extra(cluster, &mut place[(3 + M::N_ACCUMULATED) * L::WIDTH..M::PLACE * L::WIDTH]);
}

/// Adds the reactions at a place of the tile to the accumulated numbers.
#[inline(always)]
fn add_reactions<L: Lanes, M: BlockKernel<L>>(
    place: &[L::Scalar],
    accumulated: &mut [L::Scalar],
    target: usize,
) {
    let accumulated =
        &mut accumulated[target * M::N_ACCUMULATED * L::WIDTH..(target + 1) * M::N_ACCUMULATED * L::WIDTH];
    for k in 0..M::N_ACCUMULATED {
        let sum =
            M::with_reaction(L::load(&accumulated[k * L::WIDTH..]), L::load(&place[(3 + k) * L::WIDTH..]));
        sum.store(&mut accumulated[k * L::WIDTH..]);
    }
}
