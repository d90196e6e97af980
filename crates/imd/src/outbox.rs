//! Frames on their way to one client: bounded in bytes, so that a client that does not read costs no more memory.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Bytes of frames that wait for a client; beyond, frames are left out. Two frames have a place in any case.
const MOST_BYTES: usize = 64 << 20;
const LEAST_FRAMES: usize = 2;

/// Queue of frames to one client.
#[derive(Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Arc<Vec<u8>>>,
    bytes: usize,
    closed: bool,
}

/// Fate of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The frame is in the queue.
    Queued,
    /// The queue is full or closed.
    LeftOut,
}

/// Next thing for a writer to do.
pub(crate) enum Next {
    Write(Arc<Vec<u8>>),
    /// Nothing has come for so long.
    Idle,
    /// The queue is closed and empty.
    End,
}

impl Outbox {
    /// Adds a frame, where there is a place for it.
    pub fn push(&self, frame: &Arc<Vec<u8>>) -> Fate {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let full = queue.frames.len() >= LEAST_FRAMES && queue.bytes + frame.len() > MOST_BYTES;
        if full || queue.closed {
            return Fate::LeftOut;
        }
        queue.bytes += frame.len();
        queue.frames.push_back(frame.clone());
        self.changed.notify_one();
        Fate::Queued
    }

    /// Takes the next frame; waits for one as long as `patience`.
    pub fn next(&self, patience: Duration) -> Next {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |queue: &mut Queue| queue.frames.is_empty() && !queue.closed;
        let waited = self.changed.wait_timeout_while(queue, patience, waits);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match queue.frames.pop_front() {
            Some(frame) => {
                queue.bytes -= frame.len();
                Next::Write(frame)
            }
            None if queue.closed => Next::End,
            None => Next::Idle,
        }
    }

    /// Takes no more frames; those in the queue are still written.
    pub fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_leaves_frames_out_and_goes_on_later() {
        let outbox = Outbox::default();
        let large: Arc<Vec<u8>> = vec![1; MOST_BYTES].into();
        let small: Arc<Vec<u8>> = vec![2; 10].into();
        assert_eq!([outbox.push(&large), outbox.push(&large)], [Fate::Queued; 2], "two in any case");
        assert_eq!(outbox.push(&small), Fate::LeftOut);
        let length = |next| match next {
            Next::Write(frame) => Some(frame.len()),
            Next::Idle => None,
            Next::End => Some(0),
        };
        let instant = Duration::ZERO;
        assert_eq!(length(outbox.next(instant)), Some(MOST_BYTES));
        assert_eq!(length(outbox.next(instant)), Some(MOST_BYTES));
        assert_eq!(length(outbox.next(instant)), None);
        assert_eq!(outbox.push(&small), Fate::Queued);
        outbox.close();
        assert_eq!(outbox.push(&small), Fate::LeftOut);
        assert_eq!([length(outbox.next(instant)), length(outbox.next(instant))], [Some(10), Some(0)]);
    }
}
