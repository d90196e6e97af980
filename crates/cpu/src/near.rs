//! Pairs of atoms within a distance, one by one and in f64, for friction in the middle of a step.

use crate::blocks::TaskForces;
use crate::cells::Clusters;
use crate::neighbors::PairList;
use crate::simd::Scalar;
use jostle_core::{Vec3, Vector};
use std::ops::Range;

/// Two atoms that are near.
#[derive(Debug, Clone, Copy)]
pub struct NearPair {
    /// Indices of the two atoms in storage.
    pub atoms: [u32; 2],
    /// Places of the x components of the forces in the task: own atoms first, then foreign ones.
    pub slots: [u32; 2],
    /// Unit vector from the second to the first.
    pub along: Vec3,
    /// Distance of the two.
    pub distance: f64,
    /// Number of the pair in the list, by which pairs are in order until lists are built anew.
    pub number: u64,
}

/// Calls `visit` for every two atoms of a task's list that are nearer than a distance, excluded pairs
/// included.
pub fn each_pair<S: Scalar>(
    clusters: &Clusters<S>,
    list: &PairList<S>,
    cutoff: f64,
    mut visit: impl FnMut(NearPair),
) {
    let width = clusters.width;
    let (mut row_start, mut some_start) = (0, 0);
    let mut number = 0;
    for (b, block) in list.blocks.iter().enumerate() {
        let cluster = block.cluster as usize;
        let entries = list.block_entries(b);
        let (own, mine) = (clusters.atoms(cluster), (cluster - list.clusters.start) as u32);
        for row in 0..own.len() {
            let row_end = list.row_ends[block.first_row as usize + row] as usize;
            let some_end =
                list.excluded.get(block.first_row as usize + row).map_or(0, |(_, end)| *end as usize);
            let some = list.some[some_start.min(some_end)..some_end].iter().map(|part| part.entry);
            let partners = list.rows[row_start..row_end].iter().copied().chain(some);
            (row_start, some_start) = (row_end, some_end);
            let at = |cluster: usize, lane: usize| {
                let place = cluster * 3 * width + lane;
                Vec3::from_fn(|k| clusters.position[place + k * width].to_f64())
            };
            let here = at(cluster, row);
            let mut interact = |other: usize, lanes: Range<usize>, target: u32, offset: Vec3| {
                for lane in lanes {
                    number += 1;
                    let there = at(other, lane);
                    let d = here - (there + offset);
                    let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                    if r2 >= cutoff * cutoff || r2 == 0.0 {
                        continue;
                    }
                    let r = r2.sqrt();
                    let atoms = [own.start + row, clusters.atoms(other).start + lane];
                    let [a, b] = [mine, target].map(|c| c * 3 * width as u32);
                    visit(NearPair {
                        atoms: atoms.map(|atom| atom as u32),
                        slots: [a + row as u32, b + lane as u32],
                        along: d.map(|x| x / r),
                        distance: r,
                        number,
                    });
                }
            };
            if block.own {
                interact(cluster, row + 1..own.len(), mine, Vec3::ZERO);
            }
            for k in partners {
                let entry = &entries[k as usize];
                let other = entry.cluster as usize;
                let lanes = 0..clusters.atoms(other).len();
                interact(other, lanes, entry.target, Vector(entry.offset.map(Scalar::to_f64)));
            }
        }
    }
}

/// Adds a force on the atom of a slot.
#[inline(always)]
pub fn act<S: Scalar>(forces: &mut TaskForces<S>, width: usize, slot: u32, force: Vec3) {
    let (own, foreign, _) = forces.parts();
    for (k, f) in force.into_iter().enumerate() {
        let place = slot as usize + k * width;
        let sum = match place < own.len() {
            true => &mut own[place],
            false => &mut foreign[place - own.len()],
        };
        *sum = S::from_f64(sum.to_f64() + f);
    }
}
