//! Pair forces between few atoms and all others: their pairs are found in the lists and evaluated one by one, in f64. A pass
//! over whole registers would go through all blocks near these atoms.

use crate::blocks::{BlockView, ListPass, Sums};
use crate::cells::Clusters;
use crate::simd::Scalar;
use jostle_core::Evaluate;
use jostle_potentials::PairTerm;

/// Most species: sets of them are bits of a word.
const MOST_SPECIES: usize = 64;

/// Most atoms that are few.
const FEW: usize = 256;

/// A term in which no species interacts with itself.
pub struct SparsePairs {
    term: PairTerm,
    /// Set of the species that each species interacts with.
    partners: Vec<u64>,
    /// Squared cut-off and coefficients by pair of species.
    pairs: Vec<Option<(f64, Vec<f64>)>>,
}

impl SparsePairs {
    /// The term; `None` where a species interacts with itself, or where not every pair has one of few atoms. `counts`: the
    /// number of atoms of each species.
    pub fn of(term: &PairTerm, counts: &[usize]) -> Option<Self> {
        let n = term.n_species();
        if n > MOST_SPECIES || (0..n).any(|a| term.get(a, a).is_some()) || !has_few_atoms(term, counts) {
            return None;
        }
        let set = |a: usize| (0..n).filter(|b| term.get(a, *b).is_some()).fold(0, |set, b| set | 1 << b);
        let pair = |a: usize, b: usize| Some((term.get(a, b)?.cutoff.powi(2), term.coefficients(a, b)?));
        let pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).map(|(a, b)| pair(a, b)).collect();
        Some(SparsePairs { term: term.clone(), partners: (0..n).map(set).collect(), pairs })
    }

    /// Adds the forces over the list of one task.
    pub fn add_forces<S: Scalar>(&self, mut pass: ListPass<S>) -> Sums {
        let clusters = pass.clusters;
        let set = |cluster: usize| species(clusters, cluster).iter().fold(0u64, |set, s| set | 1 << *s);
        let there: Vec<u64> = (0..clusters.count()).map(set).collect();
        let mut sums = Sums::default();
        let mut found = Vec::new();
        for b in pass.blocks() {
            let view = pass.view(b);
            let all =
                species(clusters, view.cluster).iter().fold(0, |set, s| set | self.partners[*s as usize]);
            let needed = |place: &usize| there[view.cluster_at(*place)] & all != 0;
            let places: Vec<usize> = (0..=view.entries.len()).filter(needed).collect();
            for place in places {
                self.find_pairs(&view, place, &mut found);
            }
            for pair in found.drain(..) {
                self.add_pair(&mut pass, b, pair, &mut sums);
            }
        }
        sums
    }

    /// Finds the pairs of rows with the atoms of one cluster that interact.
    fn find_pairs<S: Scalar>(&self, view: &BlockView<S>, place: usize, found: &mut Vec<ListedPair>) {
        let (rows, others) =
            (species(view.clusters, view.cluster), species(view.clusters, view.cluster_at(place)));
        for (row, kind) in rows.iter().enumerate().take(view.n_rows) {
            let partners = self.partners[*kind as usize];
            let listed = match place {
                0 if view.own => view.after(row),
                0 => 0,
                _ if view.partners(row).contains(&((place - 1) as u8)) => !0,
                _ => {
                    let parts = view.parts(row).iter().filter(|part| usize::from(part.entry) + 1 == place);
                    parts.fold(0, |atoms, part| atoms | u32::from(part.atoms))
                }
            };
            if partners == 0 || listed == 0 {
                continue;
            }
            for (lane, other) in others.iter().enumerate() {
                if listed >> lane & 1 == 1 && partners >> *other & 1 == 1 {
                    found.push(ListedPair {
                        place,
                        lanes: [row, lane],
                        species: [*kind as usize, *other as usize],
                    });
                }
            }
        }
    }

    /// Adds the force of a pair within the cut-off.
    fn add_pair<S: Scalar>(&self, pass: &mut ListPass<S>, b: usize, pair: ListedPair, sums: &mut Sums) {
        let (clusters, width) = (pass.clusters, pass.clusters.width);
        let block_cluster = pass.list.blocks[b].cluster as usize;
        let (cluster, offset, target) = match pair.place {
            0 => (block_cluster, [S::default(); 3], block_cluster - pass.list.clusters.start),
            place => {
                let entry = &pass.list.block_entries(b)[place - 1];
                (entry.cluster as usize, entry.offset, entry.target as usize)
            }
        };
        let [row, lane] = pair.lanes;
        let at = |cluster: usize, lane: usize, k: usize| clusters.position[(cluster * 3 + k) * width + lane];
        let d: [f64; 3] = std::array::from_fn(|k| {
            (at(block_cluster, row, k) - (at(cluster, lane, k) + offset[k])).to_f64()
        });
        let r2 = d.iter().map(|x| x * x).sum();
        let [a, c] = pair.species;
        let Some((_, coefficients)) =
            self.pairs[a * self.partners.len() + c].as_ref().filter(|(cutoff2, _)| r2 < *cutoff2)
        else {
            return;
        };
        let (energy, force_over_r) = self.term.evaluate(r2, coefficients);
        let force = d.map(|x| force_over_r * x);
        let n_own = pass.list.clusters.len();
        let mine = block_cluster - pass.list.clusters.start;
        for (target, lane, sign) in [(mine, row, 1.0), (target, lane, -1.0)] {
            let (own, foreign, _) = pass.accumulated.parts();
            let (array, target) = if target < n_own { (own, target) } else { (foreign, target - n_own) };
            for (k, force) in force.iter().enumerate() {
                let to = &mut array[(target * 3 + k) * width + lane];
                *to = S::from_f64(to.to_f64() + sign * force);
            }
        }
        if pass.evaluate == Evaluate::ForcesAndEnergies {
            sums.energy += energy;
            for (w, (p, q)) in sums.virial.iter_mut().zip([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]) {
                *w += d[p] * force[q];
            }
        }
    }
}

/// Returns true where every pair has one of few atoms: those of the rarer species of each.
fn has_few_atoms(term: &PairTerm, counts: &[usize]) -> bool {
    let rarer = |a: usize, b: usize| if counts[a] < counts[b] { a } else { b };
    let n = term.n_species();
    let pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
    let mut few: Vec<usize> =
        pairs.filter(|(a, b)| term.get(*a, *b).is_some()).map(|(a, b)| rarer(a, b)).collect();
    few.sort_unstable();
    few.dedup();
    few.into_iter().map(|species| counts[species]).sum::<usize>() <= FEW
}

/// Pair of a block: the atom of a row and one of the cluster at a place.
struct ListedPair {
    place: usize,
    lanes: [usize; 2],
    species: [usize; 2],
}

/// Species of the atoms of a cluster.
fn species<S: Scalar>(clusters: &Clusters<S>, cluster: usize) -> &[i32] {
    let begin = cluster * clusters.width;
    &clusters.species[begin..begin + clusters.atoms(cluster).len()]
}
