//! Memory of the host that kernels read and write while threads of the host, and messages, do so, too.
//!
//! Numbers are published in it: who sees a number sees what was stored before it, on either side.

use super::{Device, HostMemory};
use jostle_core::Result;
use jostle_transport::MessageMemory;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Memory of the host, all zero at first, which all GPUs of the process reach at the same address. Clones are the same
/// memory.
#[derive(Clone)]
pub struct HostBuffer {
    memory: Arc<dyn HostMemory>,
    bytes: usize,
}

impl HostBuffer {
    /// Memory for so many bytes.
    ///
    /// # Errors
    /// If there is not so much.
    pub fn new(device: &Device, bytes: usize) -> Result<Self> {
        let memory = device.hardware.host_memory(bytes)?;
        // SAFETY: it has just been allocated for so many.
        unsafe { memory.address().write_bytes(0, bytes) };
        Ok(HostBuffer { memory: memory.into(), bytes })
    }

    /// Address for kernels.
    pub fn address(&self) -> u64 {
        self.memory.address() as u64
    }

    /// The number at a place, a multiple of 8: zero beyond the end.
    pub fn number(&self, place: usize) -> u64 {
        self.cell(place).map_or(0, |cell| cell.load(Ordering::Acquire))
    }

    /// Publishes a number at a place, a multiple of 8; nothing beyond the end.
    pub fn publish(&self, place: usize, number: u64) {
        if let Some(cell) = self.cell(place) {
            cell.store(number, Ordering::Release);
        }
    }

    /// The word at a place, a multiple of 4, which a number published later stands for: zero beyond the end.
    pub fn word(&self, place: usize) -> u32 {
        self.word_cell(place).map_or(0, |cell| cell.load(Ordering::Relaxed))
    }

    /// Stores a word at a place, a multiple of 4; nothing beyond the end.
    pub fn set_word(&self, place: usize, word: u32) {
        if let Some(cell) = self.word_cell(place) {
            cell.store(word, Ordering::Relaxed);
        }
    }

    fn word_cell(&self, place: usize) -> Option<&AtomicU32> {
        let inside = place.is_multiple_of(4) && place + 4 <= self.bytes;
        // SAFETY: as in `cell`.
        inside.then(|| unsafe { &*self.memory.address().add(place).cast::<AtomicU32>() })
    }

    fn cell(&self, place: usize) -> Option<&AtomicU64> {
        let inside = place.is_multiple_of(8) && place + 8 <= self.bytes;
        // SAFETY: it is inside the memory, which begins at a multiple of 8, and whatever bytes are there are a number.
        inside.then(|| unsafe { &*self.memory.address().add(place).cast::<AtomicU64>() })
    }
}

// SAFETY: the memory stays where it is, and is meant to be written to by others; nothing refers to it as plain bytes.
unsafe impl MessageMemory for HostBuffer {
    fn place(&mut self) -> *mut u8 {
        self.memory.address()
    }

    fn size(&self) -> usize {
        self.bytes
    }
}
