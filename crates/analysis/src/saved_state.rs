//! Parts of the state of a measure, as bytes.

use jostle_core::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A part of a state that can be written and read again.
pub trait SavedState {
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

impl<T: Serialize + DeserializeOwned> SavedState for T {
    fn write(&self, bytes: &mut Vec<u8>) -> Result<()> {
        let written = postcard::to_extend(self, std::mem::take(bytes));
        *bytes = written.map_err(|e| Error::simulation(format!("a measure cannot be kept: {e}")))?;
        Ok(())
    }

    fn read(&mut self, bytes: &mut &[u8]) -> Result<()> {
        let (value, rest) = postcard::take_from_bytes(bytes)
            .map_err(|e| Error::input(format!("the saved state of a measure is damaged: {e}")))?;
        (*self, *bytes) = (value, rest);
        Ok(())
    }
}
