//! Ctrl-C and SIGTERM.

use jostle_core::{Error, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The exit code of an interrupted run, as shells have it for SIGINT.
pub const EXIT_CODE: u8 = 130;

/// Turns the first Ctrl-C or SIGTERM into a flag that a run looks at after every step; the second
/// ends the program at once. SIGHUP is left alone so that `nohup jostle run` works.
///
/// # Errors
/// If the system refuses.
pub fn listen() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Order matters: the shutdown looks at the flag before this signal sets it.
        flag::register_conditional_shutdown(signal, EXIT_CODE.into(), stop.clone())
            .and_then(|_| flag::register(signal, stop.clone()))
            .map_err(|error| Error::device(format!("cannot listen for Ctrl-C: {error}")))?;
    }
    Ok(stop)
}
