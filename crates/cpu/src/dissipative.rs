//! Friction and noise between pairs of atoms: dissipative particle dynamics.
//!
//! The pairs within the cut-off are found once a step in the neighbour lists, with their distances
//! and their noise, and used twice: for the velocities half-way, and for those after it.

use crate::blocks::TaskForces;
use crate::cells::Clusters;
use crate::neighbors::PairList;
use crate::simd::Scalar;
use jostle_core::bath::{Dissipative, pair_impulse, pair_noise};
use jostle_core::{NoiseKey, Vec3};

/// A pair within the cut-off.
#[derive(Debug, Clone, Copy)]
struct Pair {
    /// Places of the two in storage.
    atoms: [u32; 2],
    /// Where the task keeps the x of what acts on each: own atoms first, then foreign ones.
    slots: [u32; 2],
    /// From the second to the first, of length 1.
    along: Vec3,
    /// 1 - r/cutoff
    weight: f64,
    noise: f64,
}

/// The pairs of a task.
#[derive(Debug, Clone, Default)]
pub struct TaskPairs(Vec<Pair>);

impl TaskPairs {
    /// Finds them.
    pub fn find<S: Scalar>(
        &mut self,
        clusters: &Clusters<S>,
        list: &PairList<S>,
        id: &[u32],
        bath: &Dissipative,
        key: NoiseKey,
    ) {
        self.0.clear();
        let width = clusters.width;
        let cutoff2 = bath.cutoff * bath.cutoff;
        let (mut row_start, mut some_start) = (0, 0);
        for (b, block) in list.blocks.iter().enumerate() {
            let cluster = block.cluster as usize;
            let entries = list.block_entries(b);
            let (own, mine) = (clusters.atoms(cluster), (cluster - list.clusters.start) as u32);
            for row in 0..own.len() {
                let row_end = list.row_ends[block.first_row as usize + row] as usize;
                // Atoms without a pair force have friction and noise, too.
                let some_end =
                    list.excluded.get(block.first_row as usize + row).map_or(0, |(_, end)| *end as usize);
                let some = list.some[some_start.min(some_end)..some_end].iter().map(|part| part.entry);
                let partners = list.rows[row_start..row_end].iter().copied().chain(some);
                (row_start, some_start) = (row_end, some_end);
                let at = |cluster: usize, lane: usize| {
                    let place = cluster * 3 * width + lane;
                    [0, 1, 2].map(|k| clusters.position[place + k * width].to_f64())
                };
                let here = at(cluster, row);
                let mut meet = |other: usize, lanes: std::ops::Range<usize>, target: u32, offset: Vec3| {
                    for lane in lanes {
                        let there = at(other, lane);
                        let d: Vec3 = std::array::from_fn(|k| here[k] - (there[k] + offset[k]));
                        let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                        if r2 >= cutoff2 || r2 == 0.0 {
                            continue;
                        }
                        let r = r2.sqrt();
                        let atoms = [own.start + row, clusters.atoms(other).start + lane];
                        self.0.push(Pair {
                            atoms: atoms.map(|atom| atom as u32),
                            slots: [mine, target].map(|c| c * 3 * width as u32),
                            along: d.map(|x| x / r),
                            weight: 1.0 - r / bath.cutoff,
                            noise: pair_noise(key, id[atoms[0]], id[atoms[1]]),
                        });
                        if let Some(Pair { slots, .. }) = self.0.last_mut() {
                            slots[0] += row as u32;
                            slots[1] += lane as u32;
                        }
                    }
                };
                if block.own {
                    meet(cluster, row + 1..own.len(), mine, [0.0; 3]);
                }
                for k in partners {
                    let entry = &entries[k as usize];
                    let other = entry.cluster as usize;
                    let lanes = 0..clusters.atoms(other).len();
                    meet(other, lanes, entry.target, entry.offset.map(Scalar::to_f64));
                }
            }
        }
    }

    /// What acts on each atom of the pairs, at these velocities.
    pub fn act<S: Scalar>(
        &self,
        width: usize,
        velocity: &[Vec3],
        bath: &Dissipative,
        forces: &mut TaskForces<S>,
    ) {
        let (own, foreign, _) = forces.parts();
        for pair in &self.0 {
            let [a, b] = pair.atoms.map(|atom| velocity[atom as usize]);
            let e = pair.along;
            let speed = e[0] * (a[0] - b[0]) + e[1] * (a[1] - b[1]) + e[2] * (a[2] - b[2]);
            let impulse = pair_impulse(pair.weight, speed, pair.noise, bath.friction, bath.noise);
            for (slot, sign) in pair.slots.into_iter().zip([1.0, -1.0]) {
                for k in 0..3 {
                    let place = slot as usize + k * width;
                    let sum = match place < own.len() {
                        true => &mut own[place],
                        false => &mut foreign[place - own.len()],
                    };
                    *sum = S::from_f64(sum.to_f64() + sign * impulse * e[k]);
                }
            }
        }
    }
}
