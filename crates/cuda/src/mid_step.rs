//! Forces in the middle of a step, behind one interface.

use crate::device_data::DeviceData;
use crate::driver::Launch;

/// Forces in the middle of a step, which change velocities and depend on them.
pub trait MidStepForces {
    /// Launches of the middle of the step of a slot, and of the second half of its drift.
    fn cross(&self, data: &DeviceData, slot: i32) -> Vec<Launch>;
}
