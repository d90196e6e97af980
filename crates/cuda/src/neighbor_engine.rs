//! Pair algorithms, behind one interface.

use crate::device_data::DeviceData;
use crate::driver::{Kernel, Launch};
use crate::list_capacity::ListCapacity;
use jostle_core::backend::ListContents;
use jostle_core::{Evaluate, Result};

/// Occasion on which a kernel that serves several purposes acts: as in `prelude.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Trigger {
    /// Steps in the middle of a segment.
    Step = 0,
    /// Last step of a segment.
    SegmentEnd = 1,
    /// Evaluation outside steps.
    Immediate = 2,
    /// Lists that are about to be built.
    Build = 3,
}

/// Work of the slot before a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotBefore {
    /// A step, which has moved atoms to where they are.
    Step,
    /// Forces in the middle of a step, after which atoms have drifted on.
    MidStep,
}

/// Algorithm that finds the pairs within the cut-off, and the forces that follow. All of it is launches that
/// the caller makes, so that they can be recorded.
pub trait NeighborEngine: Send {
    /// Name in the input file.
    fn name(&self) -> &'static str;

    /// Enters the memory of the algorithm into the device data.
    fn attach(&self, data: &mut DeviceData);

    /// Reduces the capacity below the memory that there is; lists stay as they are.
    fn tighten(&mut self, _room: ListCapacity) {}

    /// Returns true where there is memory for such a capacity.
    fn holds(&self, _room: ListCapacity) -> bool {
        true
    }

    /// Launches that follow the spatial sort when the list of a slot is stale.
    fn build(&self, data: &DeviceData, slot: i32) -> Vec<Launch>;

    /// Launch that builds the lists which steps do without and a trigger needs. A list that does not fit makes its slot
    /// stale.
    fn build_rest(&self, _data: &DeviceData, _slot: i32, _trigger: Trigger) -> Option<Launch> {
        None
    }

    /// Launches that compute forces on all atoms (`AtomArrays::force`) that a trigger needs, those of steps not on driven
    /// ones, and each block's share of energies and virial (`ReductionArrays::partial`).
    fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch>;

    /// Launches that compute forces and move atoms to the next positions at once; `None` where the algorithm
    /// cannot.
    fn step(&self, data: &DeviceData, slot: i32, before: SlotBefore) -> Option<Vec<Launch>>;

    /// Returns true where such a step takes samples: see `Control::sample_every`.
    fn samples(&self) -> bool {
        false
    }

    /// Launch of another kernel that uses the same lists in the same blocks; `None` without lists.
    fn pass(&self, _kernel: &Kernel) -> Option<Launch> {
        None
    }

    /// Prepares such a kernel for [`NeighborEngine::pass`].
    ///
    /// # Errors
    /// If a block cannot have the memory that the kernel needs.
    fn allow(&self, _kernel: &Kernel) -> Result<()> {
        Ok(())
    }

    /// Number of blocks that leave shares of energies.
    fn energy_blocks(&self) -> u32;

    /// Contents of the lists; empty without lists.
    ///
    /// # Errors
    /// If the device fails.
    fn contents(&self) -> Result<Vec<ListContents>> {
        Ok(Vec::new())
    }

    /// Bytes occupied.
    fn bytes(&self) -> usize;
}

/// Contents of lists of so many entries each, which have this room.
pub fn list_contents(what: &'static str, entries: &[i32], room: usize) -> ListContents {
    let entries = || entries.iter().map(|&n| n.max(0) as u64);
    let lists = entries().count();
    let mean = entries().sum::<u64>() as f64 / lists.max(1) as f64;
    ListContents { what, lists, mean, most: entries().max().unwrap_or(0), room: room as u64 }
}
