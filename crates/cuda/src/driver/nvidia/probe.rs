//! Facts that the driver tells without using a GPU.

use super::failure::failed;
use crate::driver::nvrtc::Version;
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use jostle_core::{Error, Result};

/// Properties of a GPU.
pub struct GpuFacts {
    /// Name by the maker.
    pub name: String,
    /// Architecture for which kernels are compiled: `sm_90`.
    pub architecture: String,
    /// Total memory, in bytes.
    pub memory: usize,
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Operations in single precision, a fused multiply-add one of them, of all lanes at the
    /// highest clock.
    pub operations_per_second: f64,
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

/// Name of a GPU that no other one has, after `init`.
pub fn unique_name(index: usize) -> Result<String> {
    let id = result::device::get(index as i32).and_then(result::device::get_uuid);
    let id = id.map_err(|e| failed(&format!("GPU {index} does not answer"), e))?;
    Ok(id.bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect())
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
