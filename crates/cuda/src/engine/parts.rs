//! Parts of the engine, by job.

use crate::added::AddedKernel;
use crate::all_pairs::PairShape;
use crate::biases::BiasKernels;
use crate::bonded::BondedKernels;
use crate::constraints::Constraints;
use crate::device_force::DeviceForceKernels;
use crate::dissipative::PairThermostat;
use crate::driver::Module;
use crate::electrostatics::LatticeSumKernel;
use crate::exchange::MotionDivision;
use crate::external::ExternalForces;
use crate::grains::Contacts;
use crate::kernels::{PairAlgorithm, TileShape};
use crate::launches::Others;
use crate::molecules::Bodies;
use crate::neighbor_engine::NeighborEngine;
use crate::reflection::Reflection;
use crate::step_graph::StepGraphs;
use crate::thermostat::ScalingThermostat;
use crate::vacuum::VacuumKernel;
use jostle_core::backend::StageTime;
use jostle_core::{Energies, Evaluate, Vec3};
use jostle_potentials::Tail;

/// Compiled pair algorithm.
pub struct PairKernels {
    pub module: Module,
    /// Parameters for which the module was compiled, see [`super::plan::Plan::compiled`].
    pub compiled: (PairAlgorithm, TileShape, PairShape),
    pub engine: Box<dyn NeighborEngine>,
}

/// Kernels of everything but the pair algorithm; `None` where a system has no such term.
pub struct TermKernels {
    pub charges: Vec<LatticeSumKernel>,
    pub vacuum: Option<VacuumKernel>,
    pub bonded: Option<BondedKernels>,
    pub constraints: Option<Constraints>,
    pub external: Option<ExternalForces>,
    /// Biases, where the engine has given some to this GPU.
    pub biases: Option<BiasKernels>,
    /// Kind of the time steps of the last batch, see [`crate::sub_steps`].
    pub step_kind: u64,
    pub thermostat: Option<ScalingThermostat>,
    pub pair_thermostat: Option<PairThermostat>,
    pub grains: Option<Contacts>,
    /// Walls that reflect atoms.
    pub reflection: Option<Reflection>,
    /// Kernel that adds forces of the host, created when it first does.
    pub added: Option<AddedKernel>,
    /// Kernels for forces that others compute on the device, created when there first are any.
    pub device_forces: Option<DeviceForceKernels>,
    /// Molecules, created when a barostat first needs them.
    pub bodies: Option<Bodies>,
}

/// Recorded steps.
#[derive(Default)]
pub struct Recorded {
    pub graphs: Option<StepGraphs>,
    /// Presence of forces of others in the steps.
    pub others: Others,
    /// Division of motion in the last batch, for which lists were built.
    pub motion: Option<MotionDivision>,
    /// Seconds per slot of the last batch, and of all of it.
    pub seconds_per_slot: f64,
    pub seconds: f64,
}

/// Order of the atoms on the device, as far as the host knows.
#[derive(Default)]
pub struct AtomOrder {
    /// True where atoms have been sorted since the host last gave them their places.
    pub sorted: bool,
    /// True where the host has moved atoms since displaced atoms were last determined.
    pub drifted: bool,
    pub list_positions: Vec<Vec3>,
}

/// Last evaluation of forces, and numbers that complete its energies.
pub struct Evaluation {
    pub energies: Energies,
    /// Result of the last evaluation: forces, or energies too.
    pub evaluated: Evaluate,
    /// Weight of long-range forces.
    pub long_range_weight: f64,
    /// Time of evaluations outside batches, and at the beginning of a batch.
    pub time: StageTime,
    /// Energy and virial of each term beyond its cut-off, times volume.
    pub tails: Vec<Tail>,
    /// Sums of strengths and of their squares, of each lattice sum: see [`LatticeSumKernel::constants`].
    pub strength_sums: Vec<[f64; 2]>,
}
