//! Resolution of a formula force: from the input file to the coefficients of every pair of species.

use super::Formula;
use crate::resolve::PairChoice;
use crate::term::{PairEntry, PairTerm};
use crate::truncation::Truncation;
use jostle_core::{Error, Result};
use std::collections::HashMap;

/// A number in six digits, no more than it has.
fn digits(number: f64) -> f64 {
    format!("{number:.5e}").parse().unwrap_or(number)
}

/// A formula, and the numbers that its names stand for.
///
/// A name of the formula is, in this order: a parameter of the pair of species; a parameter of the
/// force; a constant of one of the two species, where it ends in `_a` or `_b`. Pairs of which
/// nothing is said interact, too, if nothing is missing.
#[derive(Debug, Clone)]
pub struct FormulaForce<'a> {
    /// The formula.
    pub formula: &'a Formula,
    /// Truncation at the cut-off.
    pub truncation: Truncation,
    /// The species' names and constants, such as `charge`.
    pub species: Vec<(&'a str, HashMap<String, f64>)>,
    /// Index of the species that stands for a wall, which has no constants.
    pub wall: Option<usize>,
    /// Parameters that all pairs share.
    pub parameters: HashMap<String, f64>,
    /// The cut-off of pairs that have none of their own.
    pub cutoff: Option<f64>,
    /// Choices for pairs of species, by their indices: parameters in the order of [`Formula::parameters`].
    pub pairs: Vec<([usize; 2], PairChoice)>,
}

impl FormulaForce<'_> {
    /// The term, with the coefficients of every pair.
    ///
    /// # Errors
    /// If a name stands for nothing, a pair has no cut-off, the two species of a pair cannot be
    /// exchanged, or the energy jumps or is not finite at some distance; the message names the pair.
    pub fn build(&self) -> Result<PairTerm> {
        let n = self.species.len();
        let mut term = PairTerm::new(self.formula.clone(), self.truncation, n);
        for (a, b) in (0..n).flat_map(|a| (a..n).map(move |b| (a, b))) {
            let named = |e: Error| e.context(format!("pair {}-{}", self.species[a].0, self.species[b].0));
            if let Some(entry) = self.entry(a, b).map_err(named)? {
                term.set(a, b, entry);
            }
        }
        // A formula that has been read once is read again with some names as numbers.
        term.with_known_parameters().map_err(|mistake| Error::input(mistake.message).hint(mistake.hint))
    }

    fn entry(&self, a: usize, b: usize) -> Result<Option<PairEntry>> {
        let about = |(pair, _): &&([usize; 2], PairChoice)| *pair == [a, b] || *pair == [b, a];
        let (given, own_cutoff) = match self.pairs.iter().find(about).map(|pair| &pair.1) {
            Some(PairChoice::None) => return Ok(None),
            Some(PairChoice::Given { parameters, cutoff }) => (parameters.as_slice(), *cutoff),
            None => (&[][..], None),
        };
        // The side of the wall is the one that the name of the pair has it on.
        let is_turned = |([first, _], _): &([usize; 2], PairChoice)| *first == b;
        let (a, b) = match self.wall == Some(b) && self.pairs.iter().find(about).is_some_and(is_turned) {
            true => (b, a),
            false => (a, b),
        };
        let parameters = self.values(given, a, b)?;
        let cutoff = match (self.formula.end(&parameters), own_cutoff.or(self.cutoff)) {
            (Some(end), None) => end,
            (None, Some(cutoff)) => cutoff,
            (Some(end), Some(cutoff)) => {
                return Err(Error::input(format!("cutoff = {cutoff}, but the formula ends at r = {end}"))
                    .hint("leave out one of the two"));
            }
            (None, None) => {
                return Err(Error::input("there is no cut-off")
                    .hint("give cutoff = ... to the force, or to this pair alone"));
            }
        };
        if !(cutoff > 0.0 && cutoff.is_finite()) {
            return Err(Error::input(format!("the energy ends at r = {cutoff}"))
                .hint("it should end at a distance greater than zero"));
        }
        let c = self.formula.coefficients(&parameters);
        if let Some(r) = self.formula.not_finite(&c, cutoff) {
            return Err(Error::input(format!("the energy or the force is not finite at r = {r:.6}"))
                .hint("check the parameters, or choose another energy there: if(r < 1, ..., ...)"));
        }
        if let Some((r, [inside, outside])) = self.formula.jump(&c, cutoff) {
            let message = format!(
                "the energy jumps at r = {r:.6}, from {} to {}, and a force is no part of a jump: the energy would not be conserved",
                digits(inside),
                digits(outside)
            );
            return Err(Error::input(message).hint(
                "let both sides have the same energy there, as if(r < 1.5, (r - 1.5)^2, 0) has; or end the force there, by a cutoff",
            ));
        }
        if self.wall.is_some_and(|wall| wall == a || wall == b) {
            return Ok(Some(PairEntry { parameters, cutoff }));
        }
        let exchanged = self.formula.coefficients(&self.values(given, b, a)?);
        let differ = |(x, y): (&f64, &f64)| (x - y).abs() > 1e-12 * (x.abs() + y.abs());
        if c.iter().zip(&exchanged).any(differ) {
            return Err(Error::input("the energy changes when the two species are exchanged")
                .hint("use constants of both alike, as in charge_a charge_b or (radius_a + radius_b)"));
        }
        Ok(Some(PairEntry { parameters, cutoff }))
    }

    /// The numbers that the names stand for.
    fn values(&self, given: &[Option<f64>], a: usize, b: usize) -> Result<Vec<f64>> {
        let names = self.formula.parameters();
        let value = |(k, name): (usize, &String)| {
            let own = given.get(k).copied().flatten();
            let shared = || self.parameters.get(name).copied();
            match own.or_else(shared) {
                Some(x) => Ok(x),
                None => self.constant(name, a, b),
            }
        };
        names.iter().enumerate().map(value).collect()
    }

    fn constant(&self, name: &str, a: usize, b: usize) -> Result<f64> {
        let ends = [("_a", a), ("_b", b)];
        let species = ends.iter().find_map(|(end, k)| Some((name.strip_suffix(end)?, *k)));
        if let Some((property, k)) = species {
            if let Some(x) = self.species[k].1.get(property) {
                return Ok(*x);
            }
            let is_known = self.species.iter().any(|s| s.1.contains_key(property));
            if is_known && self.wall == Some(k) {
                let atom = format!("{property}_{}", if k == a { "b" } else { "a" });
                return Err(Error::input(format!("{name} is that of the wall, which has no {property}")).hint(
                    format!("{atom} is that of the atom; for the wall give a number: parameters = {{ {name} = ... }}"),
                ));
            }
            if is_known {
                let species = self.species[k].0;
                return Err(Error::input(format!("species {species} has no constant {property}"))
                    .hint(format!("add constants = {{ {property} = ... }} to [species.{species}]")));
            }
        }
        let pair = format!("{}-{}", self.species[a].0, self.species[b].0);
        Err(Error::input(format!("{name} is missing")).hint(format!(
            "give it to this pair, pairs.\"{pair}\" = {{ {name} = ... }}, or to all: parameters = {{ {name} = ... }}"
        )))
    }
}
