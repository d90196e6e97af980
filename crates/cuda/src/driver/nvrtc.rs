//! NVRTC, NVIDIA's compiler as a library: finding it, compiling with it, and caching the code. It needs
//! neither a GPU nor its driver, so kernels can be checked anywhere.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::{fmt, fs, ptr};

use jostle_core::{Error, Result};
use libloading::Library;

use super::compiler_processes::{self, Request};
use super::definitions::one_kernel_each;
use crate::{cache, side_by_side};

/// Version of CUDA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major version: 13 of 13.0.
    pub major: i32,
    /// Minor version: 0 of 13.0.
    pub minor: i32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Compiles a source for a GPU of this architecture (`sm_90`), all of it at once.
///
/// # Errors
/// If the source is wrong, with the compiler's messages, or there is no compiler.
pub fn check(source: &str, options: &[String], architecture: &str) -> Result<()> {
    Nvrtc::find(None)?.compile("source", source, options, architecture).map(drop)
}

/// Compiles each kernel of a source by itself, as it is for a run, and returns how many there are.
///
/// # Errors
/// As for [`check`].
pub fn check_each(source: &str, options: &[String], architecture: &str) -> Result<usize> {
    let code = Nvrtc::find(None)?.compile_side_by_side("source", source, options, architecture)?;
    Ok(code.len())
}

type Program = *mut c_void;
type Status = c_int;

/// Loaded library. It is never unloaded, as it has threads of its own.
pub struct Nvrtc {
    version: Version,
    path: PathBuf,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    log: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    cubin_size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    cubin: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    describe: unsafe extern "C" fn(Status) -> *const c_char,
}

impl Nvrtc {
    /// First NVRTC found that is not newer than a driver of version `newest` can use: the one named by
    /// `JOSTLE_NVRTC` (file or folder), the system's, those of Python packages.
    ///
    /// # Errors
    /// If there is no such NVRTC.
    pub fn find(newest: Option<Version>) -> Result<Self> {
        let usable = |found: &Nvrtc| newest.is_none_or(|newest| found.version <= newest);
        // Names and versions of the packages on PyPI.
        let package = match newest {
            Some(Version { major: ..=12, minor }) => format!("nvidia-cuda-nvrtc-cu12<=12.{minor}.999"),
            Some(Version { major: 13, minor }) => format!("nvidia-cuda-nvrtc<=13.{minor}.999"),
            _ => "nvidia-cuda-nvrtc".to_owned(),
        };
        let hint = format!(
            "pip install \"{package}\", or install the CUDA toolkit; JOSTLE_NVRTC may name the \
             library or its folder"
        );
        let asked = std::env::var_os("JOSTLE_NVRTC").filter(|value| !value.is_empty());
        let places = match &asked {
            Some(place) => files_of(Path::new(place)),
            None => places(),
        };
        let mut too_new = None;
        for place in places {
            match Nvrtc::load(&place) {
                Some(found) if usable(&found) => return Ok(found),
                Some(found) => too_new = too_new.or(Some(found)),
                None => {}
            }
        }
        Err(match (too_new, newest, asked) {
            (Some(found), Some(newest), _) => Error::device(format!(
                "NVRTC {} ({}) is newer than the GPU's driver, which knows CUDA {newest}",
                found.version,
                found.path.display()
            ))
            .hint(format!("update the driver, or take an older NVRTC: {hint}")),
            (_, _, Some(place)) => {
                Error::device(format!("JOSTLE_NVRTC names {}, which is not NVRTC", place.to_string_lossy()))
            }
            _ => Error::device("NVRTC, the compiler of GPU kernels, was not found"),
        }
        .hint(hint))
    }

    /// Library at a path; `None` if it is none.
    pub(super) fn load(path: &Path) -> Option<Self> {
        // Packages of Python have NVRTC in a folder where it does not find its second library by itself.
        if let Some(folder) = path.parent().filter(|folder| folder.is_absolute()) {
            for builtins in files_starting(folder, "libnvrtc-builtins.so") {
                // SAFETY: it is NVIDIA's and only holds data.
                if let Ok(library) = unsafe { Library::new(builtins) } {
                    std::mem::forget(library);
                }
            }
        }
        // SAFETY: loading NVRTC runs nothing but its own preparations.
        let library = unsafe { Library::new(path) }.ok()?;
        let library: &'static Library = Box::leak(Box::new(library));
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the types are those of nvrtc.h, unchanged since CUDA 11.1.
        unsafe {
            let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status =
                *library.get(c"nvrtcVersion").ok()?;
            version(&mut major, &mut minor);
            Some(Nvrtc {
                version: Version { major, minor },
                path: loaded_from(library).unwrap_or_else(|| path.to_path_buf()),
                create: *library.get(c"nvrtcCreateProgram").ok()?,
                destroy: *library.get(c"nvrtcDestroyProgram").ok()?,
                compile: *library.get(c"nvrtcCompileProgram").ok()?,
                log_size: *library.get(c"nvrtcGetProgramLogSize").ok()?,
                log: *library.get(c"nvrtcGetProgramLog").ok()?,
                cubin_size: *library.get(c"nvrtcGetCUBINSize").ok()?,
                cubin: *library.get(c"nvrtcGetCUBIN").ok()?,
                describe: *library.get(c"nvrtcGetErrorString").ok()?,
            })
        }
    }

    /// Version of NVRTC.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Path of the library.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Machine code for an architecture, in one part or in several, from the cache if it is there; if not, `before` is
    /// called first.
    ///
    /// # Errors
    /// If the source is wrong, with the compiler's messages.
    pub fn compile_cached(
        &self,
        name: &str,
        source: &str,
        options: &[String],
        architecture: &str,
        driver: Version,
        before: impl FnOnce(),
    ) -> Result<Vec<Vec<u8>>> {
        let (version, driver) = (self.version.to_string(), driver.to_string());
        let all = all_options(options, architecture).join("\0");
        let parts = [source, &all, architecture, &version, &driver];
        let kept = cache::folder().map(|folder| cache::path(&folder, &parts, "cubins"));
        // Several GPUs ask for the same code at the same time: the first one compiles for all.
        let turn = kept.as_deref().map(cache::turn_at);
        let _turn = turn.as_ref().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(code) = kept.as_deref().and_then(cache::read).as_deref().and_then(cache::unpacked) {
            return Ok(code);
        }
        before();
        let code = self.compile_side_by_side(name, source, options, architecture)?;
        if let Some(path) = kept {
            // Failures to write the cache cost time only.
            let _ = cache::write(&path, &cache::packed(&code));
        }
        Ok(code)
    }

    /// Compiles the kernels of a source at the same time, each by itself: one after the other they take seconds. What
    /// they have in common is read again for each, which takes a few hundredths of a second.
    fn compile_side_by_side(
        &self,
        name: &str,
        source: &str,
        options: &[String],
        architecture: &str,
    ) -> Result<Vec<Vec<u8>>> {
        let parts = one_kernel_each(source);
        let compile = |part: &str| {
            let _core = Core::take(part.len());
            let request = Request { library: &self.path, name, source: part, options, architecture };
            let by_a_process = if parts.len() > 1 { request.by_a_process() } else { None };
            by_a_process.unwrap_or_else(|| self.compile(name, part, options, architecture))
        };
        side_by_side::each(&parts, |part| compile(part)).into_iter().collect()
    }

    /// Machine code of a source, all of it at once.
    ///
    /// # Errors
    /// If the source is wrong, with the compiler's messages.
    pub(super) fn compile(
        &self,
        name: &str,
        source: &str,
        options: &[String],
        architecture: &str,
    ) -> Result<Vec<u8>> {
        let text =
            |text: &str| CString::new(text).map_err(|_| Error::device(format!("{name}: a zero byte in it")));
        let (c_source, c_name) = (text(source)?, text(name)?);
        let options = all_options(options, architecture);
        let options = options.iter().map(|o| text(o)).collect::<Result<Vec<_>>>()?;
        let options = Vec::from_iter(options.iter().map(|option| option.as_ptr()));
        let mut program = ptr::null_mut();
        // SAFETY: the texts end in zero and outlive the program; there are no headers.
        let status = unsafe {
            let (source, name) = (c_source.as_ptr(), c_name.as_ptr());
            (self.create)(&mut program, source, name, 0, ptr::null(), ptr::null())
        };
        self.succeeded(name, status, "")?;
        let program = Compilation { nvrtc: self, program };
        // SAFETY: the program lives, the options end in zero.
        let status = unsafe { (self.compile)(program.program, options.len() as c_int, options.as_ptr()) };
        self.succeeded(name, status, &program.log())?;
        let mut size = 0;
        // SAFETY: the program was compiled.
        self.succeeded(name, unsafe { (self.cubin_size)(program.program, &mut size) }, "")?;
        let mut code = vec![0u8; size];
        // SAFETY: there is room for so much.
        let status = unsafe { (self.cubin)(program.program, code.as_mut_ptr().cast()) };
        self.succeeded(name, status, "")?;
        Ok(code)
    }

    fn succeeded(&self, name: &str, status: Status, log: &str) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: it is a text that NVRTC keeps.
        let what = unsafe { CStr::from_ptr((self.describe)(status)) }.to_string_lossy();
        let log = log.trim_matches(['\0', '\n', ' ']);
        let message = format!("{name} does not compile with NVRTC {} ({what})", self.version);
        Err(Error::device(if log.is_empty() { message } else { format!("{message}:\n{log}") }))
    }
}

/// Core that a compilation takes: no more of them run at a time than there are cores, as each needs memory.
struct Core;

/// Cores of this machine, and the compilations that wait for one.
struct Cores {
    taken: usize,
    /// Lengths of their sources.
    waiting: Vec<usize>,
}

static CORES: Mutex<Cores> = Mutex::new(Cores { taken: 0, waiting: Vec::new() });
static CORES_CHANGED: Condvar = Condvar::new();

impl Core {
    /// Takes a core as soon as there is one, and no longer source waits for it: among those of all modules of a run,
    /// kernels that take long begin first.
    fn take(length: usize) -> Self {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let mut cores = CORES.lock().unwrap_or_else(PoisonError::into_inner);
        cores.waiting.push(length);
        let must_wait =
            |cores: &mut Cores| cores.taken >= count || cores.waiting.iter().any(|waiting| *waiting > length);
        let mut cores = CORES_CHANGED.wait_while(cores, must_wait).unwrap_or_else(PoisonError::into_inner);
        cores.taken += 1;
        if let Some(own) = cores.waiting.iter().position(|waiting| *waiting == length) {
            cores.waiting.swap_remove(own);
        }
        CORES_CHANGED.notify_all();
        Core
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let mut cores = CORES.lock().unwrap_or_else(PoisonError::into_inner);
        cores.taken -= 1;
        if cores.taken == 0 {
            compiler_processes::end_idle();
        }
        CORES_CHANGED.notify_all();
    }
}

struct Compilation<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Compilation<'_> {
    fn log(&self) -> String {
        let mut size = 0;
        // SAFETY: the program lives.
        if unsafe { (self.nvrtc.log_size)(self.program, &mut size) } != 0 {
            return String::new();
        }
        let mut log = vec![0u8; size];
        // SAFETY: there is room for so much.
        unsafe { (self.nvrtc.log)(self.program, log.as_mut_ptr().cast()) };
        String::from_utf8_lossy(&log).into_owned()
    }
}

impl Drop for Compilation<'_> {
    fn drop(&mut self) {
        // SAFETY: it was created and not yet destroyed.
        unsafe { (self.nvrtc.destroy)(&mut self.program) };
    }
}

fn all_options(options: &[String], architecture: &str) -> Vec<String> {
    let architecture = format!("--gpu-architecture={architecture}");
    // Products are added without being rounded first where the source says so, and nowhere else.
    let ours = ["-std=c++17", "-lineinfo", "--fmad=false"].map(str::to_owned);
    [architecture].into_iter().chain(ours).chain(options.iter().cloned()).collect()
}

/// File from which a library was loaded, where the system found it.
#[cfg(target_os = "linux")]
fn loaded_from(library: &Library) -> Option<PathBuf> {
    // SAFETY: only the address is used.
    let address = unsafe { *library.get::<*const c_void>(c"nvrtcVersion").ok()? } as usize;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let bounds = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
        let path = rest.get(rest.find('/')?..)?;
        bounds.contains(&address).then(|| PathBuf::from(path))
    })
}

#[cfg(not(target_os = "linux"))]
fn loaded_from(_: &Library) -> Option<PathBuf> {
    None
}

const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];

/// Places of NVRTC: names that the system resolves first, then files.
fn places() -> Vec<PathBuf> {
    let mut places = Vec::from(NAMES.map(PathBuf::from));
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable);
    for toolkit in toolkits.chain([PathBuf::from("/usr/local/cuda")]) {
        places.extend(files_of(&toolkit.join("lib64")));
    }
    // Environments of Python: the active ones, and those of a user and of the system.
    let mut prefixes = Vec::from_iter(["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable));
    prefixes.extend(variable("HOME").map(|home| home.join(".local")));
    if let Some(path) = std::env::var_os("PATH") {
        let programs = std::env::split_paths(&path).map(|folder| folder.join("python3"));
        let real = programs.filter_map(|program| fs::canonicalize(program).ok());
        prefixes.extend(real.filter_map(|program| Some(program.parent()?.parent()?.to_path_buf())));
    }
    prefixes.extend(["/usr/local", "/usr"].map(PathBuf::from));
    let mut seen = BTreeSet::new();
    for prefix in prefixes.into_iter().filter(|prefix| seen.insert(prefix.clone())) {
        for python in files_starting(&prefix.join("lib"), "python3") {
            for packages in ["site-packages", "dist-packages"] {
                for package in ["cu13", "cuda_nvrtc"] {
                    let folder = python.join(packages).join("nvidia").join(package).join("lib");
                    places.extend(files_of(&folder));
                }
            }
        }
    }
    places
}

/// Library itself, or its files in a folder.
fn files_of(place: &Path) -> Vec<PathBuf> {
    if place.is_dir() {
        let place = fs::canonicalize(place).unwrap_or_else(|_| place.to_path_buf());
        NAMES.iter().map(|name| place.join(name)).filter(|file| file.exists()).collect()
    } else if place.exists() {
        vec![fs::canonicalize(place).unwrap_or_else(|_| place.to_path_buf())]
    } else {
        Vec::new()
    }
}

/// Files and folders in a folder whose names start so, the last name first.
fn files_starting(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found.reverse();
    found
}
