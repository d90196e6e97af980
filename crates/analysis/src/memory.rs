//! What a measure remembers, as bytes.

use crate::kinds::Measure;
use jostle_core::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Something that can be written down and read again.
pub trait Memory {
    /// Appends it to `bytes`.
    ///
    /// # Errors
    /// If it cannot be written; a bug.
    fn write(&self, bytes: &mut Vec<u8>) -> Result<()>;

    /// Takes it from the beginning of `bytes`.
    ///
    /// # Errors
    /// If the bytes are those of something else.
    fn read(&mut self, bytes: &mut &[u8]) -> Result<()>;
}

impl<T: Serialize + DeserializeOwned> Memory for T {
    fn write(&self, bytes: &mut Vec<u8>) -> Result<()> {
        let written = postcard::to_extend(self, std::mem::take(bytes));
        *bytes = written.map_err(|e| Error::simulation(format!("a measure cannot be kept: {e}")))?;
        Ok(())
    }

    fn read(&mut self, bytes: &mut &[u8]) -> Result<()> {
        let (value, rest) = postcard::take_from_bytes(bytes)
            .map_err(|e| Error::input(format!("what a measure remembers is damaged: {e}")))?;
        (*self, *bytes) = (value, rest);
        Ok(())
    }
}

/// All that a measure remembers.
///
/// # Errors
/// See [`Memory::write`].
pub fn remember(measure: &mut dyn Measure) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for part in measure.memory() {
        part.write(&mut bytes)?;
    }
    Ok(bytes)
}

/// Gives a measure that has just been made what another of its kind and settings remembered.
///
/// # Errors
/// See [`Memory::read`].
pub fn recall(measure: &mut dyn Measure, bytes: &[u8]) -> Result<()> {
    let mut rest = bytes;
    for part in measure.memory() {
        part.read(&mut rest)?;
    }
    match rest.is_empty() {
        true => Ok(()),
        false => Err(Error::input("what a measure remembers is damaged: there is too much of it")),
    }
}
