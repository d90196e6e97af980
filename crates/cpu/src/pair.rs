//! Pair forces over cluster lists ([`crate::blocks`]).

use crate::blocks::{PairInteraction, PerRow, RowSums, Sums, TaskForces, all_blocks};
use crate::cells::Clusters;
use crate::formula;
use crate::neighbors::PairList;
use crate::simd::{Kernel, Lanes, Level, Scalar, Simd};
use crate::table;
use jostle_core::{Evaluate, Real};
use jostle_potentials::pair::MAX_COEFFICIENTS;
use jostle_potentials::truncation::{MOST_OF_TRUNCATION, Truncation};
use jostle_potentials::{PairFunction, PairTerm, PairVisitor, Potential};
use std::marker::PhantomData;

/// A pair term made ready for the CPU.
pub trait PairKernel<S: Scalar>: Send + Sync {
    /// Whether it is a formula that is interpreted, which is slower than one that is compiled.
    fn is_interpreted(&self) -> bool {
        false
    }
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
pub fn prepare<S: Scalar>(term: &PairTerm, level: Level) -> Box<dyn PairKernel<S>> {
    struct Prepare<'a, S>(&'a PairTerm, PhantomData<S>);
    impl<S: Scalar> PairVisitor for Prepare<'_, S> {
        type Output = Box<dyn PairKernel<S>>;
        fn visit<F: PairFunction>(self) -> Self::Output {
            let table = CoefficientTable::new(self.0, F::N_COEFFICIENTS + MOST_OF_TRUNCATION);
            Box::new(Prepared::<S, F> { table, truncation: self.0.truncation, function: PhantomData })
        }
    }
    match &term.potential {
        Potential::BuiltIn(kind) => kind.visit_whole(Prepare(term, PhantomData)),
        Potential::Formula(formula) => formula::prepare(formula, term, level),
        Potential::Table(tables) => table::prepare(tables, term),
    }
}

/// Square cut-off and coefficients of all pairs of species.
pub(crate) struct CoefficientTable<S> {
    /// How many species there are.
    pub n_species: usize,
    /// Entries of a row, at least the widest register.
    stride: usize,
    /// By species of the first atom, by coefficient (the square cut-off first), by species of the
    /// second atom.
    values: Vec<S>,
    n_values: usize,
}

impl<S: Scalar> CoefficientTable<S> {
    /// The table of a term; coefficients that it does not have are zero.
    pub fn new(term: &PairTerm, n_coefficients: usize) -> Self {
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
        CoefficientTable { n_species, stride, values, n_values }
    }

    /// What a first species does to all others, as far as the first `n` coefficients.
    #[inline(always)]
    pub fn of_species(&self, species: usize, n: usize) -> TableRow<'_, S> {
        let mut values = [&self.values[..0]; MAX_COEFFICIENTS + 1];
        for k in 0..n + 1 {
            values[k] = self.row(species, k);
        }
        TableRow { n_species: self.n_species, values }
    }

    /// Row of a coefficient (0: the square cut-off) for a first species.
    #[inline(always)]
    pub fn row(&self, species: usize, k: usize) -> &[S] {
        let start = (species * self.n_values + k) * self.stride;
        &self.values[start..start + self.stride]
    }
}

/// The part of a [`CoefficientTable`] for one first species.
#[derive(Clone, Copy)]
pub(crate) struct TableRow<'a, S> {
    n_species: usize,
    /// By coefficient, by species of the second atom.
    values: [&'a [S]; MAX_COEFFICIENTS + 1],
}

impl<S: Scalar> TableRow<'_, S> {
    /// Square cut-off and the first `n` coefficients with the atoms of a cluster.
    #[inline(always)]
    pub fn look_up<L: Lanes<Scalar = S>>(
        &self,
        clusters: &Clusters<S>,
        other: usize,
        n: usize,
    ) -> Coefficients<L> {
        let kinds = kinds::<L>(clusters, other);
        Coefficients { cutoff2: self.cutoff2(kinds), values: self.coefficients(kinds, n) }
    }

    /// Square cut-offs with atoms of some kinds.
    #[inline(always)]
    pub fn cutoff2<L: Lanes<Scalar = S>>(&self, kinds: L::Index) -> L {
        L::lookup(self.values[0], self.n_species, kinds)
    }

    /// The first `n` coefficients with atoms of some kinds.
    #[inline(always)]
    pub fn coefficients<L: Lanes<Scalar = S>>(&self, kinds: L::Index, n: usize) -> [L; MAX_COEFFICIENTS] {
        let mut values = [L::lit(0.0); MAX_COEFFICIENTS];
        for k in 0..n {
            values[k] = L::lookup(self.values[k + 1], self.n_species, kinds);
        }
        values
    }
}

/// The species of the atoms of a cluster.
#[inline(always)]
pub(crate) fn kinds<L: Lanes>(clusters: &Clusters<L::Scalar>, cluster: usize) -> L::Index {
    L::load_index(&clusters.species[cluster * L::WIDTH..(cluster + 1) * L::WIDTH])
}

struct Prepared<S, F> {
    table: CoefficientTable<S>,
    truncation: Truncation,
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
        let (table, truncation) = (&self.table, self.truncation);
        level.run(PairForces { table, truncation, clusters, list, forces, evaluate, function })
    }
}

struct PairForces<'a, S, F> {
    table: &'a CoefficientTable<S>,
    truncation: Truncation,
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
        // Every way more is compiled for every potential and instruction set: one of its own only for
        // what most runs do most of the time. Which truncation it is, is asked in the loop.
        let uniform = is_single::<S>() && self.table.n_species == 1;
        match self.evaluate {
            Evaluate::Forces if uniform && !changes_forces(self.truncation) => {
                self.all::<S::Lanes<I>, false, true, false>()
            }
            Evaluate::Forces if uniform => self.all::<S::Lanes<I>, false, true, true>(),
            Evaluate::Forces => self.all::<S::Lanes<I>, false, false, true>(),
            Evaluate::ForcesAndEnergies => self.all::<S::Lanes<I>, true, false, true>(),
        }
    }
}

/// Whether forces within the cut-off are others than without one.
fn changes_forces(truncation: Truncation) -> bool {
    !matches!(truncation, Truncation::Plain | Truncation::Shifted)
}

/// Whether numbers are f32.
const fn is_single<S>() -> bool {
    size_of::<S>() == 4
}

impl<S: Scalar, F: PairFunction> PairForces<'_, S, F> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, const ENERGIES: bool, const UNIFORM: bool, const TRUNCATED: bool>(
        self,
    ) -> Sums {
        let PairForces { table, truncation, clusters, list, forces, .. } = self;
        let is_read = ENERGIES || changes_forces(truncation);
        let uniform = coefficients_of_one_species::<L, F>(table);
        let function = PhantomData;
        let interaction = TermInteraction::<L, F, ENERGIES, UNIFORM, TRUNCATED> {
            table,
            truncation,
            is_read,
            uniform,
            function,
        };
        all_blocks(PerRow(interaction), clusters, list, forces)
    }
}

/// The square cut-off and the coefficients of the atoms of a register.
#[derive(Clone, Copy)]
pub(crate) struct Coefficients<L> {
    /// The square cut-off.
    pub cutoff2: L,
    /// The coefficients.
    pub values: [L; MAX_COEFFICIENTS],
}

#[inline(always)]
fn coefficients_of_one_species<L: Lanes, F: PairFunction>(
    table: &CoefficientTable<L::Scalar>,
) -> Coefficients<L> {
    let mut values = [L::lit(0.0); MAX_COEFFICIENTS];
    for k in 0..F::N_COEFFICIENTS + MOST_OF_TRUNCATION {
        values[k] = L::splat(table.row(0, k + 1)[0]);
    }
    Coefficients { cutoff2: L::splat(table.row(0, 0)[0]), values }
}

/// A pair force over lists.
struct TermInteraction<'a, L: Lanes, F, const ENERGIES: bool, const UNIFORM: bool, const TRUNCATED: bool> {
    table: &'a CoefficientTable<L::Scalar>,
    truncation: Truncation,
    /// Whether the truncation's own coefficients are needed.
    is_read: bool,
    uniform: Coefficients<L>,
    function: PhantomData<F>,
}

impl<L: Lanes, F: PairFunction, const ENERGIES: bool, const UNIFORM: bool, const TRUNCATED: bool>
    PairInteraction<L> for TermInteraction<'_, L, F, ENERGIES, UNIFORM, TRUNCATED>
{
    const PLACE: usize = 6;
    const N_ACCUMULATED: usize = 3;
    const ENERGIES: bool = ENERGIES;
    type Atom = ();
    type Kinds = Coefficients<L>;

    #[inline(always)]
    fn atom(&self, _place: &[L::Scalar], _row: usize) {}

    #[inline(always)]
    fn kinds(
        &self,
        clusters: &Clusters<L::Scalar>,
        cluster: usize,
        row: usize,
        other: usize,
    ) -> Coefficients<L> {
        match UNIFORM {
            true => self.uniform,
            false => {
                let species = clusters.species[cluster * L::WIDTH + row] as usize;
                let n = F::N_COEFFICIENTS;
                let row = self.table.of_species(species, n + MOST_OF_TRUNCATION);
                match self.is_read {
                    true => row.look_up(clusters, other, n + MOST_OF_TRUNCATION),
                    false => row.look_up(clusters, other, n),
                }
            }
        }
    }

    #[inline(always)]
    fn interact<const ONLY_SOME: bool>(
        &self,
        _atom: &(),
        center: [L; 3],
        c: &Coefficients<L>,
        place: &mut [L::Scalar],
        some: L::Mask,
        gathered: &mut RowSums<L>,
    ) {
        let d = distance(place, center);
        let r2 = square(d);
        let mut near = r2.lt(c.cutoff2);
        if ONLY_SOME {
            near = L::and(near, some);
        }
        let mut both = F::evaluate(r2, &c.values);
        if TRUNCATED {
            let own = [c.values[F::N_COEFFICIENTS], c.values[F::N_COEFFICIENTS + 1]];
            both = self.truncation.apply(r2, both, own);
        }
        act::<L, ENERGIES>(place, d, near, both, gathered);
    }

    #[inline(always)]
    fn with_reaction(accumulated: L, in_tile: L) -> L {
        accumulated - in_tile
    }
}

/// From the atoms at a place of the tile to one.
#[inline(always)]
pub(crate) fn distance<L: Lanes>(place: &[L::Scalar], center: [L; 3]) -> [L; 3] {
    let dx = center[0] - L::load(place);
    let dy = center[1] - L::load(&place[L::WIDTH..]);
    let dz = center[2] - L::load(&place[2 * L::WIDTH..]);
    [dx, dy, dz]
}

/// The square of a distance.
#[inline(always)]
pub(crate) fn square<R: Real>([dx, dy, dz]: [R; 3]) -> R {
    dx.mul_add(dx, dy.mul_add(dy, dz * dz))
}

/// Adds the forces between an atom and those of a place where they are near.
#[inline(always)]
pub(crate) fn act<L: Lanes, const ENERGIES: bool>(
    place: &mut [L::Scalar],
    d: [L; 3],
    near: L::Mask,
    (energy, force_over_r): (L, L),
    gathered: &mut RowSums<L>,
) {
    let force_over_r = L::select(near, force_over_r, L::lit(0.0));
    add_pair_forces(place, d, force_over_r, gathered);
    if ENERGIES {
        gathered.add_sums(L::select(near, energy, L::lit(0.0)), force_over_r, d);
    }
}

/// Adds forces to those on an atom and on the atoms of a place.
#[inline(always)]
pub(crate) fn add_pair_forces<L: Lanes>(
    place: &mut [L::Scalar],
    d: [L; 3],
    force_over_r: L,
    gathered: &mut RowSums<L>,
) {
    add_force(d, force_over_r, &mut gathered.force);
    let accumulated = &place[3 * L::WIDTH..6 * L::WIDTH];
    let mut reaction =
        [L::load(accumulated), L::load(&accumulated[L::WIDTH..]), L::load(&accumulated[2 * L::WIDTH..])];
    add_force(d, force_over_r, &mut reaction);
    for k in 0..3 {
        reaction[k].store(&mut place[(3 + k) * L::WIDTH..]);
    }
}

/// Adds a force along a distance.
#[inline(always)]
pub(crate) fn add_force<R: Real>(d: [R; 3], force_over_r: R, accumulated: &mut [R; 3]) {
    for k in 0..3 {
        accumulated[k] = d[k].mul_add(force_over_r, accumulated[k]);
    }
}
