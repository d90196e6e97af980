//! Ctrl-C that comes while a force of Python computes. An exception there would leave the atoms in the middle of a step,
//! from which no run goes on.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time after which a second Ctrl-C reaches a force that still computes: it may never end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ctrl-C that is held until the step is over; clones are of the same simulation.
#[derive(Debug, Clone, Default)]
pub struct HeldInterrupt(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    in_force: AtomicBool,
    held: Mutex<Option<Instant>>,
}

impl HeldInterrupt {
    /// Calls Python for a force.
    pub fn in_force<T>(&self, call: impl FnOnce() -> T) -> T {
        self.0.in_force.store(true, Ordering::Relaxed);
        let returned = call();
        self.0.in_force.store(false, Ordering::Relaxed);
        returned
    }

    /// Holds Ctrl-C if a force is computing; returns false where it shall act at once.
    pub fn hold(&self) -> bool {
        if !self.0.in_force.load(Ordering::Relaxed) {
            return false;
        }
        self.held().get_or_insert_with(Instant::now).elapsed() < PATIENCE
    }

    /// Returns true where Ctrl-C was held, which is not held any more then.
    pub fn take(&self) -> bool {
        self.held().take().is_some()
    }

    /// Lets Ctrl-C that was held act now.
    ///
    /// # Errors
    /// The exception that its handler raises.
    pub fn release(&self) -> PyResult<()> {
        if !self.take() {
            return Ok(());
        }
        Python::attach(|py| {
            let signal = py.import("signal")?;
            signal.call_method1("raise_signal", (signal.getattr("SIGINT")?,)).map(drop)
        })
    }

    fn held(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
