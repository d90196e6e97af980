//! Description of a machine's GPUs and compiler, for `jostle doctor`.

use std::fs;
use std::path::PathBuf;

use jostle_core::{Error, Result};

use super::emulated;
use super::nvidia::{self, GpuFacts};
use super::nvrtc::{Nvrtc, Version};
use crate::cache;
use crate::device_data::MOST_GPUS;

/// Driver, compiler and cache of a machine, or messages about what is missing.
pub struct Facts {
    /// Driver and its GPUs.
    pub driver: Result<DriverFacts>,
    /// NVRTC, of a version that the driver can use.
    pub compiler: Result<CompilerFacts>,
    /// Folder of compiled kernels.
    pub cache: Result<CacheFacts>,
}

/// NVIDIA's driver.
pub struct DriverFacts {
    /// Release, such as 580.65.06, where the system tells.
    pub release: Option<String>,
    /// Newest CUDA that the driver can run.
    pub cuda: Version,
    /// GPUs, in the order of their indices.
    pub gpus: Vec<GpuFacts>,
    /// Pairs of GPUs that can use each other's memory, and those that cannot.
    pub links: Vec<Link>,
}

/// Connection of two GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Numbers of the GPUs.
    pub gpus: [usize; 2],
    /// True where each can use the memory of the other, so that a run can be divided between them.
    pub linked: bool,
}

/// Properties of a GPU that can be found without using it.
///
/// # Errors
/// If there is no driver or no such GPU.
pub fn describe(index: usize) -> Result<GpuFacts> {
    nvidia::init()?;
    nvidia::describe(index)
}

/// Names of the GPUs that this process may use, in the order of their numbers; no two GPUs have the same. Emulated ones are
/// eight, of each process.
///
/// # Errors
/// If there is no driver or no GPU.
pub fn unique_names() -> Result<Vec<String>> {
    if emulated::asked_for() {
        let process = std::process::id();
        return Ok((0..MOST_GPUS).map(|number| format!("emulated {number} of process {process}")).collect());
    }
    nvidia::init()?;
    (0..nvidia::count()?).map(nvidia::unique_name).collect()
}

/// Compiler NVRTC.
pub struct CompilerFacts {
    /// Version of NVRTC.
    pub version: Version,
    /// Path of the library.
    pub path: PathBuf,
}

/// Folder of compiled kernels.
pub struct CacheFacts {
    /// Path, created when first needed.
    pub folder: PathBuf,
    /// Number of compiled sources.
    pub files: usize,
    /// Total size, in bytes.
    pub bytes: u64,
}

/// Examines the machine.
pub fn facts() -> Facts {
    let driver = driver_facts();
    let newest = driver.as_ref().ok().map(|driver| driver.cuda);
    let compiler = Nvrtc::find(newest)
        .map(|nvrtc| CompilerFacts { version: nvrtc.version(), path: nvrtc.path().to_path_buf() });
    let cache = cache::folder().map(|folder| {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let sizes = Vec::from_iter(entries.filter_map(|e| e.metadata().ok()).map(|m| m.len()));
        CacheFacts { folder, files: sizes.len(), bytes: sizes.iter().sum() }
    });
    let cache = cache.ok_or_else(|| {
        Error::device("no folder for compiled kernels: they are compiled again for every run")
            .hint("set HOME or XDG_CACHE_HOME")
    });
    Facts { driver, compiler, cache }
}

fn driver_facts() -> Result<DriverFacts> {
    let cuda = nvidia::init()?;
    let gpus = (0..nvidia::count()?).map(nvidia::describe).collect::<Result<Vec<_>>>()?;
    let pairs = (0..gpus.len()).flat_map(|b| (0..b).map(move |a| [a, b]));
    let links = pairs.map(link).collect::<Result<_>>()?;
    Ok(DriverFacts { release: release(), cuda, gpus, links })
}

fn link([a, b]: [usize; 2]) -> Result<Link> {
    Ok(Link { gpus: [a, b], linked: nvidia::can_reach(a, b)? && nvidia::can_reach(b, a)? })
}

/// Number in "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul ...".
fn release() -> Option<String> {
    let text = fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let number = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.lines().next()?.split_whitespace().find(number).map(str::to_owned)
}
