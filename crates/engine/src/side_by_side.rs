//! Simulations that run at the same time, a thread each: as many as there are cores for, and on a GPU all of them, whose
//! steps it makes together.

use crate::{Extent, Outcome, Progress, Simulation};
use jostle_core::Result;
use jostle_core::backend::{Ensemble, Member, Presence};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Fate of the others where a simulation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// They stop soon.
    Stop,
    /// They go on.
    GoOn,
}

/// A simulation with its presence in an ensemble, and a listener.
type Part<'a, P> = (&'a mut Simulation, Option<Presence<'a>>, Option<&'a mut P>);

/// The way in which some simulations run side by side.
pub struct SideBySide {
    /// Number of simulations that run at a time.
    workers: usize,
    /// Parts in an ensemble; empty where each device works alone.
    members: Vec<Member>,
}

impl SideBySide {
    /// The best way for these simulations, of which so many run at a time on CPUs. A GPU makes the steps of all together;
    /// where it cannot, as in reproducible runs, it makes those of one after the other.
    pub fn new(simulations: &mut [Simulation], at_a_time: usize) -> Self {
        let members = Ensemble::of(simulations.len());
        let joined = simulations.iter_mut().zip(&members).map(|(one, member)| one.join(member));
        let joined = joined.filter(|joined| *joined).count();
        if joined > 1 && joined == simulations.len() {
            return SideBySide { workers: joined, members };
        }
        let on_gpu = simulations.iter_mut().any(Simulation::is_on_gpu);
        let workers = if on_gpu { 1 } else { at_a_time.min(simulations.len()).max(1) };
        SideBySide { workers, members: Vec::new() }
    }

    /// Number of simulations that run at a time.
    pub fn at_a_time(&self) -> usize {
        self.workers
    }

    /// True where a GPU makes the steps of all together.
    pub fn is_together(&self) -> bool {
        !self.members.is_empty()
    }

    /// Runs a part of each simulation, until `stop` is true; returns their outcomes, in their order. `progress` listens to
    /// the first one.
    pub fn advance<P: Progress + Send>(
        &self,
        simulations: &mut [Simulation],
        extent: &(dyn Fn(&Simulation) -> Extent + Sync),
        after_failure: AfterFailure,
        progress: &mut P,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Vec<Result<Outcome>> {
        let failed = AtomicBool::new(false);
        let is_stopped = || stop() || failed.load(Ordering::Relaxed);
        // All are present before the first one begins.
        let mut presences: Vec<Option<Presence>> =
            self.members.iter().map(|member| Some(member.enter())).collect();
        presences.resize_with(simulations.len(), || None);
        let listeners = std::iter::once(Some(progress)).chain(std::iter::repeat_with(|| None));
        let parts: Vec<Part<P>> = simulations
            .iter_mut()
            .zip(presences)
            .zip(listeners)
            .map(|((simulation, presence), progress)| (simulation, presence, progress))
            .collect();
        on_all(parts, self.workers, |(simulation, _presence, progress): Part<P>| {
            let mut extent = extent(simulation);
            let outcome = match progress {
                Some(progress) => simulation.advance_with(&mut extent, progress, &is_stopped),
                None => simulation.advance_with(&mut extent, &mut (), &is_stopped),
            };
            let fails = outcome.is_err() && after_failure == AfterFailure::Stop;
            failed.fetch_or(fails, Ordering::Relaxed);
            outcome
        })
    }
}

/// Does something with each of some things on so many threads; returns the results, in their order.
pub fn on_all<T: Send, R: Send>(things: Vec<T>, threads: usize, act: impl Fn(T) -> R + Sync) -> Vec<R> {
    let count = things.len();
    let queue = Mutex::new(things.into_iter().enumerate());
    let results = Mutex::new(Vec::with_capacity(count));
    let work = || {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((number, thing)) = next else { break };
            let result = act(thing);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
        }
    };
    thread::scope(|scope| {
        (1..threads.min(count)).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}
