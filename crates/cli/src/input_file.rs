//! The input file that a command names.

use crate::arguments::SetOptions;
use jostle_core::{Error, Result};
use jostle_io::Input;
use jostle_io::input::Assignment;
use jostle_io::input::model::StageInput;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Key of the temperature that thermostats hold which name no other.
pub const TEMPERATURE: &str = "system.temperature";

/// Name of the input that stands for standard input.
const STANDARD_INPUT: &str = "-";
/// Bytes of the longest input: far more than is ever written.
const LONGEST: u64 = 64 << 20;

/// Reads the input of that name with these values in place of its own; `-` is standard input, whose relative
/// paths start in the working folder and whose results go to the folder `stdin` unless it says otherwise.
///
/// # Errors
/// If it cannot be read, or is wrong; always one of the input, as the file itself is what was asked for.
pub fn read(path: &Path, values: &SetOptions) -> Result<Input> {
    let (name, bytes) = read_bytes(path)?;
    let input = match values.set.as_slice() {
        [] => Input::parse_bytes(&name, bytes),
        set => with_values(&name, bytes, set),
    };
    input.map_err(|error| match error.place() {
        Some(place) if place.file == path => error.of_input(),
        _ => error,
    })
}

/// An input with other values. Errors about one of them say where it came from.
fn with_values(name: &Path, bytes: Vec<u8>, set: &[Assignment]) -> Result<Input> {
    let Ok(text) = String::from_utf8(bytes.clone()) else { return Input::parse_bytes(name, bytes) };
    if Input::parse(name, &text).is_err_and(|error| error.message().contains("not valid TOML")) {
        return Input::parse(name, &text);
    }
    let text = Assignment::apply_all(set, (name, &text))?;
    Input::parse(name, &text).map_err(|error| {
        let line = error.place().and_then(|place| text.lines().nth(place.line?.checked_sub(1)?));
        let meant =
            |a: &&Assignment| line.is_some_and(|line| line.contains(a.value()) && line.contains(a.key()));
        match set.iter().find(meant) {
            Some(a) => error.context(format!("--set {}={}", a.path(), a.value())),
            None => error,
        }
    })
}

/// Warns where a temperature that was set for the system is that of velocities at the start alone, because a thermostat
/// has its own.
pub fn warn_of_other_temperatures(input: &Input) {
    let Some(set) = input.system.velocities.as_ref().map(|velocities| velocities.temperature) else { return };
    let holds_another = |stage: &&StageInput| {
        stage.temperatures().is_some_and(|[first, last]| first == last && (first / set - 1.0).abs() > 1e-9)
    };
    if let Some(stage) = input.stages.iter().map(|stage| &stage.value).find(holds_another) {
        say!(
            "warning: {TEMPERATURE} is that of velocities at the start; the thermostat of stage '{}' has a temperature \
             of its own: leave that out, and it holds the one of [system]",
            stage.name
        );
    }
}

/// Bytes of an input, and the name that errors call it.
fn read_bytes(path: &Path) -> Result<(PathBuf, Vec<u8>)> {
    if path != Path::new(STANDARD_INPUT) {
        let bytes = Input::read_bytes(path).map_err(Error::of_input)?;
        return Ok((path.to_path_buf(), bytes));
    }
    let name = Path::new("stdin.toml");
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|e| Error::io("read", Path::new("standard input"), &e).of_input())?;
    if bytes.len() as u64 > LONGEST {
        return Err(Error::input(format!("standard input is longer than {} MiB", LONGEST >> 20)));
    }
    Ok((name.to_path_buf(), bytes))
}
