//! Choice of the device that computes a simulation.

use jostle_core::{Backend, Processor, Result, Settings, System};
use jostle_cuda::driver::Device;
use jostle_io::input::model::DeviceInput;
use jostle_potentials::Forces;

pub use jostle_cuda::driver::{
    CacheFacts, CompilerFacts, DriverFacts, Facts as GpuFacts, facts as gpu_facts, on_compiling,
};

/// Fewest atoms for which a GPU is chosen automatically: steps of smaller systems take a CPU about as long as
/// it takes to launch the kernels of a GPU, and a short run is over before a GPU is ready.
const WORTH_A_GPU: usize = 1000;

/// A system on a device.
pub struct Opened {
    /// The device.
    pub backend: Box<dyn Backend>,
    /// Reason why the device is the CPU, where a GPU was looked for and not found.
    pub missed: Option<String>,
}

/// Puts a system on a device.
///
/// # Errors
/// If the device is missing, or the system, the forces and the settings do not fit together.
pub fn open(
    device: DeviceInput,
    system: System,
    forces: impl Into<Forces>,
    settings: Settings,
) -> Result<Opened> {
    let forces = forces.into();
    let mut missed = None;
    let gpu = match device {
        DeviceInput::Cpu => None,
        DeviceInput::Cuda { index } => Some(Device::open(index)?),
        DeviceInput::Auto => match settings.algorithm.processor() {
            Some(Processor::Cpu) => None,
            Some(Processor::Gpu) => Some(Device::open(0)?),
            None if system.state.len() < WORTH_A_GPU => None,
            None if !jostle_cuda::can(&forces, &settings) => None,
            None => Device::ready(0).map_err(|e| missed = Some(format!("no GPU: {}", e.message()))).ok(),
        },
    };
    let backend = match gpu {
        Some(gpu) => jostle_cuda::open(gpu, system, forces, settings)?,
        None => jostle_cpu::open(system, forces, settings)?,
    };
    Ok(Opened { backend, missed })
}

/// The kind of device that a choice leads to on this machine, for a system that is large enough.
pub fn preferred(device: DeviceInput) -> Processor {
    match device {
        DeviceInput::Cuda { .. } => Processor::Gpu,
        DeviceInput::Auto if Device::ready(0).is_ok() => Processor::Gpu,
        DeviceInput::Auto | DeviceInput::Cpu => Processor::Cpu,
    }
}
