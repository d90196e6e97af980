//! Messages between the ranks of a run: threads of one process ([`threads`]), or processes by MPI ([`mpi`]),
//! which is loaded at run time and not needed for building.
//!
//! A [`Transport`] has one operation, [`Transport::exchange`]; everything collective is made of it, in
//! [`Communicator`], so that the order of sums and messages is our own and the same everywhere.
//!
//! ```
//! let greetings = jostle_transport::threads::run(3, |communicator| {
//!     let mut numbers = [0u64; 3];
//!     numbers[communicator.rank()] = 10 + communicator.rank() as u64;
//!     communicator.all_gather(&mut numbers, &[0..1, 1..2, 2..3])?;
//!     Ok(numbers)
//! })?;
//! assert_eq!(greetings, [[10, 11, 12]; 3]);
//! # Ok::<(), jostle_core::Error>(())
//! ```

mod channel;
mod communicator;
pub mod mpi;
mod placement;
pub mod self_test;
pub mod threads;

pub use channel::{Channel, MessageMemory, Pending, Transfer};
pub use communicator::{Communicator, Traffic};
pub use placement::threads_per_rank;

use jostle_core::{Error, Result};

/// A message to another rank.
#[derive(Debug)]
pub struct Outgoing<'a> {
    /// The rank it goes to.
    pub to: usize,
    /// The message.
    pub bytes: &'a [u8],
}

/// Space for a message from another rank.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// The rank it comes from.
    pub from: usize,
    /// Space as large as the message.
    pub bytes: &'a mut [u8],
}

/// A way to carry messages between ranks.
pub trait Transport: Send {
    /// Number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn size(&self) -> usize;

    /// Description for people: `"MPICH 5.0.1"`.
    fn describe(&self) -> String;

    /// Sends and receives; returns when all messages have left and arrived. Messages from one rank to another
    /// arrive in the order in which they were sent, so both sides name them in the same order. A rank does
    /// not write to itself.
    ///
    /// # Errors
    /// If another rank has failed.
    fn exchange(&mut self, outgoing: &[Outgoing], incoming: &mut [Incoming]) -> Result<()>;

    /// A way to send and receive beside these exchanges, for another thread.
    fn channel(&mut self) -> Box<dyn Channel>;

    /// Takes all ranks down because this one cannot go on. Processes end at once; threads get an error with
    /// this reason from their next exchange.
    fn abort(&mut self, reason: &Error);
}
