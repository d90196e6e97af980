//! Processes that `mpirun` or its like has started: rank 0 does what the arguments say, the others help it.

use crate::error_report::{self, FAILURE, SUCCESS};
use crate::interrupt;
use jostle_core::Result;
use jostle_engine::ranks::{Role, join, serve};
use jostle_transport::mpi;

/// Does `body`, the work of a process alone or of rank 0; other ranks serve until it is over. Returns the exit code.
pub fn run(body: impl FnOnce() -> Result<u8>) -> u8 {
    let report = |error| {
        error_report::print(&error);
        error_report::exit_code(&error)
    };
    match join() {
        Ok(Role::Leader(leader)) => {
            let code = body().unwrap_or_else(report);
            drop(leader);
            code
        }
        // Signals that a launcher passes on to all ranks are for rank 0, which decides.
        Ok(Role::Worker(communicator)) => {
            match interrupt::leave_to_rank_0().and_then(|()| serve(communicator)) {
                Ok(()) => SUCCESS,
                Err(_) => FAILURE,
            }
        }
        // All ranks fail alike: one says why, and the others must not hurry its end.
        Err(_) if mpi::Launch::of_environment().is_some_and(|launch| launch.rank > 0) => SUCCESS,
        Err(error) => report(error),
    }
}
