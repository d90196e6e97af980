//! Lennard-Jones energies of a solute with all other atoms, and its own where it is scaled, in several states at the
//! same positions.

use super::SoftCore;
use super::own::{OwnForces, OwnTable};
use crate::pair::PairKind;
use crate::tail::Tail;
use crate::term::{PairEntry, PairTerm};
use crate::truncation::Truncation;
use jostle_core::{Dual, Result, SimBox, State};

/// Lennard-Jones force of the solute on all others, before it is scaled.
#[derive(Debug, Clone)]
pub(super) struct CoupledTerm {
    soft_core: SoftCore,
    truncation: Truncation,
    has_tail: bool,
    n_species: usize,
    entries: Vec<([usize; 2], PairEntry)>,
}

impl CoupledTerm {
    /// Force with the truncation and the tail of `term`, between these pairs of species.
    pub(super) fn new(term: &PairTerm, entries: Vec<([usize; 2], PairEntry)>, soft_core: SoftCore) -> Self {
        CoupledTerm {
            soft_core,
            truncation: term.truncation,
            has_tail: term.tail_correction(),
            n_species: term.n_species(),
            entries,
        }
    }

    /// Pair force at a coupling parameter.
    pub(super) fn at(&self, lambda: f64) -> Result<PairTerm> {
        let mut term = PairTerm::new(self.soft_core.kind(), self.truncation, self.n_species);
        for ([a, b], PairEntry { parameters, cutoff }) in &self.entries {
            let parameters = self.soft_core.parameters([parameters[0], parameters[1]], lambda);
            term.set(*a, *b, PairEntry { parameters, cutoff: *cutoff });
        }
        if self.has_tail { term.with_tail_correction() } else { Ok(term) }
    }
}

/// Lennard-Jones force of a solute on all other atoms, for the energies of many states.
#[derive(Debug, Clone)]
pub struct Coupling {
    atoms: Vec<u32>,
    /// Number of species of other atoms, which come first.
    n_species: usize,
    terms: Vec<CoupledTerm>,
    soft_core: SoftCore,
    own: OwnForces,
    /// Ids of other atoms, in ascending order, with which each atom has no force of pairs.
    excluded: Vec<Vec<u32>>,
}

/// Energies of one configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct CouplingEnergies {
    /// Energy at each coupling parameter.
    pub energies: Vec<f64>,
    /// Derivative of the energy with the coupling parameter, at one of them.
    pub slope: f64,
    /// Energies of charges of single pairs of the molecule at full strength, where they are scaled: that which is
    /// proportional to their factor, and that to its square.
    pub own_charges: [f64; 2],
}

/// Lennard-Jones force of a solute at so many coupling parameters, with the coefficients of all of them.
pub struct CouplingTable {
    atoms: Vec<u32>,
    n_species: usize,
    n_lambdas: usize,
    /// Terms by species of an atom of the solute, and of the other atom.
    by_pair: Vec<Vec<PairCoefficients>>,
    tails: Vec<TailCoefficients>,
    own: OwnTable,
    excluded: Vec<Vec<u32>>,
}

/// Coefficients of one pair of species.
struct PairCoefficients {
    cutoff2: f64,
    kind: PairKind,
    truncation: Truncation,
    by_lambda: Vec<Vec<f64>>,
    slope: Vec<Dual<f64>>,
}

/// Tails of a term.
struct TailCoefficients {
    by_lambda: Vec<Tail>,
    /// Tails whose energies, with these weights, add up to the derivative.
    slope: Vec<(f64, Tail)>,
}

impl Coupling {
    pub(super) fn new(
        (atoms, excluded): (Vec<u32>, Vec<Vec<u32>>),
        (n_species, terms): (usize, Vec<CoupledTerm>),
        (soft_core, own): (SoftCore, OwnForces),
    ) -> Self {
        Coupling { atoms, n_species, terms, soft_core, own, excluded }
    }

    /// Table for the energies at each of these coupling parameters, and the derivative at `lambda`, tails included;
    /// `counts`: the number of atoms of each species.
    ///
    /// # Errors
    /// If a tail is not known.
    pub fn table(&self, counts: &[usize], lambdas: &[f64], lambda: f64) -> Result<CouplingTable> {
        let n_all = self.terms.first().map_or(self.n_species, |term| term.n_species);
        let mut by_pair: Vec<Vec<PairCoefficients>> = Vec::new();
        by_pair.resize_with(n_all * self.n_species, Vec::new);
        for term in &self.terms {
            for ([own, other], entry) in &term.entries {
                let pair = PairCoefficients::new(term, entry, lambdas, lambda);
                by_pair[own * self.n_species + other].push(pair);
            }
        }
        let with_tails = self.terms.iter().filter(|term| term.has_tail);
        let tails = with_tails
            .map(|term| TailCoefficients::new(term, counts, lambdas, lambda))
            .collect::<Result<_>>()?;
        let (atoms, n_species, n_lambdas) = (self.atoms.clone(), self.n_species, lambdas.len());
        let own = self.own.table(self.soft_core, lambdas, lambda);
        let excluded = self.excluded.clone();
        Ok(CouplingTable { atoms, n_species, n_lambdas, by_pair, tails, own, excluded })
    }
}

impl CouplingTable {
    /// Energies of a configuration.
    pub fn energies(&self, simbox: &SimBox, state: &State) -> CouplingEnergies {
        let mut found = CouplingEnergies::zero(self.n_lambdas);
        let index_by_id = state.index_by_id();
        for (id, excluded) in self.atoms.iter().zip(&self.excluded) {
            let index = index_by_id.of(*id);
            let (r, own) = (state.position[index], usize::from(state.species[index]));
            let pairs = &self.by_pair[own * self.n_species..][..self.n_species];
            for ((other, species), other_id) in state.position.iter().zip(&state.species).zip(&state.id) {
                let Some(pairs) = pairs.get(usize::from(*species)).filter(|pairs| !pairs.is_empty()) else {
                    continue;
                };
                if excluded.binary_search(other_id).is_ok() {
                    continue;
                }
                let d = simbox.nearest_image(*other - r);
                let r2 = d.iter().map(|x| x * x).sum();
                pairs.iter().filter(|pair| r2 < pair.cutoff2).for_each(|pair| pair.add_to(&mut found, r2));
            }
        }
        let position = |id: u32| state.position[index_by_id.of(id)];
        let (slope, own_charges) = self.own.add_to(&mut found.energies, simbox, position);
        (found.slope, found.own_charges) = (found.slope + slope, own_charges);
        let energy = |tail: &Tail| tail.at(simbox.volume())[0];
        for TailCoefficients { by_lambda, slope } in &self.tails {
            found.energies.iter_mut().zip(by_lambda).for_each(|(sum, tail)| *sum += energy(tail));
            found.slope += slope.iter().map(|(weight, tail)| weight * energy(tail)).sum::<f64>();
        }
        found
    }
}

impl CouplingEnergies {
    /// Nothing, at so many coupling parameters.
    fn zero(n_lambdas: usize) -> Self {
        CouplingEnergies { energies: vec![0.0; n_lambdas], slope: 0.0, own_charges: [0.0; 2] }
    }
}

impl TailCoefficients {
    fn new(term: &CoupledTerm, counts: &[usize], lambdas: &[f64], lambda: f64) -> Result<Self> {
        let tail = |lambda: f64| Ok(term.at(lambda)?.tail(counts));
        // Tails are a smooth function of lambda: five points within its range give their derivative.
        let step = if lambda > 0.5 { -TAIL_STEP } else { TAIL_STEP };
        let weights = [-25.0 / 12.0, 4.0, -3.0, 4.0 / 3.0, -0.25];
        let points = weights.iter().zip(0i32..);
        Ok(TailCoefficients {
            by_lambda: lambdas.iter().map(|lambda| tail(*lambda)).collect::<Result<_>>()?,
            slope: points
                .map(|(weight, k)| Ok((weight / step, tail(lambda + f64::from(k) * step)?)))
                .collect::<Result<_>>()?,
        })
    }
}

/// Distance of the points of the derivative of a tail.
const TAIL_STEP: f64 = 1e-2;

impl PairCoefficients {
    fn new(term: &CoupledTerm, entry: &PairEntry, lambdas: &[f64], lambda: f64) -> Self {
        let CoupledTerm { soft_core, truncation, .. } = term;
        let pair = ([entry.parameters[0], entry.parameters[1]], entry.cutoff);
        let at = |lambda: &f64| soft_core.coefficients(*truncation, pair, *lambda, *lambda);
        PairCoefficients {
            cutoff2: entry.cutoff * entry.cutoff,
            kind: soft_core.kind(),
            truncation: *truncation,
            by_lambda: lambdas.iter().map(at).collect(),
            slope: soft_core.coefficients(*truncation, pair, Dual::variable(lambda), lambda),
        }
    }

    fn add_to(&self, found: &mut CouplingEnergies, r2: f64) {
        for (energy, c) in found.energies.iter_mut().zip(&self.by_lambda) {
            *energy += self.kind.evaluate(self.truncation, r2, c).0;
        }
        found.slope += self.kind.evaluate(self.truncation, Dual::constant(r2), &self.slope).0.slope;
    }
}
