//! Observers written in Python: the run pauses where they are due, and Python calls them with the simulation free
//! for use.

use jostle_core::{Evaluate, Result};
use jostle_engine::{Context, Observer};
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers of the observers that are due.
#[derive(Debug, Clone, Default)]
pub struct Due(Arc<Mutex<Vec<usize>>>);

impl Due {
    /// The observers that have become due since the last call.
    pub fn take(&self) -> Vec<usize> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Pauses the run at regular intervals.
pub struct PythonObserver {
    /// Interval in steps.
    pub every: u64,
    /// Quantities that the observer wants evaluated.
    pub requested: Evaluate,
    /// Number of the observer.
    pub number: usize,
    /// List of those that are due.
    pub due: Due,
}

impl Observer for PythonObserver {
    fn every(&self) -> u64 {
        self.every
    }

    fn requested(&self) -> Evaluate {
        self.requested
    }

    fn observe(&mut self, context: &mut Context) -> Result<()> {
        self.due.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
        context.pause();
        Ok(())
    }
}
