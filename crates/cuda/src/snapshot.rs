//! Snapshots of the atoms, which reach the host while the device makes further steps.

use crate::by_id::ByThreads;
use crate::driver::{Buffer, Device, Landing};
use jostle_core::{AtomRows, AtomVector, Precision, Result, SimBox, Snapshot, VectorArrays};
use std::sync::{Arc, Mutex, PoisonError};

/// Most snapshots on their way or not yet read: a frame that is written, two that wait for it, and one for a client.
const MOST_UNDER_WAY: usize = 4;

/// Arrays of a snapshot: ids, positions, images, velocities, forces; `None` for those that it does without.
pub type SnapshotParts = [Option<Buffer<u8>>; 5];

/// Places of snapshots, used again and again.
#[derive(Default)]
pub struct Snapshots {
    landings: Vec<Arc<Mutex<Landing>>>,
}

impl Snapshots {
    /// Begins a snapshot; `None` where all places are taken, or there is no memory for another one.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn begin(
        &mut self,
        device: &Device,
        parts: &SnapshotParts,
        simbox: SimBox,
        precision: Precision,
        vectors: &[AtomVector],
    ) -> Result<Option<Snapshot>> {
        let Some(landing) = self.landing(device, Landing::bytes_for(parts)) else { return Ok(None) };
        landing.lock().unwrap_or_else(PoisonError::into_inner).begin(parts)?;
        let vectors = vectors.to_vec();
        Ok(Some(Snapshot::new(move || {
            let mut landing = landing.lock().unwrap_or_else(PoisonError::into_inner);
            landing.wait()?;
            rows(&landing, precision, &simbox, &vectors)
        })))
    }

    /// A place that nobody uses.
    fn landing(&mut self, device: &Device, bytes: usize) -> Option<Arc<Mutex<Landing>>> {
        let is_free = |landing: &Arc<Mutex<Landing>>| Arc::strong_count(landing) == 1;
        let fits = |landing: &Arc<Mutex<Landing>>| {
            landing.lock().unwrap_or_else(PoisonError::into_inner).capacity() >= bytes
        };
        if let Some(landing) = self.landings.iter().find(|landing| is_free(landing) && fits(landing)) {
            return Some(landing.clone());
        }
        // Smaller ones give way.
        self.landings.retain(|landing| !is_free(landing) || fits(landing));
        if self.landings.len() >= MOST_UNDER_WAY {
            return None;
        }
        let landing = Arc::new(Mutex::new(Landing::new(device, bytes).ok()?));
        self.landings.push(landing.clone());
        Some(landing)
    }
}

/// Rows of vectors that have arrived, by id.
fn rows(
    landing: &Landing,
    precision: Precision,
    simbox: &SimBox,
    vectors: &[AtomVector],
) -> Result<AtomRows> {
    let ids = landing.part::<u32>(0);
    let force = match precision {
        Precision::Mixed => landing.part(4).iter().map(|force: &[f32; 3]| force.map(f64::from)).collect(),
        Precision::Double => landing.part(4).to_vec(),
    };
    let arrays = VectorArrays {
        position: landing.part(1),
        image: landing.part(2),
        velocity: landing.part(3),
        angular_velocity: &[],
        force: &force,
    };
    let rows = vectors.iter().map(|&vector| {
        let mut rows = vec![[0.0; 3]; ids.len()];
        arrays.write_by_id(simbox, vector, &mut rows, ByThreads::new(ids)).map(|()| (vector, rows))
    });
    rows.collect::<Result<_>>().map(AtomRows::new)
}
