//! NVIDIA GPUs through the driver's own interface, which is loaded at run time: the program starts without
//! it. `start.rs` starts kernels, `module.rs` loads them, `recording.rs` records sequences, `probe.rs` tells what is
//! there, `stream.rs` orders the work of other
//! programs, `host.rs` copies to the host beside kernels, `timing.rs` times kernels one by one, `failure.rs` has the driver's errors in words.

mod failure;
mod host;
mod module;
mod peer;
mod probe;
mod recording;
mod start;
mod stream;
mod timing;

pub use peer::can_reach;
pub use probe::{GpuFacts, count, describe, init, unique_name};

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use jostle_core::backend::SharedStream;
use jostle_core::{Error, Result};

use super::memory::out_of_memory;
use super::nvrtc::{Nvrtc, Version};
use super::{Code, Hardware, HostMemory, Launch, Recording, Timestamp, announce_compiling};
use failure::failed;
use module::LoadedCode;
use recording::{Captured, Graph, RecordedEvent};
use start::Start;

/// Largest size in bytes of a download into memory that the GPU writes to directly.
const LANDING: usize = 64 * 1024;

pub struct Gpu(Arc<Shared>);

/// GPU, as modules and graphs share it.
struct Shared {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// Side, third, fourth and last streams, for launches that are recorded on them.
    other_streams: [Arc<CudaStream>; 4],
    /// Stream of copies to the host that kernels do not wait for.
    copy_stream: Arc<CudaStream>,
    name: String,
    architecture: String,
    multiprocessors: u32,
    shared_memory: usize,
    driver: Version,
    /// True where blocks of recorded kernels may start early: see [`Start`].
    starts_early: AtomicBool,
    nvrtc: OnceLock<Nvrtc>,
    landing: Mutex<Landing>,
    /// Event that other streams wait for, recorded anew each time.
    order: Mutex<Option<CudaEvent>>,
    /// Names of the kernels since the last synchronisation, of which one may have failed.
    started: Mutex<Vec<Arc<str>>>,
}

/// Host memory that the GPU writes to directly.
struct Landing(*mut u8);

// SAFETY: it is plain memory, and behind a lock.
unsafe impl Send for Landing {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gpu {
    pub fn open(index: usize) -> Result<Self> {
        let driver = init()?;
        let count = count()?;
        if index >= count {
            let last = count.saturating_sub(1);
            return Err(Error::device(format!("there is no GPU {index}; the last one is {last}"))
                .hint("jostle doctor lists the GPUs"));
        }
        let GpuFacts { name, architecture, multiprocessors, .. } = describe(index)?;
        let open = || {
            let context = CudaContext::new(index)?;
            // SAFETY: there is one stream, and everything is used on it.
            unsafe { context.disable_event_tracking() };
            // Small kernels beside a large one should not wait for its blocks.
            let (last, first) = result::stream::get_priority_range()?;
            let with_priority = |priority| context.new_stream_with_priority(priority);
            let stream = with_priority(i32::midpoint(last, first))?;
            let urgent = || with_priority(first);
            let other_streams = [urgent()?, urgent()?, urgent()?, with_priority(last)?];
            let copy_stream = context.new_stream()?;
            let shared_memory =
                context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
            // Early starts exist from Hopper on, and in recordings from CUDA 12.3 on.
            let hopper = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? >= 9;
            let starts_early = hopper && driver >= Version { major: 12, minor: 3 };
            // SAFETY: it is written before it is read.
            let landing = unsafe { result::malloc_host(LANDING, 0)? };
            Ok(Gpu(Arc::new(Shared {
                context,
                stream,
                other_streams,
                copy_stream,
                name,
                architecture,
                multiprocessors,
                shared_memory: shared_memory.unsigned_abs() as usize,
                driver,
                starts_early: AtomicBool::new(starts_early),
                nvrtc: OnceLock::new(),
                landing: Mutex::new(Landing(landing.cast())),
                order: Mutex::new(None),
                started: Mutex::default(),
            })))
        };
        open().map_err(|e| failed(&format!("GPU {index} cannot be used"), e))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let landing = lock(&self.landing).0;
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: it is from `malloc_host`, and nothing is under way: reading waits.
            let _ = unsafe { result::free_host(landing.cast()) };
        }
    }
}

impl Shared {
    fn bind(&self) -> Result<()> {
        self.context.bind_to_thread().map_err(|e| failed("the GPU does not answer", e))
    }

    /// Error of work that was started before, with the kernels it may be of.
    fn failed_before(&self, error: DriverError) -> Error {
        let started = lock(&self.started);
        let names = BTreeSet::from_iter(started.iter().flat_map(|names| names.split(", ")));
        match Vec::from_iter(names).as_slice() {
            [] => failed("earlier work on the GPU failed", error),
            [name] => failed(&format!("kernel {name} failed"), error),
            names => failed(&format!("one of the kernels {} failed", names.join(", ")), error),
        }
    }

    fn wait(&self) -> Result<()> {
        self.bind()?;
        // SAFETY: the stream is ours.
        unsafe { result::stream::synchronize(self.stream.cu_stream()) }.map_err(|e| self.failed_before(e))?;
        lock(&self.started).clear();
        Ok(())
    }

    fn remember(&self, names: &Arc<str>) {
        let mut started = lock(&self.started);
        if started.len() < 32 && !started.iter().any(|known| Arc::ptr_eq(known, names)) {
            started.push(names.clone());
        }
    }
}

impl Hardware for Gpu {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn architecture(&self) -> &str {
        &self.0.architecture
    }

    fn multiprocessors(&self) -> u32 {
        self.0.multiprocessors
    }

    fn shared_memory(&self) -> usize {
        self.0.shared_memory
    }

    fn memory_free(&self) -> Result<usize> {
        let (free, _) = self.0.context.mem_get_info().map_err(|e| self.0.failed_before(e))?;
        Ok(free)
    }

    fn reach(&self, other: usize) -> Result<()> {
        self.0.reach(other)
    }

    fn number(&self) -> usize {
        self.0.context.ordinal()
    }

    fn allocate(&self, bytes: usize) -> Result<u64> {
        self.0.bind()?;
        // SAFETY: it is zeroed before its first use.
        let address = unsafe { result::malloc_sync(bytes) }.map_err(|e| match e.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => out_of_memory(bytes, self.memory_free().ok()),
            _ => self.0.failed_before(e),
        })?;
        // SAFETY: it is ours.
        unsafe { self.clear(address, bytes) }.map(|()| address).inspect_err(|_| {
            // SAFETY: it is not in use yet.
            unsafe { self.free(address) }
        })
    }

    unsafe fn free(&self, address: u64) {
        // Work ends before memory is freed. A failure means that the GPU is lost, which the next call
        // reports.
        if self.0.bind().is_ok() {
            // SAFETY: the caller vouches that it is not used any more.
            let _ = unsafe { result::free_sync(address) };
        }
    }

    unsafe fn write(&self, to: u64, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.0.bind()?;
        // SAFETY: the caller vouches for the place; from pageable memory the driver has copied all
        // when it returns.
        unsafe { result::memcpy_htod_async(to, bytes, self.0.stream.cu_stream()) }
            .map_err(|e| self.0.failed_before(e))
    }

    unsafe fn read(&self, from: u64, bytes: &mut [u8]) -> Result<()> {
        if bytes.is_empty() {
            return self.0.wait();
        }
        self.0.bind()?;
        let stream = self.0.stream.cu_stream();
        if bytes.len() > LANDING {
            // SAFETY: the caller vouches for the place; `wait` ends the use of `bytes`.
            unsafe { result::memcpy_dtoh_async(bytes, from, stream) }.map_err(|e| self.0.failed_before(e))?;
            return self.0.wait();
        }
        let landing = lock(&self.0.landing);
        // SAFETY: the zone is longer than `bytes`, and ours while it is locked.
        let zone = unsafe { std::slice::from_raw_parts_mut(landing.0, bytes.len()) };
        // SAFETY: the caller vouches for the place; `wait` ends the copy.
        unsafe { result::memcpy_dtoh_async(zone, from, stream) }.map_err(|e| self.0.failed_before(e))?;
        self.0.wait()?;
        bytes.copy_from_slice(zone);
        Ok(())
    }

    unsafe fn clear(&self, address: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.0.bind()?;
        // SAFETY: the caller vouches for the place.
        unsafe { result::memset_d8_async(address, 0, bytes, self.0.stream.cu_stream()) }
            .map_err(|e| self.0.failed_before(e))
    }

    unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.0.bind()?;
        // SAFETY: the caller vouches for the places.
        unsafe { result::memcpy_dtod_async(to, from, bytes, self.0.stream.cu_stream()) }
            .map_err(|e| self.0.failed_before(e))
    }

    fn host_memory(&self, bytes: usize) -> Result<Box<dyn HostMemory>> {
        self.0.host_memory(bytes)
    }

    unsafe fn copy_to_host(&self, from: u64, to: *mut u8, bytes: usize) -> Result<Box<dyn Timestamp>> {
        // SAFETY: the caller vouches for the places.
        unsafe { self.0.copy_to_host(from, to, bytes) }
    }

    fn compile(&self, name: &str, source: &str, options: &[String]) -> Result<Box<dyn Code>> {
        let gpu = &self.0;
        let nvrtc = match gpu.nvrtc.get() {
            Some(nvrtc) => nvrtc,
            None => {
                let found = Nvrtc::find(Some(gpu.driver))?;
                gpu.nvrtc.get_or_init(|| found)
            }
        };
        let code = nvrtc.compile_cached(name, source, options, &gpu.architecture, gpu.driver, || {
            announce_compiling(&gpu.name)
        })?;
        Ok(Box::new(LoadedCode::new(gpu, name, &code)?))
    }

    unsafe fn launch(&self, launch: &Launch) -> Result<()> {
        self.0.bind()?;
        self.0.remember(&launch.kernel.0.name);
        // SAFETY: the caller vouches for the arguments.
        unsafe { self.0.start_on(&self.0.stream, launch, Start::Alone) }
            .map_err(|e| failed(&format!("kernel {} does not start", launch.kernel.name()), e))
    }

    unsafe fn record(&self, launches: &[Launch]) -> Result<Box<dyn Recording>> {
        let gpu = &self.0;
        let mut names = Vec::from_iter(launches.iter().map(|launch| launch.kernel.name()));
        names.sort();
        names.dedup();
        let names = Arc::from(names.join(", "));
        let record = || {
            // Capture is limited to the launches of this thread.
            let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
            gpu.stream.begin_capture(mode)?;
            // SAFETY: the caller vouches for the arguments.
            let started = unsafe { gpu.start_recorded(launches) };
            let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
            let graph = gpu.stream.end_capture(flags);
            started?;
            let graph = graph?;
            graph.iter().try_for_each(|graph| graph.upload())?;
            Ok(graph)
        };
        let graph = match record() {
            // Drivers may refuse early starts although their version has them.
            Err(_) if gpu.starts_early.swap(false, Ordering::Relaxed) => record(),
            recorded => recorded,
        };
        let graph = graph.map_err(|e| failed(&format!("{names} cannot be recorded"), e))?;
        Ok(Box::new(Captured { gpu: gpu.clone(), names, graph: Mutex::new(Graph::new(graph, launches)) }))
    }

    unsafe fn time_each(&self, launches: &[Launch]) -> Result<Vec<f64>> {
        self.0.bind()?;
        // SAFETY: the caller vouches for the arguments.
        unsafe { self.0.time_each(launches) }
    }

    fn synchronize(&self) -> Result<()> {
        self.0.wait()
    }

    fn synchronize_all(&self) -> Result<()> {
        self.0.wait()?;
        self.0.context.synchronize().map_err(|e| self.0.failed_before(e))
    }

    fn stream(&self) -> Option<Arc<dyn SharedStream>> {
        Some(self.0.clone())
    }

    fn now(&self) -> Result<Box<dyn Timestamp>> {
        let gpu = &self.0;
        let event = gpu.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
        let event = event.and_then(|event| event.record(&gpu.stream).map(|()| event));
        let event = event.map_err(|e| gpu.failed_before(e))?;
        Ok(Box::new(RecordedEvent { gpu: gpu.clone(), event }))
    }
}
