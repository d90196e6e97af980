//! Pair forces of tables: the rows of cubics are looked up lane by lane.

use crate::blocks::{BlockView, ListKernel, ListPass, Sums};
use crate::coefficients::CoefficientTable;
use crate::interaction::{PairInteraction, PairKernel, PerRow};
use crate::simd::{Lanes, Scalar};
use jostle_core::Evaluate;
use jostle_potentials::PairTerm;
use jostle_potentials::table::{N_COEFFICIENTS, ROW, Tables, energy_and_force};

/// Makes the tables of a term ready for the CPU.
pub fn prepare<S: Scalar>(tables: &Tables, term: &PairTerm) -> Box<dyn PairKernel<S>> {
    let rows = tables.rows().flatten().map(|x| S::from_f64(*x)).collect();
    Box::new(Prepared { pairs: CoefficientTable::new(term, N_COEFFICIENTS), rows })
}

/// The tables of a term made ready.
struct Prepared<S> {
    pairs: CoefficientTable<S>,
    rows: Vec<S>,
}

impl<S: Scalar> PairKernel<S> for Prepared<S> {
    fn add_forces(&self, pass: ListPass<S>) -> Sums {
        pass.run(self)
    }
}

impl<S: Scalar> ListKernel<S> for &Prepared<S> {
    type Output = Sums;

    #[inline(always)]
    fn run<L: Lanes<Scalar = S>>(self, pass: ListPass<S>) -> Sums {
        match pass.evaluate {
            Evaluate::Forces if !L::IS_FALLBACK => pass.over_blocks(PerRow(LookUps::<L, false>::new(self))),
            _ => pass.over_blocks(PerRow(LookUps::<L, true>::new(self))),
        }
    }
}

/// The interaction of a table: rows are looked up pair by pair.
struct LookUps<'a, L: Lanes, const ENERGIES: bool> {
    prepared: &'a Prepared<L::Scalar>,
    /// Square cut-off and coefficients of two atoms of the first species.
    first: [L; 1 + N_COEFFICIENTS],
}

impl<'a, L: Lanes, const ENERGIES: bool> LookUps<'a, L, ENERGIES> {
    #[inline(always)]
    fn new(prepared: &'a Prepared<L::Scalar>) -> Self {
        let mut first = [L::lit(0.0); 1 + N_COEFFICIENTS];
        for (k, value) in first.iter_mut().enumerate() {
            *value = L::splat(prepared.pairs.row(0, k)[0]);
        }
        LookUps { prepared, first }
    }
}

impl<L: Lanes, const ENERGIES: bool> PairInteraction<L> for LookUps<'_, L, ENERGIES> {
    const ENERGIES: bool = ENERGIES;
    type Kinds = [L; 1 + N_COEFFICIENTS];

    #[inline(always)]
    fn kinds(&self, at: &BlockView<L::Scalar>, row: usize, other: usize) -> Self::Kinds {
        let (pairs, all) = (&self.prepared.pairs, &at.clusters.species);
        let mut c = self.first;
        if pairs.n_species > 1 {
            let species = all[at.cluster * L::WIDTH + row] as usize;
            let kinds = L::load_index(&all[other * L::WIDTH..(other + 1) * L::WIDTH]);
            for (k, value) in c.iter_mut().enumerate() {
                *value = L::lookup(pairs.row(species, k), pairs.n_species, kinds);
            }
        }
        c
    }

    #[inline(always)]
    fn cutoff2([cutoff2, ..]: &Self::Kinds) -> L {
        *cutoff2
    }

    #[inline(always)]
    fn evaluate(&self, r2: L, c: &Self::Kinds) -> (L, L) {
        let [_, per_square, start, first, last] = *c;
        let x = r2.mul_add(per_square, -start);
        let x = L::select(x.lt(last), x, last);
        let number = (x - L::lit(0.5)).round().max(L::lit(0.0));
        let index = ((number + first) * L::lit(ROW as f64)).to_index();
        let cubic = L::quadruples(&self.prepared.rows, index, 0);
        energy_and_force(x - number, per_square, cubic)
    }
}
