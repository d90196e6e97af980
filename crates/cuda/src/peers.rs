//! GPUs of a run, as one of them sees the others: its number, and collective calls of the hosts' threads.
//!
//! Every GPU has a thread of its host that makes the same calls. Decisions that could differ (times, capacity) are made
//! from numbers that all have put together, so that all threads decide alike. Those of other processes come and go by
//! messages (`messenger.rs`).

use crate::device_data::MOST_GPUS;
use crate::exchange::Exchange;
use crate::messenger::outbox::{Notice, Outbox};
use jostle_core::{Error, Result};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Checks that a run takes so many GPUs.
pub fn check_count(count: usize) -> Result<()> {
    match (1..=MOST_GPUS).contains(&count) {
        true => Ok(()),
        false => Err(Error::input(format!("{count} GPUs: a run takes from 1 to {MOST_GPUS}"))),
    }
}

/// Collective calls of the threads of all GPUs: barriers that carry numbers.
pub struct Collective {
    count: usize,
    /// Longest wait for the others.
    patience: Duration,
    /// Notices to other processes, where there are any.
    outbox: Option<Arc<Outbox>>,
    state: Mutex<CollectiveState>,
    changed: Condvar,
}

#[derive(Default)]
struct CollectiveState {
    /// Number of calls that are over.
    over: u64,
    /// Numbers that each thread has brought to the calls under way, with the call of the device that they belong to: those
    /// of another process may be ahead.
    brought: Vec<VecDeque<(u64, Vec<f64>)>>,
    /// Numbers of the last call.
    result: Arc<Vec<Vec<f64>>>,
    /// First failure of a thread, after which no thread waits.
    failure: Option<Failure>,
    /// Calls of the device so far.
    device_calls: u64,
    /// Failure of another process in a call of the device that is still to come here.
    to_come: Option<(u64, Error)>,
}

/// Failure of a thread.
struct Failure {
    error: Error,
    place: FailurePlace,
}

/// Process of a thread that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailurePlace {
    Here,
    Elsewhere,
}

impl CollectiveState {
    /// Ends a call to which all threads have brought their numbers.
    fn end_call(&mut self) -> bool {
        let complete = self.brought.iter().all(|numbers| !numbers.is_empty());
        if complete {
            let all = self.brought.iter_mut().filter_map(VecDeque::pop_front);
            let all = all.map(|(_, numbers)| numbers).collect();
            self.result = Arc::new(all);
            self.over += 1;
        }
        complete
    }

    fn error(&self) -> Option<Error> {
        self.failure.as_ref().map(|failure| failure.error.clone())
    }
}

impl Collective {
    /// Collective calls of so many threads, some of which may be in other processes: these are told by `outbox`.
    pub fn new(count: usize, patience: Duration, outbox: Option<Arc<Outbox>>) -> Arc<Collective> {
        let state = CollectiveState { brought: vec![VecDeque::new(); count], ..CollectiveState::default() };
        Arc::new(Collective { count, patience, outbox, state: Mutex::new(state), changed: Condvar::new() })
    }

    /// Number of threads.
    pub fn count(&self) -> usize {
        self.count
    }

    fn lock(&self) -> MutexGuard<'_, CollectiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_others(&self, notice: impl FnOnce() -> Notice) {
        if let Some(outbox) = &self.outbox {
            outbox.add(notice());
        }
    }

    /// Begins a call of the device, which all processes make in the same order.
    pub fn begin_call(&self) {
        let mut state = self.lock();
        state.device_calls += 1;
        let call = state.device_calls;
        if let Some((_, error)) = state.to_come.take_if(|(number, _)| *number == call) {
            state.failure.get_or_insert(Failure { error, place: FailurePlace::Elsewhere });
        }
    }

    /// Lets all threads that wait go on with an error, now and in future. The first one of this process counts.
    pub fn fail(&self, error: &Error) {
        let mut state = self.lock();
        let failure = Failure { error: error.clone(), place: FailurePlace::Here };
        match state.failure.as_ref().map(|failure| failure.place) {
            Some(FailurePlace::Here) => return,
            Some(FailurePlace::Elsewhere) => {}
            None => self.tell_others(|| Notice::Failed {
                call: state.device_calls,
                message: error.message().to_string(),
            }),
        }
        state.failure = Some(failure);
        self.changed.notify_all();
    }

    /// Takes note that another process has failed in a call of the device. One that is over here has ended as it has.
    pub fn fail_elsewhere(&self, call: u64, error: Error) {
        let mut state = self.lock();
        if call > state.device_calls {
            state.to_come = Some((call, error));
        } else if call == state.device_calls {
            state.failure.get_or_insert(Failure { error, place: FailurePlace::Elsewhere });
            self.changed.notify_all();
        }
    }

    /// First failure so far.
    pub fn failure(&self) -> Option<Error> {
        self.lock().error()
    }

    /// Begins anew after an error that all threads have met with alike, while none of them is here.
    pub fn clear(&self) {
        let mut state = self.lock();
        state.failure = None;
        let over = state.device_calls;
        // Other processes may have gone on already.
        state.brought.iter_mut().for_each(|brought| brought.retain(|(call, _)| *call > over));
    }

    /// Takes the numbers of a thread of another process in a call of the device.
    pub fn bring(&self, rank: usize, call: u64, numbers: Vec<f64>) {
        let mut state = self.lock();
        // A call that has failed and is over here is none to go on with.
        let over = call < state.device_calls;
        let Some(brought) = state.brought.get_mut(rank).filter(|_| !over) else { return };
        brought.push_back((call, numbers));
        if state.end_call() {
            self.changed.notify_all();
        }
    }

    /// One number of each thread, in the order of their GPUs.
    #[cfg(test)]
    pub fn all(&self, rank: usize, number: f64) -> Result<Vec<f64>> {
        Ok(self.gather(rank, vec![number])?.iter().flatten().copied().collect())
    }

    /// Numbers of all threads, in the order of their GPUs.
    fn gather(&self, rank: usize, numbers: Vec<f64>) -> Result<Arc<Vec<Vec<f64>>>> {
        let mut state = self.lock();
        let mine = state.over;
        let call = state.device_calls;
        self.tell_others(|| Notice::Numbers { gpu: rank, call, numbers: numbers.clone() });
        state.brought[rank].push_back((call, numbers));
        if state.end_call() {
            self.changed.notify_all();
        }
        while state.over == mine && state.failure.is_none() {
            let (after, wait) =
                self.changed.wait_timeout(state, self.patience).unwrap_or_else(PoisonError::into_inner);
            state = after;
            if wait.timed_out() && state.over == mine && state.failure.is_none() {
                let error = late(rank, &state.brought, self.patience);
                state.failure = Some(Failure { error, place: FailurePlace::Here });
            }
        }
        match state.error() {
            Some(error) if state.over == mine => Err(error),
            _ => Ok(state.result.clone()),
        }
    }
}

/// Error of a thread that has waited for others in vain.
fn late(rank: usize, brought: &[VecDeque<(u64, Vec<f64>)>], patience: Duration) -> Error {
    let late = (0..brought.len()).filter(|k| brought[*k].is_empty());
    let late = Vec::from_iter(late.map(|k| k.to_string())).join(" and ");
    let seconds = patience.as_secs();
    Error::device(format!("the thread of GPU {rank} waited {seconds} s for that of GPU {late}, in vain"))
}

/// The other GPUs of a run, as one of them sees them.
#[derive(Clone)]
pub struct Peers {
    /// Number of this GPU.
    pub rank: usize,
    pub exchange: Exchange,
    collective: Arc<Collective>,
}

impl Peers {
    /// The GPU with this number, whose thread takes part in these collective calls.
    pub fn new(rank: usize, exchange: Exchange, collective: Arc<Collective>) -> Self {
        Peers { rank, exchange, collective }
    }

    /// Number of GPUs.
    pub fn count(&self) -> usize {
        self.collective.count
    }

    /// True for the GPU that counts in sums over what all of them compute.
    pub fn leads(&self) -> bool {
        self.rank == 0
    }

    /// Waits for the threads of the others. Before launches that wait for other GPUs: memory may be allocated before, and
    /// not between, because allocation may wait for all GPUs.
    ///
    /// # Errors
    /// If another thread has failed, or does not come.
    pub fn barrier(&self) -> Result<()> {
        self.collective.gather(self.rank, Vec::new()).map(drop)
    }

    /// Largest of the numbers of all GPUs.
    ///
    /// # Errors
    /// As for [`Peers::barrier`].
    pub fn largest(&self, number: f64) -> Result<f64> {
        Ok(self.all(number)?.into_iter().fold(f64::NEG_INFINITY, f64::max))
    }

    /// Sums of the numbers of all GPUs, in the order of these.
    ///
    /// # Errors
    /// As for [`Peers::barrier`].
    pub fn sums(&self, numbers: &[f64]) -> Result<Vec<f64>> {
        let all = self.collective.gather(self.rank, numbers.to_vec())?;
        let mut sums = vec![0.0; numbers.len()];
        for one in all.iter() {
            sums.iter_mut().zip(one).for_each(|(sum, number)| *sum += number);
        }
        Ok(sums)
    }

    /// Addresses that each GPU has brought, in the order of these.
    ///
    /// # Errors
    /// As for [`Peers::barrier`].
    pub fn addresses(&self, own: &[u64]) -> Result<Vec<Vec<u64>>> {
        // Addresses have fewer than 53 bits.
        let all = self.collective.gather(self.rank, own.iter().map(|address| *address as f64).collect())?;
        Ok(all.iter().map(|one| one.iter().map(|address| *address as u64).collect()).collect())
    }

    /// Numbers of all GPUs, in their order.
    ///
    /// # Errors
    /// As for [`Peers::barrier`].
    pub fn all(&self, number: f64) -> Result<Vec<f64>> {
        let all = self.collective.gather(self.rank, vec![number])?;
        Ok(all.iter().flatten().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn numbers_of_all_threads_are_put_together() {
        let collective = Collective::new(3, Duration::from_secs(60), None);
        let found: Vec<f64> = thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|rank| {
                    let collective = &collective;
                    scope.spawn(move || {
                        let mut sum = 0.0;
                        for turn in 0..50 {
                            let all = collective.gather(rank, vec![f64::from(turn) + rank as f64]).unwrap();
                            sum += all.iter().flatten().sum::<f64>();
                        }
                        sum
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(found, [3.0 * (1225.0 + 50.0); 3]);
    }

    #[test]
    fn no_thread_waits_for_one_that_failed() {
        let collective = Collective::new(2, Duration::from_secs(600), None);
        thread::scope(|scope| {
            let waits = scope.spawn(|| collective.gather(0, Vec::new()));
            collective.fail(&Error::device("lost"));
            assert_eq!(waits.join().unwrap().unwrap_err().message(), "lost");
        });
        let short = Collective::new(2, Duration::from_millis(10), None);
        let error = short.gather(1, Vec::new()).unwrap_err();
        assert!(error.message().contains("for that of GPU 0"), "{}", error.message());
    }
}
