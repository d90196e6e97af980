//! Potentials of pair forces: one of the registry, a formula or a table.

use crate::formula::Formula;
use crate::pair::{At, PairFunction, PairKind, PairVisitor};
use crate::table::{self, Tables};
use crate::truncation::{Precomputed, Truncation};
use jostle_core::Real;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A pair potential, without the parameters of the pairs of species.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Potential {
    /// A potential of the registry.
    BuiltIn(PairKind),
    /// A formula in the input.
    Formula(#[serde(with = "crate::serial::shared")] Arc<Formula>),
    /// Numbers, from files or from another potential; what happens at the cut-off is in them. The parameter of a pair is the
    /// place of its curve.
    Table(#[serde(with = "crate::serial::shared")] Arc<Tables>),
}

impl From<PairKind> for Potential {
    fn from(kind: PairKind) -> Self {
        Potential::BuiltIn(kind)
    }
}

impl From<Formula> for Potential {
    fn from(formula: Formula) -> Self {
        Potential::Formula(Arc::new(formula))
    }
}

impl From<Tables> for Potential {
    fn from(tables: Tables) -> Self {
        Potential::Table(Arc::new(tables))
    }
}

impl Potential {
    /// The name in the input file.
    pub fn name(&self) -> &'static str {
        match self {
            Potential::BuiltIn(kind) => kind.name(),
            Potential::Formula(_) => "formula",
            Potential::Table(tables) => tables.name(),
        }
    }

    /// Names of the parameters of a pair, in their order.
    pub fn parameters(&self) -> Vec<&str> {
        match self {
            Potential::BuiltIn(kind) => kind.parameters().iter().map(|p| p.name).collect(),
            Potential::Formula(formula) => formula.parameters().iter().map(String::as_str).collect(),
            Potential::Table(_) => vec!["curve"],
        }
    }

    /// The integrals beyond the cut-off, see [`PairKind::tail`]. Not known for formulas, unless they
    /// end by themselves, and for tables.
    pub fn tail(&self, parameters: &[f64], cutoff: f64) -> Option<[f64; 2]> {
        match self {
            Potential::BuiltIn(kind) => kind.tail(parameters, cutoff),
            Potential::Formula(formula) => formula.end(parameters).map(|_| [0.0; 2]),
            Potential::Table(_) => None,
        }
    }

    /// Coefficients of the potential under a truncation, for [`Potential::evaluate`].
    pub fn coefficients(&self, truncation: Truncation, parameters: &[f64], cutoff: f64) -> Vec<f64> {
        match self {
            Potential::BuiltIn(kind) => kind.coefficients(truncation, parameters, cutoff),
            Potential::Formula(formula) => {
                let mut c = formula.coefficients(parameters);
                let end = formula.evaluate(cutoff * cutoff, &c);
                c.extend(truncation.coefficients(end, cutoff));
                c
            }
            Potential::Table(tables) => {
                let curve = parameters.first().and_then(|curve| tables.coefficients(*curve as usize));
                curve.unwrap_or([f64::NAN; table::N_COEFFICIENTS]).to_vec()
            }
        }
    }

    /// Number of coefficients.
    pub fn n_coefficients(&self, truncation: Truncation) -> usize {
        match self {
            Potential::BuiltIn(kind) => kind.visit(truncation, CoefficientCount),
            Potential::Formula(formula) => {
                formula.n_coefficients() + truncation.visit::<Precomputed, _>(CoefficientCount)
                    - Precomputed::N_COEFFICIENTS
            }
            Potential::Table(_) => table::N_COEFFICIENTS,
        }
    }

    /// Energy and force over distance at a squared distance. For a table, `look_up` says how far this
    /// is beyond the beginning of a row, and the row; see [`Tables::look_up`].
    pub fn evaluate<R: Real>(
        &self,
        truncation: Truncation,
        r2: R,
        c: &[R],
        look_up: impl FnOnce(&Tables, R, &[R]) -> (R, [R; table::ROW]),
    ) -> (R, R) {
        match self {
            Potential::BuiltIn(kind) => kind.evaluate(truncation, r2, c),
            Potential::Formula(formula) => {
                let (own, rest) = c.split_at(formula.n_coefficients());
                let (energy, force_over_r) = formula.evaluate(r2, own);
                let given = [&[energy, force_over_r], rest].concat();
                truncation.visit::<Precomputed, _>(At { r2, coefficients: &given })
            }
            Potential::Table(tables) => {
                let (beyond, row) = look_up(tables, r2, c);
                table::energy_and_force(beyond, c[0], row)
            }
        }
    }
}

/// Number of coefficients of a potential.
struct CoefficientCount;

impl PairVisitor for CoefficientCount {
    type Output = usize;

    fn visit<F: PairFunction>(self) -> usize {
        F::N_COEFFICIENTS
    }
}
