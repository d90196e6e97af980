//! Ranks as threads of one process, for tests and for a look at a run of several ranks without MPI.

use crate::channel::Part;
use crate::{Channel, Communicator, Incoming, Outgoing, Pending, Transport};
use jostle_core::{Error, Result};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Looks for a message before a rank sleeps: waking one takes longer than most messages need to come.
const LOOKS: u32 = 4_000;
/// Looks between two of which the core is not given to others.
const LOOKS_AT_ONCE: u32 = 64;

/// First failure of a rank: its number and the reason.
type Failure = Arc<Mutex<Option<(usize, Error)>>>;

/// Messages of channels that have not been received yet, by sender and receiver.
type Mail = Arc<Vec<Vec<Mutex<VecDeque<Vec<u8>>>>>>;

/// A rank that is a thread.
struct ThreadRank {
    rank: usize,
    /// Channels to the other ranks.
    to: Vec<Sender<Vec<u8>>>,
    /// Channels from the other ranks.
    from: Vec<Receiver<Vec<u8>>>,
    mail: Mail,
    failure: Failure,
}

impl ThreadRank {
    /// Next message of another rank.
    fn receive(&self, from: usize) -> Result<Vec<u8>> {
        for look in 1..=LOOKS {
            match self.from[from].try_recv() {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Disconnected) => return Err(self.lost(from)),
                Err(TryRecvError::Empty) if look % LOOKS_AT_ONCE == 0 => std::thread::yield_now(),
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
            }
        }
        self.from[from].recv().map_err(|_| self.lost(from))
    }

    /// Sends and receives.
    fn transfer(&self, outgoing: &[Outgoing], incoming: &mut [Incoming]) -> Result<()> {
        for Outgoing { to, bytes } in outgoing {
            self.to[*to].send(bytes.to_vec()).map_err(|_| self.lost(*to))?;
        }
        for Incoming { from, bytes } in incoming {
            let message = self.receive(*from)?;
            if message.len() != bytes.len() {
                return Err(Error::simulation(format!(
                    "rank {} expected {} bytes of rank {from} and got {}: this is a bug in Jostle",
                    self.rank,
                    bytes.len(),
                    message.len()
                )));
            }
            bytes.copy_from_slice(&message);
        }
        Ok(())
    }

    /// Failure of another rank, or its silent end.
    fn lost(&self, other: usize) -> Error {
        failure_of_others(&self.failure, self.rank)
            .unwrap_or_else(|| Error::simulation(format!("rank {other} has ended before the others")))
    }
}

/// Error of a rank where another one has failed.
fn failure_of_others(failure: &Failure, own: usize) -> Option<Error> {
    let failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
    let (rank, reason) = failure.as_ref().filter(|(rank, _)| *rank != own)?;
    Some(Error::simulation(format!("rank {rank} failed: {}", reason.message())))
}

impl Transport for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn describe(&self) -> String {
        "threads of one process".into()
    }

    fn exchange(&mut self, outgoing: &[Outgoing], incoming: &mut [Incoming]) -> Result<()> {
        // Where this fails, the rank may stay for a while to tell rank 0, which waits for others that wait for this one.
        self.transfer(outgoing, incoming).inspect_err(|error| self.abort(error))
    }

    fn channel(&mut self) -> Box<dyn Channel> {
        let (rank, mail, failure) = (self.rank, self.mail.clone(), self.failure.clone());
        Box::new(ThreadChannel { rank, mail, failure })
    }

    fn abort(&mut self, reason: &Error) {
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert_with(|| (self.rank, reason.clone()));
        // Without its channels, others hear of it at their next exchange.
        (self.to, self.from) = (Vec::new(), Vec::new());
    }
}

impl Drop for ThreadRank {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.abort(&Error::simulation("a panic, which is a bug in Jostle"));
        }
    }
}

/// A channel of a rank that is a thread: a message is kept until it is received.
struct ThreadChannel {
    rank: usize,
    mail: Mail,
    failure: Failure,
}

impl ThreadChannel {
    fn box_of(&self, from: usize, to: usize) -> MutexGuard<'_, VecDeque<Vec<u8>>> {
        self.mail[from][to].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Channel for ThreadChannel {
    unsafe fn send(&mut self, to: usize, place: *const u8, bytes: usize) -> Result<Pending> {
        // SAFETY: the caller vouches for the place.
        let message = unsafe { std::slice::from_raw_parts(place, bytes) }.to_vec();
        self.box_of(self.rank, to).push_back(message);
        Ok(Pending::over())
    }

    unsafe fn receive(&mut self, from: usize, place: *mut u8, bytes: usize) -> Result<Pending> {
        Ok(Pending { parts: vec![Part::Expected { from, place: place as usize, bytes }] })
    }

    fn is_over(&mut self, pending: &mut Pending) -> Result<bool> {
        while let Some(Part::Expected { from, place, bytes }) = pending.parts.last() {
            let Some(message) = self.box_of(*from, self.rank).pop_front() else {
                return failure_of_others(&self.failure, self.rank).map_or(Ok(false), Err);
            };
            if message.len() != *bytes {
                return Err(Error::simulation(format!(
                    "rank {} expected {bytes} bytes of rank {from} and got {}: this is a bug in Jostle",
                    self.rank,
                    message.len()
                )));
            }
            // SAFETY: who called `receive` vouches for the place until this returns true.
            unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), *place as *mut u8, *bytes) };
            pending.parts.pop();
        }
        Ok(true)
    }
}

/// The communicators of `n` ranks, to be given to as many threads.
pub fn communicators(n: usize) -> Vec<Communicator> {
    let n = n.max(1);
    let failure = Failure::default();
    let mail: Mail = Arc::new((0..n).map(|_| (0..n).map(|_| Mutex::default()).collect()).collect());
    let mut senders: Vec<Vec<_>> = (0..n).map(|_| Vec::new()).collect();
    let mut receivers: Vec<Vec<_>> = (0..n).map(|_| Vec::new()).collect();
    for senders in &mut senders {
        for receivers in &mut receivers {
            let (sender, receiver) = channel();
            senders.push(sender);
            receivers.push(receiver);
        }
    }
    let ranks = senders.into_iter().zip(receivers).enumerate();
    let ranks = ranks.map(|(rank, (to, from))| ThreadRank {
        rank,
        to,
        from,
        mail: mail.clone(),
        failure: failure.clone(),
    });
    ranks.map(|rank| Communicator::new(Box::new(rank))).collect()
}

/// Runs `body` on `n` ranks, each a thread; results in the order of ranks.
///
/// # Errors
/// Error of the rank that failed first.
pub fn run<R: Send>(n: usize, body: impl Fn(&Communicator) -> Result<R> + Sync) -> Result<Vec<R>> {
    let on_rank = |communicator: Communicator| {
        let result = body(&communicator);
        if let Err(error) = &result {
            communicator.abort(error);
        }
        result
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = communicators(n).into_iter().map(|c| scope.spawn(|| on_rank(c))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| Err(panicked(&panic))))
            .collect()
    });
    // An error that is only the echo of another rank's comes second.
    let is_echo = |error: &Error| error.message().starts_with("rank ");
    let own = results.iter().find_map(|r| r.as_ref().err().filter(|e| !is_echo(e)).cloned());
    own.map_or_else(|| results.into_iter().collect(), Err)
}

fn panicked(panic: &Box<dyn Any + Send>) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
    Error::simulation(format!("a panic, which is a bug in Jostle: {text}"))
}
