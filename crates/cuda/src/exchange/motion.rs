//! Exchange of positions where each GPU moves its own atoms (`kernels/exchange_motion.cu`).

use super::{Exchange, Moving, Needs, THREADS};
use crate::device_data::{AtomDivision, DeviceData, MOST_GPUS};
use crate::driver::{Launch, Waits};
use crate::neighbor_engine::Trigger;

/// Number of blocks that exchange the forces on the atoms at borders.
const BORDER_BLOCKS: u32 = 64;

impl Exchange {
    /// Division of atoms with these ends of the ranges of all GPUs.
    pub fn division(&self, end: [i32; MOST_GPUS], moving: Moving, needs: Needs) -> AtomDivision {
        let [moved, exact, border, n_border] = std::array::from_fn(|k| self.division[k].address());
        let [needed_by, species] = match needs {
            Needs::Near => [self.needed_by.address(), self.species.address()],
            Needs::All => [0; 2],
        };
        let alone = AtomDivision { end, extent: 0.0, needed_by, species, ..AtomDivision::default() };
        match moving {
            Moving::Alone => alone,
            Moving::Bound => AtomDivision { exact, ..alone },
            Moving::Together { extent } => {
                AtomDivision { extent: extent.unwrap_or(-1.0), moved, exact, border, n_border, ..alone }
            }
        }
    }

    /// Launches that find this division after a sort, as a part of building lists; `first_atoms`: see
    /// [`crate::constraints::Constraints::first_atoms`].
    pub fn divide(&self, data: &DeviceData, [slot_of_first, index]: [u64; 2], slot: i32) -> Vec<Launch> {
        let blocks = (data.n as u32).div_ceil(THREADS).max(1);
        let clear = Launch::new(&self.clear_division, blocks.min(self.most_blocks), THREADS);
        let divide = (data.division.moved != 0).then(|| {
            let divide = Launch::new(&self.divide, blocks, THREADS).with_value(*data);
            divide.with_value(slot_of_first).with_value(index).with_value(slot)
        });
        let clear = clear.with_value(*data).with_value(self.data).with_value(slot);
        std::iter::once(clear).chain(divide).collect()
    }

    /// Launch that finds the GPUs which need each atom, once those are marked that all do.
    pub fn find_needs(&self, data: &DeviceData, needs: Needs, slot: i32) -> Option<Launch> {
        let blocks = (data.n as u32).div_ceil(THREADS).clamp(1, 4 * self.most_blocks);
        let launch = Launch::new(&self.find_needs, blocks, THREADS).with_value(*data).with_value(self.data);
        (needs == Needs::Near).then(|| launch.with_value(slot))
    }

    /// Launches that complete the forces on the atoms that this GPU moves: none where it computes all of them.
    pub fn own_forces(&self, data: &DeviceData, slot: i32) -> Vec<Launch> {
        if data.division.border == 0 {
            return Vec::new();
        }
        let launch = |kernel| {
            let launch = Launch::new(kernel, BORDER_BLOCKS.min(self.most_blocks), THREADS);
            launch.with_value(*data).with_value(self.data).with_value(slot).waits(Waits::AllStreams)
        };
        vec![launch(&self.send_border), launch(&self.receive_own)]
    }

    /// Launch that waits for the atoms that the others have moved into a slot, and puts together what all have found
    /// about it.
    pub fn slot(&self, data: &DeviceData, slot: i32) -> Launch {
        Launch::new(&self.slot, 1, 32).with_value(*data).with_value(self.data).with_value(slot)
    }

    /// Launches by which all GPUs know of all atoms what each knows of those that it has moved.
    pub fn motion(&self, data: &DeviceData, slot: i32, trigger: Trigger) -> [Launch; 3] {
        let own = (data.owned.end - data.owned.first) as usize;
        let send = self.launch(&self.send_motion, own * (48 + 3 * self.real), data).with_value(self.arrays);
        let wait = Launch::new(&self.wait_for_motion, 1, 32).with_value(*data).with_value(self.data);
        let place = self.launch(&self.place_others, data.n as usize * 24, data);
        let with = |launch: Launch| launch.with_value(slot).with_value(trigger as i32);
        [send, wait, place].map(|launch| with(launch).waits(Waits::AllStreams))
    }
}
