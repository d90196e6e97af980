//! Fields and walls.

use crate::blocks::Sums;
use crate::cells::Clusters;
use crate::simd::Scalar;
use jostle_core::System;
use jostle_potentials::{Forces, outside};
use std::ops::Range;

/// Adds the forces of fields and walls on some clusters to theirs; sums by term.
pub fn add_forces<S: Scalar>(
    system: &System,
    forces: &Forces,
    clusters: &Clusters<S>,
    own: Range<usize>,
    to: &mut [S],
) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); forces.n_outside()];
    if sums.is_empty() {
        return sums;
    }
    let (state, width) = (&system.state, clusters.width);
    for (c, cluster) in own.enumerate() {
        for (lane, atom) in clusters.atoms(cluster).enumerate() {
            let place = (state.position[atom], state.image[atom]);
            let who = (usize::from(state.species[atom]), state.id[atom]);
            let force = outside::on_atom(forces, &system.simbox, who, place, |term, energy| {
                sums[term].energy += energy;
            });
            for (k, f) in force.iter().enumerate() {
                let to = &mut to[(3 * c + k) * width + lane];
                *to = S::from_f64(to.to_f64() + f);
            }
        }
    }
    sums
}
