//! Operations of all ranks together, made of exchanges.

use crate::{Channel, Incoming, Outgoing, Transport};
use bytemuck::Pod;
use jostle_core::{Error, Result};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Bytes of a broadcast that travel with its length, in one message.
const INLINE: usize = 120;
const FRONT: usize = 8;

/// Longest message of a broadcast: a length beyond it is a sign of ranks out of step.
const LONGEST: u64 = 1 << 40;

/// Number of messages and bytes sent by this rank, and the time spent in exchanges, waiting included.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Traffic {
    /// Messages sent.
    pub messages: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Seconds in exchanges.
    pub seconds: f64,
}

struct Inner {
    transport: Box<dyn Transport>,
    traffic: Traffic,
}

/// The ranks of a run as one of them has them. Clones are handles to the same.
#[derive(Clone)]
pub struct Communicator {
    rank: usize,
    size: usize,
    inner: Arc<Mutex<Inner>>,
}

impl Communicator {
    /// A communicator over a transport.
    pub fn new(transport: Box<dyn Transport>) -> Self {
        let (rank, size) = (transport.rank(), transport.size());
        let inner = Inner { transport, traffic: Traffic::default() };
        Communicator { rank, size, inner: Arc::new(Mutex::new(inner)) }
    }

    /// Number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Description of the transport for people.
    pub fn describe(&self) -> String {
        self.lock().transport.describe()
    }

    /// Messages and bytes sent so far, and time spent.
    pub fn traffic(&self) -> Traffic {
        self.lock().traffic
    }

    /// A way to send and receive beside all other operations, see [`Transport::channel`].
    pub fn channel(&self) -> Box<dyn Channel> {
        self.lock().transport.channel()
    }

    /// Takes all ranks down, see [`Transport::abort`].
    pub fn abort(&self, reason: &Error) {
        self.lock().transport.abort(reason);
    }

    /// Sends and receives, see [`Transport::exchange`].
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn exchange(&self, outgoing: &[Outgoing], incoming: &mut [Incoming]) -> Result<()> {
        let mut inner = self.lock();
        let start = Instant::now();
        let done = inner.transport.exchange(outgoing, incoming);
        inner.traffic.seconds += start.elapsed().as_secs_f64();
        inner.traffic.messages += outgoing.len() as u64;
        inner.traffic.bytes += outgoing.iter().map(|message| message.bytes.len() as u64).sum::<u64>();
        done
    }

    /// Bytes of rank 0 for every rank, along a binomial tree; `bytes` of the others are replaced.
    ///
    /// # Errors
    /// If another rank has failed, or the ranks are out of step.
    pub fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<()> {
        let mut front = [0; FRONT + INLINE];
        if self.rank == 0 {
            front[..FRONT].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            let inline = bytes.len().min(INLINE);
            front[FRONT..FRONT + inline].copy_from_slice(&bytes[..inline]);
        }
        self.pass_down(&mut front)?;
        let mut length = [0; FRONT];
        length.copy_from_slice(&front[..FRONT]);
        let length = u64::from_le_bytes(length);
        if length > LONGEST {
            return Err(self.out_of_step());
        }
        let length = length as usize;
        if self.rank != 0 {
            bytes.resize(length, 0);
            let inline = length.min(INLINE);
            bytes[..inline].copy_from_slice(&front[FRONT..FRONT + inline]);
        }
        match bytes.get_mut(INLINE..) {
            Some(rest) if !rest.is_empty() => self.pass_down(rest),
            _ => Ok(()),
        }
    }

    /// Numbers of rank 0 for every rank.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn broadcast_numbers<T: Pod>(&self, numbers: &mut [T]) -> Result<()> {
        self.pass_down(bytemuck::cast_slice_mut(numbers))
    }

    /// Sends what rank 0 has down a binomial tree: rank r has it from r without its lowest bit.
    fn pass_down(&self, bytes: &mut [u8]) -> Result<()> {
        let lowest =
            if self.rank == 0 { self.size.next_power_of_two() } else { self.rank & self.rank.wrapping_neg() };
        if self.rank != 0 {
            self.exchange(&[], &mut [Incoming { from: self.rank - lowest, bytes }])?;
        }
        let steps =
            std::iter::successors(Some(lowest / 2), |step| Some(step / 2)).take_while(|step| *step > 0);
        let below = steps.map(|step| self.rank + step).filter(|to| *to < self.size);
        let outgoing: Vec<_> = below.map(|to| Outgoing { to, bytes }).collect();
        if outgoing.is_empty() { Ok(()) } else { self.exchange(&outgoing, &mut []) }
    }

    /// Completes `numbers`, of which every rank has the part `parts[rank]`. Parts follow each other without
    /// gaps and are the same on all ranks.
    ///
    /// # Errors
    /// If another rank has failed, or the parts do not fit.
    pub fn all_gather<T: Pod>(&self, numbers: &mut [T], parts: &[Range<usize>]) -> Result<()> {
        let (mut rest, mut begin) = (numbers, 0);
        let mut own: &[T] = &[];
        let mut incoming = Vec::with_capacity(self.size);
        for (from, part) in parts.iter().enumerate() {
            let fits = part.start == begin && part.len() <= rest.len();
            let (here, after) =
                rest.split_at_mut_checked(part.len()).filter(|_| fits).ok_or_else(|| self.out_of_step())?;
            if from == self.rank {
                own = here;
            } else if !here.is_empty() {
                incoming.push(Incoming { from, bytes: bytemuck::cast_slice_mut(here) });
            }
            (rest, begin) = (after, part.end);
        }
        let outgoing: Vec<_> =
            self.others().map(|to| Outgoing { to, bytes: bytemuck::cast_slice(own) }).collect();
        let outgoing = if own.is_empty() { &[][..] } else { &outgoing };
        self.exchange(outgoing, &mut incoming)
    }

    /// As many numbers from every rank, in the order of ranks.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn gather_equal<T: Pod>(&self, own: &[T]) -> Result<Vec<T>> {
        let n = own.len();
        let mut all = vec![T::zeroed(); n * self.size];
        all[self.rank * n..][..n].copy_from_slice(own);
        let parts: Vec<_> = (0..self.size).map(|rank| rank * n..(rank + 1) * n).collect();
        self.all_gather(&mut all, &parts)?;
        Ok(all)
    }

    /// Numbers of every rank, any number from each, in the order of ranks.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn gather<T: Pod>(&self, own: &[T]) -> Result<Vec<Vec<T>>> {
        let lengths = self.gather_equal(&[own.len() as u64])?;
        if lengths.iter().any(|n| *n > LONGEST) {
            return Err(self.out_of_step());
        }
        let mut ends = lengths.iter().scan(0, |end, n| {
            let begin = *end;
            *end += *n as usize;
            Some(begin..*end)
        });
        let parts: Vec<_> = ends.by_ref().collect();
        let mut all = vec![T::zeroed(); parts.last().map_or(0, |part| part.end)];
        all[parts[self.rank].clone()].copy_from_slice(own);
        self.all_gather(&mut all, &parts)?;
        Ok(parts.into_iter().map(|part| all[part].to_vec()).collect())
    }

    /// Largest of the numbers of all ranks, for each of them, after log2 of the number of ranks messages from each: rank r
    /// sends what it knows to r + 1, then r + 2, r + 4 and so on.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn largest<T: Pod + PartialOrd>(&self, own: T) -> Result<T> {
        let (mut largest, mut step) = ([own], 1);
        while step < self.size {
            let mut received = [own];
            let to = (self.rank + step) % self.size;
            let from = (self.rank + self.size - step) % self.size;
            let outgoing = [Outgoing { to, bytes: bytemuck::cast_slice(&largest) }];
            let incoming = Incoming { from, bytes: bytemuck::cast_slice_mut(&mut received) };
            self.exchange(&outgoing, &mut [incoming])?;
            if received[0] > largest[0] {
                largest = received;
            }
            step *= 2;
        }
        Ok(largest[0])
    }

    /// Sums of the numbers of all ranks, for each of them: up a binomial tree and down again, in an order that depends on
    /// the number of ranks alone.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn sum(&self, numbers: &mut [f64]) -> Result<()> {
        let mut step = 1;
        while step < self.size {
            if self.rank & step != 0 {
                let bytes = bytemuck::cast_slice(numbers);
                self.exchange(&[Outgoing { to: self.rank - step, bytes }], &mut [])?;
                break;
            }
            if self.rank + step < self.size {
                let mut received = vec![0.0; numbers.len()];
                let bytes = bytemuck::cast_slice_mut(&mut received);
                self.exchange(&[], &mut [Incoming { from: self.rank + step, bytes }])?;
                numbers.iter_mut().zip(received).for_each(|(sum, more)| *sum += more);
            }
            step *= 2;
        }
        self.broadcast_numbers(numbers)
    }

    /// Texts of every rank, in the order of ranks.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn gather_texts(&self, own: &str) -> Result<Vec<String>> {
        let texts = self.gather(own.as_bytes())?;
        Ok(texts.into_iter().map(|text| String::from_utf8_lossy(&text).into_owned()).collect())
    }

    /// Result of this rank, if all ranks have theirs; the error of another one names it.
    ///
    /// # Errors
    /// The error of this rank, or else of the first one that has one.
    pub fn agree<T>(&self, own: Result<T>) -> Result<T> {
        let text = own.as_ref().err().map_or_else(String::new, |error| error.message().to_string());
        let errors = self.gather_texts(&text)?;
        let own = own?;
        match errors.iter().enumerate().find(|(_, error)| !error.is_empty()) {
            Some((rank, error)) => Err(Error::device(format!("rank {rank}: {error}"))),
            None => Ok(own),
        }
    }

    /// Returns when every rank has come here.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn barrier(&self) -> Result<()> {
        self.gather_equal(&[0u8]).map(drop)
    }

    /// All ranks but this one.
    pub fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let rank = self.rank;
        (0..self.size).filter(move |other| *other != rank)
    }

    fn out_of_step(&self) -> Error {
        Error::simulation(format!(
            "rank {} is out of step with the others: this is a bug in Jostle",
            self.rank
        ))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
