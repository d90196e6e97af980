//! What a machine has for running on a GPU, for `jostle doctor`.

use std::fs;
use std::path::PathBuf;

use jostle_core::{Error, Result};

use super::nvidia;
use super::nvrtc::{Nvrtc, Version};
use crate::cache;

/// What there is, or a plain message about what is missing.
pub struct Facts {
    /// The driver and its GPUs.
    pub driver: Result<DriverFacts>,
    /// NVRTC, of a version that the driver can use.
    pub compiler: Result<CompilerFacts>,
    /// Where compiled kernels are kept.
    pub cache: Result<CacheFacts>,
}

/// The driver.
pub struct DriverFacts {
    /// Its release, such as 580.65.06, where the system tells.
    pub release: Option<String>,
    /// The newest CUDA that it can run.
    pub cuda: Version,
    /// Its GPUs, in the order of their indices.
    pub gpus: Vec<GpuFacts>,
}

/// A GPU.
pub struct GpuFacts {
    /// What the maker calls it.
    pub name: String,
    /// What kernels are compiled for: `sm_90`.
    pub architecture: String,
    /// All its memory, in bytes.
    pub memory: usize,
    /// How many multiprocessors it has.
    pub multiprocessors: u32,
    /// Operations in single precision, a fused multiply-add one of them, of all lanes at the
    /// highest clock.
    pub operations_per_second: f64,
}

/// What can be said of a GPU without using it.
///
/// # Errors
/// If there is no driver or no such GPU.
pub fn describe(index: usize) -> Result<GpuFacts> {
    nvidia::init()?;
    nvidia::describe(index)
}

/// NVRTC.
pub struct CompilerFacts {
    /// Its version.
    pub version: Version,
    /// Where it is.
    pub path: PathBuf,
}

/// The folder of compiled kernels.
pub struct CacheFacts {
    /// Where it is; made when first needed.
    pub folder: PathBuf,
    /// How many compiled sources it holds.
    pub files: usize,
    /// Their size together, in bytes.
    pub bytes: u64,
}

/// Looks what there is.
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
    Ok(DriverFacts { release: release(), cuda, gpus })
}

/// The number in "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul ...".
fn release() -> Option<String> {
    let text = fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let number = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.lines().next()?.split_whitespace().find(number).map(str::to_owned)
}
