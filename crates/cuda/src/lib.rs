//! GPU engine: CUDA kernels, whose physics [`codegen`] writes, compiled at run time and run through
//! [`driver`], on an NVIDIA GPU or, for tests, on the emulation of one.

mod added;
mod all_pairs;
mod arrays;
mod balance;
mod biases;
mod bonded;
mod box_geometry;
pub mod builds;
mod by_id;
mod cache;
mod cells;
pub mod codegen;
mod constraints;
mod device_data;
mod device_force;
mod dissipative;
pub mod driver;
mod electrostatics;
mod embedded;
mod engine;
mod exchange;
mod exclusions;
mod external;
mod grains;
pub mod kernels;
mod launches;
mod list;
mod list_capacity;
mod many_body;
mod messenger;
mod mid_step;
mod molecules;
mod neighbor_engine;
mod peers;
mod reflection;
mod restraint;
mod rigid;
mod shared;
mod side_by_side;
mod skin;
mod snapshot;
mod step_graph;
mod sub_steps;
mod sums;
mod thermostat;
mod three_body;
mod tiles;
mod vacuum;
mod wall_plane;

pub use all_pairs::PairShape;
pub use driver::nvrtc;
pub use engine::{Cuda, Layout, SeveralGpus, Trials, try_gpus};

use driver::Device;
use jostle_core::{Backend, Error, Processor, Result, Settings, System};
use jostle_potentials::Forces;
use jostle_potentials::electrostatics::Method;
use jostle_transport::Communicator;

/// Returns true where the GPU engine supports these forces with these settings.
pub fn can(forces: &Forces, settings: &Settings) -> bool {
    let many_body = forces.embedded.is_some() || forces.three_body.is_some();
    !(many_body && settings.reproducible) && lacking(forces, settings).is_none()
}

/// Feature that the GPU engine does not have, for an error message.
fn lacking(forces: &Forces, settings: &Settings) -> Option<&'static str> {
    if forces.vacuum.is_some() && settings.reproducible {
        return Some("reproducible runs in open space, where forces have no cut-off");
    }
    if forces.embedded.is_some() && forces.sums().next().is_some() {
        return Some("sums over all images of embedded atoms");
    }
    if forces.three_body.is_some() && forces.sums().next().is_some() {
        return Some("sums over all images beside three-body forces");
    }
    if forces.three_body.is_some() && forces.embedded.is_some() {
        return Some("three-body forces of embedded atoms");
    }
    let ewald = forces.sums().any(|sum| matches!(sum.method(), Method::Ewald { .. }));
    let reproducible = ewald && settings.reproducible;
    reproducible.then_some("reproducible runs with Ewald's sum; kind = \"pme\" gives the same on a mesh")
}

/// Puts a system on a device, as a [`Backend`].
///
/// # Errors
/// If a term and the system do not go together, the algorithm is one of the CPU's, the device has
/// too little memory, or kernels cannot be compiled for it.
pub fn open(
    device: Device,
    system: System,
    forces: impl Into<Forces>,
    settings: Settings,
) -> Result<Box<dyn Backend>> {
    let forces = checked(forces.into(), &settings)?;
    Ok(Box::new(Cuda::new(device, system, forces, settings)?))
}

/// Puts a system on several devices of one kind, which share the forces, as a [`Backend`].
///
/// # Errors
/// As for [`open`], or if the devices cannot use each other's memory.
pub fn open_several(
    devices: Vec<Device>,
    system: System,
    forces: impl Into<Forces>,
    settings: Settings,
) -> Result<Box<dyn Backend>> {
    let forces = checked(forces.into(), &settings)?;
    Ok(Box::new(SeveralGpus::new(devices, system, forces, settings)?))
}

/// Puts a system on the devices of all ranks, of one kind, as a [`Backend`]: every rank makes this call, and the same calls
/// of methods after it where it has devices. `None`: it has none.
///
/// # Errors
/// As for [`open`], on this rank or another.
pub fn open_on_ranks(
    devices: Vec<Device>,
    system: System,
    forces: impl Into<Forces>,
    settings: Settings,
    communicator: &Communicator,
) -> Result<Option<Box<dyn Backend>>> {
    let forces = checked(forces.into(), &settings)?;
    let gpus = SeveralGpus::on_ranks(devices, system, forces, settings, communicator)?;
    Ok(gpus.map(|gpus| Box::new(gpus) as Box<dyn Backend>))
}

/// Forces that the GPU engine has with these settings.
fn checked(forces: Forces, settings: &Settings) -> Result<Forces> {
    settings.algorithm.check(Processor::Gpu)?;
    match lacking(&forces, settings) {
        Some(what) => {
            Err(Error::device(format!("the GPU engine has no {what}")).hint("set device = \"cpu\""))
        }
        None => Ok(forces),
    }
}
