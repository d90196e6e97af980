//! One list per atom (`kernels/list.cu`): for boxes and densities that tiles are not made for.

use crate::driver::{Buffer, Device, Kernel, Launch, Module};
use crate::search::{Search, When};
use crate::sums::Summation;
use crate::world::{Control, World, trouble};
use jostle_core::{Evaluate, Result};

/// Threads of a block, as in `list.cu`.
const THREADS: u32 = 128;

/// The kernels, the lists and how long each of them may be.
pub struct List {
    blocks: u32,
    shares: u32,
    rows: usize,
    build: Kernel,
    forces: Kernel,
    energies: Kernel,
    step: Kernel,
    neighbor: Buffer<u32>,
    n_neighbor: Buffer<i32>,
    excluded: Excluded,
}

/// Atoms without a pair force, in device memory.
#[derive(Clone)]
pub struct Excluded {
    layers: usize,
    ids: Buffer<u32>,
}

impl Excluded {
    /// From the ids that each atom excludes, by id; empty where no atom excludes any.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(device: &Device, by_id: &[Vec<u32>]) -> Result<Self> {
        let layers = by_id.iter().map(Vec::len).max().unwrap_or(0);
        let layer = |k: usize| by_id.iter().map(move |ids| ids.get(k).copied().unwrap_or(u32::MAX));
        let ids: Vec<u32> = (0..layers).flat_map(layer).collect();
        Ok(Excluded { layers, ids: device.upload(&ids)? })
    }

    /// How many others an atom has at most: layers of all atoms' ids, by id.
    pub fn layers(&self) -> usize {
        self.layers
    }

    /// Where these are.
    pub fn address(&self) -> u64 {
        self.ids.address()
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        4 * self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.layers == 0
    }
}

/// How long a list should be for a homogeneous system; what is too short is found out by the
/// kernels.
pub fn estimate(density: f64, reach: f64, n_atoms: usize) -> usize {
    let mean = 4.0 / 3.0 * std::f64::consts::PI * reach.powi(3) * density;
    ((mean + 5.0 * mean.sqrt() + 8.0) as usize).clamp(1, n_atoms.max(1))
}

/// Room for what did not fit, with something to spare.
pub fn grown(rows: usize, control: &Control) -> usize {
    if control.trouble & trouble::ROWS_FULL == 0 {
        return rows;
    }
    (f64::from(control.need_rows) * 1.05) as usize + 1
}

impl List {
    /// Lists of so many rows for `n` atoms.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(
        device: &Device,
        module: &Module,
        n: usize,
        rows: usize,
        excluded: &Excluded,
        sums: Summation,
    ) -> Result<Self> {
        Ok(List {
            blocks: n.div_ceil(THREADS as usize).max(1) as u32,
            shares: sums.shares(n, THREADS),
            rows,
            build: module.kernel("build_list")?,
            forces: module.kernel("forces_list")?,
            energies: module.kernel("forces_list_energies")?,
            step: module.kernel("step_list")?,
            neighbor: device.alloc((n * rows).max(1))?,
            n_neighbor: device.alloc(n.max(1))?,
            excluded: excluded.clone(),
        })
    }
}

impl Search for List {
    fn name(&self) -> &'static str {
        "list"
    }

    fn attach(&self, world: &mut World) {
        world.neighbor_capacity = self.rows as i32;
        world.neighbor = self.neighbor.address();
        world.n_neighbor = self.n_neighbor.address();
        world.n_excluded = self.excluded.layers as i32;
        world.excluded = self.excluded.ids.address();
    }

    fn build(&self, world: &World, slot: i32) -> Vec<Launch> {
        vec![Launch::new(&self.build, self.blocks, THREADS).with_value(*world).with_value(slot)]
    }

    fn forces(&self, world: &World, slot: i32, when: When, evaluate: Evaluate) -> Vec<Launch> {
        let kernel = match evaluate {
            Evaluate::Forces => &self.forces,
            Evaluate::ForcesAndEnergies => &self.energies,
        };
        let launch = Launch::new(kernel, self.blocks, THREADS).with_value(*world);
        vec![launch.with_value(slot).with_value(when as i32)]
    }

    fn step(&self, world: &World, slot: i32) -> Option<Vec<Launch>> {
        Some(vec![Launch::new(&self.step, self.blocks, THREADS).with_value(*world).with_value(slot)])
    }

    fn pass(&self, kernel: &Kernel) -> Option<Launch> {
        Some(Launch::new(kernel, self.blocks, THREADS))
    }

    fn energy_blocks(&self) -> u32 {
        self.shares
    }

    fn bytes(&self) -> usize {
        4 * (self.neighbor.len() + self.n_neighbor.len()) + self.excluded.bytes()
    }
}
