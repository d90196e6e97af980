//! Pair forces over cluster lists.
//!
//! For each block the clusters within reach are copied once into a small tile, shifted to the
//! block's cluster; then every atom (row) of the cluster meets the clusters of its row, a register
//! full of atoms at a time. Forces on the others gather in the tile and are added to memory once.

use crate::cells::Clusters;
use crate::neighbors::{Entry, MOST_ENTRIES, PairList};
use crate::simd::aligned::Aligned;
use crate::simd::{Kernel, Lanes, Level, Scalar, Simd};
use jostle_core::{Evaluate, SymTensor};
use jostle_potentials::pair::MAX_COEFFICIENTS;
use jostle_potentials::{PairFunction, PairTerm, PairVisitor};
use std::marker::PhantomData;

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

/// A pair term made ready for the CPU.
pub trait PairKernel<S: Scalar>: Send + Sync {
    /// Adds the term's forces over the list of one task.
    fn add_forces(
        &self,
        level: Level,
        clusters: &Clusters<S>,
        list: &PairList<S>,
        forces: &mut TaskForces<S>,
        evaluate: Evaluate,
    ) -> Sums;
}

/// Compiles a term for the CPU: looks its type up and lays its coefficients out.
pub fn prepare<S: Scalar>(term: &PairTerm) -> Box<dyn PairKernel<S>> {
    struct Prepare<'a, S>(&'a PairTerm, PhantomData<S>);
    impl<S: Scalar> PairVisitor for Prepare<'_, S> {
        type Output = Box<dyn PairKernel<S>>;
        fn visit<F: PairFunction>(self) -> Self::Output {
            Box::new(Prepared::<S, F> { table: Table::new(self.0, F::N_COEFFICIENTS), function: PhantomData })
        }
    }
    term.kind.visit(term.truncation, Prepare(term, PhantomData))
}

/// Square cut-off and coefficients of all pairs of species.
struct Table<S> {
    n_species: usize,
    /// Entries of a row, at least the widest register.
    stride: usize,
    /// By species of the first atom, by coefficient (the square cut-off first), by species of the
    /// second atom.
    values: Vec<S>,
    n_values: usize,
}

impl<S: Scalar> Table<S> {
    fn new(term: &PairTerm, n_coefficients: usize) -> Self {
        let n_species = term.n_species();
        let stride = n_species.next_multiple_of(16);
        let n_values = n_coefficients + 1;
        let mut values = vec![S::default(); n_species * n_values * stride];
        for a in 0..n_species {
            for b in 0..n_species {
                let (Some(entry), Some(coefficients)) = (term.get(a, b), term.coefficients(a, b)) else {
                    continue;
                };
                let all = std::iter::once(entry.cutoff * entry.cutoff).chain(coefficients);
                for (k, value) in all.enumerate() {
                    values[(a * n_values + k) * stride + b] = S::from_f64(value);
                }
            }
        }
        Table { n_species, stride, values, n_values }
    }

    /// Row of a coefficient (0: the square cut-off) for a first species.
    #[inline(always)]
    fn row(&self, species: usize, k: usize) -> &[S] {
        let start = (species * self.n_values + k) * self.stride;
        &self.values[start..start + self.stride]
    }
}

struct Prepared<S, F> {
    table: Table<S>,
    function: PhantomData<F>,
}

impl<S: Scalar, F: PairFunction> PairKernel<S> for Prepared<S, F> {
    fn add_forces(
        &self,
        level: Level,
        clusters: &Clusters<S>,
        list: &PairList<S>,
        forces: &mut TaskForces<S>,
        evaluate: Evaluate,
    ) -> Sums {
        let function = PhantomData::<F>;
        level.run(PairForces { table: &self.table, clusters, list, forces, evaluate, function })
    }
}

struct PairForces<'a, S, F> {
    table: &'a Table<S>,
    clusters: &'a Clusters<S>,
    list: &'a PairList<S>,
    forces: &'a mut TaskForces<S>,
    evaluate: Evaluate,
    function: PhantomData<F>,
}

impl<S: Scalar, F: PairFunction> Kernel for PairForces<'_, S, F> {
    type Output = Sums;

    #[inline(always)]
    fn run<I: Simd>(self) -> Sums {
        match (self.evaluate, self.table.n_species) {
            (Evaluate::Forces, 1) => self.all_blocks::<S::Lanes<I>, false, true>(),
            (Evaluate::Forces, _) => self.all_blocks::<S::Lanes<I>, false, false>(),
            (Evaluate::ForcesAndEnergies, 1) => self.all_blocks::<S::Lanes<I>, true, true>(),
            (Evaluate::ForcesAndEnergies, _) => self.all_blocks::<S::Lanes<I>, true, false>(),
        }
    }
}

/// What a row gathers: the force on its atom and, if asked for, energy and virial.
#[derive(Clone, Copy)]
pub(crate) struct Row<L> {
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

// Everything below that touches registers is a function and `#[inline(always)]`: a closure would
// be compiled without the instruction set.

impl<S: Scalar, F: PairFunction> PairForces<'_, S, F> {
    #[inline(always)]
    fn all_blocks<L: Lanes<Scalar = S>, const ENERGIES: bool, const UNIFORM: bool>(self) -> Sums {
        let PairForces { table, clusters, list, forces, .. } = self;
        let (own, foreign, tile) = (&mut forces.own, &mut forces.foreign, &mut forces.tile);
        // Place 0 of the tile is the cluster itself, the entries follow.
        // The forces on the rows of a block stand behind it, to be summed together.
        let rows_start = (MOST_ENTRIES + 1) * 6 * L::WIDTH;
        tile.resize(rows_start + 3 * L::WIDTH * L::WIDTH);
        let (tile, rows) = tile.split_at_mut(rows_start);
        let mut sums = Sums::default();
        let uniform = coefficients_of_one_species::<L, F>(table);
        let n_own = list.clusters.len();
        let (mut row_start, mut some_start) = (0, 0);
        for (b, block) in list.blocks.iter().enumerate() {
            let cluster = block.cluster as usize;
            let entries = list.block_entries(b);
            load_tile::<L>(tile, clusters, cluster, entries);
            for row in 0..clusters.atoms(cluster).len() {
                let row_end = list.row_ends[block.first_row as usize + row] as usize;
                let partners = &list.rows[row_start..row_end];
                row_start = row_end;
                let center =
                    [L::splat(tile[row]), L::splat(tile[L::WIDTH + row]), L::splat(tile[2 * L::WIDTH + row])];
                let species = if UNIFORM { 0 } else { clusters.species[cluster * L::WIDTH + row] as usize };
                let mut gathered = Row::<L>::new();
                let (excluded, some) = match list.excluded.get(block.first_row as usize + row) {
                    Some((excluded, some_end)) => {
                        (u32::from(*excluded), &list.some[some_start..*some_end as usize])
                    }
                    None => (0, &[][..]),
                };
                some_start += some.len();
                if block.own {
                    // Each pair inside the cluster once: the atoms after this one.
                    let after = L::mask(!0 << (row + 1) & (!0 >> (32 - L::WIDTH)) & !excluded);
                    let c =
                        if UNIFORM { uniform } else { look_up::<L, F>(table, clusters, species, cluster) };
                    meet::<L, F, ENERGIES, true>(tile, 0, center, &c, after, &mut gathered);
                }
                for &k in partners {
                    let other = entries[k as usize].cluster as usize;
                    let c = if UNIFORM { uniform } else { look_up::<L, F>(table, clusters, species, other) };
                    meet::<L, F, ENERGIES, false>(
                        tile,
                        k as usize + 1,
                        center,
                        &c,
                        L::mask(0),
                        &mut gathered,
                    );
                }
                for part in some {
                    let other = entries[part.entry as usize].cluster as usize;
                    let c = if UNIFORM { uniform } else { look_up::<L, F>(table, clusters, species, other) };
                    let atoms = L::mask(u32::from(part.atoms) & (!0 >> (32 - L::WIDTH)));
                    meet::<L, F, ENERGIES, true>(
                        tile,
                        part.entry as usize + 1,
                        center,
                        &c,
                        atoms,
                        &mut gathered,
                    );
                }
                for k in 0..3 {
                    gathered.force[k].store(&mut rows[(k * L::WIDTH + row) * L::WIDTH..]);
                }
                if ENERGIES {
                    sums.add(&gathered);
                }
            }
            let mine = cluster - list.clusters.start;
            for k in 0..3 {
                let force = &mut own[(mine * 3 + k) * L::WIDTH..(mine * 3 + k + 1) * L::WIDTH];
                let sums = L::sum_rows(&rows[k * L::WIDTH * L::WIDTH..(k + 1) * L::WIDTH * L::WIDTH]);
                (L::load(force) + sums).store(force);
            }
            subtract::<L>(tile, 0, own, mine);
            for (k, entry) in entries.iter().enumerate() {
                let target = entry.target as usize;
                if target < n_own {
                    subtract::<L>(tile, k + 1, own, target);
                } else {
                    subtract::<L>(tile, k + 1, foreign, target - n_own);
                }
            }
        }
        sums
    }
}

/// The square cut-off and the coefficients of the atoms of a register.
#[derive(Clone, Copy)]
struct Coefficients<L> {
    cutoff2: L,
    values: [L; MAX_COEFFICIENTS],
}

#[inline(always)]
fn coefficients_of_one_species<L: Lanes, F: PairFunction>(table: &Table<L::Scalar>) -> Coefficients<L> {
    let mut values = [L::lit(0.0); MAX_COEFFICIENTS];
    for k in 0..F::N_COEFFICIENTS {
        values[k] = L::splat(table.row(0, k + 1)[0]);
    }
    Coefficients { cutoff2: L::splat(table.row(0, 0)[0]), values }
}

#[inline(always)]
fn look_up<L: Lanes, F: PairFunction>(
    table: &Table<L::Scalar>,
    clusters: &Clusters<L::Scalar>,
    species: usize,
    other: usize,
) -> Coefficients<L> {
    let kinds = L::load_index(&clusters.species[other * L::WIDTH..(other + 1) * L::WIDTH]);
    let mut values = [L::lit(0.0); MAX_COEFFICIENTS];
    for k in 0..F::N_COEFFICIENTS {
        values[k] = L::lookup(table.row(species, k + 1), table.n_species, kinds);
    }
    Coefficients { cutoff2: L::lookup(table.row(species, 0), table.n_species, kinds), values }
}

/// One atom meets the cluster at a place of the tile.
#[inline(always)]
fn meet<L: Lanes, F: PairFunction, const ENERGIES: bool, const ONLY_SOME: bool>(
    tile: &mut [L::Scalar],
    place: usize,
    center: [L; 3],
    c: &Coefficients<L>,
    some: L::Mask,
    gathered: &mut Row<L>,
) {
    let part = &mut tile[place * 6 * L::WIDTH..(place + 1) * 6 * L::WIDTH];
    let dx = center[0] - L::load(part);
    let dy = center[1] - L::load(&part[L::WIDTH..]);
    let dz = center[2] - L::load(&part[2 * L::WIDTH..]);
    let r2 = dx.mul_add(dx, dy.mul_add(dy, dz * dz));
    let mut near = r2.lt(c.cutoff2);
    if ONLY_SOME {
        near = L::and(near, some);
    }
    let (energy, force_over_r) = F::evaluate(r2, &c.values);
    let force_over_r = L::select(near, force_over_r, L::lit(0.0));
    let d = [dx, dy, dz];
    for k in 0..3 {
        gathered.force[k] = d[k].mul_add(force_over_r, gathered.force[k]);
        let reaction = &mut part[(3 + k) * L::WIDTH..(4 + k) * L::WIDTH];
        d[k].mul_add(force_over_r, L::load(reaction)).store(reaction);
    }
    if ENERGIES {
        gathered.add_sums(L::select(near, energy, L::lit(0.0)), force_over_r, d);
    }
}

/// Fills the tile: the positions of the cluster and of its entries, and no forces yet.
#[inline(always)]
fn load_tile<L: Lanes>(
    tile: &mut [L::Scalar],
    clusters: &Clusters<L::Scalar>,
    cluster: usize,
    entries: &[Entry<L::Scalar>],
) {
    load_place::<L>(tile, 0, clusters, cluster, [L::Scalar::default(); 3]);
    for (k, entry) in entries.iter().enumerate() {
        load_place::<L>(tile, k + 1, clusters, entry.cluster as usize, entry.offset);
    }
}

#[inline(always)]
fn load_place<L: Lanes>(
    tile: &mut [L::Scalar],
    place: usize,
    clusters: &Clusters<L::Scalar>,
    cluster: usize,
    offset: [L::Scalar; 3],
) {
    let part = &mut tile[place * 6 * L::WIDTH..(place + 1) * 6 * L::WIDTH];
    let positions = &clusters.position[cluster * 3 * L::WIDTH..(cluster + 1) * 3 * L::WIDTH];
    for k in 0..3 {
        let x = L::load(&positions[k * L::WIDTH..]) + L::splat(offset[k]);
        x.store(&mut part[k * L::WIDTH..]);
        L::lit(0.0).store(&mut part[(3 + k) * L::WIDTH..]);
    }
}

/// forces[target] -= the forces at a place of the tile
#[inline(always)]
fn subtract<L: Lanes>(tile: &[L::Scalar], place: usize, forces: &mut [L::Scalar], target: usize) {
    let part = &tile[(place * 6 + 3) * L::WIDTH..(place + 1) * 6 * L::WIDTH];
    let forces = &mut forces[target * 3 * L::WIDTH..(target + 1) * 3 * L::WIDTH];
    for k in 0..3 {
        let sum = L::load(&forces[k * L::WIDTH..]) - L::load(&part[k * L::WIDTH..]);
        sum.store(&mut forces[k * L::WIDTH..]);
    }
}
