//! Embedded-atom forces over cluster lists, in two passes: the density at every atom, then, with
//! the derivatives of the embedding energies, forces. Tiles are those of [`crate::pair`].

use crate::cells::Clusters;
use crate::neighbors::{Entry, MOST_ENTRIES, PairList};
use crate::pair::{Row, Sums, TaskForces};
use crate::simd::aligned::Aligned;
use crate::simd::{Kernel, Lanes, Level, Scalar, Simd};
use jostle_core::Evaluate;
use jostle_potentials::Embedded;
use jostle_potentials::embedded::{cubic, pair};

/// An embedded-atom force made ready for the CPU.
pub struct EmbeddedKernel<S> {
    term: Embedded,
    cutoff2: S,
    table: Vec<S>,
    /// Where the table of a first and a second species begins; rows are as long as the widest
    /// register.
    starts: Vec<S>,
    stride: usize,
    spacing: [S; 2],
    grid_start: S,
    last: S,
    /// The derivative of the embedding energy at every place of every cluster.
    pub derivative: Aligned<S>,
}

impl<S: Scalar> EmbeddedKernel<S> {
    /// Lays the tables out.
    pub fn new(term: Embedded) -> Self {
        let (start, spacing, n) = term.grid();
        let n_species = term.n_species();
        let stride = n_species.next_multiple_of(16);
        let mut starts = vec![S::default(); n_species * stride];
        for (a, row) in starts.chunks_mut(stride).enumerate() {
            for (b, first) in row.iter_mut().take(n_species).enumerate() {
                *first = S::from_f64(((a * n_species + b) * n * Embedded::ROW) as f64);
            }
        }
        EmbeddedKernel {
            cutoff2: S::from_f64(term.cutoff().powi(2)),
            table: term.table().into_iter().map(S::from_f64).collect(),
            starts,
            stride,
            spacing: [S::from_f64(spacing), S::from_f64(1.0 / spacing)],
            grid_start: S::from_f64(start / spacing),
            last: S::from_f64((n - 1) as f64),
            derivative: Aligned::default(),
            term,
        }
    }

    /// Adds what the pairs of a task's list contribute to the densities.
    pub fn add_densities(
        &self,
        level: Level,
        clusters: &Clusters<S>,
        list: &PairList<S>,
        densities: &mut TaskForces<S>,
    ) {
        level.run(Densities { kernel: self, clusters, list, densities });
    }

    /// From the densities at the atoms of a task's clusters to the derivatives of their embedding
    /// energies; the sum of the energies.
    pub fn embed(
        &self,
        clusters: &Clusters<S>,
        list: &PairList<S>,
        density: &[S],
        derivative: &mut [S],
    ) -> f64 {
        let mut energy = 0.0;
        for (c, cluster) in list.clusters.clone().enumerate() {
            for lane in 0..clusters.atoms(cluster).len() {
                let species = clusters.species[cluster * clusters.width + lane] as usize;
                let place = c * clusters.width + lane;
                let (value, slope) = self.term.embedding(species, density[place].to_f64());
                energy += value;
                derivative[place] = S::from_f64(slope);
            }
        }
        energy
    }

    /// Adds the forces over the list of one task; the sums have the energies of pairs.
    pub fn add_forces(
        &self,
        level: Level,
        clusters: &Clusters<S>,
        list: &PairList<S>,
        forces: &mut TaskForces<S>,
        evaluate: Evaluate,
    ) -> Sums {
        level.run(PairForces { kernel: self, clusters, list, forces, evaluate })
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.table[..]) + self.derivative.bytes()
    }
}

// Everything below that touches registers is a function and `#[inline(always)]`: a closure would
// be compiled without the instruction set.

/// The tables in registers.
#[derive(Clone, Copy)]
struct Grid<'a, L: Lanes> {
    table: &'a [L::Scalar],
    cutoff2: L,
    /// Knots per length, where the first one is, and the number of the last one.
    per_length: L,
    start: L,
    last: L,
}

impl<'a, L: Lanes> Grid<'a, L> {
    #[inline(always)]
    fn new(kernel: &'a EmbeddedKernel<L::Scalar>) -> Self {
        Grid {
            table: &kernel.table,
            cutoff2: L::splat(kernel.cutoff2),
            per_length: L::splat(kernel.spacing[1]),
            start: L::splat(kernel.grid_start),
            last: L::splat(kernel.last),
        }
    }

    /// Number of the knot before a distance, and how far beyond it. For distances that are not
    /// numbers the last knot.
    #[inline(always)]
    fn place(&self, r: L) -> (L, L) {
        let x = r.mul_add(self.per_length, -self.start);
        let x = L::select(x.lt(self.last), x, self.last);
        let knot = (x - L::lit(0.5)).round().max(L::lit(0.0));
        (knot, x - knot)
    }
}

/// Where the tables of the pairs of a row and the atoms of a register begin: felt by the row, and
/// felt by the others.
#[inline(always)]
fn starts<L: Lanes>(
    kernel: &EmbeddedKernel<L::Scalar>,
    clusters: &Clusters<L::Scalar>,
    species: usize,
    other: usize,
    back: &mut [L::Scalar],
) -> [L; 2] {
    let n = kernel.term.n_species();
    let kinds = &clusters.species[other * L::WIDTH..(other + 1) * L::WIDTH];
    for (start, kind) in back.iter_mut().zip(kinds) {
        *start = kernel.starts[*kind as usize * kernel.stride + species];
    }
    let row = &kernel.starts[species * kernel.stride..(species + 1) * kernel.stride];
    [L::lookup(row, n, L::load_index(kinds)), L::load(back)]
}

struct Densities<'a, S> {
    kernel: &'a EmbeddedKernel<S>,
    clusters: &'a Clusters<S>,
    list: &'a PairList<S>,
    densities: &'a mut TaskForces<S>,
}

impl<S: Scalar> Kernel for Densities<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Simd>(self) {
        match self.kernel.term.n_species() {
            1 => self.all_blocks::<S::Lanes<I>, true>(),
            _ => self.all_blocks::<S::Lanes<I>, false>(),
        }
    }
}

/// What a place of the density tile has: three coordinates and a density.
const DENSITY_PLACE: usize = 4;

impl<S: Scalar> Densities<'_, S> {
    #[inline(always)]
    fn all_blocks<L: Lanes<Scalar = S>, const UNIFORM: bool>(self) {
        let Densities { kernel, clusters, list, densities } = self;
        let (own, foreign, tile) = densities.parts();
        let rows_start = (MOST_ENTRIES + 1) * DENSITY_PLACE * L::WIDTH;
        tile.resize(rows_start + L::WIDTH * L::WIDTH);
        let (tile, rows) = tile.split_at_mut(rows_start);
        let grid = Grid::<L>::new(kernel);
        let mut back = [S::default(); 16];
        let n_own = list.clusters.len();
        let mut row_start = 0;
        for (b, block) in list.blocks.iter().enumerate() {
            let cluster = block.cluster as usize;
            let entries = list.block_entries(b);
            load_positions::<L>(tile, DENSITY_PLACE, clusters, cluster, entries);
            for row in 0..clusters.atoms(cluster).len() {
                let row_end = list.row_ends[block.first_row as usize + row] as usize;
                let partners = &list.rows[row_start..row_end];
                row_start = row_end;
                let center =
                    [L::splat(tile[row]), L::splat(tile[L::WIDTH + row]), L::splat(tile[2 * L::WIDTH + row])];
                let species = if UNIFORM { 0 } else { clusters.species[cluster * L::WIDTH + row] as usize };
                let mut sum = L::lit(0.0);
                let mut first = [L::lit(0.0); 2];
                if block.own {
                    // Each pair inside the cluster once: the atoms after this one.
                    let after = L::mask(!0 << (row + 1) & (!0 >> (32 - L::WIDTH)));
                    if !UNIFORM {
                        first = starts::<L>(kernel, clusters, species, cluster, &mut back);
                    }
                    feel::<L, UNIFORM, true>(&grid, tile, 0, center, first, after, &mut sum);
                }
                for &k in partners {
                    if !UNIFORM {
                        let other = entries[k as usize].cluster as usize;
                        first = starts::<L>(kernel, clusters, species, other, &mut back);
                    }
                    feel::<L, UNIFORM, false>(
                        &grid,
                        tile,
                        k as usize + 1,
                        center,
                        first,
                        L::mask(0),
                        &mut sum,
                    );
                }
                sum.store(&mut rows[row * L::WIDTH..]);
            }
            let mine = cluster - list.clusters.start;
            let density = &mut own[mine * L::WIDTH..(mine + 1) * L::WIDTH];
            (L::load(density) + L::sum_rows(rows)).store(density);
            add::<L>(tile, 0, own, mine);
            for (k, entry) in entries.iter().enumerate() {
                let target = entry.target as usize;
                if target < n_own {
                    add::<L>(tile, k + 1, own, target);
                } else {
                    add::<L>(tile, k + 1, foreign, target - n_own);
                }
            }
        }
    }
}

/// One atom and the cluster at a place of the tile feel each other's density.
#[inline(always)]
fn feel<L: Lanes, const UNIFORM: bool, const ONLY_SOME: bool>(
    grid: &Grid<L>,
    tile: &mut [L::Scalar],
    place: usize,
    center: [L; 3],
    first: [L; 2],
    some: L::Mask,
    sum: &mut L,
) {
    let part = &mut tile[place * DENSITY_PLACE * L::WIDTH..(place + 1) * DENSITY_PLACE * L::WIDTH];
    let dx = center[0] - L::load(part);
    let dy = center[1] - L::load(&part[L::WIDTH..]);
    let dz = center[2] - L::load(&part[2 * L::WIDTH..]);
    let r2 = dx.mul_add(dx, dy.mul_add(dy, dz * dz));
    let mut near = r2.lt(grid.cutoff2);
    if ONLY_SOME {
        near = L::and(near, some);
    }
    let (knot, p) = grid.place(r2 * r2.rsqrt());
    let row = L::lit(Embedded::ROW as f64);
    let function = L::quadruples(grid.table, knot.mul_add(row, first[0]).to_index(), 0);
    let here = L::select(near, cubic(p, function).0, L::lit(0.0));
    let there = match UNIFORM {
        true => here,
        false => {
            let function = L::quadruples(grid.table, knot.mul_add(row, first[1]).to_index(), 0);
            L::select(near, cubic(p, function).0, L::lit(0.0))
        }
    };
    *sum = *sum + here;
    let density = &mut part[3 * L::WIDTH..];
    (L::load(density) + there).store(density);
}

/// densities[target] += those at a place of the tile
#[inline(always)]
fn add<L: Lanes>(tile: &[L::Scalar], place: usize, densities: &mut [L::Scalar], target: usize) {
    let part = &tile[(place * DENSITY_PLACE + 3) * L::WIDTH..(place + 1) * DENSITY_PLACE * L::WIDTH];
    let densities = &mut densities[target * L::WIDTH..(target + 1) * L::WIDTH];
    (L::load(densities) + L::load(part)).store(densities);
}

/// Fills a tile with the positions of the cluster and of its entries, and with zeros behind them.
#[inline(always)]
fn load_positions<L: Lanes>(
    tile: &mut [L::Scalar],
    stride: usize,
    clusters: &Clusters<L::Scalar>,
    cluster: usize,
    entries: &[Entry<L::Scalar>],
) {
    load_place::<L>(tile, 0, stride, clusters, cluster, [L::Scalar::default(); 3]);
    for (k, entry) in entries.iter().enumerate() {
        load_place::<L>(tile, k + 1, stride, clusters, entry.cluster as usize, entry.offset);
    }
}

#[inline(always)]
fn load_place<L: Lanes>(
    tile: &mut [L::Scalar],
    place: usize,
    stride: usize,
    clusters: &Clusters<L::Scalar>,
    cluster: usize,
    offset: [L::Scalar; 3],
) {
    let part = &mut tile[place * stride * L::WIDTH..(place + 1) * stride * L::WIDTH];
    let positions = &clusters.position[cluster * 3 * L::WIDTH..(cluster + 1) * 3 * L::WIDTH];
    for k in 0..3 {
        let x = L::load(&positions[k * L::WIDTH..]) + L::splat(offset[k]);
        x.store(&mut part[k * L::WIDTH..]);
    }
    for k in 3..stride {
        L::lit(0.0).store(&mut part[k * L::WIDTH..]);
    }
}

struct PairForces<'a, S> {
    kernel: &'a EmbeddedKernel<S>,
    clusters: &'a Clusters<S>,
    list: &'a PairList<S>,
    forces: &'a mut TaskForces<S>,
    evaluate: Evaluate,
}

impl<S: Scalar> Kernel for PairForces<'_, S> {
    type Output = Sums;

    #[inline(always)]
    fn run<I: Simd>(self) -> Sums {
        match (self.evaluate, self.kernel.term.n_species()) {
            (Evaluate::Forces, 1) => self.all_blocks::<S::Lanes<I>, false, true>(),
            (Evaluate::Forces, _) => self.all_blocks::<S::Lanes<I>, false, false>(),
            (Evaluate::ForcesAndEnergies, 1) => self.all_blocks::<S::Lanes<I>, true, true>(),
            (Evaluate::ForcesAndEnergies, _) => self.all_blocks::<S::Lanes<I>, true, false>(),
        }
    }
}

/// What a place of the force tile has: three coordinates, three forces, and the derivative of the
/// embedding energy.
const FORCE_PLACE: usize = 7;

impl<S: Scalar> PairForces<'_, S> {
    #[inline(always)]
    fn all_blocks<L: Lanes<Scalar = S>, const ENERGIES: bool, const UNIFORM: bool>(self) -> Sums {
        let PairForces { kernel, clusters, list, forces, .. } = self;
        let (own, foreign, tile) = forces.parts();
        let rows_start = (MOST_ENTRIES + 1) * FORCE_PLACE * L::WIDTH;
        tile.resize(rows_start + 3 * L::WIDTH * L::WIDTH);
        let (tile, rows) = tile.split_at_mut(rows_start);
        let grid = Grid::<L>::new(kernel);
        let per_length = L::splat(kernel.spacing[1]);
        let mut back = [S::default(); 16];
        let mut sums = Sums::default();
        let n_own = list.clusters.len();
        let mut row_start = 0;
        for (b, block) in list.blocks.iter().enumerate() {
            let cluster = block.cluster as usize;
            let entries = list.block_entries(b);
            load_positions::<L>(tile, FORCE_PLACE, clusters, cluster, entries);
            load_derivatives::<L>(tile, 0, &kernel.derivative, cluster);
            for (k, entry) in entries.iter().enumerate() {
                load_derivatives::<L>(tile, k + 1, &kernel.derivative, entry.cluster as usize);
            }
            for row in 0..clusters.atoms(cluster).len() {
                let row_end = list.row_ends[block.first_row as usize + row] as usize;
                let partners = &list.rows[row_start..row_end];
                row_start = row_end;
                let atom = Atom {
                    center: [
                        L::splat(tile[row]),
                        L::splat(tile[L::WIDTH + row]),
                        L::splat(tile[2 * L::WIDTH + row]),
                    ],
                    derivative: L::splat(tile[6 * L::WIDTH + row]),
                    per_length,
                };
                let species = if UNIFORM { 0 } else { clusters.species[cluster * L::WIDTH + row] as usize };
                let mut gathered = Row::<L>::new();
                let mut first = [L::lit(0.0); 2];
                if block.own {
                    let after = L::mask(!0 << (row + 1) & (!0 >> (32 - L::WIDTH)));
                    if !UNIFORM {
                        first = starts::<L>(kernel, clusters, species, cluster, &mut back);
                    }
                    meet::<L, ENERGIES, UNIFORM, true>(&grid, tile, 0, &atom, first, after, &mut gathered);
                }
                for &k in partners {
                    if !UNIFORM {
                        let other = entries[k as usize].cluster as usize;
                        first = starts::<L>(kernel, clusters, species, other, &mut back);
                    }
                    let place = k as usize + 1;
                    meet::<L, ENERGIES, UNIFORM, false>(
                        &grid,
                        tile,
                        place,
                        &atom,
                        first,
                        L::mask(0),
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

/// The atom of a row.
struct Atom<L> {
    center: [L; 3],
    derivative: L,
    per_length: L,
}

/// One atom meets the cluster at a place of the tile.
#[inline(always)]
fn meet<L: Lanes, const ENERGIES: bool, const UNIFORM: bool, const ONLY_SOME: bool>(
    grid: &Grid<L>,
    tile: &mut [L::Scalar],
    place: usize,
    atom: &Atom<L>,
    first: [L; 2],
    some: L::Mask,
    gathered: &mut Row<L>,
) {
    let part = &mut tile[place * FORCE_PLACE * L::WIDTH..(place + 1) * FORCE_PLACE * L::WIDTH];
    let dx = atom.center[0] - L::load(part);
    let dy = atom.center[1] - L::load(&part[L::WIDTH..]);
    let dz = atom.center[2] - L::load(&part[2 * L::WIDTH..]);
    let r2 = dx.mul_add(dx, dy.mul_add(dy, dz * dz));
    let mut near = r2.lt(grid.cutoff2);
    if ONLY_SOME {
        near = L::and(near, some);
    }
    let inverse = r2.rsqrt();
    let (knot, p) = grid.place(r2 * inverse);
    let row = L::lit(Embedded::ROW as f64);
    let index = knot.mul_add(row, first[0]).to_index();
    let here = cubic(p, L::quadruples(grid.table, index, 0)).1 * atom.per_length;
    let there = match UNIFORM {
        true => here,
        false => {
            let index = knot.mul_add(row, first[1]).to_index();
            cubic(p, L::quadruples(grid.table, index, 0)).1 * atom.per_length
        }
    };
    let (z, slope) = cubic(p, L::quadruples(grid.table, index, 4));
    let derivatives = [atom.derivative, L::load(&part[6 * L::WIDTH..])];
    let (energy, force_over_r) = pair(inverse, (z, slope * atom.per_length), [here, there], derivatives);
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

#[inline(always)]
fn load_derivatives<L: Lanes>(
    tile: &mut [L::Scalar],
    place: usize,
    derivative: &[L::Scalar],
    cluster: usize,
) {
    let part = &mut tile[(place * FORCE_PLACE + 6) * L::WIDTH..(place + 1) * FORCE_PLACE * L::WIDTH];
    L::load(&derivative[cluster * L::WIDTH..(cluster + 1) * L::WIDTH]).store(part);
}

/// forces[target] -= the forces at a place of the tile
#[inline(always)]
fn subtract<L: Lanes>(tile: &[L::Scalar], place: usize, forces: &mut [L::Scalar], target: usize) {
    let part = &tile[(place * FORCE_PLACE + 3) * L::WIDTH..(place * FORCE_PLACE + 6) * L::WIDTH];
    let forces = &mut forces[target * 3 * L::WIDTH..(target + 1) * 3 * L::WIDTH];
    for k in 0..3 {
        let sum = L::load(&forces[k * L::WIDTH..]) - L::load(&part[k * L::WIDTH..]);
        sum.store(&mut forces[k * L::WIDTH..]);
    }
}
