//! One list per atom (`kernels/list.cu`): for boxes and densities that tiles are not made for.

use crate::device_data::{AtomLists, Control, DeviceData, faults};
use crate::driver::{Buffer, Device, Kernel, Launch, Module};
use crate::kernels::{TileShape, WholeSteps};
use crate::neighbor_engine::{NeighborEngine, SlotBefore, Trigger, list_contents};
use crate::sums::Summation;
use jostle_core::backend::ListContents;
use jostle_core::{Evaluate, Result};
use jostle_potentials::Forces;

/// Threads of a block, as in `list.cu`.
const THREADS: u32 = 128;

/// Lanes of a warp.
const WARP: u32 = 32;

/// Kernels, lists, and capacity of each list.
pub struct List {
    /// Number of blocks that make lists.
    build_blocks: u32,
    /// Number of blocks with a thread for each atom of this GPU.
    own_blocks: u32,
    /// Number of blocks with a team of threads for each of these.
    team_blocks: u32,
    shares: u32,
    rows: usize,
    build: Kernel,
    forces: Kernel,
    energies: Kernel,
    step: Option<Kernel>,
    neighbor: Buffer<u32>,
    n_neighbor: Buffer<i32>,
}

/// Estimate of the length of a list in a homogeneous system; kernels report where it is too short.
pub fn estimate(density: f64, reach: f64, n_atoms: usize) -> usize {
    let mean = 4.0 / 3.0 * std::f64::consts::PI * reach.powi(3) * density;
    ((mean + 5.0 * mean.sqrt() + 8.0) as usize).clamp(1, n_atoms.max(1))
}

/// Threads of the GPU's work on lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListThreads {
    /// Number of threads that share a list.
    pub team: u32,
    /// Number of threads that make a list: 1 or a warp.
    pub builders: u32,
}

impl ListThreads {
    /// Threads for tiles of this shape: where several share an atom there, atoms are few or lists long. Exact sums are made
    /// by one thread, and many-body forces over whole lists.
    pub fn of_shape(shape: TileShape, forces: &Forces, sums: Summation) -> Self {
        let team = match sums {
            Summation::Fast if forces.embedded.is_none() && forces.three_body.is_none() => shape.list_team(),
            _ => 1,
        };
        ListThreads { team, builders: if shape.team > 1 { WARP } else { 1 } }
    }

    /// Options of the compiler by which `list.cu` knows of them.
    pub fn options(self) -> [String; 2] {
        [format!("-DLIST_TEAM={}", self.team), format!("-DLIST_BUILDERS={}", self.builders)]
    }
}

/// Larger capacity where a list did not fit, with something to spare.
pub fn grown(rows: usize, control: &Control) -> usize {
    if control.faults & faults::ROWS_FULL == 0 {
        return rows;
    }
    (f64::from(control.need_rows) * 1.05) as usize + 1
}

impl List {
    /// Lists of so many rows for `n` atoms, each for these threads, for which the kernels were compiled. Forces
    /// are computed for `owned` of them; forces in the middle of steps need the lists of all.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(
        device: &Device,
        module: &Module,
        [n, owned]: [usize; 2],
        rows: usize,
        threads: ListThreads,
        sums: Summation,
        steps: WholeSteps,
    ) -> Result<Self> {
        let ListThreads { team, builders } = threads;
        let blocks = |n: usize, threads: u32| n.div_ceil(threads as usize) as u32;
        Ok(List {
            build_blocks: blocks(n, THREADS / builders).max(1),
            own_blocks: blocks(owned, THREADS),
            team_blocks: blocks(owned, THREADS / team),
            shares: match sums {
                Summation::Fast => blocks(owned, THREADS / team),
                Summation::Exact(_) => n as u32,
            },
            rows,
            build: module.kernel("build_list")?,
            forces: module.kernel("forces_list")?,
            energies: module.kernel("forces_list_energies")?,
            step: steps.kernel(module, "step_list")?,
            neighbor: device.alloc((n * rows).max(1))?,
            n_neighbor: device.alloc(n.max(1))?,
        })
    }
}

impl NeighborEngine for List {
    fn name(&self) -> &'static str {
        "list"
    }

    fn attach(&self, data: &mut DeviceData) {
        data.lists = AtomLists {
            capacity: self.rows as i32,
            unused: 0,
            neighbor: self.neighbor.address(),
            n_neighbor: self.n_neighbor.address(),
        };
    }

    fn build(&self, data: &DeviceData, slot: i32) -> Vec<Launch> {
        vec![Launch::new(&self.build, self.build_blocks, THREADS).with_value(*data).with_value(slot)]
    }

    fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch> {
        let kernel = match evaluate {
            Evaluate::Forces => &self.forces,
            Evaluate::ForcesAndEnergies => &self.energies,
        };
        let launch = Launch::new(kernel, self.team_blocks, THREADS).with_value(*data);
        vec![launch.with_value(slot).with_value(trigger as i32)]
    }

    fn step(&self, data: &DeviceData, slot: i32, _: SlotBefore) -> Option<Vec<Launch>> {
        // A block at least, to go on to the next slot without atoms, too.
        let blocks = self.team_blocks.max(1);
        Some(vec![Launch::new(self.step.as_ref()?, blocks, THREADS).with_value(*data).with_value(slot)])
    }

    fn pass(&self, kernel: &Kernel) -> Option<Launch> {
        Some(Launch::new(kernel, self.own_blocks, THREADS))
    }

    fn energy_blocks(&self) -> u32 {
        self.shares
    }

    fn contents(&self) -> Result<Vec<ListContents>> {
        Ok(vec![list_contents("neighbours of an atom", &self.n_neighbor.to_vec()?, self.rows)])
    }

    fn bytes(&self) -> usize {
        4 * (self.neighbor.len() + self.n_neighbor.len())
    }
}
