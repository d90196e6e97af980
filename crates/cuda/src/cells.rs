//! Forces from the cells of the spatial sort (`kernels/cells.cu`): no list, no memory.

use crate::device_data::DeviceData;
use crate::driver::{Kernel, Launch, Module};
use crate::kernels::WholeSteps;
use crate::neighbor_engine::{NeighborEngine, SlotBefore, Trigger};
use crate::sums::Summation;
use jostle_core::{Evaluate, Result};

/// Threads of a block, as in `cells.cu`.
const THREADS: u32 = 128;

/// Kernels of the algorithm.
pub struct Cells {
    blocks: u32,
    shares: u32,
    forces: Kernel,
    energies: Kernel,
    step: Option<Kernel>,
}

impl Cells {
    /// Kernels for `n` atoms.
    ///
    /// # Errors
    /// If the module has no such kernels.
    pub fn new(module: &Module, n: usize, sums: Summation, steps: WholeSteps) -> Result<Self> {
        Ok(Cells {
            blocks: n.div_ceil(THREADS as usize).max(1) as u32,
            shares: sums.shares(n, THREADS),
            forces: module.kernel("forces_cells")?,
            energies: module.kernel("forces_cells_energies")?,
            step: steps.kernel(module, "step_cells")?,
        })
    }
}

impl NeighborEngine for Cells {
    fn name(&self) -> &'static str {
        "cells"
    }

    fn attach(&self, _data: &mut DeviceData) {}

    fn build(&self, _data: &DeviceData, _slot: i32) -> Vec<Launch> {
        Vec::new()
    }

    fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch> {
        let kernel = match evaluate {
            Evaluate::Forces => &self.forces,
            Evaluate::ForcesAndEnergies => &self.energies,
        };
        let launch = Launch::new(kernel, self.blocks, THREADS).with_value(*data);
        vec![launch.with_value(slot).with_value(trigger as i32)]
    }

    fn step(&self, data: &DeviceData, slot: i32, _: SlotBefore) -> Option<Vec<Launch>> {
        Some(vec![Launch::new(self.step.as_ref()?, self.blocks, THREADS).with_value(*data).with_value(slot)])
    }

    fn energy_blocks(&self) -> u32 {
        self.shares
    }

    fn bytes(&self) -> usize {
        0
    }
}
