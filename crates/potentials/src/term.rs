//! A pair force of the input with everything resolved: which potential, how it is truncated, and
//! the parameters of every pair of species.

use crate::formula::{Formula, Mistake};
use crate::potential::Potential;
use crate::table::{Curve, ROW, Tables};
use crate::tail::{Tail, TailIntegrals};
use crate::truncation::Truncation;
use jostle_core::{Error, Real, Result};
use serde::{Deserialize, Serialize};

/// The interaction of one pair of species.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairEntry {
    /// Values in the order of [`Potential::parameters`].
    pub parameters: Vec<f64>,
    /// Distance beyond which there is no interaction.
    pub cutoff: f64,
}

/// A pair force of the input, resolved for every pair of species.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairTerm {
    /// The potential.
    pub potential: Potential,
    /// Truncation at the cut-off.
    pub truncation: Truncation,
    /// Integrals of the tail correction, by entry; `None` without a correction.
    integrals: Option<Vec<Option<TailIntegrals>>>,
    n_species: usize,
    /// Upper triangle by rows; `None` where two species do not interact through this term.
    entries: Vec<Option<PairEntry>>,
}

impl PairTerm {
    /// A term in which no species interact yet.
    pub fn new(potential: impl Into<Potential>, truncation: Truncation, n_species: usize) -> Self {
        let entries = vec![None; n_species * (n_species + 1) / 2];
        let potential = potential.into();
        PairTerm { potential, truncation, integrals: None, n_species, entries }
    }

    /// A term with the same interaction between all atoms of a single species.
    pub fn uniform(
        potential: impl Into<Potential>,
        truncation: Truncation,
        parameters: &[f64],
        cutoff: f64,
    ) -> Self {
        let mut term = Self::new(potential, truncation, 1);
        term.set(0, 0, PairEntry { parameters: parameters.to_vec(), cutoff });
        term
    }

    /// The term with energy and pressure corrected for the potential beyond the cut-off and for the part that
    /// a shift or a switch takes from it, as if the fluid were uniform.
    ///
    /// # Errors
    /// If the truncation changes forces at every distance, or the integral diverges or is not known.
    pub fn with_tail_correction(mut self) -> Result<Self> {
        let integrals =
            |e: &PairEntry| TailIntegrals::of(&self.potential, self.truncation, &e.parameters, e.cutoff);
        let all = self.entries.iter().map(|entry| entry.as_ref().map(integrals).transpose());
        self.integrals = Some(all.collect::<Result<_>>()?);
        Ok(self)
    }

    /// Returns true where energy and pressure are corrected for the tail beyond the cut-off.
    pub fn tail_correction(&self) -> bool {
        self.integrals.is_some()
    }

    fn index(&self, a: usize, b: usize) -> usize {
        let (a, b) = (a.min(b), a.max(b));
        a * self.n_species - a * (a + 1) / 2 + b
    }

    /// Sets the interaction of two species.
    pub fn set(&mut self, a: usize, b: usize, entry: PairEntry) {
        let index = self.index(a, b);
        if let Some(integrals) = &mut self.integrals {
            let found = TailIntegrals::of(&self.potential, self.truncation, &entry.parameters, entry.cutoff);
            integrals[index] = found.ok();
        }
        self.entries[index] = Some(entry);
    }

    /// The term for other species, each of which interacts as one of those that there are.
    pub fn over_species(&self, of: &[usize]) -> PairTerm {
        let n_species = of.len();
        let pairs = || (0..n_species).flat_map(|a| (a..n_species).map(move |b| self.index(of[a], of[b])));
        let entries = pairs().map(|pair| self.entries[pair].clone()).collect();
        let integrals = self.integrals.as_ref().map(|all| pairs().map(|pair| all[pair]).collect());
        PairTerm {
            potential: self.potential.clone(),
            truncation: self.truncation,
            integrals,
            n_species,
            entries,
        }
    }

    /// Ends the interaction of two species.
    pub fn remove(&mut self, a: usize, b: usize) {
        let index = self.index(a, b);
        self.entries[index] = None;
        if let Some(integrals) = &mut self.integrals {
            integrals[index] = None;
        }
    }

    /// The interaction of two species.
    pub fn get(&self, a: usize, b: usize) -> Option<&PairEntry> {
        self.entries[self.index(a, b)].as_ref()
    }

    /// Number of species.
    pub fn n_species(&self) -> usize {
        self.n_species
    }

    /// The largest cut-off of any pair; 0 if nothing interacts.
    pub fn largest_cutoff(&self) -> f64 {
        self.entries.iter().flatten().map(|e| e.cutoff).fold(0.0, f64::max)
    }

    /// Coefficients of two species for [`PairTerm::evaluate`].
    pub fn coefficients(&self, a: usize, b: usize) -> Option<Vec<f64>> {
        let entry = self.get(a, b)?;
        Some(self.potential.coefficients(self.truncation, &entry.parameters, entry.cutoff))
    }

    /// The term as the formula of its documentation, for a potential of the registry; another one stays as it
    /// is.
    ///
    /// # Errors
    /// If the documentation's formula cannot be understood.
    pub fn as_formula(&self) -> std::result::Result<PairTerm, Mistake> {
        let Potential::BuiltIn(kind) = self.potential else { return Ok(self.clone()) };
        let formula = Formula::new(kind.formula())?;
        let own: Vec<&str> = self.potential.parameters();
        let positions: Vec<Option<usize>> =
            formula.parameters().iter().map(|name| own.iter().position(|p| p == name)).collect();
        let parameters = |entry: &PairEntry| {
            positions
                .iter()
                .map(|k| k.and_then(|k| entry.parameters.get(k)).copied().unwrap_or(f64::NAN))
                .collect()
        };
        let entries = self
            .entries
            .iter()
            .map(|entry| entry.as_ref().map(|e| PairEntry { parameters: parameters(e), cutoff: e.cutoff }));
        let (truncation, n_species) = (self.truncation, self.n_species);
        let term = PairTerm {
            potential: formula.into(),
            truncation,
            integrals: None,
            n_species,
            entries: entries.collect(),
        };
        term.with_known_parameters()
    }

    /// A formula's term with what is the same for all pairs of species computed ahead.
    pub(crate) fn with_known_parameters(mut self) -> std::result::Result<PairTerm, Mistake> {
        let Potential::Formula(formula) = &self.potential else { return Ok(self) };
        let names = formula.parameters();
        let same = |k: usize| {
            let mut values = self.entries.iter().flatten().map(|e| e.parameters[k]);
            let first = values.next()?;
            values.all(|x| x == first).then_some(first)
        };
        let known: Vec<Option<f64>> = (0..names.len()).map(same).collect();
        let numbers = names.iter().zip(&known).filter_map(|(name, x)| Some((name.clone(), (*x)?)));
        let bound = Formula::with(formula.text(), &numbers.collect())?;
        let left: Vec<Option<usize>> =
            bound.parameters().iter().map(|name| names.iter().position(|n| n == name)).collect();
        for entry in self.entries.iter_mut().flatten() {
            let of = |k: &Option<usize>| k.map_or(f64::NAN, |k| entry.parameters[k]);
            entry.parameters = left.iter().map(of).collect();
        }
        self.potential = bound.into();
        Ok(self)
    }

    /// The term as tables, see [`crate::table`]: for potentials that take longer to compute than to look up.
    /// Atoms must not come nearer than the first distance of a table ([`Curve::towards_zero`]).
    ///
    /// # Errors
    /// If a table would not be as exact as single precision, or there is a tail correction, which tables do
    /// not have.
    pub fn tabulated(&self) -> Result<PairTerm> {
        if self.tail_correction() {
            return Err(Error::input("tabulate = true together with tail_correction = true")
                .hint("leave out one of the two"));
        }
        let (mut curves, mut entries) = (Vec::new(), Vec::new());
        for entry in &self.entries {
            let Some(PairEntry { parameters, cutoff }) = entry else {
                entries.push(None);
                continue;
            };
            let c = self.potential.coefficients(self.truncation, parameters, *cutoff);
            let function = |r: f64| {
                let (energy, force_over_r) = self.evaluate(r * r, &c);
                (energy, force_over_r * r)
            };
            let curve = Curve::towards_zero(*cutoff, function).ok_or_else(|| {
                Error::input(format!(
                    "{} cannot be tabulated: it is not smooth enough",
                    self.potential.name()
                ))
                .hint("leave out tabulate")
            })?;
            entries.push(Some(PairEntry { parameters: vec![curves.len() as f64], cutoff: *cutoff }));
            curves.push(curve);
        }
        Ok(PairTerm {
            potential: Tables::new(self.potential.name(), curves).into(),
            truncation: Truncation::Plain,
            integrals: None,
            n_species: self.n_species,
            entries,
        })
    }

    /// Beginning of the last of its tables; `None` for other potentials.
    pub fn table_begins(&self) -> Option<f64> {
        let Potential::Table(tables) = &self.potential else { return None };
        tables.curves().iter().map(Curve::from).reduce(f64::max)
    }

    /// Number of coefficients of two species.
    pub fn n_coefficients(&self) -> usize {
        self.potential.n_coefficients(self.truncation)
    }

    /// Energy and force over distance at a squared distance within the cut-off, with the
    /// coefficients of a pair of species.
    pub fn evaluate(&self, r2: f64, c: &[f64]) -> (f64, f64) {
        self.evaluate_with(r2, c, Tables::look_up)
    }

    /// Energy and force over distance for any type of number; see [`Potential::evaluate`].
    pub fn evaluate_with<R: Real>(
        &self,
        r2: R,
        c: &[R],
        look_up: impl FnOnce(&Tables, R, &[R]) -> (R, [R; ROW]),
    ) -> (R, R) {
        self.potential.evaluate(self.truncation, r2, c, look_up)
    }

    /// The long-range correction for so many atoms of each species; none unless it was asked for.
    pub fn tail(&self, counts: &[usize]) -> Tail {
        let mut tail = Tail::default();
        let Some(integrals) = &self.integrals else { return tail };
        for a in 0..self.n_species {
            for b in 0..self.n_species {
                if let Some(integrals) = &integrals[self.index(a, b)] {
                    tail.add(integrals, counts[a] as f64 * counts[b] as f64);
                }
            }
        }
        tail
    }
}
