//! Compiled modules on the GPU, and their kernels.

use super::Shared;
use super::failure::failed;
use crate::driver::{Code, Function};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUfunction_attribute as Property};
use jostle_core::{Error, Result};
use std::ffi::CString;
use std::sync::Arc;

/// Code of a source on the GPU, in one module or in several.
pub(super) struct LoadedCode {
    gpu: Arc<Shared>,
    name: String,
    modules: Vec<sys::CUmodule>,
}

// SAFETY: handles, which the driver lets every thread use.
unsafe impl Send for LoadedCode {}
// SAFETY: as above.
unsafe impl Sync for LoadedCode {}

impl LoadedCode {
    /// Loads the images that the compiler has made of a source.
    pub fn new(gpu: &Arc<Shared>, name: &str, images: &[Vec<u8>]) -> Result<Self> {
        gpu.bind()?;
        let mut code = LoadedCode { gpu: gpu.clone(), name: name.to_owned(), modules: Vec::new() };
        for image in images {
            // SAFETY: it is a whole image, made by the compiler, and the driver copies it.
            let module = unsafe { result::module::load_data(image.as_ptr().cast()) }
                .map_err(|e| failed(&format!("{name} cannot be loaded"), e))?;
            code.modules.push(module);
        }
        Ok(code)
    }
}

impl Drop for LoadedCode {
    fn drop(&mut self) {
        // Kernels of the modules may still be running.
        if self.gpu.wait().is_ok() {
            for module in &self.modules {
                // SAFETY: nothing runs, and the last user of the module goes.
                let _ = unsafe { result::module::unload(*module) };
            }
        }
    }
}

impl Code for LoadedCode {
    fn function(&self, name: &str) -> Result<Box<dyn Function>> {
        self.gpu.bind()?;
        let missing = || Error::device(format!("{} has no kernel {name}", self.name));
        let text = CString::new(name).map_err(|_| missing())?;
        for module in &self.modules {
            // SAFETY: the module is loaded.
            let function = match unsafe { result::module::get_function(*module, text.clone()) } {
                Ok(function) => function,
                Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_FOUND)) => continue,
                Err(error) => return Err(failed(&format!("kernel {name}"), error)),
            };
            let parameters = parameters(function);
            return Ok(Box::new(Entry { gpu: self.gpu.clone(), function, parameters }));
        }
        Err(missing())
    }
}

/// Sizes of a kernel's parameters, which drivers report from CUDA 12.4 on.
fn parameters(function: sys::CUfunction) -> Option<Vec<usize>> {
    type Info = unsafe extern "C" fn(sys::CUfunction, usize, *mut usize, *mut usize) -> i32;
    // SAFETY: the driver is loaded, and this is the function's type.
    let info = unsafe { *sys::culib().get::<Info>(c"cuFuncGetParamInfo").ok()? };
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: it writes two numbers, and fails where there is no such parameter.
        if unsafe { info(function, sizes.len(), &mut offset, &mut size) } != 0 {
            return Some(sizes);
        }
        sizes.push(size);
    }
}

/// Kernel on the GPU.
struct Entry {
    gpu: Arc<Shared>,
    function: sys::CUfunction,
    parameters: Option<Vec<usize>>,
}

// SAFETY: a handle, which the driver lets every thread use.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

impl Entry {
    fn property(&self, which: Property) -> u32 {
        let value = self.gpu.context.bind_to_thread().and_then(|()| {
            // SAFETY: the function's module is loaded.
            unsafe { result::function::get_function_attribute(self.function, which) }
        });
        value.map_or(0, i32::unsigned_abs)
    }

    fn set(&self, which: Property, value: i32) -> std::result::Result<(), DriverError> {
        // SAFETY: the function's module is loaded.
        unsafe { result::function::set_function_attribute(self.function, which, value) }
    }
}

impl Function for Entry {
    fn handle(&self) -> u64 {
        self.function as u64
    }

    fn parameters(&self) -> Option<&[usize]> {
        self.parameters.as_deref()
    }

    fn allow_shared(&self, bytes: usize) -> Result<()> {
        self.gpu.bind()?;
        let fixed = self.property(Property::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) as usize;
        let possible = self.gpu.shared_memory.saturating_sub(fixed);
        if bytes > possible {
            return Err(Error::device(format!("{bytes} bytes of shared memory wanted, {possible} possible")));
        }
        let most = Property::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let percentage = Property::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        self.set(most, bytes as i32)
            .and_then(|()| self.set(percentage, 100))
            .map_err(|e| failed(&format!("{bytes} bytes of shared memory refused"), e))
    }

    fn registers(&self) -> u32 {
        self.property(Property::CU_FUNC_ATTRIBUTE_NUM_REGS)
    }

    fn local_bytes(&self) -> u32 {
        self.property(Property::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
    }

    fn blocks_per_multiprocessor(&self, block: u32, shared: usize) -> Result<u32> {
        self.gpu.bind()?;
        // SAFETY: the function's module is loaded.
        let blocks = unsafe {
            let block = block as i32;
            result::occupancy::max_active_block_per_multiprocessor(self.function, block, shared)
        };
        blocks.map(i32::unsigned_abs).map_err(|e| failed("the GPU cannot tell its occupancy", e))
    }
}
