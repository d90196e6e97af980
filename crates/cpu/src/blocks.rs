//! The loop over the blocks of a neighbour list, for whatever atoms do to each other when they meet.
//!
//! For each block the clusters within reach are copied once into a small tile, shifted to the
//! block's cluster; then every atom (row) of the cluster meets the clusters of its row, a register
//! full of atoms at a time. What the others feel gathers in the tile and is added to memory once.

use crate::cells::Clusters;
use crate::neighbors::{MOST_ENTRIES, PairList};
use crate::simd::aligned::Aligned;
use crate::simd::{Lanes, Scalar};
use jostle_core::SymTensor;

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
    energy: L,
    virial: [L; 6],
}

impl<L: Lanes> Row<L> {
    #[inline(always)]
    pub fn new() -> Self {
        let zero = L::lit(0.0);
        Row { force: [zero; 3], energy: zero, virial: [zero; 6] }
    }

    /// Energies and virial of pairs at distances `d`.
    #[inline(always)]
    pub fn add_sums(&mut self, energy: L, force_over_r: L, d: [L; 3]) {
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

/// What atoms do to each other when they meet.
pub(crate) trait Encounter<L: Lanes> {
    /// Registers of a place of the tile: three coordinates, what the atoms there feel, and what they
    /// bring.
    const PLACE: usize;
    /// How many numbers an atom feels: 3 are a force, 1 a density.
    const FELT: usize;
    /// Whether rows gather energies and virials.
    const ENERGIES: bool;
    /// What an atom of a row brings.
    type Atom: Copy;
    /// What depends on the species of an atom and of those it meets.
    type Kinds: Copy;

    /// Fills a place, from where what is felt ends, with what the atoms of a cluster bring.
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
    /// What atoms feel, with what they have felt in the tile.
    fn returned(felt: L, in_tile: L) -> L;
}

/// All atoms of a task meet those on its list.
#[inline(always)]
pub(crate) fn all_blocks<L: Lanes, E: Encounter<L>>(
    encounter: &E,
    clusters: &Clusters<L::Scalar>,
    list: &PairList<L::Scalar>,
    felt: &mut TaskForces<L::Scalar>,
) -> Sums {
    let TaskForces { own, foreign, tile } = felt;
    let (place, square) = (E::PLACE * L::WIDTH, L::WIDTH * L::WIDTH);
    // Place 0 of the tile is the cluster itself, the entries follow.
    // What the rows of a block feel stands behind it, to be summed together.
    let rows_start = (MOST_ENTRIES + 1) * place;
    tile.resize(rows_start + E::FELT * square);
    let (tile, rows) = tile.split_at_mut(rows_start);
    let mut sums = Sums::default();
    let n_own = list.clusters.len();
    let (mut row_start, mut some_start) = (0, 0);
    for (b, block) in list.blocks.iter().enumerate() {
        let cluster = block.cluster as usize;
        let entries = list.block_entries(b);
        load_place(encounter, tile, clusters, cluster, [L::Scalar::default(); 3]);
        for (entry, part) in entries.iter().zip(tile[place..].chunks_exact_mut(place)) {
            load_place(encounter, part, clusters, entry.cluster as usize, entry.offset);
        }
        for row in 0..clusters.atoms(cluster).len() {
            let row_end = list.row_ends[block.first_row as usize + row] as usize;
            let partners = &list.rows[row_start..row_end];
            row_start = row_end;
            let center =
                [L::splat(tile[row]), L::splat(tile[L::WIDTH + row]), L::splat(tile[2 * L::WIDTH + row])];
            let atom = encounter.atom(&tile[..place], row);
            let mut gathered = Row::<L>::new();
            let (excluded, some) = match list.excluded.get(block.first_row as usize + row) {
                Some((excluded, some_end)) => {
                    (u32::from(*excluded), &list.some[some_start..*some_end as usize])
                }
                None => (0, &[][..]),
            };
            some_start += some.len();
            for &k in partners {
                let kinds = encounter.kinds(clusters, cluster, row, entries[k as usize].cluster as usize);
                let part = &mut tile[(k as usize + 1) * place..(k as usize + 2) * place];
                encounter.meet::<false>(&atom, center, &kinds, part, L::mask(0), &mut gathered);
            }
            // Each pair inside the cluster once: the atoms after this one.
            let after = !0 << (row + 1) & !excluded;
            let itself = block.own.then_some((0, cluster, after));
            let parts = some.iter().map(|part| {
                let k = part.entry as usize;
                (k + 1, entries[k].cluster as usize, u32::from(part.atoms))
            });
            for (k, other, atoms) in itself.into_iter().chain(parts) {
                let kinds = encounter.kinds(clusters, cluster, row, other);
                let part = &mut tile[k * place..(k + 1) * place];
                let atoms = L::mask(atoms & (!0 >> (32 - L::WIDTH)));
                encounter.meet::<true>(&atom, center, &kinds, part, atoms, &mut gathered);
            }
            for k in 0..E::FELT {
                gathered.force[k].store(&mut rows[k * square + row * L::WIDTH..]);
            }
            if E::ENERGIES {
                sums.add(&gathered);
            }
        }
        let mine = cluster - list.clusters.start;
        for k in 0..E::FELT {
            let own = &mut own[(mine * E::FELT + k) * L::WIDTH..(mine * E::FELT + k + 1) * L::WIDTH];
            (L::load(own) + L::sum_rows(&rows[k * square..(k + 1) * square])).store(own);
        }
        give_back::<L, E>(&tile[..place], own, mine);
        for (entry, part) in entries.iter().zip(tile[place..].chunks_exact(place)) {
            let target = entry.target as usize;
            if target < n_own {
                give_back::<L, E>(part, own, target);
            } else {
                give_back::<L, E>(part, foreign, target - n_own);
            }
        }
    }
    sums
}

/// Fills a place of the tile: where the atoms of a cluster are, nothing felt yet, and what they bring.
#[inline(always)]
fn load_place<L: Lanes, E: Encounter<L>>(
    encounter: &E,
    place: &mut [L::Scalar],
    clusters: &Clusters<L::Scalar>,
    cluster: usize,
    offset: [L::Scalar; 3],
) {
    let positions = &clusters.position[cluster * 3 * L::WIDTH..(cluster + 1) * 3 * L::WIDTH];
    for k in 0..3 {
        (L::load(&positions[k * L::WIDTH..]) + L::splat(offset[k])).store(&mut place[k * L::WIDTH..]);
    }
    for k in 3..3 + E::FELT {
        L::lit(0.0).store(&mut place[k * L::WIDTH..]);
    }
    encounter.bring(cluster, &mut place[(3 + E::FELT) * L::WIDTH..E::PLACE * L::WIDTH]);
}

/// Adds what atoms have felt at a place of the tile to what they feel.
#[inline(always)]
fn give_back<L: Lanes, E: Encounter<L>>(place: &[L::Scalar], felt: &mut [L::Scalar], target: usize) {
    let felt = &mut felt[target * E::FELT * L::WIDTH..(target + 1) * E::FELT * L::WIDTH];
    for k in 0..E::FELT {
        let sum = E::returned(L::load(&felt[k * L::WIDTH..]), L::load(&place[(3 + k) * L::WIDTH..]));
        sum.store(&mut felt[k * L::WIDTH..]);
    }
}
