//! Ranks of a run: agreement on threads and instructions, and division of tasks. What ranks do together is where the
//! work is: in `engine/ranks.rs` for forces of lists, in `electrostatics` for reciprocal space.

use crate::simd::Level;
use bytemuck::Pod;
use jostle_core::{Error, Result, Settings};
use jostle_transport::{Communicator, threads_per_rank};
use std::ops::Range;

/// Division of clusters among tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Partition {
    /// One task a thread: fastest.
    ByThreads,
    /// Independent of the number of threads, so that sums are the same to the last bit.
    Fixed,
}

/// The ranks of a run, and what they have agreed on.
pub struct Ranks {
    pub(crate) communicator: Communicator,
    /// Instruction set that all of them have.
    level: Level,
    /// Threads of each rank.
    threads: Vec<usize>,
    /// Reason why every rank has all atoms.
    pub(crate) whole: Option<&'static str>,
    /// Tasks of each rank.
    pub(crate) tasks: Vec<Range<usize>>,
    /// Numbers of this rank's tasks for clusters of each rank.
    pub(crate) sent: Vec<Vec<Piece>>,
    /// Numbers of each rank's tasks for clusters of this one.
    pub(crate) received: Vec<Vec<Piece>>,
}

/// A cluster for which a task has numbers that belong to another rank.
pub(crate) struct Piece {
    pub task: usize,
    /// Place among the task's foreign clusters.
    pub place: usize,
}

impl Ranks {
    /// Ranks that agree on an instruction set and on their threads. All of them call this.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn agree(communicator: Communicator, settings: &Settings, level: Level) -> Result<Ranks> {
        let number = |level: Level| Level::ALL.iter().position(|other| *other == level).unwrap_or(0);
        let levels = communicator.gather_equal(&[number(level) as u64])?;
        let least = levels.into_iter().min().unwrap_or(0) as usize;
        let threads = match settings.threads {
            Some(threads) => vec![threads; communicator.size()],
            None => threads_per_rank(&communicator)?,
        };
        let level = Level::ALL.get(least).copied().unwrap_or(Level::Portable);
        let (tasks, sent, received) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Ranks { communicator, level, threads, whole: None, tasks, sent, received })
    }

    /// The instruction set.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Threads of this rank.
    pub fn threads(&self) -> usize {
        self.threads.get(self.communicator.rank()).copied().unwrap_or(1)
    }

    /// Threads of all ranks.
    pub fn all_threads(&self) -> usize {
        self.threads.iter().sum()
    }

    /// Divides tasks among the ranks, in their order.
    pub(crate) fn divide(&mut self, n_tasks: usize, partition: Partition) {
        let (size, mut begin) = (self.communicator.size(), 0);
        self.tasks = (0..size)
            .map(|rank| match partition {
                Partition::Fixed => rank * n_tasks / size..(rank + 1) * n_tasks / size,
                Partition::ByThreads => {
                    begin += self.threads[rank];
                    begin - self.threads[rank]..begin
                }
            })
            .collect();
    }

    /// Tasks of this rank.
    pub(crate) fn own(&self) -> Range<usize> {
        self.tasks.get(self.communicator.rank()).cloned().unwrap_or_default()
    }

    /// Numbers of all ranks in their order, from those of this one.
    ///
    /// # Errors
    /// If another rank has failed.
    pub(crate) fn join<T: Pod>(&self, numbers: &[T]) -> Result<Vec<T>> {
        Ok(self.communicator.gather(numbers)?.concat())
    }

    /// Error of a message that is not what it should be.
    pub(crate) fn out_of_step(&self) -> Error {
        Error::simulation(format!("rank {} got what it did not expect", self.communicator.rank()))
            .hint("this is a bug in Jostle, or the ranks do not run the same program")
    }
}
