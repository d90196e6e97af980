//! Ranks as processes that `mpirun`, `mpiexec` or `srun` has started, over the MPI that it belongs to. The
//! library is loaded at run time (`library.rs`); three binary interfaces are known ([`Abi`]).
//!
//! Waiting is our own loop of tests, which yields the core: libraries spin, which is slow where there are more
//! ranks than cores.

mod abi;
mod found;
mod launch;
mod library;
mod places;

pub use abi::Abi;
pub use found::{Found, found};
pub use launch::{CHOICE, Launch, Launcher};

use crate::{Channel, Communicator, Incoming, Outgoing, Pending, Transport};
use jostle_core::{Error, Result};
use library::Library;
use std::sync::Arc;

/// Joins the other ranks of an MPI launch; `None` where this process is the only one.
///
/// # Errors
/// If no library that fits the launcher is found, or it does not know of the other ranks.
pub fn join() -> Result<Option<Communicator>> {
    let Some(launch) = Launch::of_environment() else { return Ok(None) };
    let library = Arc::new(Library::open(&launch)?);
    let found = [library.rank(), library.size()];
    if found != [launch.rank, launch.size] {
        let [rank, size] = found;
        return Err(Error::device(format!(
            "{} has started {} processes, but {} ({}) says that this one is rank {rank} of {size}",
            launch.launcher.name(),
            launch.size,
            library.version(),
            library.path().display(),
        ))
        .hint(launch.launcher.remedy()));
    }
    Ok(Some(Communicator::new(Box::new(MpiRank { launch, library }))))
}

/// A rank that is a process.
struct MpiRank {
    launch: Launch,
    library: Arc<Library>,
}

impl Transport for MpiRank {
    fn rank(&self) -> usize {
        self.launch.rank
    }

    fn size(&self) -> usize {
        self.launch.size
    }

    fn describe(&self) -> String {
        self.library.version()
    }

    fn exchange(&mut self, outgoing: &[Outgoing], incoming: &mut [Incoming]) -> Result<()> {
        self.library.exchange(outgoing, incoming)
    }

    fn channel(&mut self) -> Box<dyn Channel> {
        Box::new(MpiChannel(self.library.clone()))
    }

    fn abort(&mut self, reason: &Error) {
        use std::io::Write;
        // A closed stderr is no reason to go on.
        let _ = writeln!(std::io::stderr(), "jostle: rank {} failed: {reason}", self.launch.rank);
        self.library.abort();
    }
}

/// A channel of a rank that is a process.
struct MpiChannel(Arc<Library>);

impl Channel for MpiChannel {
    unsafe fn send(&mut self, to: usize, place: *const u8, bytes: usize) -> Result<Pending> {
        // SAFETY: the caller vouches for the place.
        unsafe { self.0.start_send(to, place, bytes) }
    }

    unsafe fn receive(&mut self, from: usize, place: *mut u8, bytes: usize) -> Result<Pending> {
        // SAFETY: as above.
        unsafe { self.0.start_receive(from, place, bytes) }
    }

    fn is_over(&mut self, pending: &mut Pending) -> Result<bool> {
        self.0.is_over(pending)
    }
}
