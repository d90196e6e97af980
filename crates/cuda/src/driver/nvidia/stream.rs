//! Stream of the GPU, by which other programs order their work.

use super::{Shared, lock};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use jostle_core::Result;
use jostle_core::backend::SharedStream;

impl SharedStream for Shared {
    fn handle(&self) -> u64 {
        self.stream.cu_stream() as u64
    }

    fn precedes(&self, other: u64) -> Result<()> {
        self.order(self.stream.cu_stream(), other as sys::CUstream)
    }

    fn follows(&self, other: u64) -> Result<()> {
        self.order(other as sys::CUstream, self.stream.cu_stream())
    }
}

impl Shared {
    /// Lets later work on one stream wait for earlier work on another one.
    pub fn order(&self, before: sys::CUstream, after: sys::CUstream) -> Result<()> {
        let order = || -> std::result::Result<(), DriverError> {
            let mut event = lock(&self.order);
            let event = match &mut *event {
                Some(event) => event,
                none => none.insert(self.context.new_event(None)?),
            };
            let waits = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
            // SAFETY: the driver refuses handles of streams that are gone; the event lives as long as the GPU is open.
            unsafe {
                result::event::record(event.cu_event(), before)?;
                result::stream::wait_event(after, event.cu_event(), waits)
            }
        };
        self.bind()?;
        order().map_err(|e| self.failed_before(e))
    }
}
