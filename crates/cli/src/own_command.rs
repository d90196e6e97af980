//! Command by which this program starts itself again: as a rank of a test, or to compile kernels.

use std::ffi::OsString;
use std::io;
use std::sync::OnceLock;

static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Sets the command where the program is part of another one, as `python -m jostle` is. Only the first one counts.
pub fn set_own_command(words: Vec<OsString>) {
    let _ = WORDS.set(words);
}

/// Words of the command.
///
/// # Errors
/// If the system does not tell the path of the program.
pub fn own_command() -> io::Result<Vec<OsString>> {
    match WORDS.get() {
        Some(words) => Ok(words.clone()),
        None => Ok(vec![std::env::current_exe()?.into()]),
    }
}
