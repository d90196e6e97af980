//! Threads that make frames of snapshots while the run goes on: one waits for atoms, another one makes frames of them.

use jostle_core::{AtomRows, Snapshot};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Most frames in a queue; the run waits while it is full, so that memory is not filled with frames and none is lost.
const MOST_QUEUED: usize = 2;

/// The making of a frame.
type Make = Box<dyn FnOnce(AtomRows) + Send>;

/// Queue of frames, which are made one after another.
#[derive(Default)]
pub(crate) struct Encoder(Mutex<Option<Workers>>);

struct Workers {
    snapshots: SyncSender<(Snapshot, Make)>,
    threads: [JoinHandle<()>; 2],
}

impl Encoder {
    /// Adds a frame to the queue; the threads begin with the first one.
    pub fn queue(&self, snapshot: Snapshot, make: impl FnOnce(AtomRows) + Send + 'static) {
        let mut workers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if workers.is_none() {
            *workers = Workers::start().ok();
        }
        let job: (_, Make) = (snapshot, Box::new(make));
        // Without threads the run makes its frames itself.
        let left = match &*workers {
            Some(workers) => workers.snapshots.send(job).err().map(|error| error.0),
            None => Some(job),
        };
        if let Some((snapshot, make)) = left {
            let _ = snapshot.wait().map(make);
        }
    }

    /// Waits until all frames are made.
    pub fn finish(&self) {
        let workers = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Workers { snapshots, threads }) = workers {
            drop(snapshots);
            // A panic of a thread has been reported.
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
    }
}

impl Workers {
    fn start() -> std::io::Result<Self> {
        let (snapshots, to_wait_for) = sync_channel::<(Snapshot, Make)>(MOST_QUEUED);
        let (arrived, to_make): (SyncSender<(AtomRows, Make)>, Receiver<_>) = sync_channel(MOST_QUEUED);
        let wait = move || {
            for (snapshot, make) in to_wait_for {
                // A device that has failed ends the run.
                if let Ok(rows) = snapshot.wait()
                    && arrived.send((rows, make)).is_err()
                {
                    return;
                }
            }
        };
        let threads = [
            Builder::new().name("imd atoms".into()).spawn(wait)?,
            Builder::new().name("imd frames".into()).spawn(|| {
                to_make.into_iter().for_each(|(rows, make)| make(rows));
            })?,
        ];
        Ok(Workers { snapshots, threads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::{AtomVector, Error, Vector};
    use std::sync::Arc;

    #[test]
    fn frames_are_made_in_their_order_and_none_is_lost() {
        let (encoder, made) = (Encoder::default(), Arc::new(Mutex::new(Vec::new())));
        for k in 0..20 {
            let made = made.clone();
            let rows = AtomRows::new(vec![(AtomVector::Position, vec![Vector([f64::from(k); 3])])]);
            encoder.queue(Snapshot::new(|| Ok(rows)), move |mut rows| {
                made.lock().unwrap().push(rows.take(AtomVector::Position)[0][0]);
            });
        }
        encoder.queue(Snapshot::new(|| Err(Error::device("lost"))), |_| panic!("there are no atoms"));
        encoder.finish();
        assert_eq!(*made.lock().unwrap(), Vec::from_iter((0..20).map(f64::from)));
    }
}
