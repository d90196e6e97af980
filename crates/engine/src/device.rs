//! Choice of the device that computes a simulation.

use crate::ranks::{self, Drivers, RankDevices};
use jostle_core::{Backend, Error, Processor, Result, Settings, System};
use jostle_cuda::driver::{Device, unique_names};
use jostle_io::input::model::{DeviceInput, Gpus};
use jostle_potentials::Forces;

pub use jostle_cuda::driver::{
    CacheFacts, CompilerFacts, DriverFacts, Facts as GpuFacts, Link, compile_kernels, compiler_processes,
    facts as gpu_facts, on_compiling,
};

/// Fewest atoms for which a GPU is chosen automatically: steps of smaller systems take a CPU about as long as
/// it takes to launch the kernels of a GPU, and a short run is over before a GPU is ready.
const WORTH_A_GPU: usize = 1000;

/// Fewest atoms for which several GPUs are tried automatically: smaller systems gain little, and trying takes seconds.
const WORTH_SEVERAL_GPUS: usize = 50_000;

/// Most ranks of one process.
const MOST_RANKS: usize = 64;

/// A system on a device.
pub struct Opened {
    /// The device.
    pub backend: Box<dyn Backend>,
    /// Reason for the choice of the device, where it is not obvious: a GPU was not found, or several were tried.
    pub note: Option<String>,
}

/// Puts a system on a device: on the CPUs or GPUs of all processes where MPI has started several.
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
    if !ranks::are_processes() {
        return open_alone(device, system, forces, settings);
    }
    let devices = devices_of_ranks(device, settings, Drivers::FirstOfHost)?;
    if let RankDevices::Gpus(gpus, _) = devices
        && let Some(gpus) = ranks::gpus_of_this_process(gpus)?
    {
        ranks::cores::allow(n_gpus(gpus));
        return open_alone(DeviceInput::Cuda(gpus), system, forces, settings);
    }
    let unused = match device {
        DeviceInput::Auto if open_to_gpus(settings) && is_for_a_gpu(&system, &forces, settings) => {
            unique_names().unwrap_or_default().len()
        }
        _ => 0,
    };
    let note = (unused > 0)
        .then(|| format!("GPUs here that are not used: {unused}; --device cuda takes one a process"));
    let backend = ranks::open_on_processes(devices, system, forces, settings)?;
    Ok(Opened { backend, note })
}

/// True where the settings ask for nothing that CPUs alone have.
fn open_to_gpus(settings: Settings) -> bool {
    settings.algorithm.processor().is_none() && settings.force_matrix.is_none()
}

/// True for a system that a GPU pays for, and can compute.
fn is_for_a_gpu(system: &System, forces: &Forces, settings: Settings) -> bool {
    system.state.len() >= WORTH_A_GPU && jostle_cuda::can(forces, &settings)
}

/// Puts a system on a device, or on those of so many ranks that are threads of this process; `None`: one, or the processes
/// that MPI has started.
///
/// # Errors
/// Errors of [`open`] and [`open_on_threads`].
pub fn open_on(
    (device, ranks): (DeviceInput, Option<usize>),
    system: System,
    forces: impl Into<Forces>,
    settings: Settings,
) -> Result<Opened> {
    match ranks {
        None | Some(1) => open(device, system, forces, settings),
        Some(n) => open_on_threads(n, device, system, forces, settings),
    }
}

/// Puts a system on the devices of ranks that are threads of this process.
///
/// # Errors
/// Errors of [`open`], or if this process is a rank itself.
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
    let devices = devices_of_ranks(device, settings, Drivers::Each)?;
    let backend = ranks::open_on_threads(n_ranks, devices, system, forces.into(), settings)?;
    Ok(Opened { backend, note: None })
}

/// Devices of several ranks: CPUs where nothing is said.
fn devices_of_ranks(device: DeviceInput, settings: Settings, drivers: Drivers) -> Result<RankDevices> {
    match device {
        DeviceInput::Cuda(_) if settings.force_matrix.is_some() => Err(Error::input(
            "a force matrix divides pairs among CPUs",
        )
        .hint("leave out --force-matrix: GPUs divide all pairs by themselves; or choose device = \"cpu\"")),
        DeviceInput::Cuda(gpus) => Ok(RankDevices::Gpus(gpus, drivers)),
        DeviceInput::Auto | DeviceInput::Cpu => Ok(RankDevices::Cpus),
    }
}

fn open_alone(device: DeviceInput, system: System, forces: Forces, settings: Settings) -> Result<Opened> {
    if settings.force_matrix.is_some() {
        return Err(Error::input("a force matrix divides pairs among ranks, and there is one")
            .hint("start several by mpirun or --ranks, or leave out --force-matrix"));
    }
    let mut note = None;
    let mut gpus = match device {
        DeviceInput::Cpu => Vec::new(),
        DeviceInput::Cuda(Gpus::Chosen(gpus)) => gpus.numbers().map(Device::open).collect::<Result<_>>()?,
        DeviceInput::Cuda(Gpus::All) => all_gpus()?,
        DeviceInput::Auto => match settings.algorithm.processor() {
            Some(Processor::Cpu) => Vec::new(),
            Some(Processor::Gpu) => vec![Device::open(0)?],
            None if !is_for_a_gpu(&system, &forces, settings) => Vec::new(),
            None => match Device::ready(0) {
                // Others may be in use: the first one is enough.
                Ok(gpu) if system.state.len() >= WORTH_SEVERAL_GPUS => all_gpus().unwrap_or(vec![gpu]),
                Ok(gpu) => vec![gpu],
                Err(error) => {
                    note = Some(format!("no GPU: {}", error.message()));
                    Vec::new()
                }
            },
        },
    };
    let chosen = matches!(device, DeviceInput::Cuda(Gpus::Chosen(_)));
    if gpus.len() > 1 && !chosen {
        let trials = jostle_cuda::try_gpus(&gpus, &system, &forces, settings);
        note = Some(trials.to_string());
        gpus.truncate(trials.fastest());
    }
    let backend = match gpus.len() {
        0 => jostle_cpu::open(system, forces, settings)?,
        1 => jostle_cuda::open(gpus.swap_remove(0), system, forces, settings)?,
        _ => jostle_cuda::open_several(gpus, system, forces, settings)?,
    };
    Ok(Opened { backend, note })
}

/// Number of GPUs that are asked for.
fn n_gpus(gpus: Gpus) -> usize {
    match gpus {
        Gpus::Chosen(set) => set.numbers().count(),
        Gpus::All => gpu_facts().driver.map_or(0, |driver| driver.gpus.len()),
    }
}

/// All GPUs of this machine.
fn all_gpus() -> Result<Vec<Device>> {
    let driver = gpu_facts().driver?;
    (0..driver.gpus.len()).map(Device::open).collect()
}

/// GPUs that runs side by side take by turns, one each, where all ask for the same ones, and there are no more of these than
/// runs; `None`: each run takes what it asks for. Whole runs need nothing of each other, while GPUs that share the atoms of
/// one wait for each other at each step.
pub fn share_out(asked: &[DeviceInput]) -> Option<Vec<DeviceInput>> {
    let gpus: Vec<usize> = match asked.first() {
        Some(first) if asked.iter().any(|other| other != first) => Vec::new(),
        Some(DeviceInput::Cuda(Gpus::Chosen(gpus))) => gpus.numbers().collect(),
        Some(DeviceInput::Cuda(Gpus::All)) => {
            (0..gpu_facts().driver.map_or(0, |driver| driver.gpus.len())).collect()
        }
        _ => Vec::new(),
    };
    let pays = (2..=asked.len()).contains(&gpus.len());
    pays.then(|| gpus.into_iter().map(DeviceInput::gpu).collect())
}

/// The kind of device that a choice leads to on this machine, for a system that is large enough.
pub fn preferred(device: DeviceInput) -> Processor {
    match device {
        DeviceInput::Cuda(_) => Processor::Gpu,
        DeviceInput::Auto if Device::ready(0).is_ok() => Processor::Gpu,
        DeviceInput::Auto | DeviceInput::Cpu => Processor::Cpu,
    }
}
