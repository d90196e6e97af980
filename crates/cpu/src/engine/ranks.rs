//! Division of tasks among the ranks of a run.
//!
//! Every rank has all atoms and moves all of them. A rank makes the lists of its own tasks and evaluates their
//! forces; forces on clusters of other ranks go to these, which add them in the order of tasks, and the sums go
//! to all. Every rank then has the same bits, as one process with as many tasks would have.

use super::{Cpu, Task};
use crate::blocks::{Sums, TaskForces};
use crate::bonded::Broken;
use crate::division::Division;
use crate::ranks::{Piece, Ranks};
use crate::simd::Scalar;
use bytemuck::{cast_slice, cast_slice_mut};
use jostle_core::backend::Timings;
use jostle_core::{Error, Evaluate, Result, Vec3};
use jostle_transport::{Incoming, Outgoing};
use std::ops::Range;

impl<S: Scalar> Cpu<S> {
    /// Tasks whose atoms are this rank's own.
    pub(super) fn own_tasks(&self) -> Range<usize> {
        self.workers.division.ranks().map_or(0..self.moved_tasks(), Ranks::own)
    }

    /// Tasks whose pairs this rank evaluates: its own, and in a force matrix those of ghosts that have lists.
    pub(super) fn evaluated_tasks(&self) -> Range<usize> {
        match self.workers.division.domains().is_some_and(|domains| domains.ghosts.n_listed > 0) {
            true => 0..2 * self.moved_tasks(),
            false => self.own_tasks(),
        }
    }

    /// Number of tasks whose atoms this rank moves, the first ones; further tasks are of ghosts.
    pub(super) fn moved_tasks(&self) -> usize {
        self.tasks.len() / self.n_runs()
    }

    /// Divides the tasks among the ranks.
    pub(super) fn divide_tasks(&mut self) {
        if let Division::Tasks(ranks) = &mut self.workers.division {
            ranks.divide(self.tasks.len(), self.workers.partition);
        }
    }

    /// Tells all ranks the foreign clusters of all tasks after lists were built; compares the atoms of all
    /// ranks, which are the same to the last bit.
    ///
    /// # Errors
    /// If another rank has failed, or has other atoms.
    pub(super) fn share_foreign_clusters(&mut self) -> Result<()> {
        let state = &self.system.state;
        let Division::Tasks(ranks) = &mut self.workers.division else { return Ok(()) };
        let digest = digest(&[&state.position, &state.velocity]);
        let mut numbers = vec![digest as u32, (digest >> 32) as u32];
        for task in &self.tasks[ranks.own()] {
            numbers.push(task.list.foreign.len() as u32);
            numbers.extend_from_slice(&task.list.foreign);
        }
        let all = ranks.communicator.gather(&numbers)?;
        for (rank, theirs) in all.iter().enumerate() {
            if theirs.get(..2) != numbers.get(..2) {
                let own = ranks.communicator.rank();
                return Err(Error::simulation(format!(
                    "the atoms of ranks {rank} and {own} are not the same"
                ))
                .hint("run on hosts of one kind; otherwise this is a bug in Jostle"));
            }
            let mut rest = &theirs[2..];
            for task in &mut self.tasks[ranks.tasks[rank].clone()] {
                let (foreign, after) = rest
                    .split_first()
                    .and_then(|(n, rest)| rest.split_at_checked(*n as usize))
                    .ok_or_else(|| ranks.out_of_step())?;
                task.list.foreign = foreign.to_vec();
                rest = after;
            }
        }
        let clusters: Vec<Range<usize>> =
            ranks.tasks.iter().map(|tasks| of_tasks(&self.tasks[tasks.clone()])).collect();
        let own = ranks.communicator.rank();
        let pieces = |from: usize, to: usize| {
            let mut pieces = Vec::new();
            for task in ranks.tasks[from].clone().filter(|_| from != to) {
                let foreign = self.tasks[task].list.foreign.iter().enumerate();
                let there = foreign.filter(|(_, cluster)| clusters[to].contains(&(**cluster as usize)));
                pieces.extend(there.map(|(place, _)| Piece { task, place }));
            }
            pieces
        };
        (ranks.sent, ranks.received) =
            (0..ranks.tasks.len()).map(|rank| (pieces(own, rank), pieces(rank, own))).unzip();
        Ok(())
    }

    /// Gets numbers of other ranks' tasks for clusters of this one, `stride` a cluster.
    pub(super) fn receive_foreign(
        &mut self,
        stride: usize,
        of: fn(&mut Task<S>) -> &mut TaskForces<S>,
    ) -> Result<()> {
        let Division::Tasks(ranks) = &self.workers.division else { return Ok(()) };
        let own = ranks.own();
        for (t, task) in self.tasks.iter_mut().enumerate() {
            if !own.contains(&t) {
                let (n, foreign) = (task.list.clusters.len(), task.list.foreign.len());
                of(task).resize(n * stride, foreign * stride);
            }
        }
        let mut sent: Vec<Vec<S>> = Vec::with_capacity(ranks.sent.len());
        for pieces in &ranks.sent {
            let mut numbers = Vec::with_capacity(pieces.len() * stride);
            for piece in pieces {
                let foreign = of(&mut self.tasks[piece.task]).split().1;
                numbers.extend_from_slice(&foreign[piece.place * stride..][..stride]);
            }
            sent.push(numbers);
        }
        let mut received: Vec<Vec<S>> =
            ranks.received.iter().map(|pieces| vec![S::default(); pieces.len() * stride]).collect();
        let outgoing = sent.iter().enumerate().filter(|(_, numbers)| !numbers.is_empty());
        let outgoing: Vec<_> =
            outgoing.map(|(to, numbers)| Outgoing { to, bytes: cast_slice(numbers) }).collect();
        let incoming = received.iter_mut().enumerate().filter(|(_, numbers)| !numbers.is_empty());
        let mut incoming: Vec<_> =
            incoming.map(|(from, numbers)| Incoming { from, bytes: cast_slice_mut(numbers) }).collect();
        ranks.communicator.exchange(&outgoing, &mut incoming)?;
        for (pieces, numbers) in ranks.received.iter().zip(&received) {
            for (piece, numbers) in pieces.iter().zip(numbers.chunks(stride)) {
                let foreign = of(&mut self.tasks[piece.task]).foreign_mut();
                foreign[piece.place * stride..][..stride].copy_from_slice(numbers);
            }
        }
        Ok(())
    }

    /// Gives the numbers that tasks have for their own clusters to all ranks.
    pub(super) fn share(&mut self, of: fn(&mut Task<S>) -> &mut TaskForces<S>) -> Result<()> {
        let Division::Tasks(ranks) = &self.workers.division else { return Ok(()) };
        let mut tasks = self.tasks.iter_mut();
        let (mut outgoing, mut incoming) = (Vec::new(), Vec::new());
        for (from, range) in ranks.tasks.iter().enumerate() {
            for task in tasks.by_ref().take(range.len()) {
                let numbers = of(task).split().0;
                if from != ranks.communicator.rank() {
                    incoming.push(Incoming { from, bytes: cast_slice_mut(numbers) });
                    continue;
                }
                let bytes = cast_slice(numbers);
                outgoing.extend(ranks.communicator.others().map(|to| Outgoing { to, bytes }));
            }
        }
        ranks.communicator.exchange(&outgoing, &mut incoming)
    }

    /// Completes numbers in the order of clusters, `stride` a cluster, of which every rank has those of its
    /// tasks.
    pub(super) fn share_by_cluster(&self, numbers: &mut [S], stride: usize) -> Result<()> {
        let Division::Tasks(ranks) = &self.workers.division else { return Ok(()) };
        let clusters = ranks.tasks.iter().map(|tasks| of_tasks(&self.tasks[tasks.clone()]));
        let mut end = 0;
        let parts: Vec<_> = clusters
            .map(|range| {
                let begin = end;
                end += range.len() * stride;
                begin..end
            })
            .collect();
        ranks.communicator.all_gather(numbers, &parts)
    }

    /// Numbers of all tasks from those of this rank's.
    pub(super) fn share_numbers(&self, numbers: Vec<f64>) -> Result<Vec<f64>> {
        match &self.workers.division {
            Division::Tasks(ranks) => ranks.join(&numbers),
            Division::None | Division::Domains(_) => Ok(numbers),
        }
    }

    /// Sums by term of all tasks, and their broken bonds, from those of this rank's tasks. Where only forces are
    /// asked for and nothing can break, they stay as they are, because nothing reads them.
    pub(super) fn share_sums(
        &self,
        own: Vec<(Vec<Sums>, Option<Broken>)>,
        evaluate: Evaluate,
    ) -> Result<Vec<(Vec<Sums>, Option<Broken>)>> {
        let needed = evaluate == Evaluate::ForcesAndEnergies || !self.terms.bonded.is_empty();
        let Some(ranks) = self.workers.division.ranks().filter(|_| needed) else { return Ok(own) };
        let mut numbers = Vec::new();
        for (sums, broken) in &own {
            let (atoms, length) = broken.map_or(([0; 2], 0.0), |broken| (broken.atoms, broken.length));
            let is_broken = f64::from(u8::from(broken.is_some()));
            numbers.extend([sums.len() as f64, is_broken, atoms[0] as f64, atoms[1] as f64, length]);
            for sum in sums {
                numbers.push(sum.energy);
                numbers.extend(sum.virial);
            }
        }
        let all = self.share_numbers(numbers)?;
        let (mut rest, mut tasks) = (&all[..], Vec::new());
        while let [n, is_broken, a, b, length, after @ ..] = rest {
            let broken = Broken { atoms: [*a as usize, *b as usize], length: *length };
            let (sums, after) = after.split_at_checked(*n as usize * 7).ok_or_else(|| ranks.out_of_step())?;
            let sums = sums.chunks_exact(7).map(|numbers| {
                let virial = std::array::from_fn(|k| numbers[k + 1]);
                Sums { energy: numbers[0], virial }
            });
            tasks.push((sums.collect(), (*is_broken != 0.0).then_some(broken)));
            rest = after;
        }
        Ok(tasks)
    }

    /// Timings by which all ranks steer: those of rank 0.
    pub(super) fn common_timings(&self) -> Result<Timings> {
        let communicator = match &self.workers.division {
            Division::None => return Ok(self.timings),
            Division::Tasks(ranks) => &ranks.communicator,
            Division::Domains(domains) => &domains.communicator,
        };
        let mut numbers = [self.timings.pair, self.timings.neighbors, self.timings.integrate];
        communicator.broadcast_numbers(&mut numbers)?;
        let [pair, neighbors, integrate] = numbers;
        Ok(Timings { pair, neighbors, integrate, ..self.timings })
    }
}

/// Clusters of tasks that follow each other.
fn of_tasks<S: Scalar>(tasks: &[Task<S>]) -> Range<usize> {
    match tasks {
        [first, .., last] => first.list.clusters.start..last.list.clusters.end,
        [task] => task.list.clusters.clone(),
        [] => 0..0,
    }
}

/// A number that differs where the bits of vectors differ (FNV's product, word by word).
fn digest(all: &[&[Vec3]]) -> u64 {
    let words = all.iter().flat_map(|vectors| vectors.iter().flatten());
    words.fold(0xcbf2_9ce4_8422_2325, |hash: u64, x| {
        (hash ^ x.to_bits()).wrapping_mul(0x100_0000_01b3).rotate_left(23)
    })
}
