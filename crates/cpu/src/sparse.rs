//! Pair forces between few atoms and all others: blocks of a list without such a pair are left out.

use crate::cells::Clusters;
use crate::neighbors::PairList;
use crate::simd::Scalar;
use jostle_potentials::PairTerm;

/// Most species: sets of them are bits of a word.
const MOST_SPECIES: usize = 64;

/// Species that interact by a term, where none interacts with itself.
pub struct SparsePairs {
    /// Set of the species that each species interacts with.
    partners: Vec<u64>,
}

impl SparsePairs {
    /// Species of a term; `None` where one interacts with itself, so that most blocks have pairs.
    pub fn of(term: &PairTerm) -> Option<Self> {
        let n = term.n_species();
        if n > MOST_SPECIES || (0..n).any(|a| term.get(a, a).is_some()) {
            return None;
        }
        let set = |a: usize| (0..n).filter(|b| term.get(a, *b).is_some()).fold(0, |set, b| set | 1 << b);
        Some(SparsePairs { partners: (0..n).map(set).collect() })
    }

    /// Returns for each block of a list true where it may have a pair that interacts.
    pub fn blocks<S: Scalar>(&self, clusters: &Clusters<S>, list: &PairList<S>) -> Vec<bool> {
        let species = |cluster: usize| {
            let begin = cluster * clusters.width;
            &clusters.species[begin..begin + clusters.atoms(cluster).len()]
        };
        let there: Vec<u64> = (0..clusters.count())
            .map(|cluster| species(cluster).iter().fold(0, |set, s| set | 1 << *s))
            .collect();
        let needed = |(b, cluster): (usize, usize)| {
            let partners = species(cluster).iter().fold(0, |set, s| set | self.partners[*s as usize]);
            let others = list.block_entries(b).iter().map(|entry| there[entry.cluster as usize]);
            partners != 0 && others.chain([there[cluster]]).any(|set| set & partners != 0)
        };
        list.blocks.iter().enumerate().map(|(b, block)| needed((b, block.cluster as usize))).collect()
    }
}
