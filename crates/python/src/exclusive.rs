//! A value that one thread of Python uses at a time, without the interpreter being held by those that wait.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{ThreadId, current, sleep};
use std::time::Duration;

/// Longest interval between two attempts to get the value.
const LONGEST_WAIT: Duration = Duration::from_millis(5);

/// A value, and the thread that uses it.
pub struct Exclusive<T> {
    value: Mutex<T>,
    user: Mutex<Option<ThreadId>>,
}

/// Access to the value, until it is dropped.
pub struct Guard<'a, T> {
    value: MutexGuard<'a, T>,
    user: &'a Mutex<Option<ThreadId>>,
}

impl<T> Exclusive<T> {
    /// A value that nothing uses yet.
    pub fn new(value: T) -> Self {
        Exclusive { value: Mutex::new(value), user: Mutex::new(None) }
    }

    /// The value, as soon as no other thread uses it. While this one waits, others have the interpreter, and
    /// Ctrl-C is heard.
    ///
    /// # Errors
    /// If this very thread uses the value further up, as a force written in Python does; if an earlier use failed
    /// half-way; on Ctrl-C.
    pub fn get(&self, py: Python) -> PyResult<Guard<'_, T>> {
        let mut wait = Duration::from_micros(10);
        loop {
            match self.value.try_lock() {
                Ok(value) => {
                    *self.user.lock().unwrap_or_else(PoisonError::into_inner) = Some(current().id());
                    return Ok(Guard { value, user: &self.user });
                }
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
            py.detach(|| sleep(wait));
            py.check_signals()?;
            wait = LONGEST_WAIT.min(2 * wait);
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
