//! CUDA on the CPU: the C++ compiler makes a library of the same kernels, behind `kernels/emulation.h`, which
//! runs their threads as fibres.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use std::{fs, ptr, slice};

use jostle_core::backend::SharedStream;
use jostle_core::{Error, Result};
use libloading::Library;
use tempfile::TempDir;

mod compiler;

use compiler::{Compiler, HEADER, flags};

use super::{Code, Function, Hardware, HostMemory, Launch, Recording, Timestamp};
use crate::cache;

/// Name of the architecture, in place of a GPU's.
pub const ARCHITECTURE: &str = "emulated";

/// Shared memory of a block, as on Hopper, so that kernels that fit here fit there.
const SHARED: usize = 227 * 1024;

pub struct EmulatedProcessor {
    /// Number among several; the others have copies of the libraries, whose kernels run one at a time.
    number: usize,
    compiler: Compiler,
    memory: Arc<Allocations>,
}

impl EmulatedProcessor {
    pub fn new(number: usize) -> Result<Self> {
        let compiler = Compiler::find()?;
        Ok(EmulatedProcessor { number, compiler, memory: Arc::default() })
    }

    /// Finds the library in the cache, or builds it.
    fn build(&self, name: &str, source: &str, options: &[String]) -> Result<Built> {
        let flags = flags(options);
        let parts = [HEADER, source, &flags.join("\0"), self.compiler.version()];
        let libraries = folder();
        let cached = libraries.as_ref().map(|folder| cache::path(folder, &parts, "so"));
        let turn = cached.as_deref().map(cache::turn_at);
        let _turn = turn.as_ref().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(path) = &cached
            && cache::read(path).is_some()
        {
            return Ok(Built { library: path.clone(), _scratch: None });
        }
        let folder =
            TempDir::new().map_err(|e| Error::io("create a folder in", &std::env::temp_dir(), &e))?;
        let header = libraries.and_then(|libraries| self.compiler.header(&libraries, &flags));
        let library = self.compiler.compile(name, source, &flags, header.as_deref(), folder.path())?;
        let bytes = fs::read(&library).map_err(|e| Error::io("read", &library, &e))?;
        match cached {
            Some(path) if cache::write(&path, &bytes).is_ok() => Ok(Built { library: path, _scratch: None }),
            _ => Ok(Built { library, _scratch: Some(folder) }),
        }
    }
}

impl EmulatedProcessor {
    /// Copy of a library for this device, and the folder that it is in; `None` for the first device. A library that is
    /// loaded under two names has two sets of variables.
    fn copy_of(&self, library: &Path) -> Result<Option<(TempDir, PathBuf)>> {
        if self.number == 0 {
            return Ok(None);
        }
        let folder =
            TempDir::new().map_err(|e| Error::io("create a folder in", &std::env::temp_dir(), &e))?;
        let path = folder.path().join("kernel.so");
        fs::copy(library, &path).map_err(|e| Error::io("copy", library, &e))?;
        Ok(Some((folder, path)))
    }
}

/// Variable with the folder of libraries, for programs that are to find emulated GPUs.
const VARIABLE: &str = "JOSTLE_EMULATED_GPU";

/// Returns true where the environment asks for emulated GPUs in place of others.
pub fn asked_for() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|folder| !folder.is_empty())
}

/// Folder of libraries: in the build folder of the program, which is a test, or that of the environment. The cache of
/// the user is for a GPU's kernels.
fn folder() -> Option<PathBuf> {
    if asked_for() {
        return std::env::var_os(VARIABLE).map(PathBuf::from);
    }
    Some(std::env::current_exe().ok()?.parent()?.parent()?.join("emulated"))
}

struct Built {
    library: PathBuf,
    /// Temporary folder of a library that is not in the cache.
    _scratch: Option<TempDir>,
}

/// Allocations, each with a margin on both sides that no kernel may write to.
#[derive(Default)]
struct Allocations(Mutex<BTreeMap<u64, usize>>);

const MARGIN: usize = 256;
const MARGIN_BYTE: u8 = 0xa5;

impl Allocations {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(2 * MARGIN)?, MARGIN).ok()
}

impl Hardware for EmulatedProcessor {
    fn name(&self) -> &str {
        "CUDA emulated on the CPU"
    }

    fn architecture(&self) -> &str {
        ARCHITECTURE
    }

    fn multiprocessors(&self) -> u32 {
        4
    }

    fn shared_memory(&self) -> usize {
        SHARED
    }

    fn memory_free(&self) -> Result<usize> {
        let path = Path::new("/proc/meminfo");
        let text = fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
        line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok())
            .map(|kilobytes| 1024 * kilobytes)
            .ok_or_else(|| Error::file(path, "does not tell the memory available"))
    }

    fn allocate(&self, bytes: usize) -> Result<u64> {
        // Linux allocates more than it has.
        let free = self.memory_free().unwrap_or(usize::MAX);
        let layout = layout(bytes).filter(|_| bytes <= free);
        // SAFETY: the size is not zero.
        let start = layout.map_or(ptr::null_mut(), |l| unsafe { std::alloc::alloc_zeroed(l) });
        if start.is_null() {
            return Err(super::memory::out_of_memory(bytes, self.memory_free().ok()));
        }
        // SAFETY: the margins are inside what was just allocated.
        unsafe {
            start.write_bytes(MARGIN_BYTE, MARGIN);
            start.add(MARGIN + bytes).write_bytes(MARGIN_BYTE, MARGIN);
        }
        let address = start as u64 + MARGIN as u64;
        self.memory.lock().insert(address, bytes);
        Ok(address)
    }

    unsafe fn free(&self, address: u64) {
        if let Some(layout) = self.memory.lock().remove(&address).and_then(layout) {
            // SAFETY: it was allocated with this layout and is in the table no more.
            unsafe { std::alloc::dealloc((address as usize - MARGIN) as *mut u8, layout) }
        }
    }

    unsafe fn write(&self, to: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: the caller vouches for the place.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
        Ok(())
    }

    unsafe fn read(&self, from: u64, bytes: &mut [u8]) -> Result<()> {
        self.synchronize()?;
        // SAFETY: the caller vouches for the place.
        unsafe { ptr::copy_nonoverlapping(from as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    unsafe fn clear(&self, address: u64, bytes: usize) -> Result<()> {
        // SAFETY: the caller vouches for the place.
        unsafe { (address as *mut u8).write_bytes(0, bytes) };
        Ok(())
    }

    unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        // SAFETY: the caller vouches for the places.
        unsafe { ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes) };
        Ok(())
    }

    fn host_memory(&self, bytes: usize) -> Result<Box<dyn HostMemory>> {
        Ok(Box::new(Words((0..bytes.div_ceil(8)).map(|_| UnsafeCell::new(0)).collect())))
    }

    unsafe fn copy_to_host(&self, from: u64, to: *mut u8, bytes: usize) -> Result<Box<dyn Timestamp>> {
        self.synchronize()?;
        // SAFETY: the caller vouches for the places.
        unsafe { ptr::copy_nonoverlapping(from as *const u8, to, bytes) };
        self.now()
    }

    fn compile(&self, name: &str, source: &str, options: &[String]) -> Result<Box<dyn Code>> {
        let built = self.build(name, source, options)?;
        let copy = self.copy_of(&built.library)?;
        let path = copy.as_ref().map_or(&built.library, |(_, path)| path);
        // SAFETY: the library was made of our own sources and runs nothing when loaded.
        let library = unsafe { Library::new(path) }
            .map_err(|e| Error::device(format!("cannot load {}: {e}", path.display())))?;
        Ok(Box::new(EmulatedKernels { name: name.to_owned(), library }))
    }

    unsafe fn launch(&self, launch: &Launch) -> Result<()> {
        // SAFETY: the caller vouches for the launch.
        unsafe { start(launch) }
    }

    unsafe fn record(&self, _launches: &[Launch]) -> Result<Box<dyn Recording>> {
        Ok(Box::new(Repetition))
    }

    unsafe fn time_each(&self, launches: &[Launch]) -> Result<Vec<f64>> {
        let time = |launch| {
            let begun = Instant::now();
            // SAFETY: the caller vouches for the launch.
            unsafe { start(launch) }.map(|()| 1e3 * begun.elapsed().as_secs_f64())
        };
        launches.iter().map(time).collect()
    }

    fn reach(&self, _other: usize) -> Result<()> {
        Ok(())
    }

    fn number(&self) -> usize {
        self.number
    }

    fn synchronize(&self) -> Result<()> {
        for (&address, &bytes) in self.memory.lock().iter() {
            let margin = |at: usize| {
                // SAFETY: the table holds what is allocated, each with its margins.
                let margin = unsafe { slice::from_raw_parts(at as *const u8, MARGIN) };
                margin.iter().all(|&byte| byte == MARGIN_BYTE)
            };
            let address = address as usize;
            if !margin(address - MARGIN) || !margin(address + bytes) {
                return Err(Error::device(format!(
                    "a kernel wrote outside a buffer of {bytes} bytes, or just beside it"
                )));
            }
        }
        Ok(())
    }

    fn synchronize_all(&self) -> Result<()> {
        self.synchronize()
    }

    fn stream(&self) -> Option<Arc<dyn SharedStream>> {
        None
    }

    fn now(&self) -> Result<Box<dyn Timestamp>> {
        static START: OnceLock<Instant> = OnceLock::new();
        let start = START.get_or_init(Instant::now);
        Ok(Box::new(Nanoseconds(start.elapsed().as_nanos() as u64)))
    }
}

/// Memory of the host, aligned for every number.
struct Words(Box<[UnsafeCell<u64>]>);

// SAFETY: threads have its address alone.
unsafe impl Sync for Words {}

impl HostMemory for Words {
    fn address(&self) -> *mut u8 {
        UnsafeCell::raw_get(self.0.as_ptr()).cast()
    }
}

type Start = unsafe extern "C" fn(u32, u32, u32, usize, *mut *mut c_void) -> *const c_char;
type Parameters = unsafe extern "C" fn(*mut usize) -> usize;

struct EmulatedKernels {
    name: String,
    library: Library,
}

impl Code for EmulatedKernels {
    fn function(&self, name: &str) -> Result<Box<dyn Function>> {
        let missing = |_| Error::device(format!("{} has no kernel {name}", self.name));
        // SAFETY: these are the types that `rewrite` gave them.
        let (start, parameters) = unsafe {
            let start = self.library.get::<Start>(format!("launch_{name}")).map_err(missing)?;
            let parameters = self.library.get::<Parameters>(format!("parameters_{name}"));
            (*start, *parameters.map_err(missing)?)
        };
        let mut bytes = [0; 64];
        // SAFETY: it writes at most 64 sizes.
        let count = unsafe { parameters(bytes.as_mut_ptr()) };
        let parameters = bytes[..count.min(bytes.len())].to_vec();
        Ok(Box::new(LoadedLibrary { start, parameters }))
    }
}

struct LoadedLibrary {
    start: Start,
    parameters: Vec<usize>,
}

impl Function for LoadedLibrary {
    fn handle(&self) -> u64 {
        self.start as usize as u64
    }

    fn parameters(&self) -> Option<&[usize]> {
        Some(&self.parameters)
    }

    fn allow_shared(&self, bytes: usize) -> Result<()> {
        if bytes > SHARED {
            return Err(Error::device(format!("{bytes} bytes of shared memory; a block has {SHARED}")));
        }
        Ok(())
    }

    fn registers(&self) -> u32 {
        0
    }

    fn local_bytes(&self) -> u32 {
        0
    }

    fn blocks_per_multiprocessor(&self, block: u32, shared: usize) -> Result<u32> {
        // Limits of Hopper: 2048 threads, 32 blocks, 228 KiB of which each block takes one itself.
        let by_shared = (SHARED + 1024) / (shared + 1024);
        Ok((2048 / block.max(1)).min(32).min(by_shared as u32))
    }
}

/// # Safety
/// The arguments are those of the kernel, and what they point to is there.
unsafe fn start(launch: &Launch) -> Result<()> {
    // SAFETY: the handle is of a `Start`, as `LoadedLibrary::handle` gave it.
    let entry = unsafe { std::mem::transmute::<usize, Start>(launch.kernel.0.function.handle() as usize) };
    let mut arguments = launch.pointers();
    let [blocks, rows, _] = launch.grid;
    // SAFETY: number and sizes of the arguments were compared with the kernel's.
    let message = unsafe { entry(blocks, rows, launch.block, launch.shared, arguments.as_mut_ptr()) };
    if message.is_null() {
        return Ok(());
    }
    // SAFETY: it is a text in the library's memory.
    let message = unsafe { CStr::from_ptr(message) }.to_string_lossy();
    Err(Error::device(format!("kernel {}: {message}", launch.kernel.name())))
}

struct Repetition;

impl Recording for Repetition {
    unsafe fn replay(&self, launches: &[Launch]) -> Result<()> {
        // SAFETY: the caller vouches for the launches.
        launches.iter().try_for_each(|launch| unsafe { start(launch) })
    }

    unsafe fn update(&self, _before: &[Launch], _after: &[Launch]) -> Result<bool> {
        Ok(true)
    }
}

struct Nanoseconds(u64);

impl Timestamp for Nanoseconds {
    fn milliseconds_until(&self, end: &dyn Timestamp) -> Result<f64> {
        Ok((end.stamp() as f64 - self.0 as f64) * 1e-6)
    }

    fn stamp(&self) -> u64 {
        self.0
    }

    fn has_passed(&self) -> bool {
        true
    }

    fn wait(&self) -> Result<()> {
        Ok(())
    }
}
