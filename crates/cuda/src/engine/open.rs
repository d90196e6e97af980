//! Parts of opening a device: options of its kernels, the first plan, contacts of grains.

use super::extent::Extent;
use super::layout::Layout;
use super::parts::TermKernels;
use super::plan::Plan;
use crate::bonded::BondedKernels;
use crate::constraints::Constraints;
use crate::driver::Device;
use crate::electrostatics::LatticeSumKernel;
use crate::exclusions::Exclusions;
use crate::external::ExternalForces;
use crate::grains::Contacts;
use crate::kernels::StepForces;
use crate::reflection::{self, Reflection};
use crate::side_by_side::both;
use crate::sums::Summation;
use crate::vacuum::VacuumKernel;
use jostle_core::{Driven, Error, Result, Settings, System};
use jostle_potentials::Forces;

/// Device whose kernels look up masses by id where some atoms of a species are driven and others are not, displacement
/// limits by species where they differ, and walls where they reflect atoms.
pub fn with_lookups(device: Device, system: &System, forces: &Forces, limits: &[f64]) -> Device {
    let device = match system.driven {
        Driven::BySpecies(_) => device,
        Driven::ById(_) => device.with_option("-DMASSES_BY_ID=1"),
    };
    let device = match forces.reflecting_walls.is_empty() {
        true => device,
        false => device.with_option(reflection::OPTION),
    };
    let alike = limits.iter().all(|part| *part == 1.0);
    if alike { device } else { device.with_option("-DLIMITS_BY_SPECIES=1") }
}

/// Plan at the start of a run, and whether its pair algorithm is known to be the fastest.
pub fn first_plan(
    device: &Device,
    system: &System,
    forces: &Forces,
    settings: Settings,
    summation: Summation,
    layout: Layout,
    extent: Extent,
) -> Result<(Plan, bool)> {
    let n = system.state.len();
    if n > i32::MAX as usize / 4 {
        return Err(Error::device(format!("{n} atoms are more than one GPU run can have")));
    }
    let excluded = Exclusions::new(device, &system.topology.exclusions(n, forces.exclude))?;
    let on = (extent, device.multiprocessors());
    let mut plan = Plan::new(settings, summation, forces, layout, on, excluded, n)?;
    if system.has_driven() {
        plan.needed = StepForces::OnFreeAtoms;
    }
    let algorithm_settled = plan.take_remembered_algorithm(device, forces, extent);
    plan.fit(device, extent)?;
    Ok((plan, algorithm_settled))
}

/// Kernels of everything but the pair algorithm. Those that take long to compile are made side by side.
pub fn term_kernels(device: &Device, system: &System, forces: &Forces, plan: &Plan) -> Result<TermKernels> {
    let (precision, summation, n) = (plan.precision, plan.summation, system.state.len());
    let (gpus, mesh_gpus) = (plan.gpus(), plan.mesh_gpus());
    let charges = || {
        let sums = (precision, summation);
        LatticeSumKernel::all(device, system, forces, &plan.excluded, sums, mesh_gpus)
    };
    let bonded = || BondedKernels::new(device, system, forces, gpus, precision, summation);
    let constraints = || Constraints::new(device, system, forces.n_searched(), gpus, precision, summation);
    let external = || ExternalForces::new(device, system, forces, precision, summation);
    let ((charges, bonded), (constraints, external)) =
        both(|| both(charges, bonded), || both(constraints, external));
    Ok(TermKernels {
        charges: charges?,
        vacuum: VacuumKernel::new(device, n, forces, precision)?,
        bonded: bonded?,
        constraints: constraints?,
        external: external?,
        biases: None,
        step_kind: 0,
        thermostat: None,
        pair_thermostat: None,
        reflection: Reflection::new(device, &forces.reflecting_walls, precision, summation)?,
        grains: contacts(device, system, forces, plan)?,
        added: None,
        device_forces: None,
        bodies: None,
    })
}

/// Friction at the contacts of grains; `None` without grains.
fn contacts(device: &Device, system: &System, forces: &Forces, plan: &Plan) -> Result<Option<Contacts>> {
    let Some(material) = &forces.grains else { return Ok(None) };
    let mut contacts =
        Contacts::new(device, system, material, &forces.walls, plan.precision, plan.summation)?;
    contacts.set_listed(plan.lists_all_pairs());
    Ok(Some(contacts))
}
