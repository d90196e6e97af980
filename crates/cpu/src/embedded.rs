//! Embedded-atom forces over cluster lists, in two passes: the density at every atom, then, with
//! the derivatives of the embedding energies, forces.
//!
//! Few of the pairs of a list are within the cut-off. The first pass packs these together, so that
//! tables are read in full registers, once for both passes; what goes back to the atoms, now and in
//! the second pass, is unpacked to where it came from.

use crate::blocks::{BlockKernel, BlockView, RowSums, Sums, TaskForces, all_blocks, center_of_row, lanes};
use crate::cells::Clusters;
use crate::neighbors::{MOST_ENTRIES, PairList};
use crate::pair::{add_pair_forces, distance, square};
use crate::simd::aligned::Aligned;
use crate::simd::{Kernel, Lanes, Level, Scalar, Simd};
use jostle_core::Evaluate;
use jostle_potentials::Embedded;
use jostle_potentials::embedded::{cubic, force, parts};

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

    /// Adds what the pairs of a task's list contribute to the densities; what
    /// [`EmbeddedKernel::add_forces`] needs goes to `packed`. The sum of the pairs' energies if asked for.
    pub fn add_densities(
        &self,
        level: Level,
        clusters: &Clusters<S>,
        list: &PairList<S>,
        densities: &mut TaskForces<S>,
        packed: &mut PackedPairs<S>,
        evaluate: Evaluate,
    ) -> f64 {
        level.run(Densities { kernel: self, clusters, list, densities, packed, evaluate }).energy
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

    /// Adds the forces over the list of one task; the sums have the virial alone.
    pub fn add_forces(
        &self,
        level: Level,
        clusters: &Clusters<S>,
        list: &PairList<S>,
        packed: &PackedPairs<S>,
        forces: &mut TaskForces<S>,
        evaluate: Evaluate,
    ) -> Sums {
        level.run(EmbeddedForces { kernel: self, clusters, list, packed, forces, evaluate })
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.table[..]) + self.derivative.bytes()
    }
}

/// The pairs of a task within the cut-off, packed in the order of its rows.
#[derive(Default)]
pub struct PackedPairs<S> {
    /// For every row of every block, the end of its part of `entries`.
    row_ends: Vec<u32>,
    entries: Vec<PackedEntry>,
    /// Of every pair, what its force is made of.
    parts: [Aligned<S>; 3],
    /// Of the pairs of a block: squared distances, where tables begin, and the densities they cause.
    squares: Aligned<S>,
    starts: [Aligned<S>; 2],
    densities: [Aligned<S>; 2],
}

/// Atoms at a place of the tile that are near the atom of a row.
#[derive(Debug, Clone, Copy, Default)]
struct PackedEntry {
    place: u8,
    /// Bit k is set for atom k.
    atoms: u16,
}

impl<S: Scalar> PackedPairs<S> {
    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        let [a, b, c] = &self.parts;
        self.row_ends.capacity() * size_of::<u32>()
            + self.entries.capacity() * size_of::<PackedEntry>()
            + a.bytes()
            + b.bytes()
            + c.bytes()
    }

    /// Those of a row.
    #[inline(always)]
    fn of_row(&self, row: usize) -> &[PackedEntry] {
        let start = if row == 0 { 0 } else { self.row_ends[row - 1] };
        &self.entries[start as usize..self.row_ends[row] as usize]
    }
}

// Everything below that touches registers is a function and `#[inline(always)]`: a closure would
// be compiled without the instruction set.

/// The tables in registers.
#[derive(Clone, Copy)]
struct TableGrid<'a, L: Lanes> {
    table: &'a [L::Scalar],
    cutoff2: L,
    /// Knots per length, where the first one is, and the number of the last one.
    per_length: L,
    start: L,
    last: L,
}

impl<'a, L: Lanes> TableGrid<'a, L> {
    #[inline(always)]
    fn new(kernel: &'a EmbeddedKernel<L::Scalar>) -> Self {
        TableGrid {
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

/// Where the tables of the pairs of a row and the atoms of a register begin: densities at the row, and
/// at the others.
#[inline(always)]
fn starts<L: Lanes>(
    kernel: &EmbeddedKernel<L::Scalar>,
    clusters: &Clusters<L::Scalar>,
    species: usize,
    other: usize,
) -> [L; 2] {
    let n = kernel.term.n_species();
    let kinds = &clusters.species[other * L::WIDTH..(other + 1) * L::WIDTH];
    let mut back = [L::Scalar::default(); 16];
    for (start, kind) in back.iter_mut().zip(kinds) {
        *start = kernel.starts[*kind as usize * kernel.stride + species];
    }
    let row = &kernel.starts[species * kernel.stride..(species + 1) * kernel.stride];
    [L::lookup(row, n, L::load_index(kinds)), L::load(&back)]
}

struct Densities<'a, S> {
    kernel: &'a EmbeddedKernel<S>,
    clusters: &'a Clusters<S>,
    list: &'a PairList<S>,
    densities: &'a mut TaskForces<S>,
    packed: &'a mut PackedPairs<S>,
    evaluate: Evaluate,
}

impl<S: Scalar> Kernel for Densities<'_, S> {
    type Output = Sums;

    #[inline(always)]
    fn run<I: Simd>(self) -> Sums {
        match self.kernel.term.n_species() {
            1 => self.all::<S::Lanes<I>, true>(),
            _ => self.all::<S::Lanes<I>, false>(),
        }
    }
}

impl<S: Scalar> Densities<'_, S> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, const UNIFORM: bool>(self) -> Sums {
        let Densities { kernel, clusters, list, densities, packed, evaluate } = self;
        packed.row_ends.clear();
        // As many as a block can have: its places, atoms and rows.
        let most = (MOST_ENTRIES + 1) * L::WIDTH * L::WIDTH;
        packed.squares.resize(most);
        packed.starts.iter_mut().chain(&mut packed.densities).for_each(|numbers| numbers.resize(most));
        let pass =
            DensityPass::<L, UNIFORM> { kernel, grid: TableGrid::new(kernel), packed, evaluate, n_pairs: 0 };
        all_blocks(pass, clusters, list, densities)
    }
}

/// The pass that sums densities, and packs the pairs for the forces.
struct DensityPass<'a, L: Lanes, const UNIFORM: bool> {
    kernel: &'a EmbeddedKernel<L::Scalar>,
    grid: TableGrid<'a, L>,
    packed: &'a mut PackedPairs<L::Scalar>,
    evaluate: Evaluate,
    /// How many pairs the blocks so far have.
    n_pairs: usize,
}

/// How far [`PackedPairs`] of a block have been filled.
struct PackedCounts {
    entries: usize,
    pairs: usize,
}

impl<L: Lanes, const UNIFORM: bool> DensityPass<'_, L, UNIFORM> {
    /// Packs squared distances within the cut-off, and where tables begin.
    #[inline(always)]
    fn find(
        &mut self,
        at: &BlockView<L::Scalar>,
        clusters: &Clusters<L::Scalar>,
        tile: &[L::Scalar],
    ) -> usize {
        let start = self.packed.row_ends.last().map_or(0, |end| *end as usize);
        let most = start + at.n_rows * (at.entries.len() + 1);
        if self.packed.entries.len() < most {
            self.packed.entries.resize(most, PackedEntry::default());
        }
        let mut found = PackedCounts { entries: start, pairs: 0 };
        for row in 0..at.n_rows {
            let center = center_of_row(tile, row);
            for &k in at.partners(row) {
                self.pack(at, clusters, tile, (row, center), (usize::from(k) + 1, !0), &mut found);
            }
            let itself = at.own.then(|| (0, at.after(row)));
            let parts = at.parts(row).iter().map(|part| (usize::from(part.entry) + 1, part.atoms.into()));
            for some in itself.into_iter().chain(parts) {
                self.pack(at, clusters, tile, (row, center), some, &mut found);
            }
            self.packed.row_ends.push(found.entries as u32);
        }
        found.pairs
    }

    /// Packs those at a place that are near an atom.
    #[inline(always)]
    fn pack(
        &mut self,
        at: &BlockView<L::Scalar>,
        clusters: &Clusters<L::Scalar>,
        tile: &[L::Scalar],
        (row, center): (usize, [L; 3]),
        (place, some): (usize, u32),
        found: &mut PackedCounts,
    ) {
        let PackedPairs { entries, squares, starts, .. } = &mut *self.packed;
        let r2 = square(distance(&tile[place * Self::PLACE * L::WIDTH..], center));
        let near = L::bits(r2.lt(self.grid.cutoff2)) & some;
        r2.packed(near).store(&mut squares[found.pairs..]);
        if !UNIFORM {
            let species = clusters.species[at.cluster * L::WIDTH + row] as usize;
            let first = crate::embedded::starts::<L>(self.kernel, clusters, species, at.cluster_at(place));
            for (first, starts) in first.into_iter().zip(starts) {
                first.packed(near).store(&mut starts[found.pairs..]);
            }
        }
        entries[found.entries] = PackedEntry { place: place as u8, atoms: near as u16 };
        found.entries += usize::from(near != 0);
        found.pairs += near.count_ones() as usize;
    }

    /// Reads the tables for so many pairs; the sum of their energies if asked for.
    #[inline(always)]
    fn read(&mut self, n: usize) -> f64 {
        let PackedPairs { parts: kept, squares, starts, densities, .. } = &mut *self.packed;
        let end = self.n_pairs + n;
        for numbers in kept.iter_mut() {
            // A register may be read from the end of the last pair on.
            if numbers.len() < end + L::WIDTH {
                numbers.resize(end + L::WIDTH);
            }
        }
        let grid = &self.grid;
        let mut sum = L::lit(0.0);
        for k in (0..n).step_by(L::WIDTH) {
            let r2 = L::load(&squares[k..]);
            let inverse = r2.rsqrt();
            let (knot, p) = grid.place(r2 * inverse);
            let first = match UNIFORM {
                true => [L::lit(0.0); 2],
                false => [L::load(&starts[0][k..]), L::load(&starts[1][k..])],
            };
            let row = L::lit(Embedded::ROW as f64);
            let index = knot.mul_add(row, first[0]).to_index();
            let here = cubic(p, L::quadruples(grid.table, index, 0));
            let there = match UNIFORM {
                true => here,
                false => {
                    let index = knot.mul_add(row, first[1]).to_index();
                    cubic(p, L::quadruples(grid.table, index, 0))
                }
            };
            let (z, slope) = cubic(p, L::quadruples(grid.table, index, 4));
            let slopes = [here.1 * grid.per_length, there.1 * grid.per_length];
            let (energy, parts) = parts(inverse, (z, slope * grid.per_length), slopes);
            here.0.store(&mut densities[0][k..]);
            parts[0].store(&mut kept[0][self.n_pairs + k..]);
            parts[1].store(&mut kept[1][self.n_pairs + k..]);
            if !UNIFORM {
                there.0.store(&mut densities[1][k..]);
                parts[2].store(&mut kept[2][self.n_pairs + k..]);
            }
            if self.evaluate == Evaluate::ForcesAndEnergies {
                let behind = if n - k < L::WIDTH { !0 << (n - k) } else { 0 };
                sum = sum + L::select(lanes::<L>(!behind), energy, L::lit(0.0));
            }
        }
        self.n_pairs = end;
        sum.sum().to_f64()
    }
}

impl<L: Lanes, const UNIFORM: bool> BlockKernel<L> for DensityPass<'_, L, UNIFORM> {
    const PLACE: usize = 4;
    const N_ACCUMULATED: usize = 1;

    #[inline(always)]
    fn evaluate_block(
        &mut self,
        at: &BlockView<L::Scalar>,
        clusters: &Clusters<L::Scalar>,
        tile: &mut [L::Scalar],
        rows: &mut [L::Scalar],
        sums: &mut Sums,
    ) {
        let first_row = self.packed.row_ends.len();
        let n = self.find(at, clusters, tile);
        sums.energy += self.read(n);
        let packed = &*self.packed;
        let mut pair = 0;
        for row in 0..at.n_rows {
            let mut accumulated = RowSums::<L>::new();
            for PackedEntry { place, atoms } in packed.of_row(first_row + row) {
                let atoms = u32::from(*atoms);
                let here = L::load(&packed.densities[0][pair..]).unpacked(atoms);
                let there = match UNIFORM {
                    true => here,
                    false => L::load(&packed.densities[1][pair..]).unpacked(atoms),
                };
                accumulated.force[0] = accumulated.force[0] + here;
                let density = &mut tile[(usize::from(*place) * Self::PLACE + 3) * L::WIDTH..];
                (L::load(density) + there).store(density);
                pair += atoms.count_ones() as usize;
            }
            accumulated.store_sums(Self::N_ACCUMULATED, row, rows);
        }
    }

    #[inline(always)]
    fn with_reaction(accumulated: L, in_tile: L) -> L {
        accumulated + in_tile
    }
}

struct EmbeddedForces<'a, S> {
    kernel: &'a EmbeddedKernel<S>,
    clusters: &'a Clusters<S>,
    list: &'a PairList<S>,
    packed: &'a PackedPairs<S>,
    forces: &'a mut TaskForces<S>,
    evaluate: Evaluate,
}

impl<S: Scalar> Kernel for EmbeddedForces<'_, S> {
    type Output = Sums;

    #[inline(always)]
    fn run<I: Simd>(self) -> Sums {
        match (self.evaluate, self.kernel.term.n_species()) {
            (Evaluate::Forces, 1) => self.all::<S::Lanes<I>, false, true>(),
            (Evaluate::Forces, _) => self.all::<S::Lanes<I>, false, false>(),
            (Evaluate::ForcesAndEnergies, 1) => self.all::<S::Lanes<I>, true, true>(),
            (Evaluate::ForcesAndEnergies, _) => self.all::<S::Lanes<I>, true, false>(),
        }
    }
}

impl<S: Scalar> EmbeddedForces<'_, S> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, const VIRIAL: bool, const UNIFORM: bool>(self) -> Sums {
        let EmbeddedForces { kernel, clusters, list, packed, forces, .. } = self;
        let derivative = &kernel.derivative;
        let pass = ForcePass::<S, VIRIAL, UNIFORM> { derivative, packed, next_row: 0, next_pair: 0 };
        all_blocks::<L, _>(pass, clusters, list, forces)
    }
}

/// The pass for the forces, which needs the derivatives of the embedding energies.
struct ForcePass<'a, S, const VIRIAL: bool, const UNIFORM: bool> {
    derivative: &'a [S],
    packed: &'a PackedPairs<S>,
    next_row: usize,
    next_pair: usize,
}

impl<L: Lanes, const VIRIAL: bool, const UNIFORM: bool> BlockKernel<L>
    for ForcePass<'_, L::Scalar, VIRIAL, UNIFORM>
{
    const PLACE: usize = 7;
    const N_ACCUMULATED: usize = 3;

    #[inline(always)]
    fn load_extra(&self, cluster: usize, extra: &mut [L::Scalar]) {
        L::load(&self.derivative[cluster * L::WIDTH..]).store(extra);
    }

    #[inline(always)]
    fn evaluate_block(
        &mut self,
        at: &BlockView<L::Scalar>,
        _clusters: &Clusters<L::Scalar>,
        tile: &mut [L::Scalar],
        rows: &mut [L::Scalar],
        sums: &mut Sums,
    ) {
        let parts = &self.packed.parts;
        let mut pair = self.next_pair;
        for row in 0..at.n_rows {
            let center = center_of_row(tile, row);
            let derivative = L::splat(tile[6 * L::WIDTH + row]);
            let mut gathered = RowSums::<L>::new();
            for PackedEntry { place, atoms } in self.packed.of_row(self.next_row + row) {
                let (start, atoms) = (usize::from(*place) * 7 * L::WIDTH, u32::from(*atoms));
                let place = &mut tile[start..start + 7 * L::WIDTH];
                let d = distance(place, center);
                let slope_here = L::load(&parts[1][pair..]).unpacked(atoms);
                let slope_there = match UNIFORM {
                    true => slope_here,
                    false => L::load(&parts[2][pair..]).unpacked(atoms),
                };
                let parts = [L::load(&parts[0][pair..]).unpacked(atoms), slope_here, slope_there];
                let force_over_r = force(parts, [derivative, L::load(&place[6 * L::WIDTH..])]);
                add_pair_forces(place, d, force_over_r, &mut gathered);
                if VIRIAL {
                    gathered.add_sums(L::lit(0.0), force_over_r, d);
                }
                pair += atoms.count_ones() as usize;
            }
            gathered.store_sums(3, row, rows);
            if VIRIAL {
                sums.add(&gathered);
            }
        }
        self.next_row += at.n_rows;
        self.next_pair = pair;
    }

    #[inline(always)]
    fn with_reaction(accumulated: L, in_tile: L) -> L {
        accumulated - in_tile
    }
}
