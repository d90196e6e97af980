//! A handle by which other threads hold a run, let it go on, end it, and leave notes in its log.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Notes that wait to be taken; what comes when there are so many is counted and left out.
const MOST_NOTES: usize = 100;

/// Handle of a run, see [`crate::Simulation::handle`]; clones are handles of the same run.
#[derive(Debug, Clone, Default)]
pub struct RunHandle(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    held: AtomicBool,
    stopped: AtomicBool,
    paused: AtomicBool,
    notes: Mutex<Notes>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Notes {
    queue: VecDeque<String>,
    left_out: u64,
}

impl RunHandle {
    /// Holds the run after the step or the batch of steps under way, until it is released.
    pub fn hold(&self) {
        self.0.held.store(true, Ordering::Relaxed);
    }

    /// Lets the run go on.
    pub fn release(&self) {
        self.0.held.store(false, Ordering::Relaxed);
        self.wake();
    }

    /// Ends the run with a checkpoint, as an interrupt does.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Lets the run return after the step or the batch of steps under way, as an observer does by
    /// [`Context::pause`](crate::Context::pause): running again continues it.
    pub fn pause(&self) {
        self.0.paused.store(true, Ordering::Relaxed);
    }

    /// Leaves a message for the log and the listener of the run.
    pub fn note(&self, message: String) {
        let mut notes = self.notes();
        match notes.queue.len() < MOST_NOTES {
            true => notes.queue.push_back(message),
            false => notes.left_out += 1,
        }
    }

    /// Returns true while the run is held.
    pub(crate) fn is_held(&self) -> bool {
        self.0.held.load(Ordering::Relaxed)
    }

    fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// Takes the request to end the run, if there is one, so that a run that goes on later does not end again.
    pub(crate) fn take_stop(&self) -> bool {
        self.is_stopped() && self.0.stopped.swap(false, Ordering::Relaxed)
    }

    /// Takes the request to pause the run, if there is one.
    pub(crate) fn take_pause(&self) -> bool {
        self.0.paused.swap(false, Ordering::Relaxed)
    }

    /// Waits until the run is not held any more, as long as `patience`.
    pub(crate) fn wait(&self, patience: Duration) {
        let waits = |_: &mut Notes| self.is_held() && !self.is_stopped();
        // The outcome is in the flags.
        let _ = self.0.changed.wait_timeout_while(self.notes(), patience, waits);
    }

    /// Takes the notes.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        let mut notes = self.notes();
        let left_out = std::mem::take(&mut notes.left_out);
        let more = (left_out > 0).then(|| format!("{left_out} more messages were left out"));
        notes.queue.drain(..).chain(more).collect()
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes a run that waits; the lock keeps the signal from falling between its look and its sleep.
    fn wake(&self) {
        drop(self.notes());
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_run_waits_until_it_is_released_or_stopped() {
        for end in [RunHandle::release, RunHandle::stop] {
            let handle = RunHandle::default();
            handle.hold();
            let other = handle.clone();
            let thread = std::thread::spawn(move || end(&other));
            handle.wait(Duration::from_secs(3600));
            thread.join().unwrap();
            assert!(handle.is_stopped() || !handle.is_held());
        }
    }

    #[test]
    fn notes_are_bounded() {
        let handle = RunHandle::default();
        (0..MOST_NOTES + 3).for_each(|k| handle.note(k.to_string()));
        let notes = handle.take_notes();
        assert_eq!(
            (notes.len(), notes.last().map(String::as_str)),
            (MOST_NOTES + 1, Some("3 more messages were left out"))
        );
        assert!(handle.take_notes().is_empty());
    }
}
