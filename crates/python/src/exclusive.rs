//! A value that one thread of Python uses at a time, without the interpreter being held by those that wait, and
//! that no other process uses.
//!
//! A process forked from this one has a copy of the value, but none of the threads that work for it: there it can be
//! neither used nor dropped, as both would wait for them.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{ThreadId, current, sleep};
use std::time::Duration;

/// Longest interval between two attempts to get the value.
const LONGEST_WAIT: Duration = Duration::from_millis(1);

/// Shortest interval.
const SHORTEST_WAIT: Duration = Duration::from_micros(10);

/// A value, the thread that uses it, and the process that has made it.
pub struct Exclusive<T> {
    value: Arc<Mutex<T>>,
    user: Mutex<Option<ThreadId>>,
    /// Number of calls that have begun to wait for the value.
    begun: AtomicU64,
    /// Number of those that wait no more.
    ended: AtomicU64,
    process: u32,
}

/// A call that waits for the value.
struct Waiting<'a>(&'a AtomicU64);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Access to the value, until it is dropped.
pub struct Guard<'a, T> {
    value: MutexGuard<'a, T>,
    user: &'a Mutex<Option<ThreadId>>,
}

impl<T> Exclusive<T> {
    /// A value that nothing uses yet.
    pub fn new(value: T) -> Self {
        Exclusive {
            value: Arc::new(Mutex::new(value)),
            user: Mutex::new(None),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            process: std::process::id(),
        }
    }

    /// Refuses a process that was forked from the one that has made the value.
    ///
    /// # Errors
    /// In such a process.
    pub fn check_process(&self) -> PyResult<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(PyRuntimeError::new_err(
                "the simulation belongs to the process from which this one was forked: make one here instead",
            )),
        }
    }

    /// The value, unless another thread uses it, an earlier use failed half-way, or the process is another one.
    pub fn get_if_free(&self) -> Option<Guard<'_, T>> {
        self.check_process().ok()?;
        let value = self.value.try_lock().ok()?;
        Some(self.guard(value))
    }

    /// Access to the value for this thread.
    fn guard<'a>(&'a self, value: MutexGuard<'a, T>) -> Guard<'a, T> {
        *self.user.lock().unwrap_or_else(PoisonError::into_inner) = Some(current().id());
        Guard { value, user: &self.user }
    }

    /// The value, as soon as no other thread uses it. While this one waits, others have the interpreter, and
    /// Ctrl-C is heard.
    ///
    /// # Errors
    /// If this very thread uses the value further up, as a force written in Python does; if an earlier use failed
    /// half-way; in a process that was forked from that of the value; on Ctrl-C.
    pub fn get(&self, py: Python) -> PyResult<Guard<'_, T>> {
        self.check_process()?;
        let mut wait = SHORTEST_WAIT;
        let mut waiting = None;
        loop {
            match self.value.try_lock() {
                Ok(value) => return Ok(self.guard(value)),
                Err(TryLockError::Poisoned(_)) => {
                    return Err(PyRuntimeError::new_err("the simulation has failed by a bug in Jostle"));
                }
                Err(TryLockError::WouldBlock) => {}
            }
            if *self.user.lock().unwrap_or_else(PoisonError::into_inner) == Some(current().id()) {
                return Err(PyRuntimeError::new_err(
                    "the simulation cannot be used from a force that it is evaluating",
                ));
            }
            waiting.get_or_insert_with(|| {
                self.begun.fetch_add(1, Ordering::Relaxed);
                Waiting(&self.ended)
            });
            py.detach(|| sleep(wait));
            py.check_signals()?;
            wait = LONGEST_WAIT.min(2 * wait);
        }
    }

    /// Returns true where another call waits for the value.
    pub fn is_wanted(&self) -> bool {
        self.begun.load(Ordering::Relaxed) > self.ended.load(Ordering::Relaxed)
    }

    /// The value likewise, after as many other calls have had it as wait for it now.
    ///
    /// # Errors
    /// As for [`Exclusive::get`].
    pub fn get_after_others(&self, py: Python) -> PyResult<Guard<'_, T>> {
        self.check_process()?;
        let begun = self.begun.load(Ordering::Relaxed);
        while self.ended.load(Ordering::Relaxed) < begun {
            py.detach(|| sleep(SHORTEST_WAIT));
            py.check_signals()?;
        }
        self.get(py)
    }
}

impl<T> Drop for Exclusive<T> {
    fn drop(&mut self) {
        if self.check_process().is_err() {
            // A reference that nothing drops keeps the value.
            std::mem::forget(self.value.clone());
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        *self.user.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
