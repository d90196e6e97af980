//! Forces that the host adds to those of the last evaluation.

use super::Cpu;
use crate::simd::Scalar;
use jostle_core::{AddedForces, AtomStorage, Evaluate, IdIndex, Result};

impl<S: Scalar> Cpu<S> {
    /// Adds forces to those that tasks hold for the atoms of their clusters.
    pub(super) fn add_to_tasks(&mut self, added: &AddedForces) -> Result<()> {
        added.check(self.n_atoms())?;
        let (width, first) = (self.neighbors.clusters.width, &self.neighbors.clusters.first);
        let index_by_id = IdIndex::new(&self.system.state.id[..self.n_owned()]);
        for (id, force) in added.ids.iter().zip(&added.forces) {
            // Atoms of other domains are absent.
            let Some(index) = index_by_id.get(*id).map(|index| index as u32) else { continue };
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
