//! Layout of the work on the device: tiles, and the number of steps that are recorded at a time.

use super::extent::Extent;
use crate::kernels::TileShape;
use jostle_core::System;
use jostle_potentials::Forces;
use std::f64::consts::PI;

/// Number of neighbours of an atom above which a list is long.
pub const LONG_LIST: f64 = 150.0;

/// Layout of the work on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Shape of the tiles.
    pub shape: TileShape,
    /// Step slots between two checks of the list, to begin with.
    pub slots_per_look: u32,
}

impl Layout {
    /// Layout for a system that is divided among so many GPUs.
    pub fn of_system(system: &System, forces: &Forces, gpus: usize, multiprocessors: u32) -> Self {
        let n = system.state.len().div_ceil(gpus);
        Self::for_atoms(n, neighbors(system, forces), multiprocessors)
    }

    /// Layout for a system of which so many replicas share a GPU.
    pub fn of_replicas(system: &System, forces: &Forces, replicas: usize, multiprocessors: u32) -> Self {
        let n = system.state.len() * replicas;
        Self::for_atoms(n, neighbors(system, forces), multiprocessors)
    }

    /// Layout for so many atoms, each with so many others within the cut-off: large tiles where there are
    /// enough to fill the device, several threads an atom where there are not, and where lists are long: the
    /// lists that few threads are making would fill a block's memory.
    pub(super) fn for_atoms(n: usize, neighbors: f64, multiprocessors: u32) -> Self {
        let per_multiprocessor = n / multiprocessors.max(1) as usize;
        let (atoms, team) = match per_multiprocessor {
            0..48 => (32, 8),
            48..128 => (64, 4),
            128..512 => (128, 2),
            _ => (128, 1),
        };
        let (atoms, team) = if neighbors < LONG_LIST { (atoms, team) } else { (32, 8) };
        let shape = TileShape::new(atoms, team).for_atoms(n, multiprocessors);
        Layout { shape, slots_per_look: 8 }
    }

    /// This layout with blocks that suit a box: those that are too large for it are found by the first list, and kernels
    /// compiled once more; most can be told before.
    pub(super) fn in_box(mut self, extent: Extent) -> Self {
        while !extent.has_room_for_turns(self.shape.atoms)
            && let Some(smaller) = self.shape.halved()
        {
            self.shape = smaller;
        }
        // Blocks of the smallest size turn, too, and are divided where there is no room for that.
        if !extent.has_room_for_turns(self.shape.atoms) && extent.has_room_for(self.shape.atoms) {
            self.shape.parts = 2;
        }
        self
    }
}

/// Number of others within the largest cut-off of an atom.
fn neighbors(system: &System, forces: &Forces) -> f64 {
    let reached = 4.0 / 3.0 * PI * forces.largest_cutoff().powi(3) / system.simbox.volume();
    reached * system.state.len() as f64
}
