//! A bonded force with everything resolved: the parameters of every type of bond, angle or dihedral.

use super::{AngleKind, BondKind, BondedKind, DihedralKind};
use crate::resolve;
use crate::serial::Name;
use jostle_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Bonds of one kind, with the parameters of each type.
pub type BondTerm = BondedTerm<BondKind>;

/// Angles of one kind, with the parameters of each type.
pub type AngleTerm = BondedTerm<AngleKind>;

/// Dihedrals of one kind, with the parameters of each type.
pub type DihedralTerm = BondedTerm<DihedralKind>;

/// A bonded force; see [`BondTerm`], [`AngleTerm`] and [`DihedralTerm`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BondedTerm<K> {
    /// The function.
    pub kind: K,
    /// The name of its energy.
    term: Name,
    /// `None` for types that are of another kind.
    types: Vec<Option<Vec<f64>>>,
}

impl<K: BondedKind> BondedTerm<K> {
    /// A term without the parameters of any type.
    pub fn new(kind: K, n_types: usize) -> Self {
        BondedTerm { kind, term: Name(kind.term()), types: vec![None; n_types] }
    }

    /// The term with another name for its energy, where force fields have one: "urey-bradley".
    pub fn named(self, term: &'static str) -> Self {
        BondedTerm { term: Name(term), ..self }
    }

    /// The term with so many types, of which those that it has not had are of another kind.
    pub fn with_types(mut self, n_types: usize) -> Self {
        self.types.resize(n_types, None);
        self
    }

    /// The name of its energy.
    pub fn term(&self) -> &'static str {
        self.term.0
    }

    /// A term with the same parameters for all bonds, which are of one type.
    ///
    /// # Errors
    /// Errors of [`BondedTerm::with`].
    pub fn uniform(kind: K, parameters: &[f64]) -> Result<Self> {
        Self::new(kind, 1).with(0, parameters)
    }

    /// The term with the parameters of a type, in the order of [`BondedKind::parameters`].
    ///
    /// # Errors
    /// If one is outside its range, or there is no such type.
    pub fn with(mut self, number: usize, parameters: &[f64]) -> Result<Self> {
        let what = K::WHAT;
        let known = self.kind.parameters();
        if parameters.len() != known.len() {
            let n = parameters.len();
            return Err(Error::input(format!(
                "{what} {} has {} parameters, not {n}",
                self.kind.name(),
                known.len()
            )));
        }
        for (value, parameter) in parameters.iter().zip(known) {
            resolve::check(*value, parameter)
                .map_err(|e| e.context(format!("{what} {}", self.kind.name())))?;
        }
        let n = self.types.len();
        let place = self
            .types
            .get_mut(number)
            .ok_or_else(|| Error::input(format!("there are {n} types of {what}s")))?;
        *place = Some(parameters.to_vec());
        Ok(self)
    }

    /// The parameters of a type; `None` if it is of another kind.
    pub fn parameters(&self, number: usize) -> Option<&[f64]> {
        self.types.get(number)?.as_deref()
    }

    /// The parameters of a type with this part of its energy, which is proportional to those of its parameters that have
    /// energy in their dimension.
    pub fn weighted(&self, number: usize, weight: f64) -> Option<Vec<f64>> {
        let powers = self.kind.parameters().iter().map(|parameter| i32::from(parameter.dimension.energy));
        let parameters = self.parameters(number)?.iter();
        Some(parameters.zip(powers).map(|(value, power)| value * weight.powi(power)).collect())
    }

    /// Number of types.
    pub fn n_types(&self) -> usize {
        self.types.len()
    }

    /// The coefficients of a type for the function that `visit` of the kind hands out.
    pub fn coefficients(&self, number: usize) -> Option<Vec<f64>> {
        Some(self.kind.coefficients(self.parameters(number)?))
    }

    /// The length at which bonds of a type break; infinite where they do not.
    pub fn longest(&self, number: usize) -> f64 {
        self.parameters(number).and_then(|p| self.kind.longest(p)).unwrap_or(f64::INFINITY)
    }
}
