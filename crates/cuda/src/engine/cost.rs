//! Time of a step by each algorithm that finds pairs: a table from which the algorithm is chosen at the
//! start. Long runs measure instead (`measure.rs`).

use crate::kernels::PairAlgorithm;

/// Size of a system, as far as the time of a step depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Number of atoms.
    pub atoms: usize,
    /// Neighbours of an atom, within cut-off and skin.
    pub neighbors: f64,
    /// Multiprocessors of the device.
    pub multiprocessors: u32,
}

/// Microseconds of a step: before any pair is looked at, and of a million pairs on one multiprocessor.
///
/// Measured values: steps of Lennard-Jones liquids of 256 to 4,000 atoms on an H100; pairs by tiles and all
/// pairs in a melt of a million atoms and among 27,648 ions on an H200, those by lists among the liquids'
/// estimate.
const COSTS: [(PairAlgorithm, f64, f64); 3] = [
    (PairAlgorithm::Tiles, 6.8, 330.0),
    (PairAlgorithm::AllPairs, 11.5, 72.0),
    (PairAlgorithm::List, 14.0, 1000.0),
];

/// Estimated microseconds of a step; `None` for an algorithm that is never the fastest.
pub fn of_step(algorithm: PairAlgorithm, size: Size) -> Option<f64> {
    let (_, step, million_pairs) = COSTS.iter().find(|(other, ..)| *other == algorithm)?;
    let n = size.atoms as f64;
    let pairs = if algorithm == PairAlgorithm::AllPairs { n * n } else { n * size.neighbors.min(n) };
    Some(step + million_pairs * 1e-6 * pairs / f64::from(size.multiprocessors.max(1)))
}

/// Algorithm with the shortest step among those given.
pub fn cheapest(algorithms: impl IntoIterator<Item = PairAlgorithm>, size: Size) -> Option<PairAlgorithm> {
    let timed = algorithms.into_iter().filter_map(|algorithm| Some((algorithm, of_step(algorithm, size)?)));
    timed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(algorithm, _)| algorithm)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(atoms: usize, neighbors: f64) -> Option<PairAlgorithm> {
        cheapest(PairAlgorithm::ALL, Size { atoms, neighbors, multiprocessors: 132 })
    }

    /// Steps of small systems are as long as their kernels take to begin, and tiles need the fewest.
    #[test]
    fn small_liquids_are_in_tiles() {
        for atoms in [256, 500, 864, 1372, 2048, 4000, 8000, 1_000_000] {
            assert_eq!(choice(atoms, 80.0), Some(PairAlgorithm::Tiles), "{atoms}");
        }
    }

    /// Lists, where tiles do not fit, are worth their two kernels only beyond some thousand atoms.
    #[test]
    fn small_boxes_are_those_of_all_pairs() {
        let size = |atoms| Size { atoms, neighbors: 80.0, multiprocessors: 132 };
        let choice = |atoms| cheapest([PairAlgorithm::AllPairs, PairAlgorithm::List], size(atoms));
        for atoms in [256, 500, 864, 1372, 2048] {
            assert_eq!(choice(atoms), Some(PairAlgorithm::AllPairs), "{atoms}");
        }
        assert_eq!(choice(4000), Some(PairAlgorithm::List));
    }

    /// Lists are of no use where most atoms are within reach of each other.
    #[test]
    fn forces_across_the_box_are_those_of_all_pairs() {
        for atoms in [4096, 27_648, 100_000] {
            assert_eq!(choice(atoms, 0.6 * atoms as f64), Some(PairAlgorithm::AllPairs), "{atoms}");
        }
        // Small devices spend less of a step on starting kernels.
        let few = Size { atoms: 3000, neighbors: 1000.0, multiprocessors: 30 };
        assert_eq!(
            cheapest([PairAlgorithm::Tiles, PairAlgorithm::AllPairs], few),
            Some(PairAlgorithm::AllPairs)
        );
    }

    #[test]
    fn only_what_is_there_is_chosen() {
        let size = Size { atoms: 864, neighbors: 80.0, multiprocessors: 132 };
        assert_eq!(cheapest([PairAlgorithm::AllPairs], size), Some(PairAlgorithm::AllPairs));
        assert_eq!(cheapest([], size), None);
    }
}
