//! Starts of kernels, one by one or while a sequence is recorded.

use super::Shared;
use crate::driver::{Launch, Waits};
use cudarc::driver::CudaStream;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

/// Time at which the blocks of a kernel may start.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// After the end of everything that it depends on.
    Alone,
    /// After the last blocks of the kernel before it have started to end; the kernel itself waits until its
    /// data are in memory.
    Early,
}

impl Shared {
    /// # Safety
    /// As for `start_on`.
    pub(super) unsafe fn start_recorded(&self, launches: &[Launch]) -> std::result::Result<(), DriverError> {
        let starts_early = self.starts_early.load(Ordering::Relaxed);
        let [side, third, fourth, last] = &self.other_streams;
        let streams = [&self.stream, side, third, fourth, last];
        let mut in_use = [true, false, false, false, false];
        // Streams that were in use before, and may go on without what has come since on the main one.
        let mut known = in_use;
        // True where a kernel depends on just the one before it on its stream.
        let mut follows = [false; 5];
        for launch in launches {
            let number = match launch.waits {
                Waits::MainStream | Waits::MainAndFourth | Waits::AllStreams => 0,
                Waits::SideStream => 1,
                Waits::ThirdStream => 2,
                Waits::FourthStream | Waits::FourthAfterMain => 3,
                Waits::LastStream => 4,
            };
            let goes_on = match launch.waits {
                Waits::FourthAfterMain => false,
                Waits::FourthStream => known[number],
                _ => in_use[number],
            };
            if !goes_on {
                streams[number].join(streams[0])?;
                follows[number] = false;
            }
            (in_use[number], known[number]) = (true, true);
            let joined = match launch.waits {
                Waits::AllStreams => 1..5,
                Waits::MainAndFourth => 3..4,
                _ => 0..0,
            };
            for other in joined {
                if std::mem::take(&mut in_use[other]) {
                    streams[0].join(streams[other])?;
                    follows[0] = false;
                }
            }
            let early =
                std::mem::replace(&mut follows[number], true) && starts_early && launch.kernel.0.awaits;
            let start = if early { Start::Early } else { Start::Alone };
            // SAFETY: the caller vouches for the arguments.
            unsafe { self.start_on(streams[number], launch, start)? };
        }
        let mut others = (1..streams.len()).filter(|other| in_use[*other]);
        others.try_for_each(|other| streams[0].join(streams[other]))
    }

    /// # Safety
    /// The arguments are those of the kernel, and what they point to stays.
    pub(super) unsafe fn start_on(
        &self,
        stream: &CudaStream,
        launch: &Launch,
        start: Start,
    ) -> std::result::Result<(), DriverError> {
        let [x, y, z] = launch.grid;
        let function = launch.kernel.0.function.handle() as sys::CUfunction;
        let mut arguments = launch.pointers();
        if start == Start::Early {
            // SAFETY: as the caller vouches.
            return unsafe { start_early(stream, launch, &mut arguments) };
        }
        // SAFETY: the driver copies the arguments before it returns.
        unsafe {
            result::launch_kernel(
                function,
                (x, y, z),
                (launch.block, 1, 1),
                launch.shared as u32,
                stream.cu_stream(),
                &mut arguments,
            )
        }
    }
}

/// # Safety
/// The arguments are those of the kernel, which waits itself for what the one before it on the stream writes.
unsafe fn start_early(
    stream: &CudaStream,
    launch: &Launch,
    arguments: &mut [*mut c_void],
) -> std::result::Result<(), DriverError> {
    let [x, y, z] = launch.grid;
    let mut early = sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
    };
    let config = sys::CUlaunchConfig {
        gridDimX: x,
        gridDimY: y,
        gridDimZ: z,
        blockDimX: launch.block,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: launch.shared as u32,
        hStream: stream.cu_stream(),
        attrs: &raw mut early,
        numAttrs: 1,
    };
    let function = launch.kernel.0.function.handle() as sys::CUfunction;
    // SAFETY: the driver copies the arguments before it returns.
    unsafe { sys::cuLaunchKernelEx(&config, function, arguments.as_mut_ptr(), ptr::null_mut()).result() }
}
