//! The loop over the blocks of a neighbour list, for whatever atoms do to each other when they meet.
//!
//! For each block the clusters within reach are copied once into a small tile, shifted to the
//! block's cluster; then every atom (row) of the cluster meets the clusters of its row, a register
//! full of atoms at a time. What the others feel gathers in the tile and is added to memory once.

use crate::cells::Clusters;
use crate::neighbors::{Entry, MOST_ENTRIES, PairList, Part};
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

/// What a row gathers: the force on its atom and, if asked for, energy and virial.
#[derive(Clone, Copy)]
pub(crate) struct Row<L> {
    /// Force, or what else atoms feel from its first component on.
    pub force: [L; 3],
    pub energy: L,
    pub virial: [L; 6],
}

impl<R: Real> Row<R> {
    #[inline(always)]
    pub fn new() -> Self {
        let zero = R::lit(0.0);
        Row { force: [zero; 3], energy: zero, virial: [zero; 6] }
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

impl<L: Lanes> Row<L> {
    /// Leaves what the row feels for [`all_blocks`].
    #[inline(always)]
    pub fn leave(&self, n_felt: usize, row: usize, rows: &mut [L::Scalar]) {
        for k in 0..n_felt {
            self.force[k].store(&mut rows[(k * L::WIDTH + row) * L::WIDTH..]);
        }
    }
}

impl Sums {
    /// Adds what a row has gathered.
    #[inline(always)]
    pub(crate) fn add<L: Lanes>(&mut self, row: &Row<L>) {
        self.energy += row.energy.sum().to_f64();
        for k in 0..6 {
            self.virial[k] += row.virial[k].sum().to_f64();
        }
    }
}

// Everything that touches registers is a function and `#[inline(always)]`: a closure would be
// compiled without the instruction set.

/// One block of a list.
pub(crate) struct AtBlock<'a, S> {
    /// Its cluster.
    pub cluster: usize,
    /// How many rows it has.
    pub n_rows: usize,
    /// Whether its atoms meet each other.
    pub own: bool,
    /// The clusters within reach.
    pub entries: &'a [Entry<S>],
    list: &'a PairList<S>,
    first_row: usize,
}

impl<'a, S: Scalar> AtBlock<'a, S> {
    /// The entries all atoms of which a row meets.
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

    /// The entries of which a row meets only some atoms.
    #[inline(always)]
    pub fn parts(&self, row: usize) -> &'a [Part] {
        let row = self.first_row + row;
        let Some((_, end)) = self.list.excluded.get(row) else { return &[] };
        let start = if row == 0 { 0 } else { self.list.excluded[row - 1].1 };
        &self.list.some[start as usize..*end as usize]
    }

    /// The atoms of its own cluster that a row meets: those after it, so that each pair is met once.
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

/// What happens in a block. Place 0 of its tile is the cluster itself, its entries follow.
pub(crate) trait Meetings<L: Lanes> {
    /// Registers of a place of the tile: three coordinates, what the atoms there feel, and what they
    /// bring.
    const PLACE: usize;
    /// How many numbers an atom feels: 3 are a force, 1 a density.
    const FELT: usize;

    /// Fills a place, from where what is felt ends, with what the atoms of a cluster bring.
    fn bring(&self, _cluster: usize, _brought: &mut [L::Scalar]) {}
    /// All rows meet their partners: adds what these feel to the tile, and leaves in `rows` what each
    /// row feels, by component and row a register that is to be summed.
    fn meet_all(
        &mut self,
        at: &AtBlock<L::Scalar>,
        clusters: &Clusters<L::Scalar>,
        tile: &mut [L::Scalar],
        rows: &mut [L::Scalar],
        sums: &mut Sums,
    );
    /// What atoms feel, with what they have felt in the tile.
    fn returned(felt: L, in_tile: L) -> L;
}

/// What two atoms do to each other when they meet: meetings one after the other.
pub(crate) trait Encounter<L: Lanes> {
    /// See [`Meetings::PLACE`].
    const PLACE: usize;
    /// See [`Meetings::FELT`].
    const FELT: usize;
    /// Whether rows gather energies and virials.
    const ENERGIES: bool;
    /// What an atom of a row brings.
    type Atom: Copy;
    /// What depends on the species of an atom and of those it meets.
    type Kinds: Copy;

    /// See [`Meetings::bring`].
    fn bring(&self, _cluster: usize, _brought: &mut [L::Scalar]) {}
    /// The same of one of them, from the place of its cluster.
    fn atom(&self, place: &[L::Scalar], row: usize) -> Self::Atom;
    /// The kinds of an atom of a cluster and of those of another.
    fn kinds(&self, clusters: &Clusters<L::Scalar>, cluster: usize, row: usize, other: usize) -> Self::Kinds;
    /// An atom meets those of a place, or only some: adds what they feel to the place, and what it
    /// feels to `gathered`.
    fn meet<const ONLY_SOME: bool>(
        &self,
        atom: &Self::Atom,
        center: [L; 3],
        kinds: &Self::Kinds,
        place: &mut [L::Scalar],
        some: L::Mask,
        gathered: &mut Row<L>,
    );
    /// See [`Meetings::returned`].
    fn returned(felt: L, in_tile: L) -> L;
}

/// Rows meet their partners one after the other.
pub(crate) struct OneByOne<E>(pub E);

impl<L: Lanes, E: Encounter<L>> Meetings<L> for OneByOne<E> {
    const PLACE: usize = E::PLACE;
    const FELT: usize = E::FELT;

    #[inline(always)]
    fn bring(&self, cluster: usize, brought: &mut [L::Scalar]) {
        self.0.bring(cluster, brought);
    }

    #[inline(always)]
    fn meet_all(
        &mut self,
        at: &AtBlock<L::Scalar>,
        clusters: &Clusters<L::Scalar>,
        tile: &mut [L::Scalar],
        rows: &mut [L::Scalar],
        sums: &mut Sums,
    ) {
        let place = E::PLACE * L::WIDTH;
        for row in 0..at.n_rows {
            let center = center_of_row(tile, row);
            let atom = self.0.atom(&tile[..place], row);
            let mut gathered = Row::<L>::new();
            for &k in at.partners(row) {
                let k = usize::from(k);
                let kinds = self.0.kinds(clusters, at.cluster, row, at.entries[k].cluster as usize);
                let part = &mut tile[(k + 1) * place..(k + 2) * place];
                self.0.meet::<false>(&atom, center, &kinds, part, L::mask(0), &mut gathered);
            }
            let itself = at.own.then(|| (0, at.after(row)));
            let parts = at.parts(row).iter().map(|part| (usize::from(part.entry) + 1, part.atoms.into()));
            for (k, atoms) in itself.into_iter().chain(parts) {
                let kinds = self.0.kinds(clusters, at.cluster, row, at.cluster_at(k));
                let part = &mut tile[k * place..(k + 1) * place];
                self.0.meet::<true>(&atom, center, &kinds, part, lanes::<L>(atoms), &mut gathered);
            }
            gathered.leave(E::FELT, row, rows);
            if E::ENERGIES {
                sums.add(&gathered);
            }
        }
    }

    #[inline(always)]
    fn returned(felt: L, in_tile: L) -> L {
        E::returned(felt, in_tile)
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

/// All atoms of a task meet those on its list.
#[inline(always)]
pub(crate) fn all_blocks<L: Lanes, M: Meetings<L>>(
    mut meetings: M,
    clusters: &Clusters<L::Scalar>,
    list: &PairList<L::Scalar>,
    felt: &mut TaskForces<L::Scalar>,
) -> Sums {
    let TaskForces { own, foreign, tile } = felt;
    let (place, square) = (M::PLACE * L::WIDTH, L::WIDTH * L::WIDTH);
    // What the rows of a block feel stands behind its tile, to be summed together.
    let rows_start = (MOST_ENTRIES + 1) * place;
    tile.resize(rows_start + M::FELT * square);
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
        let at = AtBlock { cluster, n_rows, own: block.own, entries, list, first_row };
        meetings.meet_all(&at, clusters, tile, rows, &mut sums);
        let mine = cluster - list.clusters.start;
        for k in 0..M::FELT {
            let own = &mut own[(mine * M::FELT + k) * L::WIDTH..(mine * M::FELT + k + 1) * L::WIDTH];
            (L::load(own) + L::sum_rows(&rows[k * square..(k + 1) * square])).store(own);
        }
        give_back::<L, M>(&tile[..place], own, mine);
        for (entry, part) in entries.iter().zip(tile[place..].chunks_exact(place)) {
            let target = entry.target as usize;
            if target < n_own {
                give_back::<L, M>(part, own, target);
            } else {
                give_back::<L, M>(part, foreign, target - n_own);
            }
        }
    }
    sums
}

/// Fills a place of the tile: where the atoms of a cluster are, nothing felt yet, and what they bring.
#[inline(always)]
fn load_place<L: Lanes, M: Meetings<L>>(
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
    for k in 3..3 + M::FELT {
        L::lit(0.0).store(&mut place[k * L::WIDTH..]);
    }
    meetings.bring(cluster, &mut place[(3 + M::FELT) * L::WIDTH..M::PLACE * L::WIDTH]);
}

/// Adds what atoms have felt at a place of the tile to what they feel.
#[inline(always)]
fn give_back<L: Lanes, M: Meetings<L>>(place: &[L::Scalar], felt: &mut [L::Scalar], target: usize) {
    let felt = &mut felt[target * M::FELT * L::WIDTH..(target + 1) * M::FELT * L::WIDTH];
    for k in 0..M::FELT {
        let sum = M::returned(L::load(&felt[k * L::WIDTH..]), L::load(&place[(3 + k) * L::WIDTH..]));
        sum.store(&mut felt[k * L::WIDTH..]);
    }
}
