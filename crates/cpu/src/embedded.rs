//! Embedded-atom forces over cluster lists, in two passes: the density at every atom, then, with
//! the derivatives of the embedding energies, forces.

use crate::blocks::{Encounter, OneByOne, Row, Sums, TaskForces, all_blocks};
use crate::cells::Clusters;
use crate::neighbors::PairList;
use crate::pair::{act, distance, square};
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

/// The same where atoms may be all of one species.
#[inline(always)]
fn kinds<L: Lanes, const UNIFORM: bool>(
    kernel: &EmbeddedKernel<L::Scalar>,
    clusters: &Clusters<L::Scalar>,
    cluster: usize,
    row: usize,
    other: usize,
) -> [L; 2] {
    match UNIFORM {
        true => [L::lit(0.0); 2],
        false => starts(kernel, clusters, clusters.species[cluster * L::WIDTH + row] as usize, other),
    }
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
            1 => self.all::<S::Lanes<I>, true>(),
            _ => self.all::<S::Lanes<I>, false>(),
        }
    }
}

impl<S: Scalar> Densities<'_, S> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, const UNIFORM: bool>(self) {
        let Densities { kernel, clusters, list, densities } = self;
        let feeling = Feeling::<L, UNIFORM> { kernel, grid: Grid::new(kernel) };
        all_blocks(OneByOne(feeling), clusters, list, densities);
    }
}

/// Atoms feel each other's densities.
struct Feeling<'a, L: Lanes, const UNIFORM: bool> {
    kernel: &'a EmbeddedKernel<L::Scalar>,
    grid: Grid<'a, L>,
}

impl<L: Lanes, const UNIFORM: bool> Encounter<L> for Feeling<'_, L, UNIFORM> {
    const PLACE: usize = 4;
    const FELT: usize = 1;
    const ENERGIES: bool = false;
    type Atom = ();
    type Kinds = [L; 2];

    #[inline(always)]
    fn atom(&self, _place: &[L::Scalar], _row: usize) {}

    #[inline(always)]
    fn kinds(&self, clusters: &Clusters<L::Scalar>, cluster: usize, row: usize, other: usize) -> [L; 2] {
        kinds::<L, UNIFORM>(self.kernel, clusters, cluster, row, other)
    }

    #[inline(always)]
    fn meet<const ONLY_SOME: bool>(
        &self,
        _atom: &(),
        center: [L; 3],
        first: &[L; 2],
        place: &mut [L::Scalar],
        some: L::Mask,
        gathered: &mut Row<L>,
    ) {
        let grid = &self.grid;
        let r2 = square(distance(place, center));
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
        gathered.force[0] = gathered.force[0] + here;
        let density = &mut place[3 * L::WIDTH..4 * L::WIDTH];
        (L::load(density) + there).store(density);
    }

    #[inline(always)]
    fn returned(felt: L, in_tile: L) -> L {
        felt + in_tile
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
            (Evaluate::Forces, 1) => self.all::<S::Lanes<I>, false, true>(),
            (Evaluate::Forces, _) => self.all::<S::Lanes<I>, false, false>(),
            (Evaluate::ForcesAndEnergies, 1) => self.all::<S::Lanes<I>, true, true>(),
            (Evaluate::ForcesAndEnergies, _) => self.all::<S::Lanes<I>, true, false>(),
        }
    }
}

impl<S: Scalar> PairForces<'_, S> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, const ENERGIES: bool, const UNIFORM: bool>(self) -> Sums {
        let PairForces { kernel, clusters, list, forces, .. } = self;
        let pulling = Pulling::<L, ENERGIES, UNIFORM> { kernel, grid: Grid::new(kernel) };
        all_blocks(OneByOne(pulling), clusters, list, forces)
    }
}

/// Atoms pull each other; they bring the derivatives of their embedding energies.
struct Pulling<'a, L: Lanes, const ENERGIES: bool, const UNIFORM: bool> {
    kernel: &'a EmbeddedKernel<L::Scalar>,
    grid: Grid<'a, L>,
}

impl<L: Lanes, const ENERGIES: bool, const UNIFORM: bool> Encounter<L> for Pulling<'_, L, ENERGIES, UNIFORM> {
    const PLACE: usize = 7;
    const FELT: usize = 3;
    const ENERGIES: bool = ENERGIES;
    type Atom = L;
    type Kinds = [L; 2];

    #[inline(always)]
    fn bring(&self, cluster: usize, brought: &mut [L::Scalar]) {
        L::load(&self.kernel.derivative[cluster * L::WIDTH..(cluster + 1) * L::WIDTH]).store(brought);
    }

    #[inline(always)]
    fn atom(&self, place: &[L::Scalar], row: usize) -> L {
        L::splat(place[6 * L::WIDTH + row])
    }

    #[inline(always)]
    fn kinds(&self, clusters: &Clusters<L::Scalar>, cluster: usize, row: usize, other: usize) -> [L; 2] {
        kinds::<L, UNIFORM>(self.kernel, clusters, cluster, row, other)
    }

    #[inline(always)]
    fn meet<const ONLY_SOME: bool>(
        &self,
        derivative: &L,
        center: [L; 3],
        first: &[L; 2],
        place: &mut [L::Scalar],
        some: L::Mask,
        gathered: &mut Row<L>,
    ) {
        let grid = &self.grid;
        let d = distance(place, center);
        let r2 = square(d);
        let mut near = r2.lt(grid.cutoff2);
        if ONLY_SOME {
            near = L::and(near, some);
        }
        let inverse = r2.rsqrt();
        let (knot, p) = grid.place(r2 * inverse);
        let row = L::lit(Embedded::ROW as f64);
        let index = knot.mul_add(row, first[0]).to_index();
        let here = cubic(p, L::quadruples(grid.table, index, 0)).1 * grid.per_length;
        let there = match UNIFORM {
            true => here,
            false => {
                let index = knot.mul_add(row, first[1]).to_index();
                cubic(p, L::quadruples(grid.table, index, 0)).1 * grid.per_length
            }
        };
        let (z, slope) = cubic(p, L::quadruples(grid.table, index, 4));
        let derivatives = [*derivative, L::load(&place[6 * L::WIDTH..])];
        let both = pair(inverse, (z, slope * grid.per_length), [here, there], derivatives);
        act::<L, ENERGIES>(place, d, near, both, gathered);
    }

    #[inline(always)]
    fn returned(felt: L, in_tile: L) -> L {
        felt - in_tile
    }
}
