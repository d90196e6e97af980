//! Embedded-atom forces over cluster lists, in two passes: the density at every atom, then, with
//! the derivatives of the embedding energies, forces.
//!
//! Few of the pairs of a list are within the cut-off. The first pass packs these together, so that
//! tables are read in full registers, once for both passes; results are unpacked to the lanes of their
//! atoms, in both passes.

use crate::blocks::{
    BlockArrays, BlockKernel, BlockView, ListKernel, ListPass, RowSums, Sums, center_of_row, lanes,
};
use crate::cells::Clusters;
use crate::interaction::{add_pair_forces, distance, square};
use crate::neighbors::{MOST_ENTRIES, PairList};
use crate::simd::aligned::Aligned;
use crate::simd::{Lanes, Scalar};
use jostle_core::Evaluate;
use jostle_potentials::Embedded;
use jostle_potentials::embedded::{cubic, force, parts};

/// An embedded-atom force made ready for the CPU.
pub struct EmbeddedKernel<S> {
    term: Embedded,
    cutoff2: S,
    table: Vec<S>,
    /// Beginning of the table of a first and a second species; rows are as long as the widest register.
    starts: Vec<S>,
    stride: usize,
    spacing: [S; 2],
    grid_start: S,
    last: S,
    /// The derivative of the embedding energy at every place of every cluster.
    pub derivative: Aligned<S>,
}

impl<S: Scalar> EmbeddedKernel<S> {
    /// Lays out the tables of a term.
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

    /// Adds the densities of the pairs of a task's list, and stores in `packed` the numbers that
    /// [`EmbeddedKernel::add_forces`] needs. Returns the sum of the pairs' energies if asked for.
    pub fn add_densities(&self, pass: ListPass<S>, packed: &mut PackedPairs<S>) -> f64 {
        pass.run(Densities { kernel: self, packed }).energy
    }

    /// Computes the derivatives of the embedding energies of a task's atoms from the densities; returns the
    /// sum of the energies.
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
    pub fn add_forces(&self, pass: ListPass<S>, packed: &PackedPairs<S>) -> Sums {
        pass.run(EmbeddedForces { kernel: self, packed })
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.table[..]) + self.derivative.bytes()
    }
}

/// The pairs of a task within the cut-off, packed in the order of its rows.
#[derive(Default)]
pub struct PackedPairs<S> {
    /// End of the part of `entries` of every row of every block.
    row_ends: Vec<u32>,
    entries: Vec<PackedEntry>,
    /// Parts of the force of every pair.
    parts: [Aligned<S>; 3],
    /// Squared distances of the pairs of a block, then beginnings of their tables and the densities they cause.
    squares: Aligned<S>,
    starts: [Aligned<S>; 2],
    densities: [Aligned<S>; 2],
}

/// The atoms at a place of the tile that are within the cut-off of the atom of a row.
#[derive(Debug, Clone, Copy, Default)]
struct PackedEntry {
    place: u8,
    /// Set of atoms: bit k for atom k.
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

    /// Entries of a row.
    #[inline(always)]
    fn of_row(&self, row: usize) -> &[PackedEntry] {
        let start = if row == 0 { 0 } else { self.row_ends[row - 1] };
        &self.entries[start as usize..self.row_ends[row] as usize]
    }
}

// Code below that touches registers is in functions with `#[inline(always)]`: a closure would be compiled
// without the instruction set.

/// The tables in registers.
#[derive(Clone, Copy)]
struct TableGrid<'a, L: Lanes> {
    table: &'a [L::Scalar],
    cutoff2: L,
    /// Knots per length, position of the first knot, and number of the last one.
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

    /// Number of the knot before a distance, and the rest beyond it. NaN gives the last knot.
    #[inline(always)]
    fn place(&self, r: L) -> (L, L) {
        let x = r.mul_add(self.per_length, -self.start);
        let x = L::select(x.lt(self.last), x, self.last);
        let knot = (x - L::lit(0.5)).round().max(L::lit(0.0));
        (knot, x - knot)
    }
}

/// Beginnings of the tables of the pairs of a row and the atoms of a register: densities at the row, and at
/// the others.
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

/// The first pass, see [`EmbeddedKernel::add_densities`].
struct Densities<'a, S> {
    kernel: &'a EmbeddedKernel<S>,
    packed: &'a mut PackedPairs<S>,
}

impl<S: Scalar> ListKernel<S> for Densities<'_, S> {
    type Output = Sums;

    #[inline(always)]
    fn run<L: Lanes<Scalar = S>>(self, pass: ListPass<S>) -> Sums {
        match self.kernel.term.n_species() {
            1 if !L::IS_FALLBACK => self.all::<L, true>(pass),
            _ => self.all::<L, false>(pass),
        }
    }
}

impl<S: Scalar> Densities<'_, S> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, const UNIFORM: bool>(self, pass: ListPass<S>) -> Sums {
        let Densities { kernel, packed } = self;
        let evaluate = pass.evaluate;
        packed.row_ends.clear();
        // The largest number of pairs of a block: places times atoms times rows.
        let most = (MOST_ENTRIES + 1) * L::WIDTH * L::WIDTH;
        packed.squares.resize(most);
        packed.starts.iter_mut().chain(&mut packed.densities).for_each(|numbers| numbers.resize(most));
        let grid = TableGrid::new(kernel);
        pass.over_blocks(DensityPass::<L, UNIFORM> { kernel, grid, packed, evaluate, n_pairs: 0 })
    }
}

/// The pass that sums densities, and packs the pairs for the forces.
struct DensityPass<'a, L: Lanes, const UNIFORM: bool> {
    kernel: &'a EmbeddedKernel<L::Scalar>,
    grid: TableGrid<'a, L>,
    packed: &'a mut PackedPairs<L::Scalar>,
    evaluate: Evaluate,
    /// Number of pairs of the blocks so far.
    n_pairs: usize,
}

/// Numbers of entries and pairs of a block packed so far.
struct PackedCounts {
    entries: usize,
    pairs: usize,
}

impl<L: Lanes, const UNIFORM: bool> DensityPass<'_, L, UNIFORM> {
    /// Packs squared distances within the cut-off and beginnings of tables. Returns the number of pairs.
    #[inline(always)]
    fn find(&mut self, at: &BlockView<L::Scalar>, tile: &[L::Scalar]) -> usize {
        let start = self.packed.row_ends.last().map_or(0, |end| *end as usize);
        let most = start + at.n_rows * (at.entries.len() + 1);
        if self.packed.entries.len() < most {
            self.packed.entries.resize(most, PackedEntry::default());
        }
        let mut found = PackedCounts { entries: start, pairs: 0 };
        for row in 0..at.n_rows {
            let center = center_of_row(tile, row);
            for &k in at.partners(row) {
                self.pack(at, tile, (row, center), (usize::from(k) + 1, !0), &mut found);
            }
            let itself = at.own.then(|| (0, at.after(row)));
            let parts = at.parts(row).iter().map(|part| (usize::from(part.entry) + 1, part.atoms.into()));
            for some in itself.into_iter().chain(parts) {
                self.pack(at, tile, (row, center), some, &mut found);
            }
            self.packed.row_ends.push(found.entries as u32);
        }
        found.pairs
    }

    /// Packs the pairs of an atom with the atoms of a place.
    #[inline(always)]
    fn pack(
        &mut self,
        at: &BlockView<L::Scalar>,
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
            let species = at.clusters.species[at.cluster * L::WIDTH + row] as usize;
            let other = at.cluster_at(place);
            let first = crate::embedded::starts::<L>(self.kernel, at.clusters, species, other);
            for (first, starts) in first.into_iter().zip(starts) {
                first.packed(near).store(&mut starts[found.pairs..]);
            }
        }
        entries[found.entries] = PackedEntry { place: place as u8, atoms: near as u16 };
        found.entries += usize::from(near != 0);
        found.pairs += near.count_ones() as usize;
    }

    /// Reads the tables for the first `n` packed pairs; returns the sum of their energies if asked for.
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
    fn evaluate_block(&mut self, at: &BlockView<L::Scalar>, arrays: BlockArrays<L::Scalar>) {
        let BlockArrays { tile, rows, sums } = arrays;
        let first_row = self.packed.row_ends.len();
        let n = self.find(at, tile);
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

/// The second pass, see [`EmbeddedKernel::add_forces`].
struct EmbeddedForces<'a, S> {
    kernel: &'a EmbeddedKernel<S>,
    packed: &'a PackedPairs<S>,
}

impl<S: Scalar> ListKernel<S> for EmbeddedForces<'_, S> {
    type Output = Sums;

    #[inline(always)]
    fn run<L: Lanes<Scalar = S>>(self, pass: ListPass<S>) -> Sums {
        if L::IS_FALLBACK {
            return self.all::<L, true, false>(pass);
        }
        match (pass.evaluate, self.kernel.term.n_species()) {
            (Evaluate::Forces, 1) => self.all::<L, false, true>(pass),
            (Evaluate::Forces, _) => self.all::<L, false, false>(pass),
            (Evaluate::ForcesAndEnergies, 1) => self.all::<L, true, true>(pass),
            (Evaluate::ForcesAndEnergies, _) => self.all::<L, true, false>(pass),
        }
    }
}

impl<S: Scalar> EmbeddedForces<'_, S> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, const VIRIAL: bool, const UNIFORM: bool>(self, pass: ListPass<S>) -> Sums {
        let EmbeddedForces { kernel, packed } = self;
        let derivative = &kernel.derivative;
        let kernel = ForcePass::<S, VIRIAL, UNIFORM> { derivative, packed, next_row: 0, next_pair: 0 };
        pass.over_blocks::<L, _>(kernel)
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
    fn evaluate_block(&mut self, at: &BlockView<L::Scalar>, arrays: BlockArrays<L::Scalar>) {
        let BlockArrays { tile, rows, sums } = arrays;
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
}
