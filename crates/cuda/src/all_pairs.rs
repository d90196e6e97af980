//! Every pair of atoms (`kernels/all_pairs.cu`): for forces that reach across the box.

use crate::driver::{Buffer, Device, Kernel, Launch, Module};
use crate::search::{Search, When};
use crate::world::World;
use jostle_core::{Evaluate, Precision, Result};

/// Atoms of a group.
pub const GROUP: usize = 32;
/// Threads of the blocks that arrange groups and add forces, as in `all_pairs.cu`.
const GROUP_THREADS: usize = 128;
/// Most bytes for forces waiting to be added up; beyond, the work is done in several passes.
const MOST_SHARES: usize = 1 << 30;

/// The tiles that the kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairShape {
    /// Warps of a block.
    pub warps: usize,
    /// Atoms of a lane.
    pub rows: usize,
}

impl PairShape {
    /// Small tiles where there would be too few large ones to fill a GPU, and keep it full until
    /// the last of them is done.
    pub fn for_atoms(n: usize) -> Self {
        let (warps, rows) = match n {
            0..2048 => (1, 1),
            2048..6144 => (4, 1),
            6144..24_576 => (2, 2),
            24_576..65_536 => (2, 4),
            _ => (4, 4),
        };
        PairShape { warps, rows }
    }

    /// What the compiler has to know of it.
    pub fn options(&self) -> [String; 2] {
        [format!("-DPAIR_WARPS={}", self.warps), format!("-DPAIR_ROWS={}", self.rows)]
    }

    fn atoms(&self) -> usize {
        GROUP * self.warps * self.rows
    }
}

/// The kernels, groups of atoms, and forces to be added up.
pub struct AllPairs {
    shape: PairShape,
    n: usize,
    tiles: usize,
    /// How many of the tiles after it each tile meets in one pass, and in all.
    pass: usize,
    circle: usize,
    real: usize,
    arrange: Kernel,
    forces: Kernel,
    energies: Kernel,
    add: Kernel,
    /// In units of 16 bytes.
    center: Buffer<[f32; 4]>,
    extent: Buffer<[f32; 4]>,
    relative: Buffer<[f32; 4]>,
    share: Buffer<f32>,
}

impl AllPairs {
    /// For `n` atoms, with kernels compiled for a shape.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(
        device: &Device,
        module: &Module,
        precision: Precision,
        shape: PairShape,
        n: usize,
    ) -> Result<Self> {
        // In units of single precision.
        let real = match precision {
            Precision::Mixed => 1,
            Precision::Double => 2,
        };
        let (groups, tiles) = (n.div_ceil(GROUP).max(1), n.div_ceil(shape.atoms()).max(1));
        let circle = tiles / 2 + 1;
        let per_tile = 2 * 3 * n.max(1) * real;
        let pass = (MOST_SHARES / (4 * per_tile)).clamp(1, circle);
        let all_pairs = AllPairs {
            shape,
            n,
            tiles,
            pass,
            circle,
            real,
            arrange: module.kernel("arrange_groups")?,
            forces: module.kernel("forces_all_pairs")?,
            energies: module.kernel("forces_all_pairs_energies")?,
            add: module.kernel("add_forces")?,
            center: device.alloc(groups * real)?,
            extent: device.alloc(groups * real)?,
            relative: device.alloc(n.max(1) * real)?,
            share: device.alloc(pass * per_tile)?,
        };
        for kernel in [&all_pairs.forces, &all_pairs.energies] {
            kernel.allow_shared(all_pairs.shared_bytes())?;
        }
        Ok(all_pairs)
    }

    /// A tile, and what it has felt from each warp.
    fn shared_bytes(&self) -> usize {
        4 * self.real * self.shape.atoms() * (4 + 3 * self.shape.warps)
    }
}

impl Search for AllPairs {
    fn name(&self) -> &'static str {
        "all-pairs"
    }

    fn attach(&self, world: &mut World) {
        world.center = self.center.address();
        world.extent = self.extent.address();
        world.relative = self.relative.address();
        world.share = self.share.address();
    }

    fn build(&self, _world: &World, _slot: i32) -> Vec<Launch> {
        Vec::new()
    }

    fn forces(&self, world: &World, slot: i32, when: When, evaluate: Evaluate) -> Vec<Launch> {
        let kernel = match evaluate {
            Evaluate::Forces => &self.forces,
            Evaluate::ForcesAndEnergies => &self.energies,
        };
        let launch = |kernel: &Kernel, blocks: usize, threads: usize| {
            let launch = Launch::new(kernel, blocks as u32, threads as u32).with_value(*world);
            launch.with_value(slot).with_value(when as i32)
        };
        let mut launches = vec![launch(&self.arrange, self.n.div_ceil(GROUP_THREADS).max(1), GROUP_THREADS)];
        for first in (0..self.circle).step_by(self.pass) {
            let count = self.pass.min(self.circle - first);
            let range = |launch: Launch| launch.with_value(first as i32).with_value(count as i32);
            let meet = launch(kernel, self.tiles * count, 32 * self.shape.warps).shared(self.shared_bytes());
            launches.push(range(meet));
            launches.push(range(launch(
                &self.add,
                (3 * self.n).div_ceil(GROUP_THREADS).max(1),
                GROUP_THREADS,
            )));
        }
        launches
    }

    fn step(&self, _world: &World, _slot: i32) -> Option<Vec<Launch>> {
        None
    }

    fn energy_blocks(&self) -> u32 {
        (self.tiles * self.circle) as u32
    }

    fn bytes(&self) -> usize {
        16 * (self.center.len() + self.extent.len() + self.relative.len()) + 4 * self.share.len()
    }
}
