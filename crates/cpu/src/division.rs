//! Division of the work among the ranks of a run.

use crate::domains::Domains;
use crate::ranks::Ranks;

/// Division of the work among the ranks of a run.
pub(crate) enum Division {
    /// There is one rank.
    None,
    /// All ranks have all atoms, and each some of the tasks.
    Tasks(Ranks),
    /// Every rank has the atoms of a domain.
    Domains(Box<Domains>),
}

impl Division {
    /// Ranks that divide tasks.
    pub fn ranks(&self) -> Option<&Ranks> {
        match self {
            Division::Tasks(ranks) => Some(ranks),
            Division::None | Division::Domains(_) => None,
        }
    }

    /// Domains.
    pub fn domains(&self) -> Option<&Domains> {
        match self {
            Division::Domains(domains) => Some(domains),
            Division::None | Division::Tasks(_) => None,
        }
    }

    /// True for the rank that counts what all ranks have in common.
    pub fn counts_common(&self) -> bool {
        self.domains().is_none_or(|domains| domains.rank() == 0)
    }

    /// Domains, to be changed.
    pub fn domains_mut(&mut self) -> Option<&mut Domains> {
        match self {
            Division::Domains(domains) => Some(domains),
            Division::None | Division::Tasks(_) => None,
        }
    }
}
