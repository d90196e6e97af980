//! Data on stdout and in files.

use jostle_core::{Error, Result};
use std::fs::OpenOptions;
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
/// See [`print()`].
pub fn print_json(value: &serde_json::Value) -> Result<()> {
    print(&format!("{value:#}\n"))
}

/// Writes a file whole or not at all. What is there already and is no plain file (a pipe, a
/// device) is written straight to.
///
/// # Errors
/// If it cannot be written; a file that was there before is then as it was.
pub fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    if path.metadata().is_ok_and(|there| !there.is_file()) {
        let written = OpenOptions::new().write(true).open(path).and_then(|mut f| f.write_all(content));
        return written.map_err(|error| Error::io("write", path, &error));
    }
    jostle_engine::replace_file(path, content)
}
