//! One way to use a device, whether an NVIDIA GPU (`nvidia.rs`) or its emulation on the CPU
//! (`emulated.rs`): memory, compiled kernels, launches in the order of one stream, recorded
//! sequences of launches, and times. All `unsafe` of the GPU engine is in this folder.

mod emulated;
mod facts;
mod nvidia;
pub mod nvrtc;

pub use facts::{CacheFacts, CompilerFacts, DriverFacts, Facts, GpuFacts, describe, facts};

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use jostle_core::{Error, Result};

/// A plain old value that may be copied to a device and back as its bytes.
///
/// # Safety
/// The type has no padding and no references, and all bytes zero, or any other bytes that a kernel
/// may leave there, are a valid value of it.
pub unsafe trait Word: Copy + Send + Sync + 'static {}

macro_rules! words {
    ($($number:ty)*) => {
        $(
            // SAFETY: numbers have no padding, and any bytes are a number.
            unsafe impl Word for $number {}
        )*
    };
}
words!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);
// SAFETY: arrays add no padding to their elements.
unsafe impl<T: Word, const N: usize> Word for [T; N] {}

/// What a kind of device must be able to do. Addresses and handles are those it gave out itself.
trait Hardware: Send + Sync {
    fn name(&self) -> &str;
    fn architecture(&self) -> &str;
    fn multiprocessors(&self) -> u32;
    fn shared_memory(&self) -> usize;
    fn memory_free(&self) -> Result<usize>;

    /// Zeroed memory.
    fn allocate(&self, bytes: usize) -> Result<u64>;
    /// # Safety
    /// `address` is from `allocate`, and nobody uses it any more.
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

    fn compile(&self, name: &str, source: &str, options: &[String]) -> Result<Box<dyn Code>>;
    /// # Safety
    /// The kernel may use the buffers it is given as its source does.
    unsafe fn launch(&self, launch: &Launch) -> Result<()>;
    /// # Safety
    /// As for `launch`.
    unsafe fn record(&self, launches: &[Launch]) -> Result<Box<dyn Recording>>;
    fn synchronize(&self) -> Result<()>;
    fn now(&self) -> Result<Box<dyn Moment>>;
}

/// A compiled and loaded source.
trait Code: Send + Sync {
    fn function(&self, name: &str) -> Result<Box<dyn Function>>;
}

/// A kernel of a loaded source.
trait Function: Send + Sync {
    /// What identifies it to a launch.
    fn handle(&self) -> u64;
    /// The sizes of its parameters in bytes, where the device can tell.
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
}

/// A moment on the device's stream.
trait Moment: Send + Sync {
    fn milliseconds_until(&self, end: &dyn Moment) -> Result<f64>;
    /// Nanoseconds of the host's clock, or the handle of the device's event.
    fn stamp(&self) -> u64;
}

/// Who wants to know that kernels are being compiled.
static ON_COMPILING: OnceLock<fn(&str)> = OnceLock::new();

/// From now on `listener` is called with the name of a GPU when a source is about to be compiled for
/// it, which takes seconds, rather than found in the cache. Only the first listener is taken.
pub fn on_compiling(listener: fn(&str)) {
    let _ = ON_COMPILING.set(listener);
}

fn announce_compiling(name: &str) {
    if let Some(listener) = ON_COMPILING.get() {
        listener(name);
    }
}

/// A GPU, or the emulation of one. Work is done in the order it is asked for; clones are the same
/// device.
#[derive(Clone)]
pub struct Device(Arc<dyn Hardware>, Arc<[String]>, Purpose);

/// What a device is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// For results, as soon as possible.
    Results,
    /// For tests: small systems are to meet what pays in large ones only.
    Tests,
}

/// What a kernel may use of shared memory without `allow_shared`, in bytes.
const SHARED_UNASKED: usize = 48 * 1024;

impl Device {
    /// An NVIDIA GPU, counted from 0.
    ///
    /// # Errors
    /// If there is no driver or no such GPU; what to install.
    pub fn open(index: usize) -> Result<Self> {
        Ok(Device(Arc::new(nvidia::Gpu::open(index)?), Arc::default(), Purpose::Results))
    }

    /// The same, for who would rather do without it than with half of it: only if kernels can be
    /// compiled, too.
    ///
    /// # Errors
    /// If there is no such GPU, no driver or no compiler; what to install.
    pub fn ready(index: usize) -> Result<Self> {
        let device = Self::open(index)?;
        device.compile("nothing", "extern \"C\" __global__ void nothing() {}", &[])?;
        Ok(device)
    }

    /// CUDA emulated on the CPU: slow, for tests without a GPU.
    ///
    /// # Errors
    /// If there is no C++ compiler.
    pub fn emulated() -> Result<Self> {
        Ok(Device(Arc::new(emulated::Processor::new()?), Arc::default(), Purpose::Tests))
    }

    /// The same device for tests, as an emulated one is: small systems meet what pays in large ones only.
    #[must_use]
    pub fn for_tests(self) -> Device {
        Device(self.0, self.1, Purpose::Tests)
    }

    /// Whether it is.
    pub fn is_for_tests(&self) -> bool {
        self.2 == Purpose::Tests
    }

    /// What the maker calls it.
    pub fn name(&self) -> String {
        self.0.name().to_owned()
    }

    /// What kernels are compiled for: `sm_90`, or `emulated`.
    pub fn architecture(&self) -> String {
        self.0.architecture().to_owned()
    }

    /// Whether it is the CPU in disguise.
    pub fn is_emulated(&self) -> bool {
        self.architecture() == emulated::ARCHITECTURE
    }

    /// How many multiprocessors it has.
    pub fn multiprocessors(&self) -> u32 {
        self.0.multiprocessors()
    }

    /// The most shared memory that a block may have, in bytes.
    pub fn shared_memory(&self) -> usize {
        self.0.shared_memory()
    }

    /// Memory that nobody uses, in bytes.
    ///
    /// # Errors
    /// If the device was lost; so with everything below.
    pub fn memory_free(&self) -> Result<usize> {
        self.0.memory_free()
    }

    /// Compiles a source, or finds it compiled in the cache. `name` stands in error messages;
    /// `options` such as `-DBLOCK=128` or `--use_fast_math` are those of NVRTC.
    ///
    /// # Errors
    /// If the source is wrong or there is no compiler.
    pub fn compile(&self, name: &str, source: &str, options: &[String]) -> Result<Module> {
        let options = [options, &self.1[..]].concat();
        let code = self.0.compile(name, source, &options)?.into();
        Ok(Module { device: self.clone(), code, awaits: source.contains("await_those_before") })
    }

    /// The same device; all that is compiled for it from now on has this option, too.
    #[must_use]
    pub fn with_option(&self, option: &str) -> Device {
        let options = self.1.iter().cloned().chain([option.to_string()]).collect();
        Device(self.0.clone(), options, self.2)
    }

    /// Memory for `len` values, all zero.
    ///
    /// # Errors
    /// If there is not so much memory.
    pub fn alloc<T: Word>(&self, len: usize) -> Result<Buffer<T>> {
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or_else(|| Error::device(format!("{len} values are more than any memory holds")))?;
        let address = self.0.allocate(bytes.max(1))?;
        let memory = Memory { device: self.clone(), address };
        Ok(Buffer { memory: Arc::new(memory), len, values: PhantomData })
    }

    /// Memory holding `values`.
    ///
    /// # Errors
    /// If there is not so much memory.
    pub fn upload<T: Word>(&self, values: &[T]) -> Result<Buffer<T>> {
        let buffer = self.alloc(values.len())?;
        buffer.write(0, values)?;
        Ok(buffer)
    }

    /// Starts a kernel and does not wait for it.
    ///
    /// # Errors
    /// If the launch is impossible: too much shared memory, wrong arguments.
    pub fn run(&self, launch: &Launch) -> Result<()> {
        launch.check(self)?;
        // SAFETY: kernels are ours and keep to the buffers they are given, which live as long as
        // the launch; a buffer's memory is freed only after the work before it.
        unsafe { self.0.launch(launch) }
    }

    /// Prepares a sequence of launches that is to be repeated.
    ///
    /// # Errors
    /// As for `run`.
    pub fn record(&self, launches: Vec<Launch>) -> Result<Graph> {
        launches.iter().try_for_each(|launch| launch.check(self))?;
        // SAFETY: as in `run`; the graph keeps the launches, and they their buffers.
        let recording = unsafe { self.0.record(&launches)? };
        Ok(Graph { recording, launches })
    }

    /// Starts a recorded sequence and does not wait for it.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn replay(&self, graph: &Graph) -> Result<()> {
        // SAFETY: as in `record`.
        unsafe { graph.recording.replay(&graph.launches) }
    }

    /// Waits until all work is done.
    ///
    /// # Errors
    /// Also for what earlier launches did wrong.
    pub fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }

    /// The moment at which the work asked for so far will be done.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn now(&self) -> Result<Event> {
        Ok(Event { device: self.clone(), moment: self.0.now()? })
    }

    /// The time from one moment to another, waiting for both.
    ///
    /// # Errors
    /// If work before them failed, or they are of another device.
    pub fn milliseconds(&self, start: &Event, end: &Event) -> Result<f64> {
        if !(self.is(&start.device) && self.is(&end.device)) {
            return Err(Error::device("a time between moments of different devices"));
        }
        start.moment.milliseconds_until(&*end.moment)
    }

    fn is(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

fn out_of_memory(bytes: usize, free: Option<usize>) -> Error {
    let gibibytes = |bytes: usize| format!("{:.2} GiB", bytes as f64 / (1u64 << 30) as f64);
    let free = free.map_or(String::new(), |free| format!(", {} are free", gibibytes(free)));
    Error::device(format!("out of device memory: {} wanted{free}", gibibytes(bytes)))
        .hint("use fewer atoms, or end what else runs on the device")
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Device({}, {})", self.0.name(), self.0.architecture())
    }
}

/// A moment on a device.
pub struct Event {
    device: Device,
    moment: Box<dyn Moment>,
}

/// A recorded sequence of launches.
pub struct Graph {
    recording: Box<dyn Recording>,
    launches: Vec<Launch>,
}

struct Memory {
    device: Device,
    address: u64,
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the last owner goes, so nobody uses it any more.
        unsafe { self.device.0.free(self.address) }
    }
}

/// Memory of a device. Clones are the same memory.
pub struct Buffer<T> {
    memory: Arc<Memory>,
    len: usize,
    values: PhantomData<T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Buffer { memory: self.memory.clone(), len: self.len, values: PhantomData }
    }
}

impl<T: Word> Buffer<T> {
    /// How many values it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where it is in the device's memory.
    pub fn address(&self) -> u64 {
        self.memory.address
    }

    /// Copies `values` to the places from `offset` on. They may be changed as soon as it returns.
    ///
    /// # Errors
    /// If they do not fit, or the device was lost.
    pub fn write(&self, offset: usize, values: &[T]) -> Result<()> {
        let to = self.place(offset, values.len())?;
        // SAFETY: a `Word` has no padding.
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) };
        // SAFETY: `place` has checked that they fit.
        unsafe { self.memory.device.0.write(to, bytes) }
    }

    /// Waits for earlier work and copies the values from `offset` on to `values`.
    ///
    /// # Errors
    /// If there are not so many, or earlier work failed.
    pub fn read(&self, offset: usize, values: &mut [T]) -> Result<()> {
        let from = self.place(offset, values.len())?;
        // SAFETY: any bytes that a kernel leaves are a valid `Word`.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u8>(), size_of_val(values)) };
        // SAFETY: `place` has checked that there are so many.
        unsafe { self.memory.device.0.read(from, bytes) }
    }

    /// All values, after earlier work.
    ///
    /// # Errors
    /// If earlier work failed.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        // SAFETY: all bytes zero are a valid `Word`.
        let mut values = vec![unsafe { std::mem::zeroed() }; self.len];
        self.read(0, &mut values)?;
        Ok(values)
    }

    /// Sets all values to zero.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn clear(&self) -> Result<()> {
        // SAFETY: it is the whole of our memory.
        unsafe { self.memory.device.0.clear(self.address(), self.len * size_of::<T>()) }
    }

    /// Copies the first `count` values of another buffer to the start of this one.
    ///
    /// # Errors
    /// If one of them has not so many, or the two are the same.
    pub fn copy_from(&self, other: &Buffer<T>, count: usize) -> Result<()> {
        let (from, to) = (other.place(0, count)?, self.place(0, count)?);
        let device = &self.memory.device;
        if from == to || !device.is(&other.memory.device) {
            return Err(Error::device("a buffer is copied to another one of the same device"));
        }
        // SAFETY: both have so many, and different allocations do not overlap.
        unsafe { device.0.copy(from, to, count * size_of::<T>()) }
    }

    fn place(&self, offset: usize, count: usize) -> Result<u64> {
        match offset.checked_add(count) {
            Some(end) if end <= self.len => Ok(self.memory.address + (offset * size_of::<T>()) as u64),
            _ => Err(Error::device(format!(
                "values {offset} and {count} further ones of a buffer of {}",
                self.len
            ))),
        }
    }
}

/// A compiled source.
#[derive(Clone)]
pub struct Module {
    device: Device,
    code: Arc<dyn Code>,
    /// Whether its kernels wait themselves for what they need: see `await_those_before` in prelude.cuh.
    awaits: bool,
}

impl Module {
    /// The kernel `extern "C" __global__ void name(...)`.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let function = self.code.function(name)?;
        let allowed = AtomicUsize::new(SHARED_UNASKED.min(self.device.shared_memory()));
        let (device, _code) = (self.device.clone(), self.code.clone());
        let awaits = self.awaits;
        let entry = Entry { name: name.into(), device, function, awaits, allowed, _code };
        Ok(Kernel(Arc::new(entry)))
    }
}

/// A kernel. Clones are the same one.
#[derive(Clone)]
pub struct Kernel(Arc<Entry>);

struct Entry {
    name: Arc<str>,
    device: Device,
    function: Box<dyn Function>,
    awaits: bool,
    /// The dynamic shared memory that it may have, in bytes.
    allowed: AtomicUsize,
    /// Dropped after the function that lies in it.
    _code: Arc<dyn Code>,
}

impl Kernel {
    /// Its name in the source.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Lets it have so much dynamic shared memory, in bytes, and asks for as much of the first-level
    /// cache to be shared memory as there is.
    ///
    /// # Errors
    /// If a block cannot have so much.
    pub fn allow_shared(&self, bytes: usize) -> Result<()> {
        self.0.function.allow_shared(bytes).map_err(|e| e.context(self.name()))?;
        self.0.allowed.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Registers a thread; 0 when emulated.
    pub fn registers(&self) -> u32 {
        self.0.function.registers()
    }

    /// Bytes a thread that did not fit into registers; 0 when emulated.
    pub fn local_bytes(&self) -> u32 {
        self.0.function.local_bytes()
    }

    /// How many blocks of so many threads, with so many bytes of dynamic shared memory, a
    /// multiprocessor runs at a time.
    ///
    /// # Errors
    /// If the device cannot tell.
    pub fn blocks_per_multiprocessor(&self, block: u32, shared: usize) -> Result<u32> {
        self.0.function.blocks_per_multiprocessor(block, shared)
    }
}

/// What a launch in a recorded sequence waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waits {
    /// For all launches before it but those aside.
    #[default]
    ForMain,
    /// For those aside before it, and for what the first of these has found done: it runs beside the
    /// launches that follow, until one waits for all.
    Aside,
    /// For all launches before it.
    ForAll,
}

/// A kernel, how many blocks and threads are to run it, and with what.
#[derive(Clone)]
pub struct Launch {
    kernel: Kernel,
    grid: [u32; 3],
    block: u32,
    shared: usize,
    waits: Waits,
    arguments: Vec<Argument>,
}

#[derive(Clone)]
struct Argument {
    /// The value, as aligned as any value is.
    value: Arc<[u128]>,
    bytes: usize,
    /// Keeps what the value points to.
    memory: Option<Arc<Memory>>,
}

impl Launch {
    /// `grid` blocks of `block` threads, so far without arguments.
    pub fn new(kernel: &Kernel, grid: u32, block: u32) -> Self {
        let kernel = kernel.clone();
        let waits = Waits::default();
        Launch { kernel, grid: [grid, 1, 1], block, shared: 0, waits, arguments: Vec::new() }
    }

    /// What it waits for where it is recorded. Otherwise launches come one after the other.
    pub fn waits(mut self, waits: Waits) -> Self {
        self.waits = waits;
        self
    }

    /// With so many bytes of dynamic shared memory a block.
    pub fn shared(mut self, bytes: usize) -> Self {
        self.shared = bytes;
        self
    }

    /// The next argument: a pointer to a buffer.
    pub fn with<T: Word>(self, buffer: &Buffer<T>) -> Self {
        self.argument(buffer.address(), Some(buffer.memory.clone()))
    }

    /// The next argument: a value.
    pub fn with_value(self, value: impl Word) -> Self {
        self.argument(value, None)
    }

    fn argument<T: Word>(mut self, value: T, memory: Option<Arc<Memory>>) -> Self {
        const { assert!(align_of::<T>() <= align_of::<u128>()) }
        let bytes = size_of::<T>();
        let mut room = vec![0u128; bytes.div_ceil(size_of::<u128>()).max(1)];
        // SAFETY: there is room, aligned as a u128.
        unsafe { room.as_mut_ptr().cast::<T>().write(value) };
        self.arguments.push(Argument { value: room.into(), bytes, memory });
        self
    }

    /// Pointers to the arguments, as launches want them.
    fn pointers(&self) -> Vec<*mut std::ffi::c_void> {
        self.arguments.iter().map(|a| a.value.as_ptr().cast_mut().cast()).collect()
    }

    fn check(&self, device: &Device) -> Result<()> {
        let name = self.kernel.name();
        let wrong = |what: String| Err(Error::device(format!("kernel {name}: {what}")));
        let memories = self.arguments.iter().filter_map(|argument| argument.memory.as_ref());
        if !self.kernel.0.device.is(device) || !memories.map(|m| &m.device).all(|d| d.is(device)) {
            return wrong("it or its buffers are of another device".into());
        }
        if self.block == 0 || self.block > 1024 || self.grid.contains(&0) {
            return wrong(format!("{:?} blocks of {} threads", self.grid, self.block));
        }
        let allowed = self.kernel.0.allowed.load(Ordering::Relaxed);
        if self.shared > allowed {
            return wrong(format!(
                "{} bytes of shared memory wanted, {allowed} allowed, {} possible",
                self.shared,
                device.shared_memory()
            ));
        }
        let given: Vec<usize> = self.arguments.iter().map(|a| a.bytes).collect();
        match self.kernel.0.function.parameters() {
            Some(wanted) if wanted != given => {
                wrong(format!("arguments of {given:?} bytes given, of {wanted:?} bytes wanted"))
            }
            _ => Ok(()),
        }
    }
}
