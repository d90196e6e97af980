//! Forces that the host adds to those of the last evaluation (`kernels/added.cu`).

use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::sums::Summation;
use jostle_core::{Components, Precision, Result, Vec3};

/// Kernel that adds forces, and their array in device memory.
pub struct AddedKernel {
    kernel: Kernel,
    by_id: Buffer<f64>,
}

/// Source of the kernel.
pub fn build(precision: Precision, sums: Summation) -> Build {
    kernels::module_source("", include_str!("../kernels/added.cu"), precision, sums)
}

impl AddedKernel {
    /// Kernel for `n` atoms.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn new(device: &Device, n: usize, precision: Precision, sums: Summation) -> Result<Self> {
        let build = build(precision, sums);
        let module = device.compile("added.cu", &build.source, &build.options)?;
        Ok(AddedKernel { kernel: module.kernel("added_forces")?, by_id: device.alloc(3 * n)? })
    }

    /// Launch that adds these forces, by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn launch(&mut self, data: &DeviceData, by_id: &[Vec3]) -> Result<Launch> {
        self.by_id.write(0, by_id.as_flattened())?;
        let launch = Launch::new(&self.kernel, kernels::blocks_of(data.n), ATOM_THREADS);
        Ok(launch.with_value(*data).with_value(self.by_id.address()))
    }
}
