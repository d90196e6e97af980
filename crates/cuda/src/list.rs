//! One list per atom (`kernels/list.cu`): for boxes and densities that tiles are not made for.

use crate::device_data::{AtomLists, Control, DeviceData, faults};
use crate::driver::{Buffer, Device, Kernel, Launch, Module};
use crate::neighbor_engine::{NeighborEngine, Trigger};
use crate::sums::Summation;
use jostle_core::{Evaluate, Result};

/// Threads of a block, as in `list.cu`.
const THREADS: u32 = 128;

/// Kernels, lists, and capacity of each list.
pub struct List {
    /// Number of blocks with a thread for each atom.
    blocks: u32,
    /// Number of blocks with a thread for each atom of this GPU.
    own_blocks: u32,
    /// Number of blocks with a team of threads for each of these.
    team_blocks: u32,
    shares: u32,
    rows: usize,
    build: Kernel,
    forces: Kernel,
    energies: Kernel,
    step: Kernel,
    neighbor: Buffer<u32>,
    n_neighbor: Buffer<i32>,
}

/// Estimate of the length of a list in a homogeneous system; kernels report where it is too short.
pub fn estimate(density: f64, reach: f64, n_atoms: usize) -> usize {
    let mean = 4.0 / 3.0 * std::f64::consts::PI * reach.powi(3) * density;
    ((mean + 5.0 * mean.sqrt() + 8.0) as usize).clamp(1, n_atoms.max(1))
}

/// Number of threads that share a list, where `of_tile` share an atom of a tile. Exact sums are made by one
/// thread, and forces of embedded atoms over whole lists.
pub fn team(of_tile: u32, embedded: bool, sums: Summation) -> u32 {
    match sums {
        Summation::Fast if !embedded => of_tile,
        _ => 1,
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
    /// Lists of so many rows for `n` atoms, each for a team of threads, as the kernels were compiled for. Forces
    /// are computed for `owned` of them; forces in the middle of steps need the lists of all.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(
        device: &Device,
        module: &Module,
        [n, owned]: [usize; 2],
        rows: usize,
        team: u32,
        sums: Summation,
    ) -> Result<Self> {
        let blocks = |n: usize, threads: u32| n.div_ceil(threads as usize) as u32;
        Ok(List {
            blocks: blocks(n, THREADS).max(1),
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
            step: module.kernel("step_list")?,
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
        vec![Launch::new(&self.build, self.blocks, THREADS).with_value(*data).with_value(slot)]
    }

    fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch> {
        let kernel = match evaluate {
            Evaluate::Forces => &self.forces,
            Evaluate::ForcesAndEnergies => &self.energies,
        };
        let launch = Launch::new(kernel, self.team_blocks, THREADS).with_value(*data);
        vec![launch.with_value(slot).with_value(trigger as i32)]
    }

    fn step(&self, data: &DeviceData, slot: i32) -> Option<Vec<Launch>> {
        // A block at least, to go on to the next slot without atoms, too.
        let blocks = self.team_blocks.max(1);
        Some(vec![Launch::new(&self.step, blocks, THREADS).with_value(*data).with_value(slot)])
    }

    fn pass(&self, kernel: &Kernel) -> Option<Launch> {
        Some(Launch::new(kernel, self.own_blocks, THREADS))
    }

    fn energy_blocks(&self) -> u32 {
        self.shares
    }

    fn bytes(&self) -> usize {
        4 * (self.neighbor.len() + self.n_neighbor.len())
    }
}
