//! Parts of the engine, by job.

use super::motion::Pending;
use crate::bonded::BondedKernels;
use crate::cells::Clusters;
use crate::constraints::Constraints;
use crate::division::Division;
use crate::electrostatics::LatticeSumKernel;
use crate::embedded::EmbeddedKernel;
use crate::external::RestraintKernel;
use crate::grains::Contacts;
use crate::interaction::PairKernel;
use crate::ranks::Partition;
use crate::simd::{Level, Scalar};
use crate::skin::Skin;
use crate::threads::Team;
use crate::three_body::ThreeBodyKernel;
use crate::vacuum::VacuumKernel;
use jostle_core::backend::StageTime;
use jostle_core::{Energies, Evaluate, Masses, Vec3};
use std::sync::Arc;

/// Kernels of the force terms; `None` or empty where a system has no such term.
pub struct TermKernels<S: Scalar> {
    /// Pair forces with the number of their term.
    pub pairs: Vec<(usize, Box<dyn PairKernel<S>>)>,
    pub embedded: Option<EmbeddedKernel<S>>,
    pub three_body: Option<ThreeBodyKernel<S>>,
    /// Sums over all images.
    pub lattice_sums: Vec<LatticeSumKernel<S>>,
    pub vacuum: Option<VacuumKernel>,
    pub bonded: BondedKernels<S>,
    pub restraints: RestraintKernel,
    pub contacts: Option<Contacts>,
}

/// Atoms sorted into clusters, and the state of the lists around these; the lists are with the tasks.
pub struct Neighbors<S> {
    pub clusters: Clusters<S>,
    /// Ids of the excluded partners by id; empty without exclusions.
    pub excluded: Vec<Vec<u32>>,
    pub skin: Skin,
    pub list_positions: Vec<Vec3>,
    /// True where the lists no longer have all pairs within the cut-off.
    pub stale: bool,
    /// Number of times that lists were built.
    pub builds: u64,
}

/// Motion of the atoms: their masses and constraints, and changes under way.
pub struct Motion {
    pub mass: Masses,
    pub inverse_mass: Arc<Masses>,
    pub constraints: Constraints,
    /// Changes of positions or velocities that have yet to be made.
    pub pending: Pending,
    /// Time at the end of the step under way.
    pub time: StageTime,
    /// True if atoms have moved since their coordinates in clusters were updated.
    pub unfollowed: bool,
}

/// Threads and ranks that share the tasks, and the instructions that they use.
pub struct Workers {
    pub level: Level,
    pub team: Team,
    pub division: Division,
    pub partition: Partition,
}

/// Last evaluation of forces.
pub struct Evaluation {
    /// Result of the last evaluation: forces, or energies too.
    pub evaluated: Evaluate,
    pub energies: Energies,
}
