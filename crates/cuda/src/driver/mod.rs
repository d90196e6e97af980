//! Interface to a device, either an NVIDIA GPU (`nvidia/`) or its emulation on the CPU (`emulated.rs`):
//! memory, compiled kernels, launches in the order of one stream, recorded sequences of launches, and times.
//! All `unsafe` of the GPU engine is in this folder.

mod compile_kernels;
pub mod compiler_processes;
mod definitions;
mod emulated;
mod facts;
mod host_buffer;
mod launch;
mod memory;
mod nvidia;
pub mod nvrtc;
mod replicas;
mod staging;
mod stopwatch;

pub use compile_kernels::compile_kernels;
pub use facts::{CacheFacts, CompilerFacts, DriverFacts, Facts, Link, describe, facts, unique_names};
pub use host_buffer::HostBuffer;
pub use launch::{Kernel, Launch, Module, Waits};
pub use memory::{Buffer, DeviceCopy};
pub use nvidia::GpuFacts;
pub use replicas::{ReplicaGraph, ReplicaKernels, kind_of};
pub use staging::StagingBuffer;

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use jostle_core::backend::{MemorySpace, NumberType, SharedArray, SharedStream};
use jostle_core::{Error, Result};
use stopwatch::Stopwatch;

/// Operations of a kind of device. Addresses and handles are those it returned itself.
trait Hardware: Send + Sync {
    fn name(&self) -> &str;
    fn architecture(&self) -> &str;
    fn multiprocessors(&self) -> u32;
    fn shared_memory(&self) -> usize;
    fn memory_free(&self) -> Result<usize>;
    /// Lets kernels of this device use the memory of another one of the same kind.
    fn reach(&self, other: usize) -> Result<()>;
    /// Number among the devices of its kind.
    fn number(&self) -> usize;

    /// Allocates zeroed memory.
    fn allocate(&self, bytes: usize) -> Result<u64>;
    /// # Safety
    /// `address` is from `allocate`, and it is not used any more.
    unsafe fn free(&self, address: u64);
    /// # Safety
    /// `bytes` bytes at `to` are inside one allocation; so with the next three.
    unsafe fn write(&self, to: u64, bytes: &[u8]) -> Result<()>;
    /// # Safety
    /// As for `write`.
    unsafe fn read(&self, from: u64, bytes: &mut [u8]) -> Result<()>;
    /// # Safety
    /// As for `write`.
    unsafe fn clear(&self, address: u64, bytes: usize) -> Result<()>;
    /// # Safety
    /// As for `write`, at both addresses, and the two do not overlap.
    unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<()>;
    /// Allocates memory of the host that the device reaches by itself.
    fn host_memory(&self, bytes: usize) -> Result<Box<dyn HostMemory>>;
    /// Copies to memory of the host after the work queued so far, beside that queued later; the event is the end of it.
    ///
    /// # Safety
    /// So many bytes at `from` are inside one allocation, those at `to` in memory of `host_memory`, and both stay as they
    /// are until the event.
    unsafe fn copy_to_host(&self, from: u64, to: *mut u8, bytes: usize) -> Result<Box<dyn Timestamp>>;

    fn compile(&self, name: &str, source: &str, options: &[String]) -> Result<Box<dyn Code>>;
    /// # Safety
    /// The kernel may use the buffers it is given as its source does.
    unsafe fn launch(&self, launch: &Launch) -> Result<()>;
    /// # Safety
    /// As for `launch`.
    unsafe fn record(&self, launches: &[Launch]) -> Result<Box<dyn Recording>>;
    /// Makes launches one after the other, each alone on the device; the milliseconds of each.
    ///
    /// # Safety
    /// As for `launch`.
    unsafe fn time_each(&self, launches: &[Launch]) -> Result<Vec<f64>>;
    fn synchronize(&self) -> Result<()>;
    /// Waits for the work of all programs of this process on the device.
    fn synchronize_all(&self) -> Result<()>;
    /// Stream of the device, by which other programs order their work; `None` where work is done at once.
    fn stream(&self) -> Option<Arc<dyn SharedStream>>;
    fn now(&self) -> Result<Box<dyn Timestamp>>;
}

/// Memory of the host, aligned for every number and freed when it is dropped.
trait HostMemory: Send + Sync {
    fn address(&self) -> *mut u8;
}

/// Compiled and loaded source.
trait Code: Send + Sync {
    fn function(&self, name: &str) -> Result<Box<dyn Function>>;
}

/// Kernel of a loaded source.
trait Function: Send + Sync {
    /// Handle that identifies the kernel in a launch.
    fn handle(&self) -> u64;
    /// Sizes of the parameters in bytes, where the device can tell.
    fn parameters(&self) -> Option<&[usize]>;
    fn allow_shared(&self, bytes: usize) -> Result<()>;
    fn registers(&self) -> u32;
    fn local_bytes(&self) -> u32;
    fn blocks_per_multiprocessor(&self, block: u32, shared: usize) -> Result<u32>;
}

/// Launches recorded once, to be repeated many times.
trait Recording: Send + Sync {
    /// # Safety
    /// The launches and their buffers are still there.
    unsafe fn replay(&self, launches: &[Launch]) -> Result<()>;
    /// Gives later repetitions the arguments and the numbers of blocks of other launches of the same kernels; returns
    /// false where the launches are to be recorded anew instead.
    ///
    /// # Safety
    /// As for `launch`; `before` are the launches that it has.
    unsafe fn update(&self, before: &[Launch], after: &[Launch]) -> Result<bool>;
}

/// Time of an event on the device's stream.
trait Timestamp: Send + Sync {
    fn milliseconds_until(&self, end: &dyn Timestamp) -> Result<f64>;
    /// Time in nanoseconds of the host's clock, or the handle of the device's event.
    fn stamp(&self) -> u64;
    fn has_passed(&self) -> bool;
    fn wait(&self) -> Result<()>;
}

/// Source of a module, as it was compiled.
struct SourceText {
    name: String,
    text: String,
    options: Vec<String>,
    /// Number that equal sources have in common.
    number: u64,
}

impl SourceText {
    fn new(name: &str, text: &str, options: Vec<String>) -> Self {
        let mut hasher = DefaultHasher::new();
        (text, &options).hash(&mut hasher);
        SourceText { name: name.into(), text: text.into(), options, number: hasher.finish() }
    }
}

/// Listener for the beginning of a compilation.
static ON_COMPILING: OnceLock<fn(&str)> = OnceLock::new();

/// Sets a listener that is called with the name of a GPU when a source is about to be compiled for it, which
/// takes seconds, rather than found in the cache. Only the first listener is used.
pub fn on_compiling(listener: fn(&str)) {
    let _ = ON_COMPILING.set(listener);
}

fn announce_compiling(name: &str) {
    if let Some(listener) = ON_COMPILING.get() {
        listener(name);
    }
}

/// GPU, or the emulation of one. Work is done in the order of the calls; clones are the same device.
#[derive(Clone)]
pub struct Device {
    hardware: Arc<dyn Hardware>,
    /// Options that all sources are compiled with.
    options: Arc<[String]>,
    purpose: DevicePurpose,
    stopwatch: Arc<Stopwatch>,
}

/// Purpose of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DevicePurpose {
    /// Results, as soon as possible.
    Results,
    /// Tests: small systems use methods that pay in large ones only.
    Tests,
}

impl Device {
    fn on(hardware: Arc<dyn Hardware>, purpose: DevicePurpose) -> Self {
        Device { hardware, options: Arc::default(), purpose, stopwatch: Arc::default() }
    }

    /// Opens an NVIDIA GPU, counted from 0. Where the environment has `JOSTLE_EMULATED_GPU`, the folder for libraries of
    /// kernels, it is the emulation of one: for tests of programs.
    ///
    /// # Errors
    /// If there is no driver or no such GPU; the hint says what to install.
    pub fn open(index: usize) -> Result<Self> {
        if emulated::asked_for() {
            let device = Arc::new(emulated::EmulatedProcessor::new(index)?);
            return Ok(Device::on(device, DevicePurpose::Tests));
        }
        Ok(Device::on(Arc::new(nvidia::Gpu::open(index)?), DevicePurpose::Results))
    }

    /// Opens an NVIDIA GPU for which kernels can be compiled.
    ///
    /// # Errors
    /// If there is no such GPU, no driver or no compiler; the hint says what to install.
    pub fn ready(index: usize) -> Result<Self> {
        let device = Self::open(index)?;
        device.compile("nothing", "extern \"C\" __global__ void nothing() {}", &[])?;
        Ok(device)
    }

    /// Opens the emulation of CUDA on the CPU: slow, for tests without a GPU.
    ///
    /// # Errors
    /// If there is no C++ compiler.
    pub fn emulated() -> Result<Self> {
        Ok(Device::on(Arc::new(emulated::EmulatedProcessor::new(0)?), DevicePurpose::Tests))
    }

    /// Opens several emulated devices.
    ///
    /// # Errors
    /// If there is no C++ compiler.
    pub fn several_emulated(count: usize) -> Result<Vec<Self>> {
        let open = |number| {
            let device = Arc::new(emulated::EmulatedProcessor::new(number)?);
            Ok(Device::on(device, DevicePurpose::Tests))
        };
        (0..count).map(open).collect()
    }

    /// Lets kernels of this device use the memory of another one.
    ///
    /// # Errors
    /// If the two are of different kinds, or no connection between them allows it.
    pub fn reach(&self, other: &Device) -> Result<()> {
        let (name, architecture) = (other.name(), other.architecture());
        if self.architecture() != architecture || self.name() != name {
            let message = format!("a run cannot be divided between {} and {name}", self.name());
            return Err(Error::device(message).hint("choose GPUs of one kind; jostle doctor lists them"));
        }
        self.hardware.reach(other.hardware.number())
    }

    /// Makes this a device for tests, like the emulated one: small systems use methods that pay in large ones
    /// only.
    #[must_use]
    pub fn for_tests(self) -> Device {
        Device { purpose: DevicePurpose::Tests, ..self }
    }

    /// Returns true for a device for tests.
    pub fn is_for_tests(&self) -> bool {
        self.purpose == DevicePurpose::Tests
    }

    /// Name by the maker.
    pub fn name(&self) -> String {
        self.hardware.name().to_owned()
    }

    /// Architecture for which kernels are compiled: `sm_90`, or `emulated`.
    pub fn architecture(&self) -> String {
        self.hardware.architecture().to_owned()
    }

    /// Number of the device among those of its kind.
    pub fn number(&self) -> usize {
        self.hardware.number()
    }

    /// Returns true for the emulation on the CPU.
    pub fn is_emulated(&self) -> bool {
        self.architecture() == emulated::ARCHITECTURE
    }

    /// Number of multiprocessors.
    pub fn multiprocessors(&self) -> u32 {
        self.hardware.multiprocessors()
    }

    /// Largest shared memory of a block, in bytes.
    pub fn shared_memory(&self) -> usize {
        self.hardware.shared_memory()
    }

    /// Free memory, in bytes.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn memory_free(&self) -> Result<usize> {
        self.hardware.memory_free()
    }

    /// Compiles a source, or finds it in the cache. `name` stands in error messages; `options` such as
    /// `-DBLOCK=128` or `--use_fast_math` are those of NVRTC.
    ///
    /// # Errors
    /// If the source is wrong or there is no compiler.
    pub fn compile(&self, name: &str, source: &str, options: &[String]) -> Result<Module> {
        let options = [options, &self.options[..]].concat();
        let code = self.hardware.compile(name, source, &options)?.into();
        let awaits = source.contains("wait_for_previous_kernel");
        let source = SourceText::new(name, source, options);
        Ok(Module::new(self.clone(), code, awaits, source))
    }

    /// Device whose sources are all compiled with one more option.
    #[must_use]
    pub fn with_option(&self, option: &str) -> Device {
        let options = self.options.iter().cloned().chain([option.to_string()]).collect();
        Device { options, ..self.clone() }
    }

    /// Allocates memory for `len` values, all zero.
    ///
    /// # Errors
    /// If there is not so much memory.
    pub fn alloc<T: DeviceCopy>(&self, len: usize) -> Result<Buffer<T>> {
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or_else(|| Error::device(format!("{len} values are more than any memory holds")))?;
        let address = self.hardware.allocate(bytes.max(1))?;
        // SAFETY: it has just been allocated for so many.
        Ok(unsafe { Buffer::new(self.clone(), address, len) })
    }

    /// Allocates memory that holds `values`.
    ///
    /// # Errors
    /// If there is not so much memory.
    pub fn upload<T: DeviceCopy>(&self, values: &[T]) -> Result<Buffer<T>> {
        let buffer = self.alloc(values.len())?;
        buffer.write(0, values)?;
        Ok(buffer)
    }

    /// Starts a kernel, without waiting for its end. A launch of no blocks does nothing.
    ///
    /// # Errors
    /// If the launch is impossible: too much shared memory, wrong arguments.
    pub fn run(&self, launch: &Launch) -> Result<()> {
        launch.check(self)?;
        if launch.is_empty() {
            return Ok(());
        }
        if self.stopwatch.is_running() {
            return self.time(std::slice::from_ref(launch));
        }
        // SAFETY: kernels are ours and keep to the buffers they are given, which live as long as
        // the launch; a buffer's memory is freed only after the work before it.
        unsafe { self.hardware.launch(launch) }
    }

    /// Records a sequence of launches that is to be repeated.
    ///
    /// # Errors
    /// As for [`Device::run`].
    pub fn record(&self, mut launches: Vec<Launch>) -> Result<Graph> {
        launches.retain(|launch| !launch.is_empty());
        launches.iter().try_for_each(|launch| launch.check(self))?;
        // SAFETY: as in `run`; the graph keeps the launches, and they their buffers.
        let recording = unsafe { self.hardware.record(&launches)? };
        Ok(Graph { recording, launches })
    }

    /// Gives a recorded sequence other arguments and numbers of blocks, which is a fraction of the work of recording it;
    /// records it anew where its kernels are others.
    ///
    /// # Errors
    /// As for [`Device::run`].
    pub fn update(&self, graph: &mut Graph, mut launches: Vec<Launch>) -> Result<()> {
        launches.retain(|launch| !launch.is_empty());
        let alike = launches.len() == graph.launches.len()
            && launches.iter().zip(&graph.launches).all(|(a, b)| a.is_recorded_as(b));
        if alike {
            launches.iter().try_for_each(|launch| launch.check(self))?;
            // SAFETY: as in `run`; the graph keeps the launches, and they their buffers.
            if unsafe { graph.recording.update(&graph.launches, &launches)? } {
                graph.launches = launches;
                return Ok(());
            }
        }
        *graph = self.record(launches)?;
        Ok(())
    }

    /// Starts a recorded sequence, without waiting for its end.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn replay(&self, graph: &Graph) -> Result<()> {
        if self.stopwatch.is_running() {
            return self.time(&graph.launches);
        }
        // SAFETY: as in `record`.
        unsafe { graph.recording.replay(&graph.launches) }
    }

    /// Waits until all work is done.
    ///
    /// # Errors
    /// If earlier launches failed.
    pub fn synchronize(&self) -> Result<()> {
        self.hardware.synchronize()
    }

    /// Waits for all work on the device, that of other programs of this process included.
    ///
    /// # Errors
    /// If some of it failed.
    pub fn synchronize_all(&self) -> Result<()> {
        self.hardware.synchronize_all()
    }

    /// Memory of the device.
    pub fn memory_space(&self) -> MemorySpace {
        if self.is_emulated() { MemorySpace::Host } else { MemorySpace::Cuda(self.hardware.number()) }
    }

    /// Rows of numbers in a buffer, for other programs.
    pub(crate) fn share<T: DeviceCopy>(
        &self,
        buffer: &Buffer<T>,
        number: NumberType,
        shape: [usize; 2],
    ) -> SharedArray {
        SharedArray {
            address: buffer.address(),
            space: self.memory_space(),
            number,
            shape,
            strides: [shape[1] as i64, 1],
            stream: self.hardware.stream(),
            owner: buffer.memory.clone(),
        }
    }

    /// Event at which the work queued so far will be done.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn now(&self) -> Result<Event> {
        Ok(Event { device: self.clone(), moment: self.hardware.now()? })
    }

    /// Time from one event to another, after waiting for both.
    ///
    /// # Errors
    /// If work before them failed, or the events are of another device.
    pub fn milliseconds(&self, start: &Event, end: &Event) -> Result<f64> {
        if !(self.is(&start.device) && self.is(&end.device)) {
            return Err(Error::device("a time between moments of different devices"));
        }
        start.moment.milliseconds_until(&*end.moment)
    }

    fn is(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.hardware, &other.hardware)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Device({}, {})", self.hardware.name(), self.hardware.architecture())
    }
}

/// Event on a device.
pub struct Event {
    device: Device,
    moment: Box<dyn Timestamp>,
}

impl Event {
    /// Returns true where the work before it is done.
    pub fn has_passed(&self) -> bool {
        self.moment.has_passed()
    }

    /// Waits for the work before it.
    ///
    /// # Errors
    /// If this work failed.
    pub fn wait(&self) -> Result<()> {
        self.moment.wait()
    }
}

/// Recorded sequence of launches.
pub struct Graph {
    recording: Box<dyn Recording>,
    launches: Vec<Launch>,
}
