//! Ctrl-C, SIGTERM, SIGHUP, and what batch systems send before a limit is reached.

use jostle_core::{Error, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXCPU, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The exit code of an interrupted run, as shells have it for SIGINT.
pub const EXIT_CODE: u8 = 130;

/// Time after a signal within which others of the same kind are the same request: `timeout`, shells and batch systems
/// tell a program and its group, so that it comes twice.
const SAME_REQUEST: Duration = Duration::from_secs(1);

/// Turns the first Ctrl-C or SIGTERM into a flag that a run looks at after every step; a later one
/// ends the program at once. SIGHUP, which comes when a terminal is closed or a connection is lost,
/// sets the same flag, unless it was ignored when the program began, as it is under `nohup`. It comes
/// more than once, from the system and from the shell, so that it never ends the program at once. Neither do SIGUSR1 and
/// SIGXCPU, by which batch systems say that the time of a job is nearly over.
///
/// # Errors
/// If the system refuses.
pub fn listen() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    set_at_first(&stop)?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let hangs_up = (hangup(&status) == Hangup::Ends).then_some(SIGHUP);
    set_by(hangs_up.into_iter().chain([SIGUSR1, SIGXCPU]), &stop)?;
    Ok(stop)
}

/// Lets the first Ctrl-C or SIGTERM set a flag, and a later one end the program at once.
fn set_at_first(stop: &Arc<AtomicBool>) -> Result<()> {
    let repeated = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, EXIT_CODE.into(), repeated.clone()).map_err(failed)?;
    }
    set_by([SIGINT, SIGTERM], stop)?;
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            thread::sleep(SAME_REQUEST);
            repeated.store(true, Ordering::Relaxed);
        }
    });
    Ok(())
}

/// Lets signals set a flag.
fn set_by(signals: impl IntoIterator<Item = i32>, stop: &Arc<AtomicBool>) -> Result<()> {
    signals.into_iter().try_for_each(|signal| flag::register(signal, stop.clone()).map(drop)).map_err(failed)
}

fn failed(error: std::io::Error) -> Error {
    Error::device(format!("cannot listen for signals: {error}"))
}

/// Makes a file that would be larger than the limit of the shell (`ulimit -f`) an error of writing, as a full disk is: by
/// itself the system ends the program without a word.
///
/// # Errors
/// If the system refuses.
pub fn survive_file_size_limit() -> Result<()> {
    set_by([SIGXFSZ], &Arc::default())
}

/// Leaves signals to rank 0, which a launcher tells as well: the first Ctrl-C or SIGTERM of a process is without effect. A
/// later one ends it at once, and with it the launch: whoever signals this process alone is not heard by rank 0.
///
/// # Errors
/// If the system refuses.
pub fn leave_to_rank_0() -> Result<()> {
    let unread = Arc::default();
    set_at_first(&unread)?;
    set_by([SIGHUP, SIGUSR1, SIGXCPU], &unread)
}

/// The effect of SIGHUP when the program began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hangup {
    /// End of the program.
    Ends,
    /// None: the signal is ignored.
    Ignored,
    /// The system does not tell: the signal is left as it is, so that `nohup` works.
    Unknown,
}

/// Reads that from `/proc/self/status` (proc(5)): `SigIgn` is a mask in hexadecimal, bit `n - 1` of
/// which stands for signal `n`.
fn hangup(status: &str) -> Hangup {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(ignored) if ignored >> (SIGHUP - 1) & 1 == 1 => Hangup::Ignored,
        Some(_) => Hangup::Ends,
        None => Hangup::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_known() {
        let status = |mask: &str| format!("Name:\tjostle\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\n");
        assert_eq!(hangup(&status("0000000000001000")), Hangup::Ends);
        assert_eq!(hangup(&status("0000000000001001")), Hangup::Ignored);
        assert_eq!(hangup(&status("")), Hangup::Unknown);
        assert_eq!(hangup(""), Hangup::Unknown);
    }
}
