//! Forces that the host adds to those of the last evaluation.

use super::Cpu;
use crate::simd::Scalar;
use jostle_core::{AddedForces, AtomStorage, Evaluate, IdIndex, Result, Vec3};

/// Atoms for each added force from which on a search for each costs less than a walk over all atoms.
const ATOMS_PER_FORCE: usize = 8;

impl<S: Scalar> Cpu<S> {
    /// Adds forces to those that tasks hold for the atoms of their clusters.
    pub(super) fn add_to_tasks(&mut self, added: &AddedForces) -> Result<()> {
        added.check(self.n_atoms())?;
        match added.ids.len() < self.n_owned() / ATOMS_PER_FORCE {
            true => self.add_to_some(added),
            false => self.add_to_all(added),
        }
        if self.evaluation.evaluated == Evaluate::ForcesAndEnergies {
            self.evaluation.energies.add(added);
        }
        Ok(())
    }

    /// Adds forces on many atoms: threads walk over the atoms of their tasks.
    fn add_to_all(&mut self, added: &AddedForces) {
        let by_id = added.by_id(self.n_atoms());
        let (ids, clusters) = (&self.system.state.id, &self.neighbors.clusters);
        let width = clusters.width;
        self.workers.team.map(self.tasks.iter_mut().collect(), |_, task| {
            let range = task.list.clusters.clone();
            let (own, _) = task.forces.split();
            for (c, cluster) in range.enumerate() {
                for (lane, id) in ids[clusters.atoms(cluster)].iter().enumerate() {
                    add(&mut own[c * 3 * width + lane..], width, by_id[*id as usize]);
                }
            }
        });
    }

    /// Adds forces on a few atoms, each of which is searched for.
    fn add_to_some(&mut self, added: &AddedForces) {
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
            add(&mut own[begin..], width, *force);
        }
    }
}

/// Adds a force to the lane of an atom, whose three numbers are a width apart.
fn add<S: Scalar>(lane: &mut [S], width: usize, force: Vec3) {
    for (k, force) in force.into_iter().enumerate() {
        let to = &mut lane[k * width];
        *to = S::from_f64(to.to_f64() + force);
    }
}
