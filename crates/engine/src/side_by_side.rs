//! Simulations that run at the same time, a thread each: as many as there are cores for, and on a GPU all of its own, whose
//! steps it makes together.

use crate::{Extent, Outcome, Progress, Simulation};
use jostle_core::Result;
use jostle_core::backend::{Ensemble, Member, Presence};
use std::collections::BTreeMap;
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

/// A simulation with its number, its presence in an ensemble, and a listener.
type Part<'a, P> = (usize, &'a mut Simulation, Option<Presence<'a>>, Option<&'a mut P>);

/// The way in which some simulations run side by side.
pub struct SideBySide {
    /// Each GPU, or the CPUs, with simulations that run there.
    devices: Vec<OnDevice>,
}

/// Simulations on a device.
struct OnDevice {
    /// Numbers of the simulations, and their parts in an ensemble where the device makes the steps of all together.
    runs: Vec<(usize, Option<Member>)>,
    /// Number of simulations that run at a time.
    workers: usize,
}

impl OnDevice {
    /// The best way for these simulations. A GPU makes the steps of all together; where it cannot, as in reproducible
    /// runs, and where several GPUs share the atoms, those of one after the other.
    fn new(
        simulations: &mut [Simulation],
        numbers: Vec<usize>,
        gpu: Option<usize>,
        at_a_time: usize,
    ) -> Self {
        let alone = |numbers: Vec<usize>, workers: usize| {
            let workers = workers.min(numbers.len()).max(1);
            OnDevice { runs: numbers.into_iter().map(|number| (number, None)).collect(), workers }
        };
        if gpu.is_none() {
            let of_several_gpus = numbers.iter().any(|number| simulations[*number].is_on_gpu());
            return alone(numbers, if of_several_gpus { 1 } else { at_a_time });
        }
        let members = Ensemble::of(numbers.len());
        let joined =
            numbers.iter().zip(&members).filter(|(number, member)| simulations[**number].join(member));
        if joined.count() < numbers.len() || numbers.len() == 1 {
            return alone(numbers, 1);
        }
        let workers = numbers.len();
        OnDevice { runs: numbers.into_iter().zip(members.into_iter().map(Some)).collect(), workers }
    }
}

impl SideBySide {
    /// The best way for these simulations, of which so many run at a time on CPUs. GPUs that have a part of them each work
    /// at the same time.
    pub fn new(simulations: &mut [Simulation], at_a_time: usize) -> Self {
        let mut by_gpu: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for (number, simulation) in simulations.iter().enumerate() {
            by_gpu.entry(simulation.gpu()).or_default().push(number);
        }
        let devices = by_gpu.into_iter();
        let devices = devices.map(|(gpu, numbers)| OnDevice::new(simulations, numbers, gpu, at_a_time));
        SideBySide { devices: devices.collect() }
    }

    /// Number of simulations that run at a time.
    pub fn at_a_time(&self) -> usize {
        self.devices.iter().map(|device| device.workers).sum()
    }

    /// Number of devices that work at the same time.
    pub fn devices(&self) -> usize {
        self.devices.len()
    }

    /// True where a GPU makes the steps of all together, or each of several GPUs those of its own.
    pub fn is_together(&self) -> bool {
        self.devices.iter().flat_map(|device| &device.runs).all(|(_, member)| member.is_some())
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
        let listeners = std::iter::once(Some(progress)).chain(std::iter::repeat_with(|| None));
        let mut left: Vec<_> = simulations.iter_mut().zip(listeners).map(Some).collect();
        // All are present before the first one begins.
        let mut parts: Vec<(Vec<Part<P>>, usize)> = Vec::new();
        for device in &self.devices {
            let taken = device.runs.iter().filter_map(|(number, member)| {
                let (simulation, progress) = left[*number].take()?;
                Some((*number, simulation, member.as_ref().map(Member::enter), progress))
            });
            parts.push((taken.collect(), device.workers));
        }
        let run = |(number, simulation, _presence, progress): Part<P>| {
            let mut extent = extent(simulation);
            let outcome = match progress {
                Some(progress) => simulation.advance_with(&mut extent, progress, &is_stopped),
                None => simulation.advance_with(&mut extent, &mut (), &is_stopped),
            };
            let fails = outcome.is_err() && after_failure == AfterFailure::Stop;
            failed.fetch_or(fails, Ordering::Relaxed);
            (number, outcome)
        };
        let outcomes = on_all(parts, self.devices.len(), |(parts, workers)| on_all(parts, workers, run));
        let mut outcomes: Vec<(usize, Result<Outcome>)> = outcomes.into_iter().flatten().collect();
        outcomes.sort_by_key(|(number, _)| *number);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
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
