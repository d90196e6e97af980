//! The input file that a command names.

use jostle_core::{Error, Result};
use jostle_io::Input;
use std::io::Read;
use std::path::Path;

/// Name of the input that stands for standard input.
const STANDARD_INPUT: &str = "-";
/// Bytes of the longest input: far more than is ever written.
const LONGEST: u64 = 64 << 20;

/// Reads the input of that name; `-` is standard input, whose relative paths start in the working folder and
/// whose results go to the folder `stdin` unless it says otherwise.
///
/// # Errors
/// If it cannot be read, or is wrong; always one of the input, as the file itself is what was asked for.
pub fn read(path: &Path) -> Result<Input> {
    if path != Path::new(STANDARD_INPUT) {
        return Input::read(path).map_err(|error| match error.place() {
            Some(place) if place.file == path => error.of_input(),
            _ => error,
        });
    }
    let name = Path::new("stdin.toml");
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|e| Error::io("read", Path::new("standard input"), &e).of_input())?;
    if bytes.len() as u64 > LONGEST {
        return Err(Error::input(format!("standard input is longer than {} MiB", LONGEST >> 20)));
    }
    Input::parse_bytes(name, bytes)
}
