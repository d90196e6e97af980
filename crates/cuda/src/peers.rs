//! GPUs of a run, as one of them sees the others: its number, and collective calls of the host's threads.
//!
//! Every GPU has a thread of the host that makes the same calls. Decisions that could differ (times, capacity) are made
//! from numbers that all have put together, so that all threads decide alike.

use crate::exchange::Exchange;
use jostle_core::{Error, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Collective calls of the threads of all GPUs: barriers that carry numbers.
pub struct Collective {
    count: usize,
    /// Longest wait for the others.
    patience: Duration,
    state: Mutex<CollectiveState>,
    changed: Condvar,
}

#[derive(Default)]
struct CollectiveState {
    /// Number of calls that are over.
    over: u64,
    /// Numbers that each thread has brought to the call under way.
    brought: Vec<Option<Vec<f64>>>,
    /// Numbers of the last call.
    result: Arc<Vec<Vec<f64>>>,
    /// First failure of a thread, after which no thread waits.
    failure: Option<Error>,
}

impl Collective {
    /// Collective calls of so many threads.
    pub fn new(count: usize, patience: Duration) -> Arc<Collective> {
        let state = CollectiveState { brought: vec![None; count], ..CollectiveState::default() };
        Arc::new(Collective { count, patience, state: Mutex::new(state), changed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, CollectiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets all threads that wait go on with an error, now and in future. The first one counts.
    pub fn fail(&self, error: &Error) {
        self.lock().failure.get_or_insert_with(|| error.clone());
        self.changed.notify_all();
    }

    /// First failure so far.
    pub fn failure(&self) -> Option<Error> {
        self.lock().failure.clone()
    }

    /// Begins anew after an error that all threads have met with alike, while none of them is here.
    pub fn clear(&self) {
        let mut state = self.lock();
        state.failure = None;
        state.brought.fill(None);
    }

    /// Numbers of all threads, in the order of their GPUs.
    fn gather(&self, rank: usize, numbers: Vec<f64>) -> Result<Arc<Vec<Vec<f64>>>> {
        let mut state = self.lock();
        let mine = state.over;
        state.brought[rank] = Some(numbers);
        if state.brought.iter().all(Option::is_some) {
            let all = state.brought.iter_mut().filter_map(Option::take).collect();
            state.result = Arc::new(all);
            state.over += 1;
            self.changed.notify_all();
        }
        while state.over == mine && state.failure.is_none() {
            let (after, wait) =
                self.changed.wait_timeout(state, self.patience).unwrap_or_else(PoisonError::into_inner);
            state = after;
            if wait.timed_out() && state.over == mine {
                let late = (0..self.count).filter(|k| state.brought[*k].is_none());
                let late = Vec::from_iter(late.map(|k| k.to_string())).join(" and ");
                let seconds = self.patience.as_secs();
                let message =
                    format!("the thread of GPU {rank} waited {seconds} s for that of GPU {late}, in vain");
                state.failure = Some(Error::device(message));
            }
        }
        match &state.failure {
            Some(error) if state.over == mine => Err(error.clone()),
            _ => Ok(state.result.clone()),
        }
    }
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
        let collective = Collective::new(3, Duration::from_secs(60));
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
        let collective = Collective::new(2, Duration::from_secs(600));
        thread::scope(|scope| {
            let waits = scope.spawn(|| collective.gather(0, Vec::new()));
            collective.fail(&Error::device("lost"));
            assert_eq!(waits.join().unwrap().unwrap_err().message(), "lost");
        });
        let short = Collective::new(2, Duration::from_millis(10));
        let error = short.gather(1, Vec::new()).unwrap_err();
        assert!(error.message().contains("for that of GPU 0"), "{}", error.message());
    }
}
