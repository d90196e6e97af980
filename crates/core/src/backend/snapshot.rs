//! Atoms at one moment, which may still be on their way from a device.

use crate::{AtomStorage, AtomVector, Result, Vec3};

/// Vectors of all atoms at one moment, for a thread that waits for them while the device goes on.
///
/// ```
/// use jostle_core::{AtomRows, AtomVector, Snapshot};
///
/// let snapshot = Snapshot::new(|| Ok(AtomRows::new(vec![(AtomVector::Position, vec![[1.0, 2.0, 3.0]])])));
/// let waits = std::thread::spawn(|| snapshot.wait());
/// let mut rows = waits.join().unwrap()?;
/// assert_eq!(rows.take(AtomVector::Position), [[1.0, 2.0, 3.0]]);
/// # Ok::<_, jostle_core::Error>(())
/// ```
pub struct Snapshot(Box<dyn FnOnce() -> Result<AtomRows> + Send>);

impl Snapshot {
    /// A snapshot of which `wait` waits for the atoms.
    pub fn new(wait: impl FnOnce() -> Result<AtomRows> + Send + 'static) -> Self {
        Snapshot(Box::new(wait))
    }

    /// A snapshot of a device that waits for the atoms itself.
    ///
    /// # Errors
    /// If the device failed.
    pub fn now<S: AtomStorage + ?Sized>(device: &mut S, vectors: &[AtomVector]) -> Result<Self> {
        let n = device.n_atoms();
        let rows = vectors.iter().map(|&vector| {
            let mut rows = vec![[0.0; 3]; n];
            device.write_by_id(vector, &mut rows).map(|()| (vector, rows))
        });
        let rows = AtomRows::new(rows.collect::<Result<_>>()?);
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

/// Vectors of all atoms, each in the order of the ids.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AtomRows(Vec<(AtomVector, Vec<Vec3>)>);

impl AtomRows {
    /// Rows of some vectors.
    pub fn new(rows: Vec<(AtomVector, Vec<Vec3>)>) -> Self {
        AtomRows(rows)
    }

    /// Takes the rows of a vector; none where it was not asked for.
    pub fn take(&mut self, vector: AtomVector) -> Vec<Vec3> {
        let rows = self.0.iter_mut().find(|(there, _)| *there == vector);
        rows.map_or(Vec::new(), |(_, rows)| std::mem::take(rows))
    }
}
