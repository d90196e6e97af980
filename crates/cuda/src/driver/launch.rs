//! Kernels, and launches of them.

use super::memory::{Buffer, DeviceCopy, Memory};
use super::{Code, Device, Function};
use jostle_core::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a kernel may use of shared memory without `allow_shared`, in bytes.
const SHARED_UNASKED: usize = 48 * 1024;

/// A compiled source.
#[derive(Clone)]
pub struct Module {
    device: Device,
    code: Arc<dyn Code>,
    /// Whether its kernels wait themselves for what they need: see `wait_for_previous_kernel` in prelude.cuh.
    awaits: bool,
}

impl Module {
    /// What a device has compiled; whether its kernels wait themselves.
    pub(super) fn new(device: Device, code: Arc<dyn Code>, awaits: bool) -> Self {
        Module { device, code, awaits }
    }

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
pub struct Kernel(pub(super) Arc<Entry>);

/// What clones of a kernel share.
pub(super) struct Entry {
    pub(super) name: Arc<str>,
    device: Device,
    pub(super) function: Box<dyn Function>,
    pub(super) awaits: bool,
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
    /// For all launches before it but those of the side stream.
    #[default]
    MainStream,
    /// For those of the side stream before it, and for what the first of these has found done: it runs beside the
    /// launches that follow, until one waits for all.
    SideStream,
    /// For all launches before it.
    BothStreams,
}

/// A kernel, how many blocks and threads are to run it, and with what.
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
    pub fn with<T: DeviceCopy>(self, buffer: &Buffer<T>) -> Self {
        self.argument(buffer.address(), Some(buffer.memory.clone()))
    }

    /// The next argument: a value.
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

    /// Pointers to the arguments, as launches want them.
    pub(super) fn pointers(&self) -> Vec<*mut std::ffi::c_void> {
        self.arguments.iter().map(|a| a.value.as_ptr().cast_mut().cast()).collect()
    }

    /// Whether a device can make it.
    pub(super) fn check(&self, device: &Device) -> Result<()> {
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
