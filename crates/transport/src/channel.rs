//! Messages beside those of a [`crate::Communicator`], started and looked after one by one, by a thread of their own.

use jostle_core::{Error, Result};
use std::ops::Range;

/// Longest part of a message: MPI counts with 32 bits.
pub(crate) const LONGEST_PART: usize = 1 << 30;

/// Message under way.
#[derive(Debug)]
pub struct Pending {
    /// Parts that are not over, the next one last.
    pub(crate) parts: Vec<Part>,
}

/// Part of a message under way.
#[derive(Debug)]
pub(crate) enum Part {
    /// Request of an MPI library: its handle as a number.
    Request(u64),
    /// Bytes expected of another rank of the process, and the address of the place for them.
    Expected { from: usize, place: usize, bytes: usize },
}

impl Pending {
    /// A message that is over.
    pub(crate) fn over() -> Self {
        Pending { parts: Vec::new() }
    }
}

/// A way to send and receive messages without waiting for them. Messages from one rank to another arrive in the order in
/// which they are started on both sides.
pub trait Channel: Send {
    /// Starts to send so many bytes to another rank.
    ///
    /// # Safety
    /// The bytes stay where they are until [`Channel::is_over`] returns true.
    ///
    /// # Errors
    /// If the other rank has failed.
    unsafe fn send(&mut self, to: usize, place: *const u8, bytes: usize) -> Result<Pending>;

    /// Starts to receive so many bytes from another rank.
    ///
    /// # Safety
    /// There is room for so many bytes, which nothing else uses until [`Channel::is_over`] returns true.
    ///
    /// # Errors
    /// If the other rank has failed.
    unsafe fn receive(&mut self, from: usize, place: *mut u8, bytes: usize) -> Result<Pending>;

    /// Returns true once a message has left, or arrived.
    ///
    /// # Errors
    /// If the other rank has failed.
    fn is_over(&mut self, pending: &mut Pending) -> Result<bool>;
}

/// Memory of messages.
///
/// # Safety
/// The bytes stay at their place until the value is dropped, wherever it is moved, and may be read and written by a transport
/// meanwhile.
pub unsafe trait MessageMemory: Send {
    /// Address of the first byte.
    fn place(&mut self) -> *mut u8;

    /// Number of bytes.
    fn size(&self) -> usize;
}

// SAFETY: the bytes of a vector stay where they are while it is moved; the transfer that has it shows it to nothing else
// before it is over.
unsafe impl MessageMemory for Vec<u8> {
    fn place(&mut self) -> *mut u8 {
        self.as_mut_ptr()
    }

    fn size(&self) -> usize {
        self.len()
    }
}

/// Message under way, with its memory: which is never given back where the message is not over.
pub struct Transfer<M: MessageMemory> {
    memory: Option<M>,
    pending: Pending,
}

impl<M: MessageMemory> Transfer<M> {
    /// Starts to send a part of some memory.
    ///
    /// # Errors
    /// If the other rank has failed, or there is no such part.
    pub fn send(channel: &mut dyn Channel, to: usize, mut memory: M, part: Range<usize>) -> Result<Self> {
        let place = part_of(&mut memory, &part)?;
        // SAFETY: the part is inside the memory, which this keeps until the message is over.
        let pending = unsafe { channel.send(to, place, part.len())? };
        Ok(Transfer { memory: Some(memory), pending })
    }

    /// Starts to receive into a part of some memory.
    ///
    /// # Errors
    /// As for [`Transfer::send`].
    pub fn receive(
        channel: &mut dyn Channel,
        from: usize,
        mut memory: M,
        part: Range<usize>,
    ) -> Result<Self> {
        let place = part_of(&mut memory, &part)?;
        // SAFETY: as in `send`.
        let pending = unsafe { channel.receive(from, place, part.len())? };
        Ok(Transfer { memory: Some(memory), pending })
    }

    /// Memory of the message, once it is over.
    ///
    /// # Errors
    /// If the other rank has failed.
    pub fn finish(&mut self, channel: &mut dyn Channel) -> Result<Option<M>> {
        Ok(if channel.is_over(&mut self.pending)? { self.memory.take() } else { None })
    }
}

impl<M: MessageMemory> Drop for Transfer<M> {
    fn drop(&mut self) {
        // A library may still use it.
        if !self.pending.parts.is_empty() {
            std::mem::forget(self.memory.take());
        }
    }
}

/// Address of a part of some memory.
fn part_of<M: MessageMemory>(memory: &mut M, part: &Range<usize>) -> Result<*mut u8> {
    if part.start > part.end || part.end > memory.size() {
        return Err(Error::simulation(format!(
            "bytes {} to {} of a message of {}: this is a bug in Jostle",
            part.start,
            part.end,
            memory.size()
        )));
    }
    Ok(memory.place().wrapping_add(part.start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;

    fn bytes(number: u8) -> Vec<u8> {
        vec![number; 10 + usize::from(number)]
    }

    fn arrived(mut transfer: Transfer<Vec<u8>>, channel: &mut dyn Channel) -> Result<Vec<u8>> {
        loop {
            match transfer.finish(channel)? {
                Some(memory) => return Ok(memory),
                None => std::thread::yield_now(),
            }
        }
    }

    #[test]
    fn messages_arrive_in_their_order_beside_exchanges() {
        threads::run(2, |communicator| {
            let (mut channel, other) = (communicator.channel(), 1 - communicator.rank());
            let expected = Transfer::receive(&mut *channel, other, bytes(9), 2..12)?;
            communicator.barrier()?;
            for number in 0..3 {
                let memory = bytes(number);
                let part = 0..memory.len();
                arrived(Transfer::send(&mut *channel, other, memory, part)?, &mut *channel)?;
                communicator.barrier()?;
            }
            // Ten bytes of the first message, behind two that stay.
            let first = arrived(expected, &mut *channel)?;
            assert_eq!((&first[..2], &first[2..12], first[12]), (&[9; 2][..], &[0; 10][..], 9));
            for number in 1..3 {
                let part = 0..bytes(number).len();
                let next = Transfer::receive(&mut *channel, other, bytes(number + 4), part)?;
                assert_eq!(arrived(next, &mut *channel)?[9], number);
            }
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn a_rank_that_failed_is_named_to_those_who_wait_for_it() {
        let error = threads::run(2, |communicator| {
            let mut channel = communicator.channel();
            if communicator.rank() == 1 {
                return Err(Error::device("lost"));
            }
            arrived(Transfer::receive(&mut *channel, 1, bytes(0), 0..3)?, &mut *channel).map(drop)
        });
        assert!(error.unwrap_err().message().contains("lost"));
        let own = threads::run(1, |communicator| {
            let beyond = Transfer::receive(&mut *communicator.channel(), 0, bytes(0), 3..11);
            Ok(beyond.err().map(|error| error.message().to_string()))
        });
        assert!(own.unwrap()[0].as_ref().is_some_and(|message| message.contains("bytes 3 to 11")));
    }
}
