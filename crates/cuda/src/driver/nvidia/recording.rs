//! Recorded graphs and events.

use super::{Shared, lock};
use crate::driver::{Launch, Recording, Timestamp};
use cudarc::driver::sys;
use cudarc::driver::{CudaEvent, CudaGraph};
use jostle_core::{Error, Result};
use std::sync::{Arc, Mutex};

/// Recorded sequence of launches.
pub(super) struct Captured {
    pub gpu: Arc<Shared>,
    /// Names of its kernels.
    pub names: Arc<str>,
    pub graph: Mutex<Graph>,
}

/// Recorded graph; `None` where nothing was recorded.
pub(super) struct Graph(pub Option<CudaGraph>);

// SAFETY: a graph may be used by one thread at a time; it is behind a lock.
unsafe impl Send for Graph {}

impl Recording for Captured {
    unsafe fn replay(&self, _launches: &[Launch]) -> Result<()> {
        self.gpu.remember(&self.names);
        let graph = lock(&self.graph);
        let launched = graph.0.iter().try_for_each(|graph| graph.launch());
        launched.map_err(|e| self.gpu.failed_before(e))
    }
}

/// Event on the stream of the GPU.
pub(super) struct RecordedEvent {
    pub gpu: Arc<Shared>,
    pub event: CudaEvent,
}

impl Timestamp for RecordedEvent {
    fn milliseconds_until(&self, end: &dyn Timestamp) -> Result<f64> {
        self.gpu.wait()?;
        // Function of the driver itself, as that of cudarc needs a driver of CUDA 12.8.
        type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> i32;
        let mut milliseconds = 0.0;
        // SAFETY: the driver is loaded, this is the function's type, and the other event is of the
        // same device.
        let status = unsafe {
            let elapsed = sys::culib().get::<Elapsed>(c"cuEventElapsedTime");
            let elapsed = elapsed.map_err(|e| Error::device(format!("no time from the GPU: {e}")))?;
            elapsed(&mut milliseconds, self.event.cu_event(), end.stamp() as sys::CUevent)
        };
        match status {
            0 => Ok(f64::from(milliseconds)),
            code => Err(Error::device(format!("no time from the GPU: error {code}"))),
        }
    }

    fn stamp(&self) -> u64 {
        self.event.cu_event() as u64
    }

    fn has_passed(&self) -> bool {
        self.event.is_complete()
    }

    fn wait(&self) -> Result<()> {
        self.event.synchronize().map_err(|e| self.gpu.failed_before(e))
    }
}
