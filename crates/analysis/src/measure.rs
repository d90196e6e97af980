//! Measures: analyses that take frames one by one, and the saving and restoring of their state.

use crate::report::Results;
use crate::saved_state::SavedState;
use crate::view::View;
use jostle_core::{Error, Result};

/// An analysis: takes frames, gives results.
pub trait Measure: Send {
    /// Takes the next frame.
    ///
    /// # Errors
    /// If the frame lacks what is measured: velocities, times, a volume, a pressure.
    fn add(&mut self, frame: &View) -> Result<()>;

    /// Its state from one frame to the next. A run keeps it in its checkpoints, so
    /// that a resumed one finds what it would have found without a stop.
    fn saved_state(&mut self) -> Vec<&mut dyn SavedState>;

    /// Results so far.
    ///
    /// # Errors
    /// If there were too few frames.
    fn results(&self) -> Result<Results>;
}

/// The state of a measure.
///
/// # Errors
/// See [`SavedState::write`].
pub fn save(measure: &mut dyn Measure) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for part in measure.saved_state() {
        part.write(&mut bytes)?;
    }
    Ok(bytes)
}

/// Gives a new measure the saved state of another of its kind and settings.
///
/// # Errors
/// See [`SavedState::read`].
pub fn restore(measure: &mut dyn Measure, bytes: &[u8]) -> Result<()> {
    let mut rest = bytes;
    for part in measure.saved_state() {
        part.read(&mut rest)?;
    }
    match rest.is_empty() {
        true => Ok(()),
        false => Err(Error::input("the saved state of a measure is damaged: there is too much of it")),
    }
}
