//! A thread that makes frames of snapshots while the run goes on.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// Most frames in the queue; the run waits while it is full, so that memory is not filled with frames and none is lost.
const MOST_QUEUED: usize = 2;

/// The making of a frame.
type Job = Box<dyn FnOnce() + Send>;

/// Queue of frames, which are made one after another.
#[derive(Default)]
pub(crate) struct Encoder(Mutex<Option<(SyncSender<Job>, JoinHandle<()>)>>);

impl Encoder {
    /// Adds a frame to the queue; the thread begins with the first one.
    pub fn queue(&self, job: impl FnOnce() + Send + 'static) {
        let mut worker = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_none() {
            let (jobs, queue) = sync_channel(MOST_QUEUED);
            let work = move |queue: Receiver<Job>| queue.into_iter().for_each(|job| job());
            let thread = std::thread::Builder::new().name("imd frames".into()).spawn(move || work(queue));
            *worker = thread.ok().map(|thread| (jobs, thread));
        }
        let job: Job = Box::new(job);
        match &*worker {
            Some((jobs, _)) => match jobs.send(job) {
                Ok(()) => {}
                // A panic of the thread has been reported.
                Err(job) => (job.0)(),
            },
            // Without a thread the run makes its frames itself.
            None => job(),
        }
    }

    /// Waits until all frames are made; none follows.
    pub fn finish(&self) {
        let worker = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((jobs, thread)) = worker {
            drop(jobs);
            // A panic of the thread has been reported.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn frames_are_made_in_their_order_and_none_is_lost() {
        let (encoder, made) = (Encoder::default(), Arc::new(Mutex::new(Vec::new())));
        for k in 0..20 {
            let made = made.clone();
            encoder.queue(move || made.lock().unwrap().push(k));
        }
        encoder.finish();
        assert_eq!(*made.lock().unwrap(), Vec::from_iter(0..20));
    }
}
