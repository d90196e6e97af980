//! Times of launches, each alone on the GPU: a recorded sequence on one stream with events between them, so that the host's
//! own time does not count.

use super::Shared;
use super::failure::failed;
use super::start::Start;
use crate::driver::Launch;
use cudarc::driver::sys::{self, CUevent_flags, CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaEvent, CudaGraph, DriverError};
use jostle_core::{Error, Result};
use std::sync::Arc;

impl Shared {
    /// Milliseconds of each launch.
    ///
    /// # Safety
    /// As for `start_on`.
    pub(super) unsafe fn time_each(self: &Arc<Self>, launches: &[Launch]) -> Result<Vec<f64>> {
        launches.iter().for_each(|launch| self.remember(&launch.kernel.0.name));
        // SAFETY: the caller vouches for the arguments.
        let started = unsafe { self.start_between_events(launches) };
        // The graph stays until its work is done.
        let (events, _graph) = started.map_err(|e| failed("kernels cannot be timed", e))?;
        self.wait()?;
        events.windows(2).map(|pair| milliseconds(pair[0].cu_event(), pair[1].cu_event())).collect()
    }

    /// # Safety
    /// As for `start_on`.
    unsafe fn start_between_events(
        self: &Arc<Self>,
        launches: &[Launch],
    ) -> std::result::Result<(Vec<CudaEvent>, Option<CudaGraph>), DriverError> {
        let event = |_| self.context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let events = (0..=launches.len()).map(event).collect::<std::result::Result<Vec<_>, _>>()?;
        self.stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        let record = |event: &CudaEvent| {
            let external = sys::CUevent_record_flags::CU_EVENT_RECORD_EXTERNAL as u32;
            // SAFETY: event and stream are ours; the event outlives the graph.
            unsafe { sys::cuEventRecordWithFlags(event.cu_event(), self.stream.cu_stream(), external) }
                .result()
        };
        let start = || {
            for (event, launch) in events.iter().zip(launches) {
                record(event)?;
                // SAFETY: the caller vouches for the arguments.
                unsafe { self.start_on(&self.stream, launch, Start::Alone)? };
            }
            record(&events[launches.len()])
        };
        let started = start();
        let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
        let graph = self.stream.end_capture(flags);
        started?;
        let graph = graph?;
        graph.iter().try_for_each(CudaGraph::launch)?;
        Ok((events, graph))
    }
}

/// Milliseconds between two events that have passed.
pub(super) fn milliseconds(start: sys::CUevent, end: sys::CUevent) -> Result<f64> {
    // Function of the driver itself, as that of cudarc needs a driver of CUDA 12.8.
    type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> i32;
    let mut milliseconds = 0.0;
    // SAFETY: the driver is loaded, this is the function's type, and both events are there.
    let status = unsafe {
        let elapsed = sys::culib().get::<Elapsed>(c"cuEventElapsedTime");
        let elapsed = elapsed.map_err(|e| Error::device(format!("no time from the GPU: {e}")))?;
        elapsed(&mut milliseconds, start, end)
    };
    match status {
        0 => Ok(f64::from(milliseconds)),
        code => Err(Error::device(format!("no time from the GPU: error {code}"))),
    }
}
