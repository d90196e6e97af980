//! Coefficients of pair forces: a table of all pairs of species, what its columns have in common, and where a
//! product of numbers of the species replaces it.

use jostle_potentials::{Dispersion, LatticeSum, PairKind, PairTerm, Potential};
use std::ops::Range;

/// Coefficients for which a term is 0 at any distance, and the cut-off of all pairs that interact: with
/// these, no pair needs a cut-off of its own.
struct Silent {
    coefficients: Vec<f64>,
    cutoff: f64,
}

/// Coefficients of this kind; they exist where pairs that interact have one cut-off and differ in the rest,
/// and where a parameter of the potential is a factor of it, which may be 0.
fn silent(term: &PairTerm) -> Option<Silent> {
    let Potential::BuiltIn(kind) = term.potential else { return None };
    let factor = kind.parameters().iter().position(|p| p.name == "epsilon")?;
    let n = term.n_species();
    let pairs = || (0..n).flat_map(move |a| (a..n).map(move |b| (a, b)));
    let entries: Vec<_> = pairs().filter_map(|(a, b)| term.get(a, b)).collect();
    let first = entries.first()?;
    if entries.iter().any(|e| e.cutoff != first.cutoff) || entries.iter().all(|e| e == first) {
        return None;
    }
    let mut parameters = first.parameters.clone();
    parameters[factor] = 0.0;
    let coefficients = term.potential.coefficients(term.truncation, &parameters, first.cutoff);
    let nothing = |r: f64| term.evaluate(r * r, &coefficients) == (0.0, 0.0);
    let everywhere = (1..=64).all(|k| nothing(first.cutoff * f64::from(k) / 64.0));
    everywhere.then_some(Silent { coefficients, cutoff: first.cutoff })
}

/// Squared cut-offs and coefficients of all terms, one row for each ordered pair of species.
pub struct CoefficientTable {
    pub n_species: usize,
    pub rows: Vec<Vec<f64>>,
    /// Columns of soft cores: windows of a path differ in them, and with one source a GPU makes the windows together.
    of_soft_cores: Vec<Range<usize>>,
}

/// Returns true for a force that a coupling parameter scales.
fn has_soft_core(term: &PairTerm) -> bool {
    matches!(term.potential, Potential::BuiltIn(PairKind::SoftCore | PairKind::SoftCoreGapsys))
}

impl CoefficientTable {
    pub fn new(terms: &[PairTerm], sums: &[LatticeSum]) -> Self {
        let n_species = terms.first().map_or(1, PairTerm::n_species);
        let pairs = || (0..n_species).flat_map(|a| (0..n_species).map(move |b| (a, b)));
        let silent: Vec<_> = terms.iter().map(silent).collect();
        let cutoff2 = |(term, silent): (&PairTerm, &Option<Silent>), (a, b)| match (term.get(a, b), silent) {
            (Some(entry), _) => entry.cutoff * entry.cutoff,
            (None, Some(silent)) => silent.cutoff * silent.cutoff,
            (None, None) => 0.0,
        };
        let mut rows: Vec<Vec<f64>> =
            pairs().map(|pair| terms.iter().zip(&silent).map(|term| cutoff2(term, pair)).collect()).collect();
        let mut of_soft_cores = Vec::new();
        for (term, silent) in terms.iter().zip(silent) {
            if has_soft_core(term) {
                let first = rows[0].len();
                of_soft_cores.push(first..first + term.n_coefficients());
            }
            if let Some(Silent { coefficients, .. }) = silent {
                for (row, (a, b)) in rows.iter_mut().zip(pairs()) {
                    row.extend(term.coefficients(a, b).unwrap_or_else(|| coefficients.clone()));
                }
                continue;
            }
            // Pairs of species that do not interact borrow the coefficients of others that do: their cut-off
            // keeps them silent, and coefficients that others have in common stay literals.
            let borrowed = pairs().find_map(|(a, b)| term.coefficients(a, b));
            let none = || vec![0.0; term.n_coefficients()];
            for (row, (a, b)) in rows.iter_mut().zip(pairs()) {
                let coefficients = term.coefficients(a, b).or_else(|| borrowed.clone());
                row.extend(coefficients.unwrap_or_else(none));
            }
        }
        for sum in sums {
            if let LatticeSum::Dispersion(Dispersion { coefficients, .. }) = sum {
                let products = pairs().map(|(a, b)| coefficients[a] * coefficients[b]);
                rows.iter_mut().zip(products).for_each(|(row, product)| row.push(product));
            }
        }
        CoefficientTable { n_species, rows, of_soft_cores }
    }

    /// Columns that differ between pairs as products of numbers of the two species, if all do.
    pub fn products(&self) -> Option<Products> {
        let n = self.n_species;
        let varied = self.varied();
        let first = *varied.first()?;
        let entry = |k: usize, a: usize, b: usize| self.rows[a * n + b][k];
        let main = (0..n).find(|&a| entry(first, a, a) != 0.0)?;
        let unit = entry(first, main, main).abs().sqrt();
        let by_species: Vec<f64> = (0..n).map(|a| entry(first, a, main) / unit).collect();
        let mut by_column = vec![0.0; self.rows[0].len()];
        for k in varied {
            by_column[k] = entry(k, main, main) / unit / unit;
            for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                let product = by_column[k] * by_species[a] * by_species[b];
                if (product - entry(k, a, b)).abs() > ROUNDING * product.abs() {
                    return None;
                }
            }
        }
        Some(Products { by_species, by_column })
    }

    /// Columns that are not the same for all pairs of species and all windows of a path.
    pub fn varied(&self) -> Vec<usize> {
        (0..self.rows[0].len()).filter(|&k| self.uniform(k).is_none()).collect()
    }

    /// Some columns of all rows, with rows filled up to a length.
    pub fn rows_of(&self, columns: &[usize], length: usize) -> Vec<f64> {
        let mut numbers = Vec::new();
        for (k, row) in self.rows.iter().enumerate() {
            numbers.extend(columns.iter().map(|column| row[*column]));
            numbers.resize((k + 1) * length, 0.0);
        }
        numbers
    }

    /// Value of a column, if it is the same for all pairs of species and all windows of a path.
    pub fn uniform(&self, column: usize) -> Option<f64> {
        if self.of_soft_cores.iter().any(|columns| columns.contains(&column)) {
            return None;
        }
        let value = self.rows[0][column];
        self.rows.iter().all(|row| row[column] == value).then_some(value)
    }
}

/// Relative error up to which products are recognised, as a few operations have rounded them.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Numbers whose product is the entry of a pair in a column: that of the column and those of both species.
pub struct Products {
    pub by_species: Vec<f64>,
    pub by_column: Vec<f64>,
}
