//! Charges that are excluded from each other where there is no mesh (`kernels/excluded.cu`).

use crate::codegen;
use crate::device_data::DeviceData;
use crate::driver::{Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::neighbor_engine::Trigger;
use crate::sums::Summation;
use jostle_core::{Evaluate, Precision, Result};
use jostle_potentials::LatticeSum;
use jostle_potentials::electrostatics::Method;

/// Kernels, and range of the forces.
pub struct ExcludedCharges {
    /// Square of the cut-off.
    cutoff2: f64,
    shares: u32,
    forces: Kernel,
    energies: Kernel,
}

/// Source of the kernels.
pub fn build(sum: &LatticeSum, precision: Precision, sums: Summation) -> Build {
    let source = codegen::excluded_source(sum, precision) + include_str!("../../kernels/excluded.cuh");
    kernels::module_source(&source, include_str!("../../kernels/excluded.cu"), precision, sums)
}

impl ExcludedCharges {
    /// Kernels for `n` atoms; `None` if excluded charges do not interact, or the mesh includes them.
    ///
    /// # Errors
    /// If there is no compiler for the device.
    pub fn new(
        device: &Device,
        sum: &LatticeSum,
        n: usize,
        precision: Precision,
        sums: Summation,
    ) -> Result<Option<Self>> {
        let cutoff2 = match sum.method() {
            Method::Cutoff | Method::Pme { .. } => return Ok(None),
            Method::ReactionField { .. } => sum.cutoff() * sum.cutoff(),
            Method::Ewald { .. } => f64::INFINITY,
        };
        let build = build(sum, precision, sums);
        let module = device.compile("excluded.cu", &build.source, &build.options)?;
        Ok(Some(ExcludedCharges {
            cutoff2,
            shares: sums.shares(n, ATOM_THREADS),
            forces: module.kernel("excluded_forces")?,
            energies: module.kernel("excluded_forces_energies")?,
        }))
    }

    /// Launch that adds the forces; with energies, it leaves shares of energy and virial.
    pub fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Launch {
        let kernel = match evaluate {
            Evaluate::Forces => &self.forces,
            Evaluate::ForcesAndEnergies => &self.energies,
        };
        let blocks = (data.n as u32).div_ceil(ATOM_THREADS).max(1);
        let launch = Launch::new(kernel, blocks, ATOM_THREADS).with_value(*data).with_value(self.cutoff2);
        launch.with_value(slot).with_value(trigger as i32)
    }

    /// Number of shares.
    pub fn shares(&self) -> u32 {
        self.shares
    }
}
