//! Kernels, and launches of them.

use super::memory::{Buffer, DeviceCopy, Memory};
use super::{Code, Device, Function, SourceText};
use jostle_core::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Shared memory that a kernel may use without `allow_shared`, in bytes.
const SHARED_UNASKED: usize = 48 * 1024;

/// Compiled source.
#[derive(Clone)]
pub struct Module {
    device: Device,
    code: Arc<dyn Code>,
    /// True where the kernels themselves wait for the previous kernel: see `wait_for_previous_kernel` in
    /// prelude.cuh.
    awaits: bool,
    source: Arc<SourceText>,
}

impl Module {
    /// Module of code that a device has compiled from a source; `awaits` if its kernels wait for the previous kernel
    /// themselves.
    pub(super) fn new(device: Device, code: Arc<dyn Code>, awaits: bool, source: SourceText) -> Self {
        Module { device, code, awaits, source: Arc::new(source) }
    }

    /// Kernel `extern "C" __global__ void name(...)`.
    ///
    /// # Errors
    /// If there is no kernel of this name.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let function = self.code.function(name)?;
        let allowed = AtomicUsize::new(SHARED_UNASKED.min(self.device.shared_memory()));
        let (device, _code) = (self.device.clone(), self.code.clone());
        let (awaits, source) = (self.awaits, self.source.clone());
        let entry = Entry { name: name.into(), device, function, awaits, allowed, source, _code };
        Ok(Kernel(Arc::new(entry)))
    }
}

/// Kernel. Clones are the same one.
#[derive(Clone)]
pub struct Kernel(pub(super) Arc<Entry>);

/// Data that clones of a kernel share.
pub(super) struct Entry {
    pub(super) name: Arc<str>,
    device: Device,
    pub(super) function: Box<dyn Function>,
    pub(super) awaits: bool,
    /// Dynamic shared memory that the kernel may have, in bytes.
    allowed: AtomicUsize,
    pub(super) source: Arc<SourceText>,
    /// Code, dropped after the function that lies in it.
    _code: Arc<dyn Code>,
}

impl Kernel {
    /// Name in the source.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Allows so much dynamic shared memory, in bytes, and asks for the largest part of the first-level cache
    /// as shared memory.
    ///
    /// # Errors
    /// If a block cannot have so much.
    pub fn allow_shared(&self, bytes: usize) -> Result<()> {
        self.0.function.allow_shared(bytes).map_err(|e| e.context(self.name()))?;
        self.0.allowed.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Allows as much dynamic shared memory as another kernel has.
    ///
    /// # Errors
    /// If a block cannot have so much.
    pub(super) fn allow_as(&self, other: &Kernel) -> Result<()> {
        let [ours, theirs] = [self, other].map(|kernel| kernel.0.allowed.load(Ordering::Relaxed));
        if theirs > ours { self.allow_shared(theirs) } else { Ok(()) }
    }

    /// Registers of a thread; 0 when emulated.
    pub fn registers(&self) -> u32 {
        self.0.function.registers()
    }

    /// Bytes of a thread that did not fit into registers; 0 when emulated.
    pub fn local_bytes(&self) -> u32 {
        self.0.function.local_bytes()
    }

    /// Number of blocks of so many threads, with so many bytes of dynamic shared memory, that a
    /// multiprocessor runs at a time.
    ///
    /// # Errors
    /// If the device cannot tell.
    pub fn blocks_per_multiprocessor(&self, block: u32, shared: usize) -> Result<u32> {
        self.0.function.blocks_per_multiprocessor(block, shared)
    }
}

/// Launches that end before a launch in a recorded sequence begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Waits {
    /// All launches before it but those of the other streams.
    #[default]
    MainStream,
    /// Launches of the side stream before it, and all that ended before the first of these: it runs beside the
    /// launches that follow, until one waits for all.
    SideStream,
    /// As for the side stream, on a third one: it runs beside both.
    ThirdStream,
    /// As for the side stream, on one whose blocks come after those of all others: for kernels with many, beside which
    /// small ones should not wait.
    LastStream,
    /// Launches of the fourth stream before it, and no others: it may run beside all that follow.
    FourthStream,
    /// As for the fourth stream, and also all launches of the main stream before it.
    FourthAfterMain,
    /// Launches of the fourth and main streams before it.
    MainAndFourth,
    /// All launches before it.
    AllStreams,
}

/// Kernel, with numbers of blocks and threads, and arguments.
#[derive(Clone)]
pub struct Launch {
    pub(super) kernel: Kernel,
    pub(super) grid: [u32; 3],
    pub(super) block: u32,
    pub(super) shared: usize,
    pub(super) waits: Waits,
    arguments: Vec<Argument>,
}

#[derive(Clone)]
struct Argument {
    /// Value, aligned as any value needs.
    value: Arc<[u128]>,
    bytes: usize,
    /// Memory to which the value points, kept alive.
    memory: Option<Arc<Memory>>,
}

impl Launch {
    /// Launch of `grid` blocks of `block` threads, so far without arguments.
    pub fn new(kernel: &Kernel, grid: u32, block: u32) -> Self {
        let kernel = kernel.clone();
        let waits = Waits::default();
        Launch { kernel, grid: [grid, 1, 1], block, shared: 0, waits, arguments: Vec::new() }
    }

    /// True where it has no blocks, and so nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }

    /// True where the launch takes the place of another one in a recorded sequence by other arguments and numbers of
    /// blocks alone.
    pub(super) fn is_recorded_as(&self, other: &Launch) -> bool {
        let handles = [self, other].map(|launch| launch.kernel.0.function.handle());
        handles[0] == handles[1] && self.waits == other.waits && self.block == other.block
    }

    /// True where the launch is another one in nothing: kernel, blocks and arguments.
    pub(super) fn is_same_as(&self, other: &Launch) -> bool {
        self.is_recorded_as(other)
            && (self.grid, self.shared) == (other.grid, other.shared)
            && self.arguments().eq(other.arguments())
    }

    /// Sets which launches precede it where it is recorded. Otherwise launches follow one after the other.
    pub fn waits(mut self, waits: Waits) -> Self {
        self.waits = waits;
        self
    }

    /// Number of threads.
    pub fn threads(&self) -> u64 {
        self.grid.iter().map(|blocks| u64::from(*blocks)).product::<u64>() * u64::from(self.block)
    }

    /// Moves a launch of the main stream to the last one.
    pub fn from_main_to_last_stream(self) -> Self {
        if self.waits == Waits::MainStream { self.waits(Waits::LastStream) } else { self }
    }

    /// Sets the dynamic shared memory of a block, in bytes.
    pub fn shared(mut self, bytes: usize) -> Self {
        self.shared = bytes;
        self
    }

    /// Appends an argument: a pointer to a buffer.
    pub fn with<T: DeviceCopy>(self, buffer: &Buffer<T>) -> Self {
        self.argument(buffer.address(), Some(buffer.memory.clone()))
    }

    /// Appends an argument: a value.
    pub fn with_value(self, value: impl DeviceCopy) -> Self {
        self.argument(value, None)
    }

    fn argument<T: DeviceCopy>(mut self, value: T, memory: Option<Arc<Memory>>) -> Self {
        const { assert!(align_of::<T>() <= align_of::<u128>()) }
        let bytes = size_of::<T>();
        let mut room = vec![0u128; bytes.div_ceil(size_of::<u128>()).max(1)];
        // SAFETY: there is room, aligned as a u128.
        unsafe { room.as_mut_ptr().cast::<T>().write(value) };
        self.arguments.push(Argument { value: room.into(), bytes, memory });
        self
    }

    /// Appends an argument: a pointer into a buffer.
    pub(super) fn with_address<T: DeviceCopy>(self, buffer: &Buffer<T>, offset: usize) -> Self {
        self.argument(buffer.address() + (offset * size_of::<T>()) as u64, Some(buffer.memory.clone()))
    }

    /// Bytes of each argument.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &[u8]> {
        self.arguments.iter().map(|argument| {
            // SAFETY: the value has so many bytes, without padding.
            unsafe { std::slice::from_raw_parts(argument.value.as_ptr().cast::<u8>(), argument.bytes) }
        })
    }

    /// Pointers to the arguments, for the driver.
    pub(super) fn pointers(&self) -> Vec<*mut std::ffi::c_void> {
        self.arguments.iter().map(|a| a.value.as_ptr().cast_mut().cast()).collect()
    }

    /// Checks that a device can make the launch.
    pub(super) fn check(&self, device: &Device) -> Result<()> {
        let name = self.kernel.name();
        let wrong = |what: String| Err(Error::device(format!("kernel {name}: {what}")));
        let memories = self.arguments.iter().filter_map(|argument| argument.memory.as_ref());
        if !self.kernel.0.device.is(device) || !memories.map(|m| &m.device).all(|d| d.is(device)) {
            return wrong("it or its buffers are of another device".into());
        }
        if self.block == 0 || self.block > 1024 {
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
