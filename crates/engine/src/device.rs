//! Where a simulation is computed.

use jostle_core::{Backend, Error, Result, Settings, System};
use jostle_io::input::model::DeviceInput;
use jostle_potentials::PairTerm;

/// Puts a system on a device.
///
/// # Errors
/// If the device is missing, or the system and the forces do not fit together.
pub fn open(
    device: DeviceInput,
    system: System,
    terms: Vec<PairTerm>,
    settings: Settings,
) -> Result<Box<dyn Backend>> {
    match device {
        DeviceInput::Cuda { .. } => Err(Error::device("this version has no GPU engine")),
        DeviceInput::Auto | DeviceInput::Cpu => jostle_cpu::open(system, terms, settings),
    }
}
