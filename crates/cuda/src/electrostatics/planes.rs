//! Transforms of a mesh along z and y (`kernels/mesh_modes.cu`): of whole planes where they fit shared memory.

use crate::driver::{Kernel, Module};
use jostle_core::{Precision, Result};

/// Shared memory that a block can have without `allow_shared`, less that of sums of energies.
pub const SHARED: usize = 47 * 1024;
/// Number of threads of a block that transforms a plane.
pub const PLANE_THREADS: u32 = 512;

/// Kernels of the transforms along z and y, forward and backward.
pub enum PlaneKernels {
    /// Both in one, by a block a plane: of half the launches, where two copies of a plane fit shared memory.
    Whole([Kernel; 2]),
    /// Along z, then y, and back, by a block some lines.
    Lines([[Kernel; 2]; 2]),
}

impl PlaneKernels {
    /// Kernels of a module, for whole planes or lines.
    ///
    /// # Errors
    /// If the module lacks them.
    pub fn new(module: &Module, whole: bool) -> Result<Self> {
        let kernel = |name: &str| module.kernel(name);
        Ok(match whole {
            true => PlaneKernels::Whole([kernel("mesh_forward_planes")?, kernel("mesh_backward_planes")?]),
            false => PlaneKernels::Lines([
                [kernel("mesh_forward_z")?, kernel("mesh_forward_y")?],
                [kernel("mesh_backward_y")?, kernel("mesh_backward_z")?],
            ]),
        })
    }
}

/// Options of the compiler for a mesh of these points.
pub fn options(n: [usize; 3], precision: Precision) -> [String; 2] {
    [format!("-DWHOLE_PLANES={}", i32::from(fit(n, precision))), format!("-DPLANE_THREADS={PLANE_THREADS}")]
}

/// Returns true where a block has memory for a plane of points along y and z, twice.
pub fn fit([_, y, z]: [usize; 3], precision: Precision) -> bool {
    let room = (y / 2 * (z + 1)).max((z / 2 + 1) * (y + 1));
    2 * complex_bytes(precision) * room <= SHARED
}

/// Bytes of a complex number.
pub fn complex_bytes(precision: Precision) -> usize {
    match precision {
        Precision::Mixed => 8,
        Precision::Double => 16,
    }
}
