//! A pair force of the input with everything resolved: which potential, how it is truncated, and
//! the parameters of every pair of species.

use crate::pair::PairKind;
use crate::truncation::Truncation;
use jostle_core::{Error, Result};

/// The interaction of one pair of species.
#[derive(Debug, Clone, PartialEq)]
pub struct PairEntry {
    /// In the order of [`PairKind::parameters`].
    pub parameters: Vec<f64>,
    /// Beyond this distance there is no interaction.
    pub cutoff: f64,
}

/// A pair force of the input, resolved for every pair of species.
#[derive(Debug, Clone, PartialEq)]
pub struct PairTerm {
    /// The potential.
    pub kind: PairKind,
    /// What happens at the cut-off.
    pub truncation: Truncation,
    tail_correction: bool,
    n_species: usize,
    /// Upper triangle by rows; `None` where two species do not interact through this term.
    entries: Vec<Option<PairEntry>>,
}

impl PairTerm {
    /// A term in which no species interact yet.
    pub fn new(kind: PairKind, truncation: Truncation, n_species: usize) -> Self {
        let entries = vec![None; n_species * (n_species + 1) / 2];
        PairTerm { kind, truncation, tail_correction: false, n_species, entries }
    }

    /// A term with the same interaction between all atoms of a single species.
    pub fn uniform(kind: PairKind, truncation: Truncation, parameters: &[f64], cutoff: f64) -> Self {
        let mut term = Self::new(kind, truncation, 1);
        term.set(0, 0, PairEntry { parameters: parameters.to_vec(), cutoff });
        term
    }

    /// The term with energy and pressure corrected for the tail beyond the cut-off, as if the
    /// fluid were uniform there.
    ///
    /// # Errors
    /// If the truncation changes the potential inside the cut-off (what lies beyond would not be
    /// its tail), or the tail's integral diverges or is not known.
    pub fn with_tail_correction(mut self) -> Result<Self> {
        if self.truncation != Truncation::Plain {
            return Err(Error::input(format!(
                "tail_correction = true together with truncation = \"{}\"",
                self.truncation.name()
            ))
            .hint("a tail correction belongs to truncation = \"plain\"; leave out one of the two"));
        }
        let known = |e: &PairEntry| self.kind.tail(&e.parameters, e.cutoff).is_some();
        if !self.entries.iter().flatten().all(known) {
            return Err(Error::input(format!("there is no tail correction for {}", self.kind.name()))
                .hint("leave out tail_correction and use a longer cut-off"));
        }
        self.tail_correction = true;
        Ok(self)
    }

    /// Whether energy and pressure are corrected for the tail beyond the cut-off.
    pub fn tail_correction(&self) -> bool {
        self.tail_correction
    }

    fn place(&self, a: usize, b: usize) -> usize {
        let (a, b) = (a.min(b), a.max(b));
        a * self.n_species - a * (a + 1) / 2 + b
    }

    /// Sets the interaction of two species.
    pub fn set(&mut self, a: usize, b: usize, entry: PairEntry) {
        let place = self.place(a, b);
        self.entries[place] = Some(entry);
    }

    /// The interaction of two species.
    pub fn get(&self, a: usize, b: usize) -> Option<&PairEntry> {
        self.entries[self.place(a, b)].as_ref()
    }

    /// How many species the term knows.
    pub fn n_species(&self) -> usize {
        self.n_species
    }

    /// The largest cut-off of any pair; 0 if nothing interacts.
    pub fn largest_cutoff(&self) -> f64 {
        self.entries.iter().flatten().map(|e| e.cutoff).fold(0.0, f64::max)
    }

    /// Coefficients of two species for the function that [`PairKind::visit`] hands out.
    pub fn coefficients(&self, a: usize, b: usize) -> Option<Vec<f64>> {
        let entry = self.get(a, b)?;
        Some(self.kind.coefficients(self.truncation, &entry.parameters, entry.cutoff))
    }

    /// Long-range corrections to energy and virial (trace / 3) for a homogeneous fluid beyond the
    /// cut-off, each times the volume: sum over ordered pairs of species of 2 pi N_a N_b times the
    /// tail integrals (Allen and Tildesley, Computer Simulation of Liquids, 2.8).
    pub fn tail_times_volume(&self, counts: &[usize]) -> [f64; 2] {
        let mut sums = [0.0; 2];
        if !self.tail_correction {
            return sums;
        }
        for a in 0..self.n_species {
            for b in 0..self.n_species {
                let Some(entry) = self.get(a, b) else { continue };
                let Some([energy, virial]) = self.kind.tail(&entry.parameters, entry.cutoff) else {
                    continue;
                };
                let pairs = 2.0 * std::f64::consts::PI * counts[a] as f64 * counts[b] as f64;
                sums[0] += pairs * energy;
                sums[1] -= pairs * virial / 3.0;
            }
        }
        sums
    }
}
