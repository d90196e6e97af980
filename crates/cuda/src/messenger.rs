//! Messenger of a process: a thread that carries what its GPUs have stored in the landing zone of the process
//! (`exchange/host_zone.rs`) to the other processes of a run, and what theirs have stored into it; and the numbers that
//! threads of GPUs put together, by the way.
//!
//! Kernels are not aware of it: they publish a number and wait for those of others, as in memory of GPUs. A message is a
//! head, and a body where the head says so. What is sent stays in its zone: a GPU that stores there again has received the
//! exchange after, which others make once they have received this one.

mod head;
pub mod outbox;
#[cfg(test)]
mod tests;

use crate::device_data::MOST_GPUS;
use crate::driver::HostBuffer;
use crate::exchange::HostZone;
use crate::peers::Collective;
use head::{HEAD_BYTES, Head, Kind};
use jostle_core::{Error, Result};
use jostle_transport::{Channel, MessageMemory, Transfer};
use outbox::{Notice, Outbox};
use std::ops::Range;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time without messages after which the thread sleeps between looks, and for how long.
const AWAKE: Duration = Duration::from_millis(50);
const SLEEP: Duration = Duration::from_micros(100);
/// Longest wait for other processes to close theirs: one that is stopped keeps no other one.
const CLOSING: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 60 });
/// Looks between two of which the core is not given to others.
const LOOKS_AT_ONCE: u32 = 64;

/// Longest body of a message of host threads, in bytes: a longer one is a sign of processes out of step.
const LONGEST_BODY: u64 = 1 << 24;

/// A messenger at work; dropping it waits until all processes have closed theirs, for a minute at most.
pub struct Messenger {
    outbox: Arc<Outbox>,
    thread: Option<JoinHandle<()>>,
}

impl Messenger {
    /// Starts a messenger of the process with these of the GPUs, whose threads' notices are in an outbox.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn start(
        channel: Box<dyn Channel>,
        others: impl Iterator<Item = usize>,
        zone: HostZone,
        gpus: Range<usize>,
        collective: Arc<Collective>,
        outbox: Arc<Outbox>,
    ) -> Result<Self> {
        let sent = vec![0; gpus.len()];
        let others = others.map(|rank| Other { rank, receiving: Receiving::Nothing }).collect();
        let mut round = Round {
            channel,
            zone,
            gpus,
            sent,
            others,
            collective,
            outbox: outbox.clone(),
            leaving: Leaving::default(),
            state: MessengerState::Open,
        };
        let thread = std::thread::Builder::new().name("messenger".into()).spawn(move || round.run());
        let thread = thread.map_err(|e| Error::device(format!("no thread for messages: {e}")))?;
        Ok(Messenger { outbox, thread: Some(thread) })
    }
}

impl Drop for Messenger {
    fn drop(&mut self) {
        self.outbox.add(Notice::Close);
        if let Some(thread) = self.thread.take().filter(|_| !std::thread::panicking()) {
            // It has said what was wrong to those who wait.
            let _ = thread.join();
        }
    }
}

/// Progress of a messenger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessengerState {
    Open,
    /// All others have been told that nothing more comes, at this time.
    Closed(Instant),
}

/// Another process.
struct Other {
    rank: usize,
    receiving: Receiving,
}

/// Message that is expected of another process.
enum Receiving {
    /// None has been asked for yet.
    Nothing,
    Head(Transfer<Vec<u8>>),
    /// Body of what a GPU has stored.
    Zone(Head, Transfer<HostBuffer>),
    /// Body of a notice.
    Notice(Head, Transfer<Vec<u8>>),
    /// Nothing more comes.
    Closed,
}

/// Messages on their way to others.
#[derive(Default)]
struct Leaving {
    bytes: Vec<Transfer<Vec<u8>>>,
    zones: Vec<Transfer<HostBuffer>>,
}

impl Leaving {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.zones.is_empty()
    }

    /// Forgets those that have left.
    fn settle(&mut self, channel: &mut dyn Channel) -> Result<()> {
        settle(&mut self.bytes, channel)?;
        settle(&mut self.zones, channel)
    }
}

fn settle<M: MessageMemory>(transfers: &mut Vec<Transfer<M>>, channel: &mut dyn Channel) -> Result<()> {
    let mut k = 0;
    while k < transfers.len() {
        match transfers[k].finish(channel)? {
            Some(_) => drop(transfers.swap_remove(k)),
            None => k += 1,
        }
    }
    Ok(())
}

/// Work of the thread.
struct Round {
    channel: Box<dyn Channel>,
    zone: HostZone,
    /// GPUs of this process.
    gpus: Range<usize>,
    /// Number of exchanges that have been sent of each.
    sent: Vec<u64>,
    others: Vec<Other>,
    collective: Arc<Collective>,
    outbox: Arc<Outbox>,
    leaving: Leaving,
    state: MessengerState,
}

impl Round {
    fn run(&mut self) {
        let (mut last, mut looks) = (Instant::now(), 0_u32);
        loop {
            match self.look() {
                Ok(true) => (last, looks) = (Instant::now(), 0),
                Ok(false) if self.is_over() => return,
                Ok(false) => {
                    looks = looks.wrapping_add(1);
                    match looks % LOOKS_AT_ONCE {
                        0 if last.elapsed() > AWAKE => std::thread::sleep(SLEEP),
                        0 => std::thread::yield_now(),
                        _ => std::hint::spin_loop(),
                    }
                }
                Err(error) => return self.collective.fail(&error),
            }
        }
    }

    fn is_over(&self) -> bool {
        let MessengerState::Closed(since) = self.state else { return false };
        let closed = self.others.iter().all(|other| matches!(other.receiving, Receiving::Closed));
        closed && self.leaving.is_empty() || since.elapsed() > CLOSING
    }

    /// Sends and receives what there is; returns true where there was something.
    fn look(&mut self) -> Result<bool> {
        let mut found = false;
        for k in 0..self.gpus.len() {
            found |= self.send_stored(k)?;
        }
        while let Some(notice) = self.outbox.take() {
            self.send_notice(&notice)?;
            found = true;
        }
        for k in 0..self.others.len() {
            found |= self.receive(k)?;
        }
        self.leaving.settle(&mut *self.channel)?;
        Ok(found)
    }

    /// Sends what a GPU of this process has stored.
    fn send_stored(&mut self, k: usize) -> Result<bool> {
        let gpu = self.gpus.start + k;
        let published = self.zone.published(gpu);
        let found = self.sent[k] < published;
        while self.sent[k] < published {
            let number = self.sent[k];
            let (body, words) = (self.zone.stored(gpu, number), self.zone.words(gpu, number));
            let head = Head { kind: Kind::Stored, gpu: gpu as u64, number, body, words };
            for other in &self.others {
                let (head, channel) = (head.to_bytes(), &mut *self.channel);
                self.leaving.bytes.push(Transfer::send(channel, other.rank, head, 0..HEAD_BYTES)?);
                if let Some(part) = self.zone.part(number, body) {
                    let memory = self.zone.buffer().clone();
                    self.leaving.zones.push(Transfer::send(channel, other.rank, memory, part)?);
                }
            }
            self.sent[k] += 1;
        }
        Ok(found)
    }

    fn send_notice(&mut self, notice: &Notice) -> Result<()> {
        let (head, body): (Head, Vec<u8>) = match notice {
            Notice::Numbers { gpu, call, numbers } => {
                let body: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                (Head::new(Kind::Numbers, *gpu, *call, body.len()), body)
            }
            Notice::Failed { call, message } => {
                let body: Vec<u8> = message.bytes().collect();
                (Head::new(Kind::Failed, self.gpus.start, *call, body.len()), body)
            }
            Notice::Close => {
                // Parts that were stored before the notice go first.
                for k in 0..self.gpus.len() {
                    self.send_stored(k)?;
                }
                self.state = MessengerState::Closed(Instant::now());
                (Head::new(Kind::Close, self.gpus.start, 0, 0), Vec::new())
            }
        };
        for other in &self.others {
            let (head, channel) = (head.to_bytes(), &mut *self.channel);
            self.leaving.bytes.push(Transfer::send(channel, other.rank, head, 0..HEAD_BYTES)?);
            if !body.is_empty() {
                let part = 0..body.len();
                self.leaving.bytes.push(Transfer::send(channel, other.rank, body.clone(), part)?);
            }
        }
        Ok(())
    }

    /// Receives from another process; returns true where a message was there.
    fn receive(&mut self, k: usize) -> Result<bool> {
        let (other, channel) = (&mut self.others[k], &mut *self.channel);
        let next = match &mut other.receiving {
            Receiving::Closed => return Ok(false),
            Receiving::Nothing => expect_head(channel, other.rank)?,
            Receiving::Head(head) => match head.finish(channel)? {
                None => return Ok(false),
                Some(bytes) => {
                    let head = Head::of_bytes(&bytes).ok_or_else(|| out_of_step(other.rank))?;
                    self.receive_body(k, head)?
                }
            },
            Receiving::Zone(head, body) => {
                if body.finish(channel)?.is_none() {
                    return Ok(false);
                }
                let (head, rank) = (*head, other.rank);
                self.arrive(&head);
                expect_head(&mut *self.channel, rank)?
            }
            Receiving::Notice(head, body) => match body.finish(channel)? {
                None => return Ok(false),
                Some(body) => {
                    take_notice(&self.collective, head, &body, other.rank);
                    expect_head(channel, other.rank)?
                }
            },
        };
        self.others[k].receiving = next;
        Ok(true)
    }

    /// Message that is expected of another process after a head.
    fn receive_body(&mut self, k: usize, head: Head) -> Result<Receiving> {
        let (rank, channel) = (self.others[k].rank, &mut *self.channel);
        if head.gpu >= MOST_GPUS as u64 || self.gpus.contains(&(head.gpu as usize)) {
            return Err(out_of_step(rank));
        }
        Ok(match head.kind {
            Kind::Close => Receiving::Closed,
            Kind::Stored => match self.zone.part(head.number, head.body) {
                Some(part) => {
                    let memory = self.zone.buffer().clone();
                    Receiving::Zone(head, Transfer::receive(channel, rank, memory, part)?)
                }
                None if head.body[0] < head.body[1] => return Err(out_of_step(rank)),
                None => {
                    self.arrive(&head);
                    expect_head(&mut *self.channel, rank)?
                }
            },
            Kind::Numbers | Kind::Failed => {
                let [_, bytes] = head.body;
                if bytes > LONGEST_BODY {
                    return Err(out_of_step(rank));
                }
                let memory = vec![0; bytes as usize];
                if memory.is_empty() {
                    take_notice(&self.collective, &head, &memory, rank);
                    expect_head(channel, rank)?
                } else {
                    let part = 0..memory.len();
                    Receiving::Notice(head, Transfer::receive(channel, rank, memory, part)?)
                }
            }
        })
    }

    /// Publishes what has arrived of a GPU of another process.
    fn arrive(&self, head: &Head) {
        let gpu = head.gpu as usize;
        self.zone.set_words(gpu, head.number, head.words);
        self.zone.publish(gpu, head.number + 1);
    }
}

fn expect_head(channel: &mut dyn Channel, rank: usize) -> Result<Receiving> {
    let memory = vec![0; HEAD_BYTES];
    Ok(Receiving::Head(Transfer::receive(channel, rank, memory, 0..HEAD_BYTES)?))
}

/// Passes a notice of another process on.
fn take_notice(collective: &Collective, head: &Head, body: &[u8], rank: usize) {
    match head.kind {
        Kind::Failed => {
            let message = String::from_utf8_lossy(body);
            collective.fail_elsewhere(head.number, Error::device(format!("rank {rank}: {message}")));
        }
        _ => {
            let numbers = body.chunks_exact(8).filter_map(|bytes| bytes.try_into().ok());
            collective.bring(head.gpu as usize, head.number, numbers.map(f64::from_le_bytes).collect());
        }
    }
}

fn out_of_step(rank: usize) -> Error {
    Error::simulation(format!("a message of rank {rank} is none that was expected"))
        .hint("this is a bug in Jostle, or the ranks do not run the same program")
}
