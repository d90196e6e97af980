//! NVIDIA GPUs through the driver's own interface, which is loaded at run time: the program starts without
//! it. One file of over 500 lines, as it holds all calls of the driver.

use std::collections::BTreeSet;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUfunction_attribute as Property};
use cudarc::driver::{CudaContext, CudaEvent, CudaGraph, CudaStream};
use jostle_core::{Error, Result};

use super::facts::GpuFacts;
use super::memory::out_of_memory;
use super::nvrtc::{Nvrtc, Version};
use super::{Code, Function, Hardware, Launch, Recording, Timestamp, Waits, announce_compiling};

/// Largest size in bytes of a download into memory that the GPU writes to directly.
const LANDING: usize = 64 * 1024;

pub struct Gpu(Arc<Shared>);

/// GPU, as modules and graphs share it.
struct Shared {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// Second stream, for launches that are recorded on the side stream.
    side_stream: Arc<CudaStream>,
    name: String,
    architecture: String,
    multiprocessors: u32,
    shared_memory: usize,
    driver: Version,
    /// True where blocks of recorded kernels may start early: see [`Start`].
    starts_early: AtomicBool,
    nvrtc: OnceLock<Nvrtc>,
    landing: Mutex<Landing>,
    /// Names of the kernels since the last synchronisation, of which one may have failed.
    started: Mutex<Vec<Arc<str>>>,
}

/// Time at which the blocks of a kernel may start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// After the end of everything that it depends on.
    Alone,
    /// After the last blocks of the kernel before it have started to end; the kernel itself waits until its
    /// data are in memory.
    Early,
}

/// Host memory that the GPU writes to directly.
struct Landing(*mut u8);

// SAFETY: it is plain memory, and behind a lock.
unsafe impl Send for Landing {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loads the driver and returns its version of CUDA.
pub fn init() -> Result<Version> {
    // SAFETY: loading the driver's library runs nothing but its own preparations.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::device("no NVIDIA driver found (libcuda.so.1)").hint(
            "install NVIDIA's driver for your GPU; in a container, start it with the GPU \
             (docker run --gpus all); or use --device cpu",
        ));
    }
    result::init().map_err(|e| match e.0 {
        sys::CUresult::CUDA_ERROR_NO_DEVICE => {
            Error::device("there is an NVIDIA driver but no GPU that it can use")
                .hint("look at nvidia-smi and at the variable CUDA_VISIBLE_DEVICES; or use --device cpu")
        }
        _ => failed("the NVIDIA driver does not start", e)
            .hint("look at nvidia-smi; after an update of the driver, restart the machine"),
    })?;
    let mut version = 0;
    // SAFETY: it writes one number.
    unsafe { sys::cuDriverGetVersion(&mut version) }
        .result()
        .map_err(|e| failed("the driver's version cannot be found", e))?;
    let version = Version { major: version / 1000, minor: version % 1000 / 10 };
    if version.major < 12 {
        let message = format!("the NVIDIA driver is too old: it knows CUDA {version}, 12.0 is needed");
        return Err(Error::device(message).hint("install NVIDIA's driver 525 or later"));
    }
    Ok(version)
}

/// Number of GPUs, after `init`.
pub fn count() -> Result<usize> {
    let count = result::device::get_count().map_err(|e| failed("no list of GPUs", e))?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Properties of a GPU that can be found without using it, after `init`.
pub fn describe(index: usize) -> Result<GpuFacts> {
    let describe = || {
        let device = result::device::get(index as i32)?;
        // SAFETY: the device is from `get`.
        let attribute = |which| unsafe { result::device::get_attribute(device, which) };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let multiprocessors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let kilohertz = attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?;
        // Source: CUDA programming guide, arithmetic throughput of single precision by compute capability.
        let lanes = if matches!((major, minor), (7, _) | (8, 0)) { 64 } else { 128 };
        Ok(GpuFacts {
            name: result::device::get_name(device)?,
            architecture: format!("sm_{major}{minor}"),
            // SAFETY: as above.
            memory: unsafe { result::device::total_mem(device)? },
            multiprocessors: multiprocessors.unsigned_abs(),
            operations_per_second: f64::from(multiprocessors) * f64::from(lanes) * 1e3 * f64::from(kilohertz),
        })
    };
    describe().map_err(|e| failed(&format!("GPU {index} does not answer"), e))
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
            let stream = context.new_stream()?;
            // Small kernels beside a large one should not wait for its blocks.
            let (_, first) = result::stream::get_priority_range()?;
            let side_stream = context.new_stream_with_priority(first)?;
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
                side_stream,
                name,
                architecture,
                multiprocessors,
                shared_memory: shared_memory.unsigned_abs() as usize,
                driver,
                starts_early: AtomicBool::new(starts_early),
                nvrtc: OnceLock::new(),
                landing: Mutex::new(Landing(landing.cast())),
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

/// Error of the driver in words.
fn failed(what: &str, error: DriverError) -> Error {
    use sys::CUresult::*;
    let (message, hint) = match error.0 {
        CUDA_ERROR_ILLEGAL_ADDRESS
        | CUDA_ERROR_MISALIGNED_ADDRESS
        | CUDA_ERROR_INVALID_ADDRESS_SPACE
        | CUDA_ERROR_INVALID_PC
        | CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUDA_ERROR_HARDWARE_STACK_ERROR
        | CUDA_ERROR_LAUNCH_FAILED => (
            "a wrong address, instruction or stack",
            "this is a fault of Jostle: please report it, with the input",
        ),
        CUDA_ERROR_LAUNCH_TIMEOUT => (
            "a kernel ran longer than the system lets it",
            "use a GPU that drives no display, or a smaller system",
        ),
        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => (
            "a kernel needs more registers or shared memory than the GPU has",
            "this is a fault of Jostle: please report it, with the GPU's name",
        ),
        CUDA_ERROR_ECC_UNCORRECTABLE => (
            "the GPU found an error in its memory",
            "resume from the last checkpoint; if it happens again, the GPU may be broken",
        ),
        CUDA_ERROR_DEVICE_UNAVAILABLE => (
            "the GPU is in use by another program that does not share it",
            "wait for the other program, or choose another GPU: --device cuda:1",
        ),
        CUDA_ERROR_NO_BINARY_FOR_GPU | CUDA_ERROR_INVALID_IMAGE | CUDA_ERROR_UNSUPPORTED_PTX_VERSION => (
            "the driver does not take what the compiler made",
            "NVRTC may be newer than the driver: update the driver or install an older NVRTC",
        ),
        CUDA_ERROR_OUT_OF_MEMORY => {
            ("out of device memory", "use fewer atoms, or end what else runs on the GPU")
        }
        CUDA_ERROR_DEINITIALIZED
        | CUDA_ERROR_CONTEXT_IS_DESTROYED
        | CUDA_ERROR_INVALID_CONTEXT
        | CUDA_ERROR_EXTERNAL_DEVICE
        | CUDA_ERROR_UNKNOWN => (
            "the GPU was lost",
            "resume from the last checkpoint; nvidia-smi and the system's log (dmesg, \"Xid\") may tell why",
        ),
        _ => ("", ""),
    };
    let name = error
        .error_name()
        .map_or_else(|_| format!("{:?}", error.0), |name| name.to_string_lossy().into_owned());
    let error = match message {
        "" => {
            let described = error
                .error_string()
                .map_or_else(|_| String::new(), |text| format!("{}, ", text.to_string_lossy()));
            Error::device(format!("{what}: {described}{name}"))
        }
        message => Error::device(format!("{what}: {message} ({name})")),
    };
    if hint.is_empty() { error } else { error.hint(hint) }
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

    /// # Safety
    /// As for `start_on`.
    unsafe fn start_recorded(&self, launches: &[Launch]) -> std::result::Result<(), DriverError> {
        let starts_early = self.starts_early.load(Ordering::Relaxed);
        let mut side_in_use = false;
        // True where a kernel depends on just the one before it on its stream.
        let (mut follows, mut follows_on_side) = (false, false);
        for launch in launches {
            match launch.waits {
                Waits::SideStream if !side_in_use => {
                    self.side_stream.join(&self.stream)?;
                    follows_on_side = false;
                }
                Waits::BothStreams if side_in_use => {
                    self.stream.join(&self.side_stream)?;
                    follows = false;
                }
                _ => {}
            }
            side_in_use =
                launch.waits == Waits::SideStream || (side_in_use && launch.waits == Waits::MainStream);
            let (stream, follows) = match launch.waits {
                Waits::SideStream => (&self.side_stream, &mut follows_on_side),
                _ => (&self.stream, &mut follows),
            };
            let early = std::mem::replace(follows, true) && starts_early && launch.kernel.0.awaits;
            let start = if early { Start::Early } else { Start::Alone };
            // SAFETY: the caller vouches for the arguments.
            unsafe { self.start_on(stream, launch, start)? };
        }
        if side_in_use { self.stream.join(&self.side_stream) } else { Ok(()) }
    }

    /// # Safety
    /// The arguments are those of the kernel, and what they point to stays.
    unsafe fn start_on(
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
        gpu.bind()?;
        // SAFETY: it is a whole image, made by the compiler, and the driver copies it.
        let module = unsafe { result::module::load_data(code.as_ptr().cast()) }
            .map_err(|e| failed(&format!("{name} cannot be loaded"), e))?;
        Ok(Box::new(LoadedModule { gpu: gpu.clone(), name: name.to_owned(), module }))
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
        Ok(Box::new(Captured { gpu: gpu.clone(), names, graph: Mutex::new(Graph(graph)) }))
    }

    fn synchronize(&self) -> Result<()> {
        self.0.wait()
    }

    fn now(&self) -> Result<Box<dyn Timestamp>> {
        let gpu = &self.0;
        let event = gpu.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
        let event = event.and_then(|event| event.record(&gpu.stream).map(|()| event));
        let event = event.map_err(|e| gpu.failed_before(e))?;
        Ok(Box::new(RecordedEvent { gpu: gpu.clone(), event }))
    }
}

/// Module loaded on the GPU.
struct LoadedModule {
    gpu: Arc<Shared>,
    name: String,
    module: sys::CUmodule,
}

// SAFETY: a handle, which the driver lets every thread use.
unsafe impl Send for LoadedModule {}
// SAFETY: as above.
unsafe impl Sync for LoadedModule {}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        // Kernels of the module may still be running.
        if self.gpu.wait().is_ok() {
            // SAFETY: nothing runs, and the last user of the module goes.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

impl Code for LoadedModule {
    fn function(&self, name: &str) -> Result<Box<dyn Function>> {
        self.gpu.bind()?;
        let missing = || Error::device(format!("{} has no kernel {name}", self.name));
        let text = CString::new(name).map_err(|_| missing())?;
        // SAFETY: the module is loaded.
        let function = unsafe { result::module::get_function(self.module, text) }.map_err(|e| match e.0 {
            sys::CUresult::CUDA_ERROR_NOT_FOUND => missing(),
            _ => failed(&format!("kernel {name}"), e),
        })?;
        let parameters = parameters(function);
        Ok(Box::new(Entry { gpu: self.gpu.clone(), function, parameters }))
    }
}

/// Sizes of a kernel's parameters, which drivers report from CUDA 12.4 on.
fn parameters(function: sys::CUfunction) -> Option<Vec<usize>> {
    type Info = unsafe extern "C" fn(sys::CUfunction, usize, *mut usize, *mut usize) -> i32;
    // SAFETY: the driver is loaded, and this is the function's type.
    let info = unsafe { *sys::culib().get::<Info>(c"cuFuncGetParamInfo").ok()? };
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: it writes two numbers, and fails where there is no such parameter.
        if unsafe { info(function, sizes.len(), &mut offset, &mut size) } != 0 {
            return Some(sizes);
        }
        sizes.push(size);
    }
}

/// Kernel on the GPU.
struct Entry {
    gpu: Arc<Shared>,
    function: sys::CUfunction,
    parameters: Option<Vec<usize>>,
}

// SAFETY: a handle, which the driver lets every thread use.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

impl Entry {
    fn property(&self, which: Property) -> u32 {
        let value = self.gpu.context.bind_to_thread().and_then(|()| {
            // SAFETY: the function's module is loaded.
            unsafe { result::function::get_function_attribute(self.function, which) }
        });
        value.map_or(0, i32::unsigned_abs)
    }

    fn set(&self, which: Property, value: i32) -> std::result::Result<(), DriverError> {
        // SAFETY: the function's module is loaded.
        unsafe { result::function::set_function_attribute(self.function, which, value) }
    }
}

impl Function for Entry {
    fn handle(&self) -> u64 {
        self.function as u64
    }

    fn parameters(&self) -> Option<&[usize]> {
        self.parameters.as_deref()
    }

    fn allow_shared(&self, bytes: usize) -> Result<()> {
        self.gpu.bind()?;
        let fixed = self.property(Property::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) as usize;
        let possible = self.gpu.shared_memory.saturating_sub(fixed);
        if bytes > possible {
            return Err(Error::device(format!("{bytes} bytes of shared memory wanted, {possible} possible")));
        }
        let most = Property::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let percentage = Property::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        self.set(most, bytes as i32)
            .and_then(|()| self.set(percentage, 100))
            .map_err(|e| failed(&format!("{bytes} bytes of shared memory refused"), e))
    }

    fn registers(&self) -> u32 {
        self.property(Property::CU_FUNC_ATTRIBUTE_NUM_REGS)
    }

    fn local_bytes(&self) -> u32 {
        self.property(Property::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
    }

    fn blocks_per_multiprocessor(&self, block: u32, shared: usize) -> Result<u32> {
        self.gpu.bind()?;
        // SAFETY: the function's module is loaded.
        let blocks = unsafe {
            let block = block as i32;
            result::occupancy::max_active_block_per_multiprocessor(self.function, block, shared)
        };
        blocks.map(i32::unsigned_abs).map_err(|e| failed("the GPU cannot tell its occupancy", e))
    }
}

struct Captured {
    gpu: Arc<Shared>,
    names: Arc<str>,
    graph: Mutex<Graph>,
}

/// Recorded graph; `None` where nothing was recorded.
struct Graph(Option<CudaGraph>);

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

struct RecordedEvent {
    gpu: Arc<Shared>,
    event: CudaEvent,
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
}
