//! Built-in pair forces over cluster lists, and the kernel of any pair term.

use crate::blocks::{BlockView, ListKernel, ListPass, Sums};
use crate::coefficients::{CoefficientTable, Coefficients};
use crate::formula;
use crate::interaction::{PairInteraction, PairKernel, PerRow};
use crate::simd::{Lanes, Level, Scalar};
use crate::sparse::SparsePairs;
use crate::table;
use jostle_core::Evaluate;
use jostle_potentials::truncation::{MOST_OF_TRUNCATION, Truncation};
use jostle_potentials::{PairFunction, PairTerm, PairVisitor, Potential};
use std::marker::PhantomData;

/// Compiles a term for the CPU: looks its type up and lays its coefficients out. `counts`: the number of atoms of each
/// species.
pub fn prepare<S: Scalar>(term: &PairTerm, counts: &[usize], level: Level) -> Box<dyn PairKernel<S>> {
    struct Prepare<'a, S>(&'a PairTerm, &'a [usize], PhantomData<S>);
    impl<S: Scalar> PairVisitor for Prepare<'_, S> {
        type Output = Box<dyn PairKernel<S>>;
        fn visit<F: PairFunction>(self) -> Self::Output {
            let table = CoefficientTable::new(self.0, F::N_COEFFICIENTS + MOST_OF_TRUNCATION);
            let sparse = SparsePairs::of(self.0, self.1);
            Box::new(Prepared::<S, F> { table, truncation: self.0.truncation, sparse, function: PhantomData })
        }
    }
    match &term.potential {
        Potential::BuiltIn(kind) => kind.visit_whole(Prepare(term, counts, PhantomData)),
        Potential::Formula(formula) => formula::prepare(formula, term, level),
        Potential::Table(tables) => table::prepare(tables, term),
    }
}

/// A built-in pair term made ready.
struct Prepared<S, F> {
    table: CoefficientTable<S>,
    truncation: Truncation,
    /// The term pair by pair, where few atoms have a part in it.
    sparse: Option<SparsePairs>,
    function: PhantomData<F>,
}

impl<S: Scalar, F: PairFunction> PairKernel<S> for Prepared<S, F> {
    fn add_forces(&self, pass: ListPass<S>) -> Sums {
        match &self.sparse {
            Some(sparse) => sparse.add_forces(pass),
            None => pass.run(self),
        }
    }
}

impl<S: Scalar, F: PairFunction> ListKernel<S> for &Prepared<S, F> {
    type Output = Sums;

    #[inline(always)]
    fn run<L: Lanes<Scalar = S>>(self, pass: ListPass<S>) -> Sums {
        // Every variant is compiled for every potential and instruction set: special ones only for what
        // most runs do most of the time. The truncation is chosen in the loop.
        if L::IS_FALLBACK || pass.evaluate == Evaluate::ForcesAndEnergies {
            return pass.over_blocks(PerRow(TermInteraction::<L, F, true, false, true>::new(self)));
        }
        if is_single::<S>() && self.table.n_species == 1 {
            return match changes_forces(self.truncation) {
                false => pass.over_blocks(PerRow(TermInteraction::<L, F, false, true, false>::new(self))),
                true => pass.over_blocks(PerRow(TermInteraction::<L, F, false, true, true>::new(self))),
            };
        }
        pass.over_blocks(PerRow(TermInteraction::<L, F, false, false, true>::new(self)))
    }
}

/// Returns true if forces within the cut-off differ from those without one.
fn changes_forces(truncation: Truncation) -> bool {
    !matches!(truncation, Truncation::Plain | Truncation::Shifted)
}

/// Returns true if numbers are f32.
const fn is_single<S>() -> bool {
    size_of::<S>() == 4
}

/// A pair force over lists.
struct TermInteraction<'a, L: Lanes, F, const ENERGIES: bool, const UNIFORM: bool, const TRUNCATED: bool> {
    table: &'a CoefficientTable<L::Scalar>,
    truncation: Truncation,
    /// True if the truncation's own coefficients are needed.
    is_read: bool,
    uniform: Coefficients<L>,
    function: PhantomData<F>,
}

impl<'a, L: Lanes, F: PairFunction, const ENERGIES: bool, const UNIFORM: bool, const TRUNCATED: bool>
    TermInteraction<'a, L, F, ENERGIES, UNIFORM, TRUNCATED>
{
    #[inline(always)]
    fn new(prepared: &'a Prepared<L::Scalar, F>) -> Self {
        let Prepared { table, truncation, function, .. } = prepared;
        TermInteraction {
            table,
            truncation: *truncation,
            is_read: ENERGIES || changes_forces(*truncation),
            uniform: table.of_first_species(F::N_COEFFICIENTS + MOST_OF_TRUNCATION),
            function: *function,
        }
    }
}

impl<L: Lanes, F: PairFunction, const ENERGIES: bool, const UNIFORM: bool, const TRUNCATED: bool>
    PairInteraction<L> for TermInteraction<'_, L, F, ENERGIES, UNIFORM, TRUNCATED>
{
    const ENERGIES: bool = ENERGIES;
    type Kinds = Coefficients<L>;

    #[inline(always)]
    fn kinds(&self, at: &BlockView<L::Scalar>, row: usize, other: usize) -> Coefficients<L> {
        match UNIFORM {
            true => self.uniform,
            false => {
                let species = at.clusters.species[at.cluster * L::WIDTH + row] as usize;
                let n = F::N_COEFFICIENTS;
                let row = self.table.of_species(species, n + MOST_OF_TRUNCATION);
                match self.is_read {
                    true => row.look_up(at.clusters, other, n + MOST_OF_TRUNCATION),
                    false => row.look_up(at.clusters, other, n),
                }
            }
        }
    }

    #[inline(always)]
    fn cutoff2(c: &Coefficients<L>) -> L {
        c.cutoff2
    }

    #[inline(always)]
    fn evaluate(&self, r2: L, c: &Coefficients<L>) -> (L, L) {
        let both = F::evaluate(r2, &c.values);
        match TRUNCATED {
            false => both,
            true => {
                let own = [c.values[F::N_COEFFICIENTS], c.values[F::N_COEFFICIENTS + 1]];
                self.truncation.apply(r2, both, own)
            }
        }
    }
}
