//! Friction and noise between pairs of atoms: dissipative particle dynamics.
//!
//! The pairs within the cut-off are found once a step in the neighbour lists, with their distances
//! and their noise, and used twice: for the velocities half-way, and for those after it.

use crate::blocks::TaskForces;
use crate::cells::Clusters;
use crate::near::{NearPair, act, each_pair};
use crate::neighbors::PairList;
use crate::simd::Scalar;
use jostle_core::thermostat::{Dissipative, pair_impulse, pair_noise};
use jostle_core::{NoiseKey, Vec3};

/// A pair within the cut-off.
#[derive(Debug, Clone, Copy)]
struct DissipativePair {
    near: NearPair,
    /// Weight 1 - r/cutoff.
    weight: f64,
    noise: f64,
}

/// The pairs of a task.
#[derive(Debug, Clone, Default)]
pub struct TaskPairs(Vec<DissipativePair>);

impl TaskPairs {
    /// Finds the pairs.
    pub fn find<S: Scalar>(
        &mut self,
        clusters: &Clusters<S>,
        list: &PairList<S>,
        id: &[u32],
        thermostat: &Dissipative,
        key: NoiseKey,
    ) {
        self.0.clear();
        each_pair(clusters, list, thermostat.cutoff, |near| {
            let [a, b] = near.atoms.map(|atom| id[atom as usize]);
            let weight = 1.0 - near.distance / thermostat.cutoff;
            self.0.push(DissipativePair { near, weight, noise: pair_noise(key, a, b) });
        });
    }

    /// Adds the impulses on the atoms of the pairs, at these velocities.
    pub fn act<S: Scalar>(
        &self,
        width: usize,
        velocity: &[Vec3],
        thermostat: &Dissipative,
        forces: &mut TaskForces<S>,
    ) {
        for DissipativePair { near, weight, noise } in &self.0 {
            let [a, b] = near.atoms.map(|atom| velocity[atom as usize]);
            let e = near.along;
            let speed = e[0] * (a[0] - b[0]) + e[1] * (a[1] - b[1]) + e[2] * (a[2] - b[2]);
            let impulse = pair_impulse(*weight, speed, *noise, thermostat.friction, thermostat.noise);
            for (slot, sign) in near.slots.into_iter().zip([1.0, -1.0]) {
                act(forces, width, slot, e.map(|e| sign * impulse * e));
            }
        }
    }
}
