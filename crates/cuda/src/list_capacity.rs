//! Capacity of the lists of tiles: estimated, grown where something did not fit, tightened where less will do.

use crate::device_data::{Control, faults};
use crate::kernels::{TileShape, TileSize};

/// Number of bank classes, and of dummies, as in `tiles.cuh`.
pub const CLASSES: usize = 8;

/// Largest capacity of small tiles.
const MOST_SMALL: usize = TileSize::MOST_SMALL / (2 * CLASSES) * (2 * CLASSES);

/// Capacity of the lists of tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListCapacity {
    /// Number of atoms in a tile, dummies and own atoms included.
    pub tile: usize,
    /// Number of rows of four slots in a warp's list.
    pub rows: usize,
}

impl ListCapacity {
    /// Estimate for a homogeneous system; kernels report where it is too small.
    pub fn estimate(shape: TileShape, density: f64, reach: f64, n_atoms: usize) -> Self {
        let pi = std::f64::consts::PI;
        let edge = (f64::from(shape.atoms) / density).cbrt();
        // Volume of a cube of atoms and everything within reach of it; half as much again for blocks that
        // turn from one column into the next.
        let around = edge.powi(3)
            + 6.0 * edge * edge * reach
            + 3.0 * pi * edge * reach * reach
            + 4.0 / 3.0 * pi * reach.powi(3);
        let near_box = (1.5 * density * around).min(n_atoms as f64) as usize + shape.atoms as usize;
        // Volume of a sphere around one that is as large as the cube.
        let near_atoms = 1.3 * density * 4.0 / 3.0 * pi * (0.62 * edge + reach).powi(3);
        let tile = match shape.gathers_near_atoms() {
            true => near_box.min((near_atoms as usize).max(MOST_SMALL - CLASSES)),
            false => near_box,
        };
        // Neighbours are dealt out evenly to the threads of an atom where these are as many as there are
        // classes; else each thread has those that it has found.
        let neighbors = 4.0 / 3.0 * pi * reach.powi(3) * density;
        let threads = f64::from(shape.team);
        let (found, dealt) =
            if shape.team == CLASSES as u32 { (neighbors, threads) } else { (neighbors / threads, 1.0) };
        let slots = (1.2 * found + 8.0 * found.sqrt()) / dealt;
        ListCapacity { tile: tile + CLASSES, rows: slots as usize / 4 + 4 }.rounded()
    }

    /// Small tiles where tiles are small without the spare part of the estimate: small ones are faster, and
    /// kernels report where they are too small.
    pub fn small_without(self, spare: f64) -> Self {
        let fits = self.tile as f64 * (1.0 - spare) <= MOST_SMALL as f64;
        ListCapacity { tile: if fits { self.tile.min(MOST_SMALL) } else { self.tile }, ..self }
    }

    /// Capacity of lists with another reach than recent ones, whose needs the device reports: larger or
    /// smaller by the ratio of the estimates of both, with something to spare. Tiles that can do with the atoms near
    /// those of a block stay small.
    pub fn scaled(shape: TileShape, control: &Control, before: Self, after: Self) -> Self {
        let scaled = |needed: i32, before: usize, after: usize| {
            (f64::from(needed) * 1.05 * after as f64 / before.max(1) as f64) as usize
        };
        let tile = scaled(control.largest_tile, before.tile, after.tile) + 8;
        let small =
            shape.gathers_near_atoms() && control.largest_tile.max(after.tile as i32) <= MOST_SMALL as i32;
        ListCapacity {
            tile: if small { tile.min(MOST_SMALL) } else { tile },
            rows: scaled(control.most_rows, before.rows, after.rows) + 2,
        }
        .rounded()
        .small_without(0.05)
    }

    /// Capacity that recent lists needed, with little to spare: the memory of a tile decides how many of them
    /// a multiprocessor has at a time. `None` if it is tight enough.
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

    /// Larger capacity where something did not fit, with something to spare: but not so much that tiles could
    /// not be small, if that was not tried yet.
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
