//! Forces in the middle of a step, behind one interface.

use crate::device_data::DeviceData;
use crate::driver::Launch;

/// What acts in the middle of a step, on velocities and by them.
pub trait MidStepForces {
    /// The middle of the step of a slot, and the second half of its drift.
    fn cross(&self, data: &DeviceData, slot: i32) -> Vec<Launch>;
}
