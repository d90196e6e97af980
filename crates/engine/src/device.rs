//! Choice of the device that computes a simulation.

use crate::ranks;
use jostle_core::{Backend, Error, Processor, Result, Settings, System};
use jostle_cuda::driver::Device;
use jostle_io::input::model::DeviceInput;
use jostle_potentials::Forces;

pub use jostle_cuda::driver::{
    CacheFacts, CompilerFacts, DriverFacts, Facts as GpuFacts, facts as gpu_facts, on_compiling,
};

/// Fewest atoms for which a GPU is chosen automatically: steps of smaller systems take a CPU about as long as
/// it takes to launch the kernels of a GPU, and a short run is over before a GPU is ready.
const WORTH_A_GPU: usize = 1000;

/// Most ranks of one process.
const MOST_RANKS: usize = 64;

/// A system on a device.
pub struct Opened {
    /// The device.
    pub backend: Box<dyn Backend>,
    /// Reason why the device is the CPU, where a GPU was looked for and not found.
    pub missed: Option<String>,
}

/// Puts a system on a device: on the CPUs of all processes where MPI has started several.
///
/// # Errors
/// If the device is missing, or the system, the forces and the settings do not fit together.
pub fn open(
    device: DeviceInput,
    system: System,
    forces: impl Into<Forces>,
    settings: Settings,
) -> Result<Opened> {
    match ranks::are_processes() {
        true => {
            check_ranks(device)?;
            let backend = ranks::open_on_processes(system, forces.into(), settings)?;
            Ok(Opened { backend, missed: None })
        }
        false => open_alone(device, system, forces.into(), settings),
    }
}

/// Puts a system on CPU ranks that are threads of this process.
///
/// # Errors
/// Those of [`open`], or if this process is a rank itself.
pub fn open_on_threads(
    n_ranks: usize,
    device: DeviceInput,
    system: System,
    forces: impl Into<Forces>,
    settings: Settings,
) -> Result<Opened> {
    if ranks::are_processes() {
        return Err(Error::input("--ranks divides one process, and MPI has started several")
            .hint("leave out either --ranks or mpirun"));
    }
    if n_ranks > MOST_RANKS {
        return Err(Error::input(format!("{n_ranks} ranks in one process: at most {MOST_RANKS} make sense")));
    }
    check_ranks(device)?;
    let backend = ranks::open_on_threads(n_ranks, system, forces.into(), settings)?;
    Ok(Opened { backend, missed: None })
}

/// Refuses a GPU for several ranks.
fn check_ranks(device: DeviceInput) -> Result<()> {
    match device {
        DeviceInput::Cuda { .. } => Err(Error::input("several ranks compute on CPUs only")
            .hint("a GPU takes one process: leave out mpirun and --ranks, or choose device = \"cpu\"")),
        DeviceInput::Auto | DeviceInput::Cpu => Ok(()),
    }
}

fn open_alone(device: DeviceInput, system: System, forces: Forces, settings: Settings) -> Result<Opened> {
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
