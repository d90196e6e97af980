//! Coefficients of pair forces, by pair of species.

use crate::cells::Clusters;
use crate::simd::{Lanes, Scalar};
use jostle_potentials::PairTerm;
use jostle_potentials::pair::MAX_COEFFICIENTS;

/// Square cut-off and coefficients of all pairs of species.
pub(crate) struct CoefficientTable<S> {
    /// Number of species.
    pub n_species: usize,
    /// Length of a row, at least that of the widest register.
    stride: usize,
    /// Values by species of the first atom, coefficient (the square cut-off first), and species of the second
    /// atom.
    values: Vec<S>,
    n_values: usize,
}

impl<S: Scalar> CoefficientTable<S> {
    /// Table of a term; coefficients that it does not have are zero.
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

    /// Square cut-off and the first `n` coefficients of two atoms of the first species, in all lanes.
    #[inline(always)]
    pub fn of_first_species<L: Lanes<Scalar = S>>(&self, n: usize) -> Coefficients<L> {
        let mut values = [L::lit(0.0); MAX_COEFFICIENTS];
        for k in 0..n {
            values[k] = L::splat(self.row(0, k + 1)[0]);
        }
        Coefficients { cutoff2: L::splat(self.row(0, 0)[0]), values }
    }

    /// Table of a first species with all others, as far as the first `n` coefficients.
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
    /// Values by coefficient and species of the second atom.
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

/// The square cut-off and the coefficients of the atoms of a register.
#[derive(Clone, Copy)]
pub(crate) struct Coefficients<L> {
    /// The square cut-off.
    pub cutoff2: L,
    /// The coefficients.
    pub values: [L; MAX_COEFFICIENTS],
}
