//! All pairs of atoms (`kernels/all_pairs.cu`): for forces that reach across the box.

use crate::device_data::{AtomGroups, DeviceData};
use crate::driver::{Buffer, Device, Kernel, Launch, Module};
use crate::neighbor_engine::{NeighborEngine, SlotBefore, Trigger};
use jostle_core::{Error, Evaluate, Precision, Result};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Number of atoms of a group.
pub const GROUP: usize = 32;
/// Threads of the blocks that arrange groups, as in `all_pairs.cu`.
const GROUP_THREADS: usize = 256;
/// Most bytes for shares of forces; with more, they are summed in several passes.
const MOST_SHARES: usize = 1 << 30;

/// Tiles for which the kernels are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairShape {
    /// Number of warps of a block.
    pub warps: usize,
    /// Number of atoms of a lane.
    pub rows: usize,
    /// Number of parts of a tile that different blocks take: a divisor of `warps * rows`.
    pub parts: usize,
}

impl PairShape {
    /// Small tiles where there would be too few large ones to fill a GPU, and keep it full until
    /// the last of them is done.
    pub fn for_atoms(n: usize) -> Self {
        let (warps, rows, parts) = match n {
            0..2048 => (4, 1, 4),
            2048..6144 => (4, 1, 2),
            6144..16_384 => (2, 2, 1),
            16_384..40_960 => (4, 4, 2),
            _ => (4, 4, 4),
        };
        PairShape { warps, rows, parts }
    }

    /// Shapes of which one might be faster than this one: lanes with as many atoms, half or twice as many.
    pub fn near(usual: Self) -> impl Iterator<Item = Self> {
        let all = [(4, 1, 4), (4, 1, 2), (2, 1, 1), (2, 2, 1), (4, 2, 2), (2, 4, 1), (4, 4, 2), (4, 4, 4)];
        let shapes = all.into_iter().map(|(warps, rows, parts)| PairShape { warps, rows, parts });
        shapes.filter(move |shape| shape.rows <= 2 * usual.rows && usual.rows <= 2 * shape.rows)
    }

    /// Options for the compiler. Registers are limited for so many threads of a multiprocessor that each can
    /// hold its atoms.
    pub fn options(&self, precision: Precision) -> [String; 4] {
        let threads = match self.rows {
            1 => 1024,
            2 => 768,
            3..=4 => 640,
            _ => 384,
        };
        let resident = match precision {
            Precision::Mixed => threads,
            Precision::Double => threads / 2,
        };
        [
            format!("-DPAIR_WARPS={}", self.warps),
            format!("-DPAIR_ROWS={}", self.rows),
            format!("-DPAIR_PARTS={}", self.parts),
            format!("-DRESIDENT={}", resident.max(32 * self.warps)),
        ]
    }

    fn groups(&self) -> usize {
        self.warps * self.rows
    }

    fn atoms(&self) -> usize {
        GROUP * self.groups()
    }
}

impl fmt::Display for PairShape {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}:{}", self.warps, self.rows, self.parts)
    }
}

impl FromStr for PairShape {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers: Vec<usize> = text.split(':').filter_map(|number| number.parse().ok()).collect();
        match numbers[..] {
            [warps @ 1..=32, rows @ 1..=8, parts @ 1..=256] if (warps * rows).is_multiple_of(parts) => {
                Ok(PairShape { warps, rows, parts })
            }
            _ => Err(Error::input(format!("'{text}' is no shape of pair tiles"))
                .hint("warps:rows:parts, such as 4:2:2; parts divides the product of the other two")),
        }
    }
}

/// Kernels, groups of atoms, and shares of forces.
pub struct AllPairs {
    shape: PairShape,
    n: usize,
    tiles: usize,
    /// Number of the tiles after it with which each tile is paired in one pass.
    pass: usize,
    /// Tiles after it, by number, with which this GPU pairs each tile.
    circle: Range<usize>,
    real: usize,
    arrange: Kernel,
    forces: Kernel,
    energies: Kernel,
    add: Kernel,
    advance: Kernel,
    /// Centres, half edges and atoms of groups, in units of 16 bytes.
    center: Buffer<[f32; 4]>,
    extent: Buffer<[f32; 4]>,
    relative: Buffer<[f32; 4]>,
    share: Buffer<f32>,
}

impl AllPairs {
    /// Groups of `n` atoms, with kernels compiled for a shape. Of all pairs, GPU `rank` of `gpus` takes a part.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(
        device: &Device,
        module: &Module,
        precision: Precision,
        shape: PairShape,
        n: usize,
        [rank, gpus]: [usize; 2],
    ) -> Result<Self> {
        // Size of a number, in units of single precision.
        let real = match precision {
            Precision::Mixed => 1,
            Precision::Double => 2,
        };
        let tiles = n.div_ceil(shape.atoms()).max(1);
        let groups = tiles * shape.groups();
        let all = tiles / 2 + 1;
        let circle = all * rank / gpus..all * (rank + 1) / gpus;
        let per_tile = (shape.parts + 1) * 3 * n.max(1) * real;
        let pass = (MOST_SHARES / (4 * per_tile)).clamp(1, circle.len().max(1));
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
            advance: module.kernel("advance_groups")?,
            center: device.alloc(groups * real)?,
            extent: device.alloc(groups * real)?,
            relative: device.alloc(groups * GROUP * real)?,
            share: device.alloc(pass * per_tile)?,
        };
        for kernel in [&all_pairs.forces, &all_pairs.energies] {
            kernel.allow_shared(all_pairs.shared_bytes())?;
        }
        Ok(all_pairs)
    }

    /// Shared memory: a part of a tile, twice, and the forces of each warp on it.
    fn shared_bytes(&self) -> usize {
        4 * self.real * self.shape.atoms() / self.shape.parts * (2 * 4 + 3 * self.shape.warps)
    }

    /// Number of places for atoms, empty ones included.
    fn places(&self) -> usize {
        self.tiles * self.shape.atoms()
    }

    fn arrange(&self, data: &DeviceData, slot: i32, trigger: Trigger) -> Launch {
        Launch::new(&self.arrange, self.places().div_ceil(GROUP_THREADS) as u32, GROUP_THREADS as u32)
            .with_value(*data)
            .with_value(slot)
            .with_value(trigger as i32)
    }

    /// Launches that compute shares of all forces, and add them up but for those of the last pass; range of
    /// tiles of that pass.
    fn shares(
        &self,
        kernel: &Kernel,
        data: &DeviceData,
        slot: i32,
        trigger: Trigger,
    ) -> (Vec<Launch>, [i32; 2]) {
        let mut launches = Vec::new();
        let mut range = [self.circle.start as i32, 0];
        for first in self.circle.clone().step_by(self.pass) {
            if first > self.circle.start {
                launches.push(self.add(data, slot, trigger, range));
            }
            let count = self.pass.min(self.circle.end - first);
            range = [first as i32, count as i32];
            let blocks = self.tiles * count * self.shape.parts;
            let launch = Launch::new(kernel, blocks as u32, 32 * self.shape.warps as u32)
                .shared(self.shared_bytes())
                .with_value(*data)
                .with_value(slot)
                .with_value(trigger as i32);
            launches
                .push(launch.with_value(range[0]).with_value(range[1]).with_value(self.circle.start as i32));
        }
        (launches, range)
    }

    fn add(&self, data: &DeviceData, slot: i32, trigger: Trigger, [first, count]: [i32; 2]) -> Launch {
        Launch::new(&self.add, self.n.div_ceil(GROUP).max(1) as u32, GROUP_THREADS as u32)
            .with_value(*data)
            .with_value(slot)
            .with_value(trigger as i32)
            .with_value(first)
            .with_value(count)
            .with_value(self.circle.start as i32)
    }
}

impl NeighborEngine for AllPairs {
    fn name(&self) -> &'static str {
        "all-pairs"
    }

    fn attach(&self, data: &mut DeviceData) {
        data.groups = AtomGroups {
            center: self.center.address(),
            extent: self.extent.address(),
            relative: self.relative.address(),
            share: self.share.address(),
        };
    }

    fn build(&self, _data: &DeviceData, _slot: i32) -> Vec<Launch> {
        Vec::new()
    }

    fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch> {
        let kernel = match evaluate {
            Evaluate::Forces => &self.forces,
            Evaluate::ForcesAndEnergies => &self.energies,
        };
        let (shares, last) = self.shares(kernel, data, slot, trigger);
        let mut launches = vec![self.arrange(data, slot, trigger)];
        launches.extend(shares);
        launches.push(self.add(data, slot, trigger, last));
        launches
    }

    fn step(&self, data: &DeviceData, slot: i32, before: SlotBefore) -> Option<Vec<Launch>> {
        // A step leaves the groups of the next slot, at positions at which these atoms stay.
        let are_left = slot > 0 && before == SlotBefore::Step;
        let mut launches = Vec::from_iter((!are_left).then(|| self.arrange(data, slot, Trigger::Step)));
        let (shares, [first, count]) = self.shares(&self.forces, data, slot, Trigger::Step);
        launches.extend(shares);
        // One block for each group, those without atoms included.
        let blocks = (self.tiles * self.shape.groups()) as u32;
        let advance = Launch::new(&self.advance, blocks, GROUP_THREADS as u32)
            .with_value(*data)
            .with_value(slot)
            .with_value(first)
            .with_value(count)
            .with_value(self.circle.start as i32);
        launches.push(advance);
        Some(launches)
    }

    fn energy_blocks(&self) -> u32 {
        (self.tiles * self.circle.len() * self.shape.parts) as u32
    }

    fn bytes(&self) -> usize {
        16 * (self.center.len() + self.extent.len() + self.relative.len()) + 4 * self.share.len()
    }
}
