//! Pairs counted by a loop over all of them.

use jostle_core::{SimBox, State, Vec3};

/// Number of pairs of the two species nearer than `cutoff`, by a loop over all. The image to consider is the
/// one nearest in fractional coordinates along each axis: no other can be within half the box.
pub fn count_pairs(simbox: &SimBox, state: &State, species: (usize, usize), cutoff: f64) -> usize {
    let sites: Vec<Vec3> = state.position.iter().map(|r| simbox.to_fractional(*r)).collect();
    let origin = simbox.to_cartesian([0.0; 3]);
    let distance2 = |i: usize, j: usize| {
        let d = std::array::from_fn(|k| {
            let s = sites[i][k] - sites[j][k];
            if simbox.periodic()[k] { s - s.round() } else { s }
        });
        let d = simbox.to_cartesian(d);
        (0..3).map(|k| (d[k] - origin[k]).powi(2)).sum::<f64>()
    };
    let are = |i: usize, j: usize| {
        let (a, b) = (usize::from(state.species[i]), usize::from(state.species[j]));
        (a.min(b), a.max(b)) == species
    };
    let pairs = (0..sites.len()).flat_map(|i| (i + 1..sites.len()).map(move |j| (i, j)));
    pairs.filter(|&(i, j)| are(i, j) && distance2(i, j) < cutoff * cutoff).count()
}
