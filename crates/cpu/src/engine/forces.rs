//! Evaluation of forces over all tasks.

use super::{Cpu, Incoming, Task};
use crate::blocks::{ListPass, ListedPairs, Sums, TaskForces};
use crate::cells::Clusters;
use crate::division::Division;
use crate::electrostatics::LatticeSumKernel;
use crate::external;
use crate::interaction::PairKernel;
use crate::reference;
use crate::simd::{Level, Scalar};
use crate::threads::Team;
use jostle_core::{Error, Evaluate, Precision, Result, State, System};
use jostle_potentials::diagnose;
use std::ops::Range;
use std::time::Instant;

/// Kernels whose force on a pair depends on nothing but the two atoms.
struct ListKernels<'a, S: Scalar> {
    pairs: &'a [(usize, Box<dyn PairKernel<S>>)],
    lattice_sums: &'a [LatticeSumKernel<S>],
}

impl<S: Scalar> ListKernels<'_, S> {
    /// Sets the forces of a task, and enters the sums of each term. Between evaluations of energies those of pairs of
    /// frozen atoms are taken from the first one with the list.
    fn set_forces(
        &self,
        task: &mut Task<S>,
        (level, clusters): (Level, &Clusters<S>),
        evaluate: Evaluate,
        sums: &mut [Sums],
    ) {
        let Task { list, forces, of_frozen, .. } = task;
        let (list, width) = (&*list, clusters.width);
        let has_frozen = list.n_moving < list.blocks.len();
        if evaluate == Evaluate::ForcesAndEnergies || !has_frozen {
            forces.clear(list, width);
            let pairs = ListedPairs::All;
            return self
                .add_forces(ListPass { level, clusters, list, accumulated: forces, evaluate, pairs }, sums);
        }
        let of_frozen = of_frozen.get_or_insert_with(|| {
            let mut first = TaskForces::default();
            first.clear(list, width);
            let (accumulated, pairs) = (&mut first, ListedPairs::Frozen);
            self.add_forces(ListPass { level, clusters, list, accumulated, evaluate, pairs }, sums);
            first
        });
        forces.begin_with(of_frozen);
        let pairs = ListedPairs::Moving;
        self.add_forces(ListPass { level, clusters, list, accumulated: forces, evaluate, pairs }, sums);
    }

    /// Adds the forces of a pass, and enters the sums of each term.
    fn add_forces(&self, mut pass: ListPass<S>, sums: &mut [Sums]) {
        for (term, kernel) in self.pairs {
            sums[*term] = kernel.add_forces(pass.reborrow());
        }
        for LatticeSumKernel { direct, term, companion, charge, .. } in self.lattice_sums {
            let both = direct.add_forces(pass.reborrow(), charge);
            if let Some(companion) = companion {
                sums[*companion] = both[0];
            }
            sums[*term] = both[1];
        }
    }
}

impl<S: Scalar> Cpu<S> {
    /// Evaluates the forces over the lists, and bonded ones; returns sums by term.
    ///
    /// # Errors
    /// If a bond has broken: names the two atoms.
    pub(super) fn evaluate_lists(&mut self, evaluate: Evaluate) -> Result<Vec<Sums>> {
        let embedding = self.embed(evaluate)?;
        let (own, evaluated) = (self.own_tasks(), self.evaluated_tasks());
        let on = (self.n_owned(), &self.workers.division);
        self.terms.restraints.evaluate_distances(&self.system, &self.forces, on)?;
        if let Some(vacuum) = &mut self.terms.vacuum {
            vacuum.follow(&self.system.state.position);
        }
        let (clusters, kernels, level) = (&self.neighbors.clusters, &self.terms.pairs, self.workers.level);
        let (width, embedded, lattice_sums) =
            (clusters.width, &self.terms.embedded, &self.terms.lattice_sums);
        let (embedded_term, n_searched) = (self.forces.pairs.len(), self.forces.n_searched());
        let (three_body, three_body_term) = (&self.terms.three_body, self.forces.three_body_term());
        let (vacuum, bonded, system, all) =
            (&self.terms.vacuum, &self.terms.bonded, &self.system, &self.forces);
        let (restraints, start) = (&self.terms.restraints, Instant::now());
        let by_task = self.workers.team.map(self.tasks[evaluated.clone()].iter_mut().collect(), |t, task| {
            let mut sums = vec![Sums::default(); n_searched];
            ListKernels { pairs: kernels, lattice_sums }.set_forces(
                task,
                (level, clusters),
                evaluate,
                &mut sums,
            );
            let (list, accumulated, pairs) = (&task.list, &mut task.forces, ListedPairs::All);
            let mut pass = ListPass { level, clusters, list, accumulated, evaluate, pairs };
            if let Some(kernel) = embedded {
                sums[embedded_term] = kernel.add_forces(pass.reborrow(), &task.packed);
            }
            if let Some(kernel) = three_body {
                let how = (level, evaluate);
                sums[three_body_term] = kernel.add_forces(how, clusters, &mut task.centers, pass.accumulated);
            }
            // Bonds, and forces on single atoms, are evaluated by the owner.
            if !own.contains(&(evaluated.start + t)) {
                return (sums, None);
            }
            let own = &mut task.forces.own;
            let vacuum = vacuum.iter();
            let range = &task.list.clusters;
            sums.extend(vacuum.flat_map(|k| k.add_forces(level, clusters, range.clone(), own, evaluate)));
            let (bound, broken) =
                bonded.add_forces(level, &system.state.position, width, &task.bonds, own, evaluate);
            sums.extend(bound);
            sums.extend(external::add_forces(level, (system, all), restraints, clusters, range.clone(), own));
            (sums, broken)
        });
        if let Some(domains) = self.workers.division.domains_mut() {
            domains.load += start.elapsed().as_secs_f64();
        }
        let by_task = self.share_sums(by_task, evaluate)?;
        if let Some(broken) = by_task.iter().find_map(|(_, broken)| *broken) {
            self.report(broken.error(&self.system.state))?;
        }
        self.gather(3 * self.neighbors.clusters.width, |task| &mut task.forces)?;
        let mut sums = vec![Sums::default(); self.forces.n_terms()];
        self.add_long_range(evaluate, &mut sums)?;
        self.share(|task| &mut task.forces)?;
        if let (Some(_), Some(sum)) = (&self.terms.embedded, sums.get_mut(self.forces.pairs.len())) {
            sum.energy = embedding;
        }
        for (task, _) in by_task {
            for (sum, part) in sums.iter_mut().zip(task) {
                sum.energy += part.energy;
                for (w, part) in sum.virial.iter_mut().zip(part.virial) {
                    *w += part;
                }
            }
        }
        if self.workers.division.counts_common() {
            self.terms.restraints.add_to(sums.last_mut());
        }
        self.sum_over_ranks(&mut sums, evaluate)?;
        Ok(sums)
    }

    /// Adds the forces of tasks on clusters of others to the forces of the owners.
    pub(super) fn gather_forces(&mut self) -> Result<()> {
        self.gather(3 * self.neighbors.clusters.width, |task| &mut task.forces)?;
        self.share(|task| &mut task.forces)
    }

    /// Adds the torques of tasks on clusters of others to the torques of the owners.
    pub(super) fn gather_torques(&mut self) -> Result<()> {
        self.gather(3 * self.neighbors.clusters.width, |task| &mut task.torques)?;
        self.share(|task| &mut task.torques)
    }

    /// Adds the numbers that tasks have for clusters of others to the numbers of the owners, `stride` a
    /// cluster.
    fn gather(&mut self, stride: usize, of: fn(&mut Task<S>) -> &mut TaskForces<S>) -> Result<()> {
        self.receive_foreign(stride, of)?;
        self.clear_ghosts(stride, of);
        let own = match self.workers.division {
            Division::Domains(_) => 0..self.tasks.len(),
            Division::None | Division::Tasks(_) => self.own_tasks(),
        };
        let parts = self.tasks.iter_mut().map(|task| {
            // Moved out and back, because the list of incoming numbers belongs to the task, too.
            let incoming = std::mem::take(&mut task.incoming);
            (std::mem::take(of(task)), incoming)
        });
        let mut parts: Vec<_> = parts.collect();
        let split = parts.iter_mut().map(|(numbers, incoming)| {
            let (own, foreign) = numbers.split();
            (own, foreign, &incoming[..])
        });
        hand_over(&self.workers.team, split.collect(), own, stride);
        for (task, (numbers, incoming)) in self.tasks.iter_mut().zip(parts) {
            *of(task) = numbers;
            task.incoming = incoming;
        }
        self.return_from_ghosts(stride, of)
    }

    /// Adds the long-range forces of charges and dispersion; sums by term.
    fn add_long_range(&mut self, evaluate: Evaluate, sums: &mut [Sums]) -> Result<()> {
        let n_moved = self.moved_tasks();
        let (team, system, clusters) = (&self.workers.team, &self.system, &self.neighbors.clusters);
        let mut failure = None;
        for sum in &mut self.terms.lattice_sums {
            let tasks = self.tasks[..n_moved].iter_mut().map(|task| {
                let range = task.list.clusters.clone();
                (range, &mut task.forces.own[..])
            });
            let on = (team, self.workers.level, &self.workers.division);
            match sum.add_long_range(on, system, clusters, tasks.collect(), evaluate) {
                Ok(found) => sums[sum.term] = found,
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(()), |error| self.report(error))
    }

    /// Evaluates densities and the derivatives of embedding energies; returns the sum of embedding energies
    /// and, if asked for, of the energies of pairs.
    fn embed(&mut self, evaluate: Evaluate) -> Result<f64> {
        let Some(mut kernel) = self.terms.embedded.take() else { return Ok(0.0) };
        let (own, evaluated) = (self.own_tasks(), self.evaluated_tasks());
        let (clusters, level, width) =
            (&self.neighbors.clusters, self.workers.level, self.neighbors.clusters.width);
        let pairs = self.workers.team.map(self.tasks[evaluated].iter_mut().collect(), |_, task| {
            let Task { list, densities, packed, .. } = task;
            densities.clear_numbers(list, width);
            let pairs = ListedPairs::All;
            let pass = ListPass { level, clusters, list, accumulated: densities, evaluate, pairs };
            kernel.add_densities(pass, packed)
        });
        self.gather(width, |task| &mut task.densities)?;
        let mut derivative = std::mem::take(&mut kernel.derivative);
        derivative.resize(self.neighbors.clusters.count() * width);
        let mut rest = &mut derivative[..];
        let mut parts = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let part = rest.split_off_mut(..task.list.clusters.len() * width).unwrap_or_default();
            parts.push((task, part));
        }
        let parts = parts.drain(own).collect();
        let clusters = &self.neighbors.clusters;
        let energies = self
            .workers
            .team
            .map(parts, |_, (task, part)| kernel.embed(clusters, &task.list, &task.densities.own, part));
        self.share_by_cluster(&mut derivative, width)?;
        self.forward_numbers(&mut derivative)?;
        kernel.derivative = derivative;
        self.terms.embedded = Some(kernel);
        if evaluate == Evaluate::Forces {
            return Ok(0.0);
        }
        let (pairs, energies) = (self.share_numbers(pairs)?, self.share_numbers(energies)?);
        Ok(pairs.into_iter().chain(energies).sum())
    }

    /// Evaluates forces and energies by the plain reference.
    pub(super) fn evaluate_reference(&mut self) -> Result<()> {
        let weight = self.terms.lattice_sums.first().map_or(1.0, |sum| sum.weight);
        let (forces, energies) = reference::evaluate_weighted(&self.system, &self.forces, weight)?;
        // Energies without those of the constraints, which only a step that is asked for energies adds.
        if self.evaluation.evaluated == Evaluate::ForcesAndEnergies {
            self.evaluation.energies = energies;
        }
        let width = self.neighbors.clusters.width;
        for task in &mut self.tasks {
            let range = task.list.clusters.clone();
            let (own, _) = task.forces.split();
            for (c, cluster) in range.enumerate() {
                for (lane, atom) in self.neighbors.clusters.atoms(cluster).enumerate() {
                    for k in 0..3 {
                        own[c * 3 * width + k * width + lane] = S::from_f64(forces[atom][k]);
                    }
                }
            }
        }
        Ok(())
    }

    /// Spreads the forces on virtual sites over their atoms.
    ///
    /// # Errors
    /// If another rank has failed.
    pub(super) fn spread_forces(&mut self) -> Result<()> {
        if !self.motion.constraints.have_sites() {
            return Ok(());
        }
        let mut forces: Vec<&mut [S]> = self.tasks.iter_mut().map(|task| task.forces.split().0).collect();
        let (System { simbox, state, .. }, width) = (&self.system, self.neighbors.clusters.width);
        let virial = self.motion.constraints.spread(simbox, state, width, &mut forces);
        if self.evaluation.evaluated == Evaluate::ForcesAndEnergies {
            let virial = self.virial_of_ranks(virial)?;
            self.evaluation.energies.virial.iter_mut().zip(virial).for_each(|(w, more)| *w += more);
        }
        Ok(())
    }

    /// The index of the atom with the smallest id whose force is not finite.
    pub(super) fn bad_force(&mut self) -> Option<usize> {
        self.collect_forces();
        let n_owned = self.n_owned();
        let State { force, id, .. } = &self.system.state;
        let bad = |index: &usize| force[*index].iter().any(|x| !x.is_finite());
        (0..n_owned).filter(bad).min_by_key(|index| id[*index])
    }

    /// The error that names the force that was not finite, or the energy.
    pub(super) fn force_fault(&mut self) -> Error {
        let precision = if size_of::<S>() == 4 { Precision::Mixed } else { Precision::Double };
        match self.bad_force() {
            Some(index) => diagnose::force(&self.system, &self.forces, precision, index),
            None => diagnose::energy(&self.forces, &self.evaluation.energies.terms),
        }
    }
}

/// Adds the numbers that tasks have for clusters of others to the numbers of the owners among `receivers`. Parts
/// are the own numbers of a task, those for others, and the list of incoming ones; `stride` numbers a cluster.
fn hand_over<S: Scalar>(
    team: &Team,
    mut parts: Vec<(&mut [S], &[S], &[Incoming])>,
    receivers: Range<usize>,
    stride: usize,
) {
    if parts.len() < 2 {
        return;
    }
    let foreign: Vec<&[S]> = parts.iter().map(|(_, foreign, _)| *foreign).collect();
    team.map(parts.drain(receivers).collect(), |_, (own, _, incoming)| {
        for Incoming { task, from, to } in incoming {
            let from = &foreign[*task as usize][*from as usize * stride..][..stride];
            let to = &mut own[*to as usize * stride..][..stride];
            for (to, from) in to.iter_mut().zip(from) {
                *to = S::from_f64(to.to_f64() + from.to_f64());
            }
        }
    });
}
