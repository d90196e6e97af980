//! Access of one GPU to the memory of another.

use super::Shared;
use super::failure::failed;
use cudarc::driver::CudaContext;
use cudarc::driver::sys::{self, CUresult};
use jostle_core::{Error, Result};

/// Returns true where one GPU can use the memory of another.
pub fn can_reach(from: usize, to: usize) -> Result<bool> {
    let device = |index: usize| {
        cudarc::driver::result::device::get(index as i32)
            .map_err(|e| failed(&format!("GPU {index} does not answer"), e))
    };
    let (from, to) = (device(from)?, device(to)?);
    let mut can = 0;
    // SAFETY: it writes one number.
    unsafe { sys::cuDeviceCanAccessPeer(&mut can, from, to) }
        .result()
        .map_err(|e| failed("the connection between two GPUs cannot be found", e))?;
    Ok(can != 0)
}

impl Shared {
    /// Lets kernels of this GPU use the memory of another one.
    pub(super) fn reach(&self, other: usize) -> Result<()> {
        let this = self.context.ordinal();
        if !can_reach(this, other)? {
            return Err(Error::device(format!("GPU {this} cannot reach the memory of GPU {other}"))
                .hint("choose GPUs that are linked (nvidia-smi topo -p2p rw), or one of them"));
        }
        let peer = CudaContext::new(other).map_err(|e| failed(&format!("GPU {other} cannot be used"), e))?;
        self.bind()?;
        // SAFETY: both contexts are there; a GPU that is open keeps its own.
        match unsafe { sys::cuCtxEnablePeerAccess(peer.cu_ctx(), 0) } {
            CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            error => {
                let error = cudarc::driver::DriverError(error);
                Err(failed(&format!("GPU {this} cannot use the memory of GPU {other}"), error))
            }
        }
    }
}
