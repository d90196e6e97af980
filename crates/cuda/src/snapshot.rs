//! Snapshots of the atoms, which reach the host while the device makes further steps.

use crate::by_id::ByThreads;
use crate::driver::{Buffer, Device, StagingBuffer};
use jostle_core::{AtomRows, AtomVector, Precision, Result, SimBox, Snapshot, Vector, VectorArrays};
use std::sync::{Arc, Mutex, PoisonError};

/// Most snapshots on their way or not yet read: a frame that is written, two that wait for it, and one for a client.
const MOST_UNDER_WAY: usize = 4;

/// Arrays of a snapshot: ids, positions, images, velocities, forces; `None` for those that it does without.
pub type SnapshotParts = [Option<Buffer<u8>>; 5];

/// Staging buffers of snapshots, used again and again.
#[derive(Default)]
pub struct Snapshots {
    buffers: Vec<Arc<Mutex<StagingBuffer>>>,
}

impl Snapshots {
    /// Begins a snapshot; `None` where all buffers are in use, or there is no memory for another one.
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
        let Some(buffer) = self.buffer(device, StagingBuffer::bytes_for(parts)) else { return Ok(None) };
        buffer.lock().unwrap_or_else(PoisonError::into_inner).begin(parts)?;
        let vectors = vectors.to_vec();
        Ok(Some(Snapshot::new(move || {
            let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
            buffer.wait()?;
            rows(&buffer, precision, &simbox, &vectors)
        })))
    }

    /// Buffer that is free and large enough.
    fn buffer(&mut self, device: &Device, bytes: usize) -> Option<Arc<Mutex<StagingBuffer>>> {
        let is_free = |buffer: &Arc<Mutex<StagingBuffer>>| Arc::strong_count(buffer) == 1;
        let fits = |buffer: &Arc<Mutex<StagingBuffer>>| {
            buffer.lock().unwrap_or_else(PoisonError::into_inner).capacity() >= bytes
        };
        if let Some(buffer) = self.buffers.iter().find(|buffer| is_free(buffer) && fits(buffer)) {
            return Some(buffer.clone());
        }
        // Smaller ones give way.
        self.buffers.retain(|buffer| !is_free(buffer) || fits(buffer));
        if self.buffers.len() >= MOST_UNDER_WAY {
            return None;
        }
        let buffer = Arc::new(Mutex::new(StagingBuffer::new(device, bytes).ok()?));
        self.buffers.push(buffer.clone());
        Some(buffer)
    }
}

/// Rows of vectors that have arrived, by id.
fn rows(
    buffer: &StagingBuffer,
    precision: Precision,
    simbox: &SimBox,
    vectors: &[AtomVector],
) -> Result<AtomRows> {
    let ids = buffer.part::<u32>(0);
    let force = match precision {
        Precision::Mixed => buffer.part(4).iter().map(|force: &Vector<f32>| force.map(f64::from)).collect(),
        Precision::Double => buffer.part(4).to_vec(),
    };
    let arrays = VectorArrays {
        position: buffer.part(1),
        image: buffer.part(2),
        velocity: buffer.part(3),
        angular_velocity: &[],
        force: &force,
    };
    arrays.rows(simbox, vectors, ByThreads::new(ids))
}
