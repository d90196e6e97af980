//! Block-local lists in shared memory (`kernels/tiles.cuh`, `tile_lists.cu`, `tiles.cu`): the fastest
//! algorithm for most systems.

use crate::device_data::{BoxGeometry, DeviceData, TileLists};
use crate::driver::{Buffer, Device, Kernel, Launch, Module};
use crate::kernels::{StepForces, TileShape, TileSize, WholeSteps};
use crate::list_capacity::{CLASSES, ListCapacity};
use crate::neighbor_engine::{NeighborEngine, SlotBefore, Trigger, list_contents};
use jostle_core::backend::ListContents;
use jostle_core::{Error, Evaluate, Precision, Result};
use jostle_potentials::Forces;

/// Kernels, lists and their capacity.
pub struct Tiles {
    shape: TileShape,
    /// Capacity for which there is memory, and the part of it that is used.
    allocated: ListCapacity,
    capacity: ListCapacity,
    blocks: u32,
    step_forces: StepForces,
    atom_bytes: usize,
    build: Kernel,
    forces: Kernel,
    energies: Kernel,
    step: Option<Kernel>,
    owned: Buffer<u64>,
    tile_atoms: Buffer<u32>,
    n_tile_atoms: Buffer<i32>,
    origin: Buffer<u64>,
    list: Buffer<u64>,
    n_rows: Buffer<i32>,
    own_order: Buffer<u8>,
    kind: Buffer<i32>,
}

impl Tiles {
    /// Tiles of a shape for the `n` atoms of this GPU, which take so many bytes each ([`atom_bytes`]).
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
        (steps, step_forces): (WholeSteps, StepForces),
    ) -> Result<Self> {
        let blocks = n.div_ceil(shape.atoms as usize) * shape.parts as usize;
        // Buffers are never empty, where a GPU has no atoms.
        let room = blocks.max(1);
        let warps = room * shape.threads() as usize / 32;
        let rows = row_stride(capacity);
        let tiles = Tiles {
            shape,
            allocated: capacity,
            capacity,
            blocks: blocks as u32,
            step_forces,
            atom_bytes,
            build: module.kernel("build_tiles")?,
            forces: module.kernel("forces_tiles")?,
            energies: module.kernel("forces_tiles_energies")?,
            step: steps.kernel(module, "step_tiles")?,
            owned: device.alloc(if shape.parts > 1 { room } else { 1 })?,
            tile_atoms: device.alloc(room * capacity.tile)?,
            n_tile_atoms: device.alloc(room)?,
            origin: device.alloc(room * 4)?,
            // Forces prefetch two rows ahead.
            list: device.alloc((warps * rows + 2) * 32)?,
            n_rows: device.alloc(warps)?,
            own_order: device.alloc(room * shape.atoms as usize)?,
            kind: device.alloc(room)?,
        };
        tiles.build.allow_shared(tiles.build_bytes())?;
        for kernel in [&tiles.forces, &tiles.energies].into_iter().chain(&tiles.step) {
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

    /// Launch that builds lists.
    fn build_at(&self, data: &DeviceData, slot: i32, trigger: Trigger) -> Launch {
        let launch = Launch::new(&self.build, self.blocks, self.shape.threads()).shared(self.build_bytes());
        launch.with_value(*data).with_value(slot).with_value(trigger as i32)
    }
}

/// Rows of a warp's list, and one for the prefetch.
fn row_stride(capacity: ListCapacity) -> usize {
    capacity.rows + 1
}

fn real4_bytes(precision: Precision) -> usize {
    match precision {
        Precision::Mixed => 16,
        Precision::Double => 32,
    }
}

/// Size in bytes of an atom of a tile: its position with the species, and its charge if charges have forces.
pub fn atom_bytes(precision: Precision, forces: &Forces) -> usize {
    let real4 = real4_bytes(precision);
    real4 + forces.electrostatics.map_or(0, |_| real4 / 4)
}

/// Shared memory for building: the tile in half precision (`Sketch` in `tile_gather.cuh`), and the neighbours of each warp
/// before they are listed (`Stage` in `tiles.cuh`).
fn build_bytes(shape: TileShape, capacity: ListCapacity) -> usize {
    let team = shape.team as usize;
    let (batch, number_bytes) = match shape.size {
        TileSize::Small => (8, 1),
        TileSize::Medium if shape.team == 8 => (4, 1),
        TileSize::Medium | TileSize::Large => (4, 2),
    };
    let one_word = shape.team == 8 && shape.size == TileSize::Small;
    let last = capacity.tile.div_ceil(CLASSES * team) - 1;
    let pairs_of_class =
        if one_word { 16 } else { last / 32 * 16 + (last % 32 / batch * batch + batch).min(16) };
    let sketch = CLASSES * pairs_of_class * team * 16;
    let stage = 4 * capacity.rows * 32 * number_bytes;
    sketch + shape.threads() as usize / 32 * stage
}

/// Shared memory that kernels of tiles have besides, at most.
const FIXED_SHARED: usize = 5 * 1024;

/// Checks that a device can have such tiles.
///
/// # Errors
/// If tiles need more shared memory than a block can have.
pub fn check(device: &Device, atom_bytes: usize, shape: TileShape, capacity: ListCapacity) -> Result<()> {
    let wanted = build_bytes(shape, capacity).max(capacity.tile * atom_bytes);
    let most = device.shared_memory().saturating_sub(FIXED_SHARED);
    if wanted > most {
        return Err(Error::device(format!(
            "tiles of {} atoms need {wanted} bytes of shared memory, a block has {most}",
            capacity.tile
        ))
        .hint("set algorithm = \"list\", or use a shorter cut-off"));
    }
    Ok(())
}

/// Size class of tiles of such a capacity.
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
            kind: self.kind.address(),
        };
    }

    fn tighten(&mut self, capacity: ListCapacity) {
        self.capacity = capacity;
    }

    fn holds(&self, capacity: ListCapacity) -> bool {
        capacity.tile <= self.allocated.tile && capacity.rows <= self.allocated.rows
    }

    fn build(&self, data: &DeviceData, slot: i32) -> Vec<Launch> {
        vec![self.build_at(data, slot, Trigger::Build)]
    }

    fn build_rest(&self, data: &DeviceData, slot: i32, trigger: Trigger) -> Option<Launch> {
        let lacks = self.step_forces == StepForces::OnFreeAtoms && trigger != Trigger::Step;
        lacks.then(|| self.build_at(data, slot, trigger))
    }

    fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch> {
        let kernel = match evaluate {
            Evaluate::Forces => &self.forces,
            Evaluate::ForcesAndEnergies => &self.energies,
        };
        let launch = Launch::new(kernel, self.blocks, self.shape.threads()).shared(self.tile_bytes());
        let forces = launch.with_value(*data).with_value(slot).with_value(trigger as i32);
        self.build_rest(data, slot, trigger).into_iter().chain([forces]).collect()
    }

    fn step(&self, data: &DeviceData, slot: i32, _: SlotBefore) -> Option<Vec<Launch>> {
        // A block at least, to go on to the next slot without atoms, too.
        let blocks = self.blocks.max(1);
        let launch = Launch::new(self.step.as_ref()?, blocks, self.shape.threads()).shared(self.tile_bytes());
        Some(vec![launch.with_value(*data).with_value(slot)])
    }

    fn samples(&self) -> bool {
        self.step_forces == StepForces::OnAllAtoms
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

    fn contents(&self) -> Result<Vec<ListContents>> {
        let (blocks, warps) =
            (self.blocks as usize, self.blocks as usize * self.shape.threads() as usize / 32);
        let tiles = self.n_tile_atoms.to_vec()?;
        let rows = self.n_rows.to_vec()?;
        Ok(vec![
            list_contents("atoms of a tile", &tiles[..blocks], self.capacity.tile),
            list_contents("rows of a warp's list", &rows[..warps], self.capacity.rows),
        ])
    }

    fn bytes(&self) -> usize {
        4 * (self.tile_atoms.len() + self.n_tile_atoms.len() + self.n_rows.len())
            + self.own_order.len()
            + 4 * self.kind.len()
            + 8 * (self.owned.len() + self.list.len() + self.origin.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tiles leave shared memory for what their kernels have besides.
    #[test]
    fn tiles_leave_room_for_fixed_memory() {
        let device = Device::emulated().unwrap();
        let shape = TileShape { atoms: 32, team: 1, parts: 1, size: TileSize::Large, resident: 0 };
        let fits = |free: usize| {
            let tile = (device.shared_memory() - free) / 16;
            check(&device, 16, shape, ListCapacity { tile, rows: 1 }).is_ok()
        };
        assert_eq!([0, FIXED_SHARED / 2, FIXED_SHARED].map(fits), [false, false, true]);
    }
}
