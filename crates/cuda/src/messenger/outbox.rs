//! Notices of the threads of a host to those of other processes, for the messenger.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Notice of a host thread to the other processes.
pub enum Notice {
    /// Numbers that the thread of a GPU puts together with those of the others, in a call of the device.
    Numbers { gpu: usize, call: u64, numbers: Vec<f64> },
    /// Failure of a thread in a call of the device.
    Failed { call: u64, message: String },
    /// There is nothing more to come.
    Close,
}

/// Notices that have not been sent yet.
#[derive(Default)]
pub struct Outbox(Mutex<VecDeque<Notice>>);

impl Outbox {
    /// Adds a notice.
    pub fn add(&self, notice: Notice) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(notice);
    }

    /// Takes the next one.
    pub fn take(&self) -> Option<Notice> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}
