//! The motion of atoms, over all tasks; [`crate::integrate`] has the loop over the atoms of one task.

use super::Cpu;
use crate::cells::Clusters;
use crate::integrate::{Follow, MotionCheck, TaskAtoms};
use crate::simd::{PlainCode, Scalar};
use jostle_core::Result;
use jostle_core::{State, Vec3, Vector};
use jostle_potentials::external::{PlacedWalls, outside_walls};
use std::time::Instant;

/// Changes of all atoms that wait until the next change is known, so that both are made in one pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Pending {
    Nothing,
    /// Drift: r += dt v.
    Drift(f64),
    /// Drift and constraints: r += drift v + c and v += c / dt by the corrections c.
    DriftAndCorrect {
        drift: f64,
        dt: f64,
    },
    /// Constraints of velocities: v += c.
    CorrectVelocities,
}

impl<S: Scalar> Cpu<S> {
    /// Runs `body` on the atoms of every task, in parallel; returns results in the order of tasks.
    pub(super) fn each<R: Send>(&mut self, body: impl Fn(TaskAtoms<S>) -> R + Sync) -> Vec<R> {
        let n_moved = self.moved_tasks();
        let Clusters { width, first, origin, position: relative, built, .. } = &mut self.neighbors.clusters;
        let State { id, species, position, velocity, .. } = &mut self.system.state;
        let (mut relative, mut built) = (&mut relative[..], &built[..]);
        let (mut id, mut species, mut slot) = (&id[..], &species[..], self.motion.constraints.slots());
        let (mut position, mut velocity) = (&mut position[..], &mut velocity[..]);
        let mut parts = Vec::with_capacity(n_moved);
        for task in &self.tasks[..n_moved] {
            let range = task.list.clusters.clone();
            let first = &first[range.start..=range.end];
            let n_atoms = (first[range.len()] - first[0]) as usize;
            let n_places = range.len() * 3 * *width;
            parts.push(TaskAtoms {
                width: *width,
                first,
                origin: &origin[range],
                id: id.split_off(..n_atoms).unwrap_or_default(),
                species: species.split_off(..n_atoms).unwrap_or_default(),
                slot: slot.split_off(..n_atoms).unwrap_or_default(),
                corrections: self.motion.constraints.corrections(),
                position: position.split_off_mut(..n_atoms).unwrap_or_default(),
                velocity: velocity.split_off_mut(..n_atoms).unwrap_or_default(),
                force: &task.forces.own,
                relative: relative.split_off_mut(..n_places).unwrap_or_default(),
                built: built.split_off(..n_places).unwrap_or_default(),
            });
        }
        let level = self.workers.level;
        self.workers.team.map(parts, |_, atoms| level.run(PlainCode(|| body(atoms))))
    }

    /// Runs `body` on the atoms of every task, timed as integration, after making sure that tasks exist and
    /// making pending changes.
    pub(super) fn integrate<R: Send>(&mut self, body: impl Fn(TaskAtoms<S>) -> R + Sync) -> Result<Vec<R>> {
        self.finish(Follow::Not);
        if self.tasks.is_empty() {
            // Before the first force evaluation there are no tasks yet.
            self.rebuild()?;
        }
        let start = Instant::now();
        let results = self.each(body);
        self.timings.integrate += start.elapsed().as_secs_f64();
        Ok(results)
    }

    /// Scaling and shift of velocities: v = factor v + delta.
    pub(super) fn scale_and_shift(&mut self, factor: f64, delta: Vec3) -> Result<()> {
        let inverse_mass = self.motion.inverse_mass.clone();
        self.integrate(|mut atoms| atoms.scale_and_shift(&inverse_mass, factor, delta)).map(drop)
    }

    /// Reflection of atoms at the walls that reflect them, where these are at a time.
    pub(super) fn reflect_at_walls(&mut self, time: f64) -> Result<()> {
        let inverse_mass = self.motion.inverse_mass.clone();
        let walls = PlacedWalls::new(&self.forces.reflecting_walls, time);
        let outside = self.integrate(|mut atoms| atoms.reflect(&inverse_mass, &walls))?;
        self.motion.unfollowed = true;
        match outside.into_iter().flatten().min() {
            Some(id) => Err(outside_walls(&self.forces.reflecting_walls, &self.system.names.describe(id))),
            None => Ok(()),
        }
    }

    /// Copies forces from the tasks to the state.
    pub(super) fn collect_forces(&mut self) {
        let clusters = &self.neighbors.clusters;
        let mut rest = &mut self.system.state.force[..];
        let mut parts = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let range = task.list.clusters.clone();
            let n = (clusters.first[range.end] - clusters.first[range.start]) as usize;
            parts.push((range, &task.forces.own, rest.split_off_mut(..n).unwrap_or_default()));
        }
        self.workers.team.map(parts, |_, (range, from, to)| {
            let mut to = to.iter_mut();
            for (c, cluster) in range.enumerate() {
                for (lane, force) in to.by_ref().take(clusters.atoms(cluster).len()).enumerate() {
                    let place = c * 3 * clusters.width + lane;
                    *force = Vector::from_fn(|k| from[place + k * clusters.width].to_f64());
                }
            }
        });
    }

    /// Returns true if there are constraints; makes sure then that atoms have been sorted.
    pub(super) fn is_constrained(&mut self) -> Result<bool> {
        if !self.motion.constraints.is_empty() && self.tasks.is_empty() {
            self.rebuild()?;
        }
        Ok(!self.motion.constraints.is_empty())
    }

    /// Updates the coordinates in clusters after atoms have been put where a checkpoint has them.
    pub(super) fn follow_restored(&mut self) {
        let level = self.workers.level;
        self.each(|mut atoms| atoms.drift(level, 0.0, Follow::UpTo { limit2: f64::INFINITY }));
    }

    /// Forgets lists and changes under way, after atoms were put somewhere else.
    pub(super) fn forget_lists(&mut self) {
        self.tasks.clear();
        self.recall_contacts();
        (self.neighbors.stale, self.motion.pending, self.motion.unfollowed) = (true, Pending::Nothing, false);
    }

    /// Update of the coordinates in clusters, by which the list is stale when an atom has moved half the skin.
    pub(super) fn follow(&self) -> Follow {
        // Rounding must not make the list a little too short.
        Follow::UpTo { limit2: (0.5 * self.neighbors.skin.now() * (1.0 - 1e-5)).powi(2) }
    }

    /// Takes the time of a pending drift, which the caller is to make now; makes any other pending change.
    pub(super) fn take_drift(&mut self) -> f64 {
        match self.motion.pending {
            Pending::Drift(dt) => {
                self.motion.pending = Pending::Nothing;
                dt
            }
            _ => {
                self.finish(Follow::Not);
                0.0
            }
        }
    }

    /// Makes the pending change.
    pub(super) fn finish(&mut self, follow: Follow) {
        let pending = std::mem::replace(&mut self.motion.pending, Pending::Nothing);
        if pending == Pending::Nothing {
            return;
        }
        let (start, level) = (Instant::now(), self.workers.level);
        let checks = self.each(|mut atoms| match pending {
            Pending::Nothing => MotionCheck::Passed,
            Pending::Drift(dt) => atoms.drift(level, dt, follow),
            Pending::DriftAndCorrect { drift, dt } => atoms.drift_and_correct(level, drift, dt, follow),
            Pending::CorrectVelocities => atoms.correct_velocities(level),
        });
        if pending != Pending::CorrectVelocities {
            self.motion.unfollowed = follow == Follow::Not;
            self.neighbors.stale |= checks.contains(&MotionCheck::Failed);
        }
        self.timings.integrate += start.elapsed().as_secs_f64();
    }

    /// Makes the pending change, and updates the coordinates in clusters.
    pub(super) fn catch_up(&mut self) {
        let follow = self.follow();
        self.finish(follow);
        if std::mem::take(&mut self.motion.unfollowed) {
            let level = self.workers.level;
            let checks = self.each(|mut atoms| atoms.drift(level, 0.0, follow));
            self.neighbors.stale |= checks.contains(&MotionCheck::Failed);
        }
    }
}
