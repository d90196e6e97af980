//! Atoms at one moment, which may still be on their way from a device.

use crate::{AtomRows, AtomVector, OneLoop, Result, SimBox, State};

/// Vectors of all atoms at one moment, for a thread that waits for them while the device goes on.
///
/// ```
/// use jostle_core::{AtomRows, AtomVector, Snapshot, Vec3};
///
/// let snapshot = Snapshot::new(|| Ok(AtomRows::new(vec![(AtomVector::Position, vec![Vec3::new(1.0, 2.0, 3.0)])])));
/// let waits = std::thread::spawn(|| snapshot.wait());
/// let mut rows = waits.join().unwrap()?;
/// assert_eq!(rows.take(AtomVector::Position), [Vec3::new(1.0, 2.0, 3.0)]);
/// # Ok::<_, jostle_core::Error>(())
/// ```
pub struct Snapshot(Box<dyn FnOnce() -> Result<AtomRows> + Send>);

impl Snapshot {
    /// A snapshot of which `wait` waits for the atoms.
    pub fn new(wait: impl FnOnce() -> Result<AtomRows> + Send + 'static) -> Self {
        Snapshot(Box::new(wait))
    }

    /// A snapshot of a state.
    ///
    /// # Errors
    /// If the atoms do not have such vectors.
    pub fn of(state: &State, simbox: &SimBox, vectors: &[AtomVector]) -> Result<Self> {
        let rows = state.vector_arrays().rows(simbox, vectors, OneLoop(&state.id))?;
        Ok(Snapshot::new(|| Ok(rows)))
    }

    /// The atoms, once they are there.
    ///
    /// # Errors
    /// If the device failed.
    pub fn wait(self) -> Result<AtomRows> {
        (self.0)()
    }
}
