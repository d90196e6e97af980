//! Block-local lists in shared memory (`kernels/tiles.cuh`, `tile_lists.cu`, `tiles.cu`): the fast path.

use crate::device_data::{BoxGeometry, Control, DeviceData, TileLists, faults};
use crate::driver::{Buffer, Device, Kernel, Launch, Module};
use crate::kernels::{TileShape, TileSize};
use crate::neighbor_engine::{NeighborEngine, Trigger};
use jostle_core::{Error, Evaluate, Precision, Result};
use jostle_potentials::Forces;

/// Bank classes and dummies, as in `tiles.cuh`.
const CLASSES: usize = 8;

/// The largest capacity of small tiles.
const MOST_SMALL: usize = TileSize::MOST_SMALL / (2 * CLASSES) * (2 * CLASSES);

/// The capacity of the lists of tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListCapacity {
    /// Atoms in a tile, dummies and own atoms included.
    pub tile: usize,
    /// Rows of four slots in a warp's list.
    pub rows: usize,
}

impl ListCapacity {
    /// What should do for a homogeneous system; what does not is found out by the kernels.
    pub fn estimate(shape: TileShape, density: f64, reach: f64, n_atoms: usize) -> Self {
        let pi = std::f64::consts::PI;
        let edge = (f64::from(shape.atoms) / density).cbrt();
        // A cube of atoms and everything within reach of it; half as much again for blocks that
        // turn from one column into the next.
        let around = edge.powi(3)
            + 6.0 * edge * edge * reach
            + 3.0 * pi * edge * reach * reach
            + 4.0 / 3.0 * pi * reach.powi(3);
        let tile = (1.5 * density * around).min(n_atoms as f64) as usize + shape.atoms as usize;
        // Where as many threads have an atom as there are classes its neighbours are dealt out to them
        // evenly; else each has those that it has found.
        let neighbors = 4.0 / 3.0 * pi * reach.powi(3) * density;
        let threads = f64::from(shape.team);
        let (found, dealt) =
            if shape.team == CLASSES as u32 { (neighbors, threads) } else { (neighbors / threads, 1.0) };
        let slots = (1.2 * found + 8.0 * found.sqrt()) / dealt;
        ListCapacity { tile: tile + CLASSES, rows: slots as usize / 4 + 4 }.rounded()
    }

    /// The same where tiles are small without what is to spare, so much of all: small ones are made faster,
    /// and if that was too little kernels find it out.
    pub fn small_without(self, spare: f64) -> Self {
        let fits = self.tile as f64 * (1.0 - spare) <= MOST_SMALL as f64;
        ListCapacity { tile: if fits { self.tile.min(MOST_SMALL) } else { self.tile }, ..self }
    }

    /// The capacity of lists that reach less far or further than those that were made of late, which needed what
    /// the device says: so much less or more as estimates of both, with something to spare.
    pub fn scaled(control: &Control, before: Self, after: Self) -> Self {
        let scaled = |needed: i32, before: usize, after: usize| {
            (f64::from(needed) * 1.05 * after as f64 / before.max(1) as f64) as usize
        };
        ListCapacity {
            tile: scaled(control.largest_tile, before.tile, after.tile) + 8,
            rows: scaled(control.most_rows, before.rows, after.rows) + 2,
        }
        .rounded()
        .small_without(0.05)
    }

    /// The capacity that lists needed of late, with little to spare: what a tile occupies decides how
    /// many of them a multiprocessor has at a time. `None` if it is tight enough.
    pub fn tightened(self, control: &Control) -> Option<Self> {
        let enough = ListCapacity {
            tile: control.largest_tile as usize * 102 / 100 + 8,
            rows: control.most_rows as usize * 105 / 100 + 1,
        }
        .rounded();
        let enough = ListCapacity { tile: enough.tile.min(self.tile), rows: enough.rows.min(self.rows) };
        let loose = enough.tile * 11 / 10 <= self.tile || enough.rows * 12 / 10 <= self.rows;
        (control.largest_tile > 0 && loose).then_some(enough)
    }

    fn rounded(self) -> Self {
        ListCapacity { tile: self.tile.next_multiple_of(2 * CLASSES), ..self }
    }

    /// A capacity for what did not fit, with something to spare: but not so much that tiles could not be small, if
    /// that was not tried yet.
    pub fn grown(self, control: &Control) -> Self {
        let more = |flag: i32, wanted: i32, now: usize| match control.faults & flag {
            0 => now,
            _ => now.max((f64::from(wanted) * 1.05) as usize + 1),
        };
        let tile = more(faults::TILE_FULL, control.need_tile, self.tile);
        let small = self.tile < MOST_SMALL && control.need_tile as usize + CLASSES <= MOST_SMALL;
        ListCapacity {
            tile: if small { tile.min(MOST_SMALL) } else { tile },
            rows: more(faults::ROWS_FULL, control.need_rows, self.rows),
        }
        .rounded()
    }
}

/// The kernels, the lists and their capacity.
pub struct Tiles {
    shape: TileShape,
    /// What there is memory for, and how much of it is used.
    allocated: ListCapacity,
    capacity: ListCapacity,
    blocks: u32,
    atom_bytes: usize,
    build: Kernel,
    forces: Kernel,
    energies: Kernel,
    step: Kernel,
    owned: Buffer<u64>,
    tile_atoms: Buffer<u32>,
    n_tile_atoms: Buffer<i32>,
    origin: Buffer<u64>,
    list: Buffer<u64>,
    n_rows: Buffer<i32>,
    own_order: Buffer<u8>,
}

impl Tiles {
    /// Tiles of a shape for `n` atoms, which take so many bytes each ([`atom_bytes`]).
    ///
    /// # Errors
    /// If there is not enough memory, on the device or shared by a block.
    pub fn new(
        device: &Device,
        module: &Module,
        atom_bytes: usize,
        shape: TileShape,
        capacity: ListCapacity,
        n: usize,
    ) -> Result<Self> {
        let blocks = n.div_ceil(shape.atoms as usize).max(1) * shape.parts as usize;
        let warps = blocks * shape.threads() as usize / 32;
        let rows = row_stride(capacity);
        let tiles = Tiles {
            shape,
            allocated: capacity,
            capacity,
            blocks: blocks as u32,
            atom_bytes,
            build: module.kernel("build_tiles")?,
            forces: module.kernel("forces_tiles")?,
            energies: module.kernel("forces_tiles_energies")?,
            step: module.kernel("step_tiles")?,
            owned: device.alloc(if shape.parts > 1 { blocks } else { 1 })?,
            tile_atoms: device.alloc(blocks * capacity.tile)?,
            n_tile_atoms: device.alloc(blocks)?,
            origin: device.alloc(blocks * 4)?,
            // The forces look two rows ahead.
            list: device.alloc((warps * rows + 2) * 32)?,
            n_rows: device.alloc(warps)?,
            own_order: device.alloc(blocks * shape.atoms as usize)?,
        };
        tiles.build.allow_shared(tiles.build_bytes())?;
        for kernel in [&tiles.forces, &tiles.energies, &tiles.step] {
            kernel.allow_shared(tiles.tile_bytes())?;
        }
        Ok(tiles)
    }

    /// Shared memory of a tile.
    fn tile_bytes(&self) -> usize {
        self.capacity.tile * self.atom_bytes
    }

    /// Shared memory of a tile with one number more for each atom.
    fn pass_bytes(&self) -> usize {
        self.tile_bytes() + self.capacity.tile * self.atom_bytes / 4
    }

    /// Shared memory for building.
    fn build_bytes(&self) -> usize {
        build_bytes(self.shape, self.capacity)
    }
}

/// Rows of a warp's list, and one to look ahead to.
fn row_stride(capacity: ListCapacity) -> usize {
    capacity.rows + 1
}

fn real4_bytes(precision: Precision) -> usize {
    match precision {
        Precision::Mixed => 16,
        Precision::Double => 32,
    }
}

/// Bytes that an atom of a tile takes: its place with the species, and its charge if charges have
/// forces.
pub fn atom_bytes(precision: Precision, forces: &Forces) -> usize {
    let real4 = real4_bytes(precision);
    real4 + forces.electrostatics.map_or(0, |_| real4 / 4)
}

/// The tile in half precision, lists of each warp.
fn build_bytes(shape: TileShape, capacity: ListCapacity) -> usize {
    let team = shape.team as usize;
    let sketch = CLASSES * capacity.tile.div_ceil(256 * team) * 16 * team * 16;
    let stage = 4 * capacity.rows * 32 * if shape.size == TileSize::Small { 1 } else { 2 };
    sketch + shape.threads() as usize / 32 * stage
}

/// Whether such tiles can be on a device at all.
///
/// # Errors
/// If they need more shared memory than a block can have.
pub fn check(device: &Device, atom_bytes: usize, shape: TileShape, capacity: ListCapacity) -> Result<()> {
    let wanted = build_bytes(shape, capacity).max(capacity.tile * atom_bytes);
    let most = device.shared_memory();
    if wanted > most {
        return Err(Error::device(format!(
            "tiles of {} atoms need {wanted} bytes of shared memory, a block has {most}",
            capacity.tile
        ))
        .hint("set algorithm = \"list\", or use a shorter cut-off"));
    }
    Ok(())
}

/// How large tiles of such a capacity are.
pub fn size(precision: Precision, capacity: ListCapacity) -> TileSize {
    TileSize::of(capacity.tile, real4_bytes(precision))
}

/// Divides the box into columns as wide as a tile of atoms is long, and those into bins of two
/// atoms or so.
pub fn divide(geometry: &mut BoxGeometry, atoms: u32, density: f64) {
    let edge = (f64::from(atoms) / density).cbrt();
    let across = |k: usize, edge: f64| (geometry.width[k] / edge).round().clamp(1.0, 1024.0);
    let (x, y) = (across(0, edge), across(1, edge));
    let column = geometry.width[0] / x * (geometry.width[1] / y);
    let thickness = 2.0 / density / column;
    let most = f64::from(1 << 28) / (x * y);
    geometry.columns = [x as i32, y as i32];
    geometry.bins = (geometry.width[2] / thickness).clamp(1.0, most) as i32;
}

impl NeighborEngine for Tiles {
    fn name(&self) -> &'static str {
        "tiles"
    }

    fn attach(&self, data: &mut DeviceData) {
        data.tiles = TileLists {
            capacity: self.capacity.tile as i32,
            row_capacity: self.capacity.rows as i32,
            stride: self.allocated.tile as i32,
            row_stride: row_stride(self.allocated) as i32,
            owned: self.owned.address(),
            atoms: self.tile_atoms.address(),
            n_atoms: self.n_tile_atoms.address(),
            origin: self.origin.address(),
            list: self.list.address(),
            n_rows: self.n_rows.address(),
            own_order: self.own_order.address(),
        };
    }

    fn tighten(&mut self, capacity: ListCapacity) {
        self.capacity = capacity;
    }

    fn holds(&self, capacity: ListCapacity) -> bool {
        capacity.tile <= self.allocated.tile && capacity.rows <= self.allocated.rows
    }

    fn build(&self, data: &DeviceData, slot: i32) -> Vec<Launch> {
        let launch = Launch::new(&self.build, self.blocks, self.shape.threads()).shared(self.build_bytes());
        vec![launch.with_value(*data).with_value(slot)]
    }

    fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch> {
        let kernel = match evaluate {
            Evaluate::Forces => &self.forces,
            Evaluate::ForcesAndEnergies => &self.energies,
        };
        let launch = Launch::new(kernel, self.blocks, self.shape.threads()).shared(self.tile_bytes());
        vec![launch.with_value(*data).with_value(slot).with_value(trigger as i32)]
    }

    fn step(&self, data: &DeviceData, slot: i32) -> Option<Vec<Launch>> {
        let launch = Launch::new(&self.step, self.blocks, self.shape.threads()).shared(self.tile_bytes());
        Some(vec![launch.with_value(*data).with_value(slot)])
    }

    fn samples(&self) -> bool {
        true
    }

    fn pass(&self, kernel: &Kernel) -> Option<Launch> {
        Some(Launch::new(kernel, self.blocks, self.shape.threads()).shared(self.pass_bytes()))
    }

    fn allow(&self, kernel: &Kernel) -> Result<()> {
        kernel.allow_shared(self.pass_bytes())
    }

    fn energy_blocks(&self) -> u32 {
        self.blocks
    }

    fn bytes(&self) -> usize {
        4 * (self.tile_atoms.len() + self.n_tile_atoms.len() + self.n_rows.len())
            + self.own_order.len()
            + 8 * (self.owned.len() + self.list.len() + self.origin.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_grow_beyond_small_ones_only_where_they_must() {
        let grown = |tile: usize, need_tile: i32| {
            let control = Control { faults: faults::TILE_FULL, need_tile, ..Control::new() };
            ListCapacity { tile, rows: 20 }.grown(&control).tile
        };
        assert_eq!([grown(1696, 1857), grown(1792, 1987), grown(1904, 2016)], [1952, 2032, 2032]);
        assert_eq!([grown(1904, 2046), grown(2032, 2020)], [2160, 2128]);
    }
}
