//! Neighbour lists over all tasks: the sort of atoms into clusters, and everything that is made anew after it.

use super::{Cpu, Incoming, Task};
use crate::cells::Clusters;
use crate::neighbors::{Exclusions, ListBuild};
use crate::ranks::Partition;
use crate::simd::Scalar;
use crate::three_body::CentersBuild;
use jostle_core::backend::Algorithm;
use jostle_core::{IdIndex, PositionPrediction, Result, System, Vec3, prediction};
use std::ops::Range;

impl<S: Scalar> Cpu<S> {
    /// Builds lists around the predicted positions of atoms, see [`jostle_core::prediction`].
    pub(super) fn rebuild(&mut self) -> Result<()> {
        self.collect_forces();
        let velocities = &self.system.state.velocity[..self.n_owned()];
        let team = &self.workers.team;
        let chunk = velocities.len().div_ceil(team.size()).max(1);
        let fastest2 = team.map(velocities.chunks(chunk).collect(), |_, velocities| {
            let square = |v: &Vec3| v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
            velocities.iter().map(square).fold(0.0, f64::max)
        });
        let fastest = self.largest(fastest2.into_iter().fold(0.0, f64::max).sqrt())?;
        let distance = prediction::prediction_distance(&self.system.topology) * self.neighbors.skin.now();
        let time = distance / fastest;
        self.rebuild_ahead(if time.is_finite() { time } else { 0.0 })
    }

    /// Sorts atoms, forms clusters, divides them into tasks and builds their lists, for the positions of
    /// atoms after `time`.
    pub(super) fn rebuild_ahead(&mut self, time: f64) -> Result<()> {
        self.collect_contacts()?;
        self.recall_contacts();
        match self.workers.division.domains() {
            Some(_) => self.sort_among_ranks(time)?,
            None => self.sort_atoms(time)?,
        }
        // Indices by id are needed only by terms that name atoms.
        let (terms, motion) = (&self.terms, &self.motion);
        let needed =
            !terms.bonded.is_empty() || !self.neighbors.excluded.is_empty() || terms.vacuum.is_some();
        let needed = needed || !motion.constraints.is_empty() || !terms.restraints.is_empty();
        let index_by_id = if needed { self.system.state.index_by_id() } else { IdIndex::default() };
        self.place_terms(&index_by_id);
        self.build_lists(&index_by_id);
        self.share_foreign_clusters()?;
        self.route_foreign_forces();
        self.neighbors.stale = false;
        self.neighbors.builds += 1;
        Ok(())
    }

    /// Sorts atoms into clusters by their positions after `time`, and divides these into tasks.
    fn sort_atoms(&mut self, time: f64) -> Result<()> {
        let far = 1e3 * self.cutoff.max(1e-3);
        let System { simbox, state, .. } = &mut self.system;
        let (neighbors, team) = (&mut self.neighbors, &self.workers.team);
        let most = prediction::FARTHEST * neighbors.skin.now();
        let prediction = PositionPrediction { time, most, inverse_mass: &self.motion.inverse_mass };
        let around = (prediction, &mut neighbors.list_positions);
        neighbors.clusters.build(team, simbox, state, around, far)?;
        let n_tasks = match (self.workers.partition, self.workers.division.ranks()) {
            (Partition::ByThreads, None) => team.size(),
            (Partition::ByThreads, Some(ranks)) => ranks.all_threads(),
            (Partition::Fixed, _) => (neighbors.clusters.count() / 64).clamp(1, 16),
        };
        self.tasks.resize_with(n_tasks, Task::default);
        self.divide_tasks();
        Ok(())
    }

    /// Number of runs of clusters that are divided among as many tasks each: of atoms that this rank moves, in a force
    /// matrix of ghosts that have lists, and of other ghosts.
    pub(super) fn n_runs(&self) -> usize {
        match self.workers.division.domains() {
            None => 1,
            Some(domains) if domains.ghosts.n_listed == 0 => 2,
            Some(_) => 3,
        }
    }

    /// Clusters of every task: equal shares of each run.
    pub(super) fn shares(&self) -> Vec<Range<usize>> {
        let (clusters, n_parts) = (&self.neighbors.clusters, self.moved_tasks());
        let Clusters { owned, listed, .. } = *clusters;
        let ends = match self.n_runs() {
            1 => vec![clusters.count()],
            2 => vec![owned, clusters.count()],
            _ => vec![owned, listed, clusters.count()],
        };
        let mut begin = 0;
        let mut shares = Vec::with_capacity(self.tasks.len());
        for end in ends {
            let share = |part: usize| begin + part * (end - begin) / n_parts;
            shares.extend((0..n_parts).map(|part| share(part)..share(part + 1)));
            begin = end;
        }
        shares
    }

    /// Finds the atoms of terms that name atoms, after a sort.
    fn place_terms(&mut self, index_by_id: &IdIndex) {
        let shares = self.shares();
        let (terms, neighbors, team) = (&mut self.terms, &self.neighbors, &self.workers.team);
        let (clusters, excluded) = (&neighbors.clusters, &neighbors.excluded);
        if let Some(vacuum) = &mut terms.vacuum {
            vacuum.sort(&self.system, excluded, index_by_id);
        }
        if !self.motion.constraints.is_empty() {
            let owned = &self.system.state.id[..clusters.first[clusters.owned] as usize];
            self.motion.constraints.place(owned, index_by_id, clusters, &shares);
        }
        terms.restraints.place(index_by_id);
        for sum in &mut terms.lattice_sums {
            // Atoms are within half a skin of their positions in the list, now and later.
            let moved = 2.0 * neighbors.skin.now();
            sum.place(team, &self.system, clusters, excluded, index_by_id, moved);
        }
    }

    /// Builds the lists of all tasks, and finds the bonds of their atoms.
    fn build_lists(&mut self, index_by_id: &IdIndex) {
        let shares = self.shares();
        let (own, evaluated, level) = (self.own_tasks(), self.evaluated_tasks(), self.workers.level);
        let reach = self.cutoff + self.neighbors.skin.now();
        // In open space there are no lists.
        let searched = self.forces.vacuum.is_none() || self.forces.n_searched() > 0;
        let searched = searched && self.algorithm != Algorithm::Reference;
        let (clusters, excluded) = (&self.neighbors.clusters, &self.neighbors.excluded);
        let System { simbox, state, .. } = &self.system;
        let with_images = &self.box_with_images();
        let (width, bonded, three_body) = (clusters.width, &self.terms.bonded, &self.terms.three_body);
        let skin = self.neighbors.skin.now();
        let exclusions =
            (!excluded.is_empty()).then(|| Exclusions::new(clusters, &state.id, index_by_id, excluded));
        let exclusions = exclusions.as_ref();
        let frozen = self.frozen_atoms();
        self.workers.team.map(self.tasks.iter_mut().collect(), |t, task| {
            task.list.clusters = shares[t].clone();
            task.of_frozen = None;
            if !evaluated.contains(&t) {
                task.list.clear();
                task.forces.clear(&task.list, width);
                return;
            }
            if searched {
                level.run(ListBuild {
                    clusters,
                    simbox: with_images,
                    reach,
                    exclusions,
                    frozen: &frozen,
                    list: &mut task.list,
                });
            }
            if let (true, Some(kernel)) = (searched, three_body) {
                let reach = kernel.cutoff() + skin;
                let Task { list, centers, .. } = task;
                level.run(CentersBuild { clusters, simbox: with_images, reach, list, centers });
            }
            task.forces.clear(&task.list, width);
            if !bonded.is_empty() && own.contains(&t) {
                let own = task.list.clusters.clone();
                bonded.place(simbox, state, index_by_id, clusters, own, &mut task.bonds);
            }
        });
    }

    /// Set of the frozen atoms of each cluster, bit k for atom k; empty where no atom is frozen.
    fn frozen_atoms(&self) -> Vec<u32> {
        if !self.system.has_driven() {
            return Vec::new();
        }
        let (System { state, driven, .. }, clusters) = (&self.system, &self.neighbors.clusters);
        let is_frozen = |atom: usize| driven.of(state.species[atom], state.id[atom]) == Some(Vec3::ZERO);
        let set = |cluster: usize| {
            clusters
                .atoms(cluster)
                .enumerate()
                .fold(0, |set, (lane, atom)| set | u32::from(is_frozen(atom)) << lane)
        };
        (0..clusters.count()).map(set).collect()
    }

    /// Finds the forces of other tasks on the clusters of each task, in a fixed order.
    fn route_foreign_forces(&mut self) {
        let owners: Vec<Range<usize>> = self.tasks.iter().map(|t| t.list.clusters.clone()).collect();
        let mut incoming: Vec<Vec<Incoming>> = owners.iter().map(|_| Vec::new()).collect();
        for (t, task) in self.tasks.iter().enumerate() {
            for (from, &cluster) in task.list.foreign.iter().enumerate() {
                let owner = owners.partition_point(|range| range.end <= cluster as usize);
                let to = cluster - owners[owner].start as u32;
                incoming[owner].push(Incoming { task: t as u32, from: from as u32, to });
            }
        }
        for (task, incoming) in self.tasks.iter_mut().zip(incoming) {
            task.incoming = incoming;
        }
    }
}
