//! The functions of an MPI library, called through its own binary interface.

use super::abi::Abi;
use super::launch::{CHOICE, Launch, Launcher};
use super::places;
use crate::channel::{LONGEST_PART, Part, Pending};
use crate::{Incoming, Outgoing};
use jostle_core::{Error, Result};
use libloading::os::unix;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Tags of messages: of exchanges, and of channels.
const EXCHANGES: c_int = 0;
const CHANNELS: c_int = 1;

/// Number of tests of a request before its rank yields the core, and before it sleeps between tests.
const TESTS_BEFORE_YIELD: u32 = 100;
const TESTS_BEFORE_SLEEP: u32 = 200_000;
const SLEEP: Duration = Duration::from_micros(50);

/// Space for an `MPI_Status` of any interface, the largest of which has 32 bytes.
type Status = [u64; 16];

/// Longest version text of any interface.
const VERSION_LENGTH: usize = 8192;

type InitThread = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int;
type GetVersion = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
type Finalize = unsafe extern "C" fn() -> c_int;
type OfCommunicator<H> = unsafe extern "C" fn(H, *mut c_int) -> c_int;
type Isend<H> = unsafe extern "C" fn(*const c_void, c_int, H, c_int, c_int, H, *mut H) -> c_int;
type Irecv<H> = unsafe extern "C" fn(*mut c_void, c_int, H, c_int, c_int, H, *mut H) -> c_int;
type Test<H> = unsafe extern "C" fn(*mut H, *mut c_int, *mut Status) -> c_int;
type Abort<H> = unsafe extern "C" fn(H, c_int) -> c_int;

/// Handle of an interface.
trait Handle: Copy {
    fn to_number(self) -> u64;
    fn of_number(number: u64) -> Self;
}

impl Handle for c_int {
    fn to_number(self) -> u64 {
        u64::from(self as u32)
    }

    fn of_number(number: u64) -> Self {
        number as u32 as c_int
    }
}

impl Handle for usize {
    fn to_number(self) -> u64 {
        self as u64
    }

    fn of_number(number: u64) -> Self {
        number as usize
    }
}

/// The functions that are used, over the handles of an interface.
struct Functions<H> {
    /// Held during a call: threads take turns.
    turn: Mutex<()>,
    world: H,
    byte: H,
    null: H,
    isend: Isend<H>,
    irecv: Irecv<H>,
    test: Test<H>,
    abort: Abort<H>,
}

enum Calls {
    /// Handles are whole numbers.
    Numbers(Functions<c_int>),
    /// Handles are pointers, kept as numbers of the same size.
    Pointers(Functions<usize>),
}

/// A library that has been initialised; dropping it ends MPI in this process.
pub(super) struct Library {
    path: PathBuf,
    version: String,
    rank: usize,
    size: usize,
    calls: Calls,
    finalize: Finalize,
    /// Keeps the functions valid.
    _loaded: unix::Library,
}

impl Library {
    /// Loads the first library that fits a launch, and initialises it.
    pub fn open(launch: &Launch) -> Result<Library> {
        let candidates = places::candidates(launch);
        let mut tried = Vec::new();
        for (abi, path) in &candidates {
            match load(path) {
                Ok(loaded) => return Library::initialize(*abi, path, loaded, launch),
                Err(error) => tried.push(error),
            }
        }
        let names: Vec<_> = candidates.iter().map(|(_, path)| path.display().to_string()).collect();
        let why = tried.into_iter().next_back().unwrap_or_default();
        Err(Error::device(format!(
            "{} has started {} processes, but no MPI library that belongs to it is found ({}): {why}",
            launch.launcher.name(),
            launch.size,
            names.join(", "),
        ))
        .hint(format!(
            "load the module of your MPI, or name its library in {CHOICE}; `pip install mpich` gives one that \
             anyone can have, with its mpiexec"
        )))
    }

    fn initialize(abi: Abi, path: &Path, loaded: unix::Library, launch: &Launch) -> Result<Library> {
        let missing = |name: &str| Error::device(format!("{} has no {name}: is it an MPI?", path.display()));
        let version = version(&loaded).ok_or_else(|| missing("MPI_Get_library_version"))?;
        // Some libraries end the process where their launcher is another one's.
        let is_open_mpi = version.starts_with("Open MPI");
        if launch.launcher == Launcher::OpenMpi && !is_open_mpi
            || launch.launcher == Launcher::Mpich && is_open_mpi
        {
            let (starter, path) = (launch.launcher.name(), path.display());
            return Err(Error::device(format!("{starter} has started this, but {path} is {version}"))
                .hint(launch.launcher.remedy()));
        }
        // SAFETY: the types are those of the MPI standard; both functions are valid as long as `loaded`.
        let (init, finalize) = unsafe {
            let init =
                loaded.get::<InitThread>(b"MPI_Init_thread\0").map_err(|_| missing("MPI_Init_thread"))?;
            let finalize = loaded.get::<Finalize>(b"MPI_Finalize\0").map_err(|_| missing("MPI_Finalize"))?;
            (*init, *finalize)
        };
        let mut provided = 0;
        // SAFETY: null pointers for arguments are allowed since MPI 2.
        let code =
            unsafe { init(std::ptr::null_mut(), std::ptr::null_mut(), abi.serialized(), &mut provided) };
        if code != 0 || provided < abi.serialized() {
            return Err(Error::device(format!(
                "{version} ({}) could not be initialised (code {code}, thread level {provided})",
                path.display()
            )));
        }
        let (calls, [rank, size]) = match abi {
            Abi::Standard => {
                let (f, numbers) =
                    functions(&loaded, 0x101usize, 0x247, 0x180).ok_or_else(|| missing("MPI_Isend"))?;
                (Calls::Pointers(f), numbers)
            }
            Abi::Mpich => {
                let handles = (0x4400_0000, 0x4c00_010d, 0x2c00_0000);
                let (f, numbers) = functions(&loaded, handles.0, handles.1, handles.2)
                    .ok_or_else(|| missing("MPI_Isend"))?;
                (Calls::Numbers(f), numbers)
            }
            Abi::OpenMpi => {
                let address = |name: &str| address(&loaded, name).ok_or_else(|| missing(name));
                let (world, byte) = (address("ompi_mpi_comm_world\0")?, address("ompi_mpi_byte\0")?);
                let null = address("ompi_request_null\0")?;
                let (f, numbers) =
                    functions(&loaded, world, byte, null).ok_or_else(|| missing("MPI_Isend"))?;
                (Calls::Pointers(f), numbers)
            }
        };
        Ok(Library { path: path.to_path_buf(), version, rank, size, calls, finalize, _loaded: loaded })
    }

    pub fn rank(&self) -> usize {
        self.rank
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn version(&self) -> String {
        self.version.clone()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sends and receives; see [`crate::Transport::exchange`].
    pub fn exchange(&self, outgoing: &[Outgoing], incoming: &mut [Incoming]) -> Result<()> {
        match &self.calls {
            Calls::Numbers(functions) => functions.exchange(outgoing, incoming),
            Calls::Pointers(functions) => functions.exchange(outgoing, incoming),
        }
    }

    /// Starts to send; see [`crate::Channel::send`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn start_send(&self, to: usize, place: *const u8, bytes: usize) -> Result<Pending> {
        // SAFETY: the caller vouches for the place.
        unsafe {
            match &self.calls {
                Calls::Numbers(functions) => functions.start_send(to, place, bytes),
                Calls::Pointers(functions) => functions.start_send(to, place, bytes),
            }
        }
    }

    /// Starts to receive; see [`crate::Channel::receive`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn start_receive(&self, from: usize, place: *mut u8, bytes: usize) -> Result<Pending> {
        // SAFETY: the caller vouches for the place.
        unsafe {
            match &self.calls {
                Calls::Numbers(functions) => functions.start_receive(from, place, bytes),
                Calls::Pointers(functions) => functions.start_receive(from, place, bytes),
            }
        }
    }

    /// See [`crate::Channel::is_over`].
    pub fn is_over(&self, pending: &mut Pending) -> Result<bool> {
        match &self.calls {
            Calls::Numbers(functions) => functions.is_over(pending),
            Calls::Pointers(functions) => functions.is_over(pending),
        }
    }

    /// Ends all processes of the launch.
    pub fn abort(&self) {
        // SAFETY: the library is initialised.
        unsafe {
            match &self.calls {
                Calls::Numbers(functions) => (functions.abort)(functions.world, 1),
                Calls::Pointers(functions) => (functions.abort)(functions.world, 1),
            }
        };
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // A process that ends by a panic must not wait for the others here: the launcher notices.
        if !std::thread::panicking() {
            // SAFETY: the library is initialised and no request is under way.
            unsafe { (self.finalize)() };
        }
    }
}

impl<H: Handle> Functions<H> {
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn exchange(&self, outgoing: &[Outgoing], incoming: &mut [Incoming]) -> Result<()> {
        let mut requests = Vec::with_capacity(outgoing.len() + incoming.len());
        let started = self.start(outgoing, incoming, &mut requests);
        // Requests that have begun are waited for in any case: they use the memory of the messages.
        let done = requests.iter_mut().map(|request| self.wait(request)).fold(Ok(()), Result::and);
        started.and(done)
    }

    fn start(&self, outgoing: &[Outgoing], incoming: &mut [Incoming], requests: &mut Vec<H>) -> Result<()> {
        for Incoming { from, bytes } in incoming {
            for part in bytes.chunks_mut(LONGEST_PART) {
                // SAFETY: the memory is borrowed until `exchange` returns, after the request has ended.
                requests.push(unsafe { self.irecv(*from, EXCHANGES, part.as_mut_ptr(), part.len())? });
            }
        }
        for Outgoing { to, bytes } in outgoing {
            for part in bytes.chunks(LONGEST_PART) {
                // SAFETY: as above.
                requests.push(unsafe { self.isend(*to, EXCHANGES, part.as_ptr(), part.len())? });
            }
        }
        Ok(())
    }

    /// # Safety
    /// The bytes, as many as MPI counts, stay where they are until the request is done.
    unsafe fn isend(&self, to: usize, tag: c_int, place: *const u8, bytes: usize) -> Result<H> {
        let (mut request, _turn) = (self.null, self.turn());
        // SAFETY: the caller vouches for the place.
        let code = unsafe {
            (self.isend)(place.cast(), bytes as c_int, self.byte, to as c_int, tag, self.world, &mut request)
        };
        check(code).map(|()| request)
    }

    /// # Safety
    /// There is room for the bytes, as many as MPI counts, and nothing else uses it until the request is done.
    unsafe fn irecv(&self, from: usize, tag: c_int, place: *mut u8, bytes: usize) -> Result<H> {
        let (mut request, _turn) = (self.null, self.turn());
        // SAFETY: the caller vouches for the place.
        let code = unsafe {
            (self.irecv)(
                place.cast(),
                bytes as c_int,
                self.byte,
                from as c_int,
                tag,
                self.world,
                &mut request,
            )
        };
        check(code).map(|()| request)
    }

    /// # Safety
    /// As for [`crate::Channel::send`].
    unsafe fn start_send(&self, to: usize, place: *const u8, bytes: usize) -> Result<Pending> {
        let mut parts = Vec::with_capacity(1);
        for [begin, length] in parts_of(bytes) {
            // SAFETY: the part is inside the message, and the caller vouches for it.
            let request = unsafe { self.isend(to, CHANNELS, place.add(begin), length)? };
            parts.push(Part::Request(request.to_number()));
        }
        Ok(Pending { parts })
    }

    /// # Safety
    /// As for [`crate::Channel::receive`].
    unsafe fn start_receive(&self, from: usize, place: *mut u8, bytes: usize) -> Result<Pending> {
        let mut parts = Vec::with_capacity(1);
        for [begin, length] in parts_of(bytes) {
            // SAFETY: as in `start_send`.
            let request = unsafe { self.irecv(from, CHANNELS, place.add(begin), length)? };
            parts.push(Part::Request(request.to_number()));
        }
        Ok(Pending { parts })
    }

    fn is_over(&self, pending: &mut Pending) -> Result<bool> {
        while let Some(Part::Request(number)) = pending.parts.last_mut() {
            let mut request = H::of_number(*number);
            if !self.is_done(&mut request)? {
                *number = request.to_number();
                return Ok(false);
            }
            pending.parts.pop();
        }
        Ok(true)
    }

    fn is_done(&self, request: &mut H) -> Result<bool> {
        let (mut done, mut status): (c_int, Status) = (0, [0; 16]);
        let _turn = self.turn();
        // SAFETY: the request has been started; `status` is as large as that of any interface.
        check(unsafe { (self.test)(request, &mut done, &mut status) })?;
        Ok(done != 0)
    }

    fn wait(&self, request: &mut H) -> Result<()> {
        let mut tests = 0;
        while !self.is_done(request)? {
            pause(&mut tests);
        }
        Ok(())
    }
}

/// Begins and lengths of the parts of a message of so many bytes: as many as MPI counts.
fn parts_of(bytes: usize) -> impl Iterator<Item = [usize; 2]> {
    (0..bytes).step_by(LONGEST_PART).map(move |begin| [begin, LONGEST_PART.min(bytes - begin)])
}

/// The error of a call that gave a code.
fn check(code: c_int) -> Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(Error::device(format!("MPI could not send or receive (code {code})"))),
    }
}

/// Loads a library with its symbols visible to what it loads itself, as Open MPI's plug-ins need.
fn load(path: &Path) -> std::result::Result<unix::Library, String> {
    // SAFETY: an MPI library runs only its own initialisers when it is loaded.
    unsafe { unix::Library::open(Some(path), unix::RTLD_NOW | unix::RTLD_GLOBAL) }.map_err(|e| reason(&e))
}

/// The loader's own words.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Version of the library at a path, which is loaded for this alone.
pub(super) fn version_of(path: &Path) -> std::result::Result<String, String> {
    // SAFETY: as in `load`; local, so that it hides no symbol of another MPI.
    let loaded = unsafe { unix::Library::open(Some(path), unix::RTLD_LAZY | unix::RTLD_LOCAL) };
    let loaded = loaded.map_err(|e| reason(&e))?;
    let version = version(&loaded).ok_or_else(|| format!("{} is no MPI", path.display()));
    // Never unloaded: initialisers of some MPIs leave pointers into themselves behind.
    std::mem::forget(loaded);
    version
}

/// The first words of the version text.
fn version(loaded: &unix::Library) -> Option<String> {
    // SAFETY: the type is that of the MPI standard; it may be called before initialisation.
    let get = unsafe { loaded.get::<GetVersion>(b"MPI_Get_library_version\0") }.ok()?;
    let (mut text, mut length) = (vec![0; VERSION_LENGTH + 1], 0);
    // SAFETY: the space is that of the longest text of any interface.
    if unsafe { get(text.as_mut_ptr(), &mut length) } != 0 {
        return None;
    }
    // SAFETY: the last byte is zero, whatever the library wrote.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned();
    // "MPICH Version:      5.0.2", "Open MPI v4.1.4, package: ...", each with more lines.
    let first = text.lines().next().unwrap_or_default().replace("Version:", " ");
    let words: Vec<_> = first.split(',').next().unwrap_or_default().split_whitespace().collect();
    Some(words.join(" "))
}

/// The address of data in a library.
fn address(loaded: &unix::Library, name: &str) -> Option<usize> {
    // SAFETY: only the address is taken.
    unsafe { loaded.get::<*mut c_void>(name.as_bytes()) }.ok().map(|symbol| symbol.as_raw_ptr() as usize)
}

/// The functions of a library, with rank and size of this process.
fn functions<H: Handle>(
    loaded: &unix::Library,
    world: H,
    byte: H,
    null: H,
) -> Option<(Functions<H>, [usize; 2])> {
    // SAFETY: the types are those of the MPI standard over the handles of the interface; handles that are
    // pointers are passed as numbers of the same size and class.
    let (functions, rank, size) = unsafe {
        let functions = Functions {
            turn: Mutex::new(()),
            world,
            byte,
            null,
            isend: *loaded.get::<Isend<H>>(b"MPI_Isend\0").ok()?,
            irecv: *loaded.get::<Irecv<H>>(b"MPI_Irecv\0").ok()?,
            test: *loaded.get::<Test<H>>(b"MPI_Test\0").ok()?,
            abort: *loaded.get::<Abort<H>>(b"MPI_Abort\0").ok()?,
        };
        let rank = *loaded.get::<OfCommunicator<H>>(b"MPI_Comm_rank\0").ok()?;
        let size = *loaded.get::<OfCommunicator<H>>(b"MPI_Comm_size\0").ok()?;
        (functions, rank, size)
    };
    let number = |of: OfCommunicator<H>| {
        let mut number = 0;
        // SAFETY: the library is initialised.
        let code = unsafe { of(world, &mut number) };
        usize::try_from(number).ok().filter(|_| code == 0)
    };
    Some((functions, [number(rank)?, number(size)?]))
}

/// A pause between two tests of a request.
fn pause(tests: &mut u32) {
    *tests = tests.saturating_add(1);
    match *tests {
        0..TESTS_BEFORE_YIELD => std::hint::spin_loop(),
        TESTS_BEFORE_YIELD..TESTS_BEFORE_SLEEP => std::thread::yield_now(),
        _ => std::thread::sleep(SLEEP),
    }
}
