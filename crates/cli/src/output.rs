//! Data on stdout.

use jostle_core::{Error, Result};
use std::io::{self, Write};
use std::path::Path;

/// Prints text. A reader that has seen enough (`| head`) is no error.
///
/// # Errors
/// If stdout cannot be written, a full disk for instance.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::io("write", Path::new("standard output"), &error))
        }
        _ => Ok(()),
    }
}

/// Prints a value as indented JSON.
///
/// # Errors
/// See [`print`].
pub fn print_json(value: &serde_json::Value) -> Result<()> {
    print(&format!("{value:#}\n"))
}
