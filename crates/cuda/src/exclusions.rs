//! Atoms without a pair force, in device memory.

use crate::device_data::{DeviceData, ExclusionLists};
use crate::driver::{Buffer, Device};
use jostle_core::Result;

/// Lists of excluded atoms: four of each atom's after the other, then the next four of all of them.
#[derive(Clone)]
pub struct Exclusions {
    fours: usize,
    /// Excluded ids, by id.
    ids: Buffer<u32>,
    /// Index of an atom, by id.
    index_by_id: Buffer<u32>,
    /// Excluded indices by index, and those in tiles.
    partner: Buffer<u32>,
    /// First and last excluded index, by index.
    range: Buffer<u32>,
    tile_index: Buffer<u32>,
}

impl Exclusions {
    /// Lists of the ids that each atom excludes, by id; empty where no atom excludes any.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(device: &Device, by_id: &[Vec<u32>]) -> Result<Self> {
        let fours = by_id.iter().map(Vec::len).max().unwrap_or(0).div_ceil(4);
        let four = |ids: &Vec<u32>, k: usize| {
            std::array::from_fn(|u| ids.get(4 * k + u).copied().unwrap_or(u32::MAX))
        };
        let ids: Vec<[u32; 4]> = (0..fours).flat_map(|k| by_id.iter().map(move |ids| four(ids, k))).collect();
        let ids = ids.into_flattened();
        let places = if fours > 0 { by_id.len() } else { 0 };
        Ok(Exclusions {
            fours,
            index_by_id: device.alloc(places)?,
            partner: device.alloc(ids.len())?,
            range: device.alloc(2 * places)?,
            tile_index: device.alloc(ids.len())?,
            ids: device.upload(&ids)?,
        })
    }

    /// Enters the lists into the device data.
    pub fn attach(&self, data: &mut DeviceData) {
        data.exclusions = ExclusionLists {
            fours: self.fours as i32,
            unused: 0,
            ids: self.ids.address(),
            index_by_id: self.index_by_id.address(),
            partner: self.partner.address(),
            partner_range: self.range.address(),
            tile_index: self.tile_index.address(),
        };
    }

    /// Returns true where no atom excludes any.
    pub fn is_empty(&self) -> bool {
        self.fours == 0
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        4 * (3 * self.index_by_id.len() + 3 * self.ids.len())
    }
}
