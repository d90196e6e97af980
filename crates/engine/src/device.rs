//! Where a simulation is computed.

use jostle_core::{Backend, Error, Processor, Result, Settings, System};
use jostle_io::input::model::DeviceInput;
use jostle_potentials::PairTerm;

/// The kind of device that a choice leads to on this machine, for a system that is large enough.
pub fn preferred(device: DeviceInput) -> Processor {
    match device {
        DeviceInput::Cuda { .. } => Processor::Gpu,
        DeviceInput::Auto | DeviceInput::Cpu => Processor::Cpu,
    }
}

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
