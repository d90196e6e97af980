//! Three-body forces, a cluster of centres at a time: each lane of the registers is a centre.
//!
//! Lists of clusters have every pair once and reach as far as the longest cut-off; a centre needs all of its
//! neighbours, of which few are near. Each task therefore has a list of the neighbours of its atoms one by one, within
//! the cut-off of these forces and the skin. In a step those within the cut-off are packed to the front, centre by
//! centre; registers then go through them in this order, as often as the centre with the most neighbours has them.
//! - Advantages: the formulas, which cost far more than finding neighbours, work on full registers where atoms have
//!   as many neighbours as each other, as in solids, and only on pairs within the cut-off; energies and derivatives of a
//!   centre stay in the first-level cache; no triplet is evaluated by two tasks.
//! - Disadvantages: lanes of centres with fewer neighbours are idle, at surfaces and in liquids; coefficients of several
//!   species are gathered lane by lane; forces on neighbours are scattered one by one; triplets are evaluated in both
//!   orders where the formula is not symmetric.

use crate::blocks::{Sums, TaskForces};
use crate::cells::Clusters;
use crate::neighbors::{ListEntry, PairList, Targets};
use crate::search::{Candidate, Listed, Search};
use crate::simd::aligned::Aligned;
use crate::simd::{Kernel, Lanes, Level, MOST_LANES, Scalar, Simd};
use jostle_core::{Evaluate, SimBox, Vector};
use jostle_potentials::ThreeBody;
use jostle_potentials::three_body::{CenterCoefficients, Neighbor, ThreeBodyFunction, ThreeBodyVisitor};
use std::marker::PhantomData;

/// A three-body force made ready for the CPU.
pub struct ThreeBodyKernel<S> {
    term: ThreeBody,
    /// Squared distances of neighbours, by species of centre and neighbour.
    cutoffs2: Vec<S>,
    pairs: Vec<S>,
    triplets: Vec<S>,
}

impl<S: Scalar> ThreeBodyKernel<S> {
    /// Coefficients of a term in the precision of the forces.
    pub fn new(term: ThreeBody) -> Self {
        let rounded = |numbers: &[f64]| numbers.iter().map(|x| S::from_f64(*x)).collect();
        let species = || 0..term.n_species();
        let cutoff2 = |a, b| S::from_f64(term.cutoff_of(a, b).powi(2));
        ThreeBodyKernel {
            cutoffs2: species().flat_map(|a| species().map(move |b| cutoff2(a, b))).collect(),
            pairs: rounded(term.pairs()),
            triplets: rounded(term.triplets()),
            term,
        }
    }

    /// Longest distance of neighbours.
    pub fn cutoff(&self) -> f64 {
        self.term.cutoff()
    }

    /// Adds the forces of the centres of a task.
    pub fn add_forces(
        &self,
        (level, evaluate): (Level, Evaluate),
        clusters: &Clusters<S>,
        centers: &mut TaskCenters<S>,
        forces: &mut TaskForces<S>,
    ) -> Sums {
        let first = centers.first;
        self.term.visit(Centers { kernel: self, level, evaluate, clusters, centers, first, forces })
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.pairs[..]) + size_of_val(&self.triplets[..])
    }
}

/// The neighbours of the atoms of a task.
#[derive(Default)]
pub struct TaskCenters<S> {
    /// First cluster of the task.
    first: usize,
    /// Images of clusters that neighbours are in.
    images: Vec<ListEntry<S>>,
    /// End of the neighbours of each atom.
    ends: Vec<u32>,
    /// Number of an image times [`MOST_LANES`], plus the lane.
    neighbors: Vec<u32>,
    packed: PackedNeighbors<S>,
}

/// The neighbours of the atoms of a cluster within the cut-off, in the order of each centre.
#[derive(Default)]
struct PackedNeighbors<S> {
    /// Vectors from centres, by number of the neighbour, component and lane.
    vectors: Aligned<S>,
    /// Species of neighbours, by number and lane, and species of the centre times the number of species, plus these.
    species: Aligned<S>,
    pairs: Aligned<S>,
    /// Places of the forces on neighbours.
    places: Vec<u32>,
    /// Number of neighbours of each lane.
    counts: [usize; MOST_LANES],
}

impl<S: Scalar> TaskCenters<S> {
    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        self.images.capacity() * size_of::<ListEntry<S>>()
            + (self.ends.capacity() + self.neighbors.capacity()) * size_of::<u32>()
    }
}

/// Builds the lists of neighbours of the atoms of a task, after its list of pairs; adds to the foreign clusters of that.
pub struct CentersBuild<'a, S: Scalar> {
    /// The clusters.
    pub clusters: &'a Clusters<S>,
    /// The box.
    pub simbox: &'a SimBox,
    /// Cut-off and skin.
    pub reach: f64,
    /// The list of pairs of the task.
    pub list: &'a mut PairList<S>,
    /// The result.
    pub centers: &'a mut TaskCenters<S>,
}

impl<S: Scalar> Kernel for CentersBuild<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Simd>(self) {
        let CentersBuild { clusters, simbox, reach, list, centers } = self;
        let width = clusters.width;
        let TaskCenters { first, images, ends, neighbors, .. } = centers;
        *first = list.clusters.start;
        images.clear();
        ends.clear();
        neighbors.clear();
        let mut targets = Targets::new(list, clusters.count());
        let mut search = Search::new(clusters, simbox, reach, Listed::FromBothSides);
        // The reach and a little more, so that rounding never loses a pair.
        let reach2 = <S::Lanes<I> as jostle_core::Real>::lit(reach * reach * (1.0 + 1e-5));
        let (mut candidates, mut found) = (Vec::new(), Vec::new());
        for cluster in list.clusters.clone() {
            search.around(cluster, &mut candidates);
            found.clear();
            found.resize(candidates.len(), None);
            for row in 0..clusters.atoms(cluster).len() {
                for (Candidate { cluster: other, shift }, image) in candidates.iter().zip(&mut found) {
                    let offset: [S; 3] = std::array::from_fn(|k| {
                        S::from_f64(clusters.origin[*other][k] + shift[k] - clusters.origin[cluster][k])
                    });
                    let mut near =
                        lanes_within::<S::Lanes<I>>(clusters, (cluster, row), (*other, offset), reach2);
                    if *other == cluster && *shift == [0.0; 3] {
                        near &= !(1 << row);
                    }
                    if near == 0 {
                        continue;
                    }
                    let image = *image.get_or_insert_with(|| {
                        let target = targets.of(*other, &mut list.foreign);
                        images.push(ListEntry { cluster: *other as u32, target, offset });
                        images.len() as u32 - 1
                    });
                    while near != 0 {
                        neighbors.push(image * MOST_LANES as u32 + near.trailing_zeros());
                        near &= near - 1;
                    }
                }
                ends.push(neighbors.len() as u32);
            }
        }
        let mut start = 0;
        let longest = ends.iter().map(|end| end - std::mem::replace(&mut start, *end)).max().unwrap_or(0);
        centers.packed.resize(longest as usize, width);
    }
}

/// Lanes of a cluster, moved by an offset, that were within reach of an atom of another one when lists were built.
#[inline(always)]
fn lanes_within<L: Lanes>(
    clusters: &Clusters<L::Scalar>,
    (cluster, row): (usize, usize),
    (other, offset): (usize, [L::Scalar; 3]),
    reach2: L,
) -> u32 {
    let (mine, theirs) = (cluster * 3 * L::WIDTH, other * 3 * L::WIDTH);
    let mut r2 = L::lit(0.0);
    for k in 0..3 {
        let x = L::load(&clusters.built[theirs + k * L::WIDTH..]) + L::splat(offset[k]);
        let distance = x - L::splat(clusters.built[mine + k * L::WIDTH + row]);
        r2 = distance.mul_add(distance, r2);
    }
    L::bits(r2.lt(reach2))
}

impl<S: Scalar> PackedNeighbors<S> {
    /// Space for the neighbours of a cluster.
    fn resize(&mut self, longest: usize, width: usize) {
        // Beyond the last neighbour stands one that was too far away.
        let places = (longest + 1) * width;
        self.vectors.resize(3 * places);
        self.species.resize(places);
        self.pairs.resize(places);
        self.places.resize(places, 0);
    }
}

/// The pass over the centres of a task, before function and registers are known.
struct Centers<'a, S> {
    kernel: &'a ThreeBodyKernel<S>,
    level: Level,
    evaluate: Evaluate,
    clusters: &'a Clusters<S>,
    centers: &'a mut TaskCenters<S>,
    first: usize,
    forces: &'a mut TaskForces<S>,
}

impl<S: Scalar> ThreeBodyVisitor for Centers<'_, S> {
    type Output = Sums;

    fn visit<F: ThreeBodyFunction>(self) -> Sums {
        let level = self.level;
        level.run(WithFunction { pass: self, function: PhantomData::<F> })
    }
}

/// A pass whose function is known.
struct WithFunction<'a, S, F> {
    pass: Centers<'a, S>,
    function: PhantomData<F>,
}

impl<S: Scalar, F: ThreeBodyFunction> Kernel for WithFunction<'_, S, F> {
    type Output = Sums;

    #[inline(always)]
    fn run<I: Simd>(self) -> Sums {
        match self.pass.kernel.term.n_species() {
            1 if !<S::Lanes<I> as Lanes>::IS_FALLBACK => self.pass.all::<S::Lanes<I>, F, true>(),
            _ => self.pass.all::<S::Lanes<I>, F, false>(),
        }
    }
}

// Code below that touches registers is in functions with `#[inline(always)]`: a closure would be compiled without the
// instruction set.

impl<S: Scalar> Centers<'_, S> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, F: ThreeBodyFunction, const UNIFORM: bool>(mut self) -> Sums {
        let mut sums = Sums::default();
        let mut neighbors: Vec<Neighbor<L>> = Vec::new();
        let mut row = 0;
        for c in 0..self.clusters_of_task() {
            let n_rows = self.clusters.atoms(self.first + c).len();
            let most = self.pack::<L>(c, row);
            row += n_rows;
            neighbors.clear();
            for slot in 0..most {
                let at = &self.centers.packed.vectors[3 * slot * L::WIDTH..];
                let vector = Vector([L::load(at), L::load(&at[L::WIDTH..]), L::load(&at[2 * L::WIDTH..])]);
                neighbors.push(Neighbor::at(vector));
            }
            let coefficients = LaneCoefficients::<S, F, UNIFORM> {
                kernel: self.kernel,
                packed: &self.centers.packed,
                function: PhantomData,
            };
            let energy = F::evaluate(&mut neighbors, &coefficients);
            if self.evaluate == Evaluate::ForcesAndEnergies {
                sums.energy += energy.sum().to_f64();
                add_virial(&neighbors, &mut sums);
            }
            self.add_gradients(c, &neighbors);
        }
        sums
    }

    /// Number of clusters whose atoms are centres.
    fn clusters_of_task(&self) -> usize {
        self.forces.own.len() / (3 * self.clusters.width)
    }

    /// Packs the neighbours of the centres of a cluster; returns the largest number of them. `row` is the number of
    /// the first centre among those of the task.
    #[inline(always)]
    fn pack<L: Lanes<Scalar = S>>(&mut self, c: usize, row: usize) -> usize {
        let (kernel, clusters, cluster) = (self.kernel, self.clusters, self.first + c);
        let TaskCenters { images, ends, neighbors, packed, .. } = &mut *self.centers;
        let n_species = kernel.term.n_species();
        let n_rows = clusters.atoms(cluster).len();
        packed.counts = [0; MOST_LANES];
        for lane in 0..n_rows {
            let atom = row + lane;
            let start = if atom == 0 { 0 } else { ends[atom - 1] };
            let mine = cluster * 3 * L::WIDTH + lane;
            let center: [S; 3] = std::array::from_fn(|k| clusters.position[mine + k * L::WIDTH]);
            let species = clusters.species[cluster * L::WIDTH + lane] as usize;
            let mut n = 0;
            for &neighbor in &neighbors[start as usize..ends[atom] as usize] {
                let (image, other) =
                    (&images[neighbor as usize / MOST_LANES], neighbor as usize % MOST_LANES);
                let theirs = image.cluster as usize * 3 * L::WIDTH + other;
                let kind = clusters.species[image.cluster as usize * L::WIDTH + other] as usize;
                let pair = species * n_species + kind;
                let mut r2 = S::default();
                for k in 0..3 {
                    let d = clusters.position[theirs + k * L::WIDTH] + image.offset[k] - center[k];
                    packed.vectors[(3 * n + k) * L::WIDTH + lane] = d;
                    r2 = r2 + d * d;
                }
                packed.species[n * L::WIDTH + lane] = S::from_f64(kind as f64);
                packed.pairs[n * L::WIDTH + lane] = S::from_f64(pair as f64);
                packed.places[n * L::WIDTH + lane] = image.target * 3 * L::WIDTH as u32 + other as u32;
                n += usize::from(r2 < kernel.cutoffs2[pair]);
            }
            packed.counts[lane] = n;
        }
        let most = packed.counts.iter().copied().max().unwrap_or(0);
        let beyond = S::from_f64(kernel.term.beyond());
        for lane in 0..L::WIDTH {
            for slot in packed.counts[lane]..most {
                packed.vectors[3 * slot * L::WIDTH + lane] = beyond;
                packed.vectors[(3 * slot + 1) * L::WIDTH + lane] = S::default();
                packed.vectors[(3 * slot + 2) * L::WIDTH + lane] = S::default();
                packed.species[slot * L::WIDTH + lane] = S::default();
                packed.pairs[slot * L::WIDTH + lane] = S::default();
            }
        }
        most
    }

    /// Adds the forces on the centres of a cluster and on their neighbours.
    #[inline(always)]
    fn add_gradients<L: Lanes<Scalar = S>>(&mut self, c: usize, neighbors: &[Neighbor<L>]) {
        let (own, foreign, _) = self.forces.parts();
        let packed = &mut self.centers.packed;
        for k in 0..3 {
            let mut sum = L::lit(0.0);
            for (slot, neighbor) in neighbors.iter().enumerate() {
                neighbor.gradient[k].store(&mut packed.vectors[(3 * slot + k) * L::WIDTH..]);
                sum = sum + neighbor.gradient[k];
            }
            let center = &mut own[(3 * c + k) * L::WIDTH..];
            (L::load(center) + sum).store(center);
        }
        let n_own = own.len();
        for lane in 0..L::WIDTH {
            for slot in 0..packed.counts[lane] {
                let place = packed.places[slot * L::WIDTH + lane] as usize;
                let (forces, place) = match place.checked_sub(n_own) {
                    None => (&mut **own, place),
                    Some(place) => (&mut **foreign, place),
                };
                for k in 0..3 {
                    let force = &mut forces[place + k * L::WIDTH];
                    *force = *force - packed.vectors[(3 * slot + k) * L::WIDTH + lane];
                }
            }
        }
    }
}

/// Adds the virial of centres.
#[inline(always)]
fn add_virial<L: Lanes>(neighbors: &[Neighbor<L>], sums: &mut Sums) {
    let mut virial = [L::lit(0.0); 6];
    for neighbor in neighbors {
        let (d, g) = (neighbor.vector(), neighbor.gradient);
        for k in 0..3 {
            virial[k] = d[k].mul_add(g[k], virial[k]);
        }
        virial[3] = d[0].mul_add(g[1], virial[3]);
        virial[4] = d[0].mul_add(g[2], virial[4]);
        virial[5] = d[1].mul_add(g[2], virial[5]);
    }
    for k in 0..6 {
        sums.virial[k] -= virial[k].sum().to_f64();
    }
}

/// Coefficients of the packed neighbours, one centre a lane.
struct LaneCoefficients<'a, S, F, const UNIFORM: bool> {
    kernel: &'a ThreeBodyKernel<S>,
    packed: &'a PackedNeighbors<S>,
    function: PhantomData<F>,
}

impl<L: Lanes, F: ThreeBodyFunction, const UNIFORM: bool> CenterCoefficients<L>
    for LaneCoefficients<'_, L::Scalar, F, UNIFORM>
{
    #[inline(always)]
    fn pair<const N: usize>(&self, neighbor: usize) -> [L; N] {
        let table = &self.kernel.pairs;
        if UNIFORM {
            return first_of(table);
        }
        let pair = L::load(&self.packed.pairs[neighbor * L::WIDTH..]);
        gathered(table, pair * L::lit(F::N_PAIR as f64))
    }

    #[inline(always)]
    fn triplet<const N: usize>(&self, first: usize, second: usize) -> [L; N] {
        let table = &self.kernel.triplets;
        if UNIFORM {
            return first_of(table);
        }
        let n_species = self.kernel.term.n_species() as f64;
        let pair = L::load(&self.packed.pairs[first * L::WIDTH..]);
        let species = L::load(&self.packed.species[second * L::WIDTH..]);
        gathered(table, pair.mul_add(L::lit(n_species), species) * L::lit(F::N_TRIPLET as f64))
    }
}

/// The first numbers of a table, in all lanes.
#[inline(always)]
fn first_of<L: Lanes, const N: usize>(table: &[L::Scalar]) -> [L; N] {
    let mut numbers = [L::lit(0.0); N];
    for k in 0..N {
        numbers[k] = L::splat(table[k]);
    }
    numbers
}

/// Numbers of a table from these places on.
#[inline(always)]
fn gathered<L: Lanes, const N: usize>(table: &[L::Scalar], place: L) -> [L; N] {
    let (mut numbers, index) = ([L::lit(0.0); N], place.to_index());
    for k in (0..N).step_by(4) {
        numbers[k..k + 4].copy_from_slice(&L::quadruples(table, index, k));
    }
    numbers
}
