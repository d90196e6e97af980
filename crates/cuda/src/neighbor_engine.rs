//! The pair algorithms, behind one interface.

use crate::device_data::DeviceData;
use crate::driver::{Kernel, Launch};
use crate::list_capacity::ListCapacity;
use jostle_core::{Evaluate, Result};

/// The occasion on which a kernel that serves several purposes acts: as in `prelude.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Trigger {
    /// The steps in the middle of a segment.
    Step = 0,
    /// The last step of a segment.
    SegmentEnd = 1,
    /// Now.
    Immediate = 2,
}

/// An algorithm that finds the pairs within the cut-off, and the forces that follow. All of it is launches
/// that the caller makes, so that they can be recorded.
pub trait NeighborEngine: Send {
    /// Its name in the input file.
    fn name(&self) -> &'static str;

    /// Enters its memory into the device data.
    fn attach(&self, data: &mut DeviceData);

    /// Keeps to a smaller capacity than there is memory for; lists stay as they are.
    fn tighten(&mut self, _room: ListCapacity) {}

    /// Whether there is memory for such a capacity.
    fn holds(&self, _room: ListCapacity) -> bool {
        true
    }

    /// What follows the spatial sort when the list of a slot is stale.
    fn build(&self, data: &DeviceData, slot: i32) -> Vec<Launch>;

    /// Forces on all atoms into `DeviceData::force`; each block's share of energies and virial into
    /// `DeviceData::partial`.
    fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch>;

    /// Forces and the move to the next positions at once, where it can do that.
    fn step(&self, data: &DeviceData, slot: i32) -> Option<Vec<Launch>>;

    /// Whether such a step takes samples in passing: see `Control::sample_every`.
    fn samples(&self) -> bool {
        false
    }

    /// A launch of another kernel that goes over the same lists in the same blocks; `None` where
    /// there are no lists.
    fn pass(&self, _kernel: &Kernel) -> Option<Launch> {
        None
    }

    /// Prepares such a kernel for [`NeighborEngine::pass`].
    ///
    /// # Errors
    /// If a block cannot have the memory it needs.
    fn allow(&self, _kernel: &Kernel) -> Result<()> {
        Ok(())
    }

    /// Blocks that leave shares of energies.
    fn energy_blocks(&self) -> u32;

    /// Bytes occupied.
    fn bytes(&self) -> usize;
}
