//! All forces of a system.

use crate::term::PairTerm;

/// All forces of a system, which add up. Energies by term, as in [`jostle_core::Energies::terms`],
/// are in the order of its fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forces {
    /// Forces between pairs of atoms, in the order of the input.
    pub pairs: Vec<PairTerm>,
}

impl Forces {
    /// The kinds of the terms by their names in the input file, in the order of their energies.
    pub fn kinds(&self) -> Vec<&'static str> {
        self.pairs.iter().map(|term| term.kind.name()).collect()
    }

    /// How many terms there are.
    pub fn n_terms(&self) -> usize {
        self.pairs.len()
    }

    /// The largest cut-off of any term; 0 if nothing interacts.
    pub fn largest_cutoff(&self) -> f64 {
        self.pairs.iter().map(PairTerm::largest_cutoff).fold(0.0, f64::max)
    }
}

impl From<Vec<PairTerm>> for Forces {
    fn from(pairs: Vec<PairTerm>) -> Self {
        Forces { pairs }
    }
}

impl From<PairTerm> for Forces {
    fn from(term: PairTerm) -> Self {
        vec![term].into()
    }
}
