//! Copies to memory of the host, beside the kernels.

use super::recording::RecordedEvent;
use super::{Shared, failed};
use crate::driver::{HostMemory, Timestamp};
use cudarc::driver::result;
use cudarc::driver::sys::CUevent_flags;
use jostle_core::Result;
use std::sync::Arc;

/// Memory of the host that the GPU reaches by itself.
struct PinnedMemory {
    gpu: Arc<Shared>,
    address: *mut u8,
}

// SAFETY: it is plain memory, which has one owner.
unsafe impl Send for PinnedMemory {}
// SAFETY: threads have its address alone.
unsafe impl Sync for PinnedMemory {}

impl HostMemory for PinnedMemory {
    fn address(&self) -> *mut u8 {
        self.address
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        if self.gpu.bind().is_ok() {
            // SAFETY: it is from `malloc_host`, and its owner has waited for the last copy.
            let _ = unsafe { result::free_host(self.address.cast()) };
        }
    }
}

impl Shared {
    /// Allocates memory of the host.
    pub fn host_memory(self: &Arc<Self>, bytes: usize) -> Result<Box<dyn HostMemory>> {
        self.bind()?;
        // SAFETY: it is written before it is read.
        let address = unsafe { result::malloc_host(bytes.max(1), 0) }
            .map_err(|e| failed(&format!("{bytes} bytes of the host cannot be shared with the GPU"), e))?;
        Ok(Box::new(PinnedMemory { gpu: self.clone(), address: address.cast() }))
    }

    /// Copies to the host on a stream of its own, after the work queued so far.
    ///
    /// # Safety
    /// Both places have so many bytes, and stay as they are until the event.
    pub unsafe fn copy_to_host(
        self: &Arc<Self>,
        from: u64,
        to: *mut u8,
        bytes: usize,
    ) -> Result<Box<dyn Timestamp>> {
        self.order(self.stream.cu_stream(), self.copy_stream.cu_stream())?;
        let copy = || {
            // SAFETY: the caller vouches for both places.
            unsafe {
                let place = std::slice::from_raw_parts_mut(to, bytes);
                result::memcpy_dtoh_async(place, from, self.copy_stream.cu_stream())?;
            }
            let event = self.context.new_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING))?;
            event.record(&self.copy_stream).map(|()| event)
        };
        let event = copy().map_err(|e| self.failed_before(e))?;
        Ok(Box::new(RecordedEvent { gpu: self.clone(), event }))
    }
}
