//! Search for the clusters of pairs of atoms of which some may move, and of those that are all frozen.

use crate::cells::Clusters;
use crate::search::{Candidate, Listed, Search};
use crate::simd::Scalar;
use jostle_core::SimBox;

/// Motion of the atoms of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// Some may move.
    Moving,
    /// All are frozen.
    Frozen,
}

/// Search for pairs of clusters that move in some way. A frozen cluster is one all of whose atoms are.
pub struct PairSearch<'a, S: Scalar> {
    clusters: &'a Clusters<S>,
    frozen: &'a [u32],
    once: Search<'a, S>,
    /// Search for frozen clusters around others, so that the rows of such a pair are always those of the other one, of
    /// which only some may move; `None` without frozen atoms, and among ghosts, half of which have no forces.
    of_frozen: Option<Search<'a, S>>,
}

impl<'a, S: Scalar> PairSearch<'a, S> {
    /// Search up to a distance of `reach`. `frozen` is the set of the frozen atoms of each cluster.
    pub fn new(clusters: &'a Clusters<S>, simbox: &'a SimBox, reach: f64, frozen: &'a [u32]) -> Self {
        let apart = !frozen.is_empty() && clusters.ghost_columns.is_empty();
        let search = |listed| Search::new(clusters, simbox, reach, listed);
        let of_frozen = apart.then(|| search(Listed::FromBothSides));
        PairSearch { clusters, frozen, once: search(Listed::Once), of_frozen }
    }

    /// Set of the frozen atoms of a cluster.
    #[inline(always)]
    fn frozen_rows(&self, cluster: usize) -> u32 {
        self.frozen.get(cluster).copied().unwrap_or(0)
    }

    /// Returns true for clusters all of whose atoms are frozen.
    #[inline(always)]
    pub fn is_frozen(&self, cluster: usize) -> bool {
        self.frozen_rows(cluster).count_ones() as usize == self.clusters.atoms(cluster).len()
    }

    /// Returns true where pairs inside a cluster are listed and move in this way: unless all of it is frozen they move.
    /// Pairs inside a cluster of ghosts are listed by another rank.
    #[inline(always)]
    pub fn has_own(&self, cluster: usize, motion: Motion) -> bool {
        cluster < self.clusters.owned && self.is_frozen(cluster) == (motion == Motion::Frozen)
    }

    /// Rows of a cluster whose pairs with another one move in this way.
    #[inline(always)]
    pub fn rows(&self, cluster: usize, other: usize, motion: Motion) -> u32 {
        match (self.is_frozen(other), motion) {
            (true, Motion::Moving) if !self.is_frozen(cluster) => !self.frozen_rows(cluster),
            (true, Motion::Frozen) => self.frozen_rows(cluster),
            _ => !0,
        }
    }

    /// Finds the other clusters of pairs that move in this way. Returns false if a cluster has none, pairs inside it
    /// included.
    #[inline(always)]
    pub fn around(&mut self, cluster: usize, motion: Motion, candidates: &mut Vec<Candidate>) -> bool {
        let (frozen, apart) = (self.is_frozen(cluster), self.of_frozen.is_some());
        let own = self.has_own(cluster, motion);
        if motion == Motion::Frozen && self.frozen_rows(cluster) == 0 {
            return false;
        }
        if apart && !frozen {
            // Other clusters that may move, and all that are frozen; of the latter, only frozen rows are frozen pairs.
            candidates.clear();
            if motion == Motion::Moving {
                self.once.around(cluster, candidates);
                candidates.retain(|other| !self.is_frozen(other.cluster));
            }
            let mut found = Vec::new();
            if let Some(search) = &mut self.of_frozen {
                search.around(cluster, &mut found);
            }
            candidates.extend(found.into_iter().filter(|other| self.is_frozen(other.cluster)));
        } else if apart && motion == Motion::Moving {
            return false;
        } else {
            self.once.around(cluster, candidates);
            match motion {
                Motion::Moving if frozen => candidates.retain(|other| !self.is_frozen(other.cluster)),
                Motion::Moving => {}
                Motion::Frozen => candidates.retain(|other| self.is_frozen(other.cluster)),
            }
        }
        own || !candidates.is_empty()
    }
}
