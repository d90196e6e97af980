//! Pair forces of tables: the rows of cubics are looked up lane by lane.

use crate::blocks::{PairInteraction, PerRow, RowSums, Sums, TaskForces, all_blocks};
use crate::cells::Clusters;
use crate::neighbors::PairList;
use crate::pair::{self, PairKernel, act, distance, square};
use crate::simd::{Kernel, Lanes, Level, Scalar, Simd};
use jostle_core::Evaluate;
use jostle_potentials::PairTerm;
use jostle_potentials::table::{N_COEFFICIENTS, ROW, Tables, energy_and_force};

/// Makes the tables of a term ready for the CPU.
pub fn prepare<S: Scalar>(tables: &Tables, term: &PairTerm) -> Box<dyn PairKernel<S>> {
    let rows = tables.rows().flatten().map(|x| S::from_f64(*x)).collect();
    Box::new(Prepared { pairs: pair::CoefficientTable::new(term, N_COEFFICIENTS), rows })
}

struct Prepared<S> {
    pairs: pair::CoefficientTable<S>,
    rows: Vec<S>,
}

impl<S: Scalar> PairKernel<S> for Prepared<S> {
    fn add_forces(
        &self,
        level: Level,
        clusters: &Clusters<S>,
        list: &PairList<S>,
        forces: &mut TaskForces<S>,
        evaluate: Evaluate,
    ) -> Sums {
        level.run(TableForces { prepared: self, clusters, list, forces, evaluate })
    }
}

struct TableForces<'a, S> {
    prepared: &'a Prepared<S>,
    clusters: &'a Clusters<S>,
    list: &'a PairList<S>,
    forces: &'a mut TaskForces<S>,
    evaluate: Evaluate,
}

impl<S: Scalar> Kernel for TableForces<'_, S> {
    type Output = Sums;

    #[inline(always)]
    fn run<I: Simd>(self) -> Sums {
        match self.evaluate {
            Evaluate::Forces => self.all::<S::Lanes<I>, false>(),
            Evaluate::ForcesAndEnergies => self.all::<S::Lanes<I>, true>(),
        }
    }
}

impl<S: Scalar> TableForces<'_, S> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, const ENERGIES: bool>(self) -> Sums {
        let TableForces { prepared, clusters, list, forces, .. } = self;
        let mut first = [L::lit(0.0); 1 + N_COEFFICIENTS];
        for (k, value) in first.iter_mut().enumerate() {
            *value = L::splat(prepared.pairs.row(0, k)[0]);
        }
        let look_ups = LookUps::<L, ENERGIES> { prepared, first };
        all_blocks(PerRow(look_ups), clusters, list, forces)
    }
}

/// The interaction of a table: rows are looked up pair by pair.
struct LookUps<'a, L: Lanes, const ENERGIES: bool> {
    prepared: &'a Prepared<L::Scalar>,
    /// Squared cut-off and coefficients of two atoms of the first species.
    first: [L; 1 + N_COEFFICIENTS],
}

impl<L: Lanes, const ENERGIES: bool> PairInteraction<L> for LookUps<'_, L, ENERGIES> {
    const PLACE: usize = 6;
    const N_ACCUMULATED: usize = 3;
    const ENERGIES: bool = ENERGIES;
    type Atom = ();
    type Kinds = [L; 1 + N_COEFFICIENTS];

    #[inline(always)]
    fn atom(&self, _place: &[L::Scalar], _row: usize) {}

    #[inline(always)]
    fn kinds(&self, clusters: &Clusters<L::Scalar>, cluster: usize, row: usize, other: usize) -> Self::Kinds {
        let pairs = &self.prepared.pairs;
        let mut c = self.first;
        if pairs.n_species > 1 {
            let species = clusters.species[cluster * L::WIDTH + row] as usize;
            let kinds = L::load_index(&clusters.species[other * L::WIDTH..(other + 1) * L::WIDTH]);
            for (k, value) in c.iter_mut().enumerate() {
                *value = L::lookup(pairs.row(species, k), pairs.n_species, kinds);
            }
        }
        c
    }

    #[inline(always)]
    fn interact<const ONLY_SOME: bool>(
        &self,
        _atom: &(),
        center: [L; 3],
        c: &Self::Kinds,
        place: &mut [L::Scalar],
        some: L::Mask,
        gathered: &mut RowSums<L>,
    ) {
        let [cutoff2, per_square, start, first, last] = *c;
        let d = distance(place, center);
        let r2 = square(d);
        let mut near = r2.lt(cutoff2);
        if ONLY_SOME {
            near = L::and(near, some);
        }
        let x = r2.mul_add(per_square, -start);
        let x = L::select(x.lt(last), x, last);
        let number = (x - L::lit(0.5)).round().max(L::lit(0.0));
        let index = ((number + first) * L::lit(ROW as f64)).to_index();
        let cubic = L::quadruples(&self.prepared.rows, index, 0);
        let result = energy_and_force(x - number, per_square, cubic);
        act::<L, ENERGIES>(place, d, near, result, gathered);
    }

    #[inline(always)]
    fn with_reaction(accumulated: L, in_tile: L) -> L {
        accumulated - in_tile
    }
}
