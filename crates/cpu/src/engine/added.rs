//! Forces that the host adds to those of the last evaluation.

use super::Cpu;
use crate::simd::Scalar;
use jostle_core::{AddedForces, Evaluate, Result};

impl<S: Scalar> Cpu<S> {
    /// Adds forces to those that tasks hold for the atoms of their clusters.
    pub(super) fn add_to_tasks(&mut self, added: &AddedForces) -> Result<()> {
        added.check(self.system.state.len())?;
        let (width, first) = (self.neighbors.clusters.width, &self.neighbors.clusters.first);
        let index_by_id = self.system.state.index_by_id();
        for (id, force) in added.ids.iter().zip(&added.forces) {
            let index = index_by_id.of(*id) as u32;
            // Clusters may be empty: the last one that begins at the atom or before it has it.
            let cluster = first.partition_point(|begin| *begin <= index) - 1;
            let task = self.tasks.partition_point(|task| task.list.clusters.end <= cluster);
            let Some(task) = self.tasks.get_mut(task) else { continue };
            let lane = (index - first[cluster]) as usize;
            let begin = (cluster - task.list.clusters.start) * 3 * width + lane;
            let (own, _) = task.forces.split();
            for (k, force) in force.iter().enumerate() {
                let to = &mut own[begin + k * width];
                *to = S::from_f64(to.to_f64() + force);
            }
        }
        if self.evaluation.evaluated == Evaluate::ForcesAndEnergies {
            self.evaluation.energies.add(added);
        }
        Ok(())
    }
}
