//! Staging buffers: copies to the host that leave a device while it goes on.
//!
//! Arrays are copied within the memory of the device first, and from there to the host. Advantage: later kernels wait for
//! the first copy alone. Disadvantage: the copy takes memory of the device.

use super::{Buffer, Device, DeviceCopy, Event, HostMemory};
use jostle_core::{Error, Result};
use std::ops::Range;

/// Multiple of bytes at which the parts of a copy begin: that of the largest number.
const ALIGNMENT: usize = 8;

/// Memory of the device and of the host for copies on their way.
pub struct StagingBuffer {
    /// Copy in the memory of the device.
    staged: Buffer<u8>,
    host: Box<dyn HostMemory>,
    parts: Vec<Range<usize>>,
    /// Event at which the copy has arrived.
    arrival: Option<Event>,
}

impl StagingBuffer {
    /// A buffer for so many bytes.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(device: &Device, bytes: usize) -> Result<Self> {
        let staged = device.alloc(bytes)?;
        Ok(StagingBuffer {
            staged,
            host: device.hardware.host_memory(bytes)?,
            parts: Vec::new(),
            arrival: None,
        })
    }

    /// Bytes that it needs for parts of these sizes.
    pub fn bytes_for(parts: &[Option<Buffer<u8>>]) -> usize {
        parts.iter().flatten().map(|part| part.len().next_multiple_of(ALIGNMENT)).sum()
    }

    /// Bytes for which there is room.
    pub fn capacity(&self) -> usize {
        self.staged.len()
    }

    /// Begins a copy of buffers as they are after the work queued so far; parts that are `None` are empty.
    ///
    /// # Errors
    /// If they do not fit, are of another device, or the device was lost.
    pub fn begin(&mut self, parts: &[Option<Buffer<u8>>]) -> Result<()> {
        self.wait()?;
        let device = self.staged.memory.device.clone();
        if Self::bytes_for(parts) > self.capacity()
            || parts.iter().flatten().any(|part| !device.is(&part.memory.device))
        {
            return Err(Error::device("a copy to the host does not fit its staging buffer"));
        }
        self.parts.clear();
        let mut end = 0;
        for part in parts {
            let Some(part) = part else {
                self.parts.push(end..end);
                continue;
            };
            // SAFETY: the part is a whole buffer, and the sum of all has been compared with the capacity.
            unsafe { device.hardware.copy(part.address(), self.staged.address() + end as u64, part.len())? };
            self.parts.push(end..end + part.len());
            end += part.len().next_multiple_of(ALIGNMENT);
        }
        // SAFETY: both copies have room for so many bytes, and neither is used before the event.
        let moment =
            unsafe { device.hardware.copy_to_host(self.staged.address(), self.host.address(), end)? };
        self.arrival = Some(Event { device, moment });
        Ok(())
    }

    /// Waits until the copy has arrived.
    ///
    /// # Errors
    /// If work before it failed.
    pub fn wait(&mut self) -> Result<()> {
        match self.arrival.as_ref() {
            Some(arrival) => arrival.wait()?,
            None => return Ok(()),
        }
        self.arrival = None;
        Ok(())
    }

    /// Values of a part that has arrived; none before.
    pub fn part<T: DeviceCopy>(&self, part: usize) -> &[T] {
        let Some(range) = self.parts.get(part).filter(|_| self.arrival.is_none()) else { return &[] };
        let (start, bytes) = (self.host.address().cast_const(), range.len());
        // SAFETY: the part is inside the memory of the host and begins at a multiple of the alignment of every number; no
        // copy is under way; any bytes are a valid `DeviceCopy`.
        unsafe { std::slice::from_raw_parts(start.add(range.start).cast(), bytes / size_of::<T>()) }
    }
}

impl Drop for StagingBuffer {
    fn drop(&mut self) {
        // Memory is freed after the last copy; where the device was lost, there is none.
        let _ = self.wait();
    }
}
