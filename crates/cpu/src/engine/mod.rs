//! The CPU engine: everything that it holds. Its methods as a device are in [`backend`], lists in [`lists`], the
//! motion of atoms in [`motion`].

mod added;
mod backend;
mod charges;
mod contacts;
mod domain;
mod forces;
mod heat_current;
mod lists;
mod motion;
mod parts;
mod ranks;

use crate::blocks::TaskForces;
use crate::bonded::{BondedKernels, TaskBonds};
use crate::cells::Clusters;
use crate::constraints::Constraints;
use crate::dissipative::TaskPairs;
use crate::division::Division;
use crate::domains::{self, Domains};
use crate::electrostatics::LatticeSumKernel;
use crate::embedded::{EmbeddedKernel, PackedPairs};
use crate::external::RestraintKernel;
use crate::grains::{Contacts, TaskContacts};
use crate::neighbors::PairList;
use crate::pair;
use crate::ranks::{Partition, Ranks};
use crate::simd::{Level, Scalar};
use crate::skin::{self, Skin};
use crate::threads::Team;
use crate::three_body::{TaskCenters, ThreeBodyKernel};
use crate::vacuum::VacuumKernel;
pub use heat_current::HeatCurrent;
use jostle_core::backend::{Algorithm, StageTime, Timings};
use jostle_core::virtual_sites::follow_atoms;
use jostle_core::{AtomStorage, Energies, Error, Evaluate, Precision, Result, Settings, State, System, Vec3};
use jostle_potentials::{Forces, check};
use motion::Pending;
use parts::{Evaluation, Motion, Neighbors, TermKernels, Workers};
use std::sync::Arc;

/// The CPU engine: the atoms, their forces, and their motion. `S` is the arithmetic of the forces.
pub struct Cpu<S: Scalar> {
    system: System,
    forces: Forces,
    algorithm: Algorithm,
    cutoff: f64,
    terms: TermKernels<S>,
    neighbors: Neighbors<S>,
    tasks: Vec<Task<S>>,
    motion: Motion,
    workers: Workers,
    evaluation: Evaluation,
    timings: Timings,
}

/// One thread's share of the clusters.
#[derive(Default)]
struct Task<S> {
    list: PairList<S>,
    forces: TaskForces<S>,
    /// Forces of pairs of frozen atoms alone, once they have been evaluated with this list.
    of_frozen: Option<TaskForces<S>>,
    /// Densities at embedded atoms.
    densities: TaskForces<S>,
    packed: PackedPairs<S>,
    /// Centres of three-body forces.
    centers: TaskCenters<S>,
    bonds: TaskBonds,
    pairs: TaskPairs,
    contacts: TaskContacts,
    /// Torques on grains.
    torques: TaskForces<S>,
    /// Forces of other tasks on clusters of this one.
    incoming: Vec<Incoming>,
}

/// A force of another task on a cluster.
struct Incoming {
    task: u32,
    /// Place among the other task's foreign clusters.
    from: u32,
    /// Place among one's own clusters.
    to: u32,
}

impl<S: Scalar> Cpu<S> {
    /// Puts a system on the CPU.
    ///
    /// # Errors
    /// If a term does not fit the system: species, cut-off and box, range of numbers.
    pub fn new(
        mut system: System,
        forces: Forces,
        settings: Settings,
        (level, ranks): (Level, Option<Ranks>),
    ) -> Result<Self> {
        let precision = if size_of::<S>() == 4 { Precision::Mixed } else { Precision::Double };
        let cutoff = check::forces(&system, &forces, precision)?;
        follow_atoms(&system.topology.virtual_sites, &system.simbox, &mut system.state);
        let (mass, inverse_mass) = system.dynamic_masses();
        let inverse_mass = Arc::new(inverse_mass);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = ranks.as_ref().map_or(settings.threads.unwrap_or(cores), Ranks::threads);
        let excluded = system.topology.exclusions(system.state.len(), forces.exclude);
        let lattice_sums = LatticeSumKernel::all(&system, &forces);
        let contacts = forces.grains.as_ref().map(|grains| Contacts::new(&system, grains, &forces.walls));
        if contacts.is_some() {
            system.state.angular_velocity.resize(system.state.len(), Vec3::ZERO);
        }
        // The pass over charges may include one of them.
        let companion = lattice_sums.iter().find_map(|sum| sum.companion);
        let counts = system.counts();
        let pairs = forces.pairs.iter().enumerate().filter(|(term, _)| Some(*term) != companion);
        let mut terms = TermKernels {
            pairs: pairs.map(|(term, pair)| (term, pair::prepare(pair, &counts, level))).collect(),
            embedded: forces.embedded.clone().map(EmbeddedKernel::new),
            three_body: forces.three_body.clone().map(ThreeBodyKernel::new),
            lattice_sums,
            vacuum: forces.vacuum.as_ref().map(VacuumKernel::new),
            bonded: BondedKernels::new(&system, &forces),
            restraints: RestraintKernel::new(&system, &forces),
            contacts,
        };
        let neighbors = Neighbors {
            clusters: Clusters::new(level.width::<S>()),
            excluded,
            skin: Skin::new(settings.skin, skin::guess(&system, cutoff), settings.reproducible),
            list_positions: Vec::new(),
            stale: true,
            builds: 0,
        };
        let constraints = Constraints::new(&system, level)?;
        let partition = if settings.reproducible { Partition::Fixed } else { Partition::ByThreads };
        let division = divide(&mut system, &forces, &settings, (&constraints, ranks))?;
        if division.domains().is_some() {
            terms.lattice_sums.iter_mut().for_each(LatticeSumKernel::divide);
        }
        Ok(Cpu {
            algorithm: settings.algorithm,
            cutoff,
            terms,
            neighbors,
            tasks: Vec::new(),
            motion: Motion {
                mass,
                inverse_mass,
                constraints,
                pending: Pending::Nothing,
                time: StageTime::default(),
                unfollowed: false,
            },
            workers: Workers { level, team: Team::new(threads), division, partition },
            evaluation: Evaluation { evaluated: Evaluate::Forces, energies: Energies::default() },
            timings: Timings::default(),
            system,
            forces,
        })
    }
}

impl<S: Scalar> Cpu<S> {
    /// Refuses a state that does not have all atoms.
    fn check_length(&self, state: &State) -> Result<()> {
        let (n, n_atoms) = (state.len(), self.n_atoms());
        match n == n_atoms {
            true => Ok(()),
            false => Err(Error::input(format!("a state of {n} atoms cannot replace one of {n_atoms}"))),
        }
    }

    /// Number of atoms of each species, on all ranks.
    fn counts(&self) -> Vec<usize> {
        self.workers.division.domains().map_or_else(|| self.system.counts(), |domains| domains.counts.clone())
    }
}

/// Division of a system among ranks: into domains where all that it has is divided so, and then without the atoms of
/// other ranks.
///
/// # Errors
/// If a force matrix is asked for where there is none.
fn divide(
    system: &mut System,
    forces: &Forces,
    settings: &Settings,
    (constraints, ranks): (&Constraints, Option<Ranks>),
) -> Result<Division> {
    let Some(mut ranks) = ranks else { return Ok(Division::None) };
    let obstacle = domains::obstacle(forces, settings, constraints.extent());
    if settings.force_matrix.is_some() {
        domains::check_matrix(forces, obstacle)?;
    } else if ranks.communicator.size() == 1 {
        return Ok(Division::Tasks(ranks));
    }
    ranks.whole = obstacle;
    if ranks.whole.is_some() {
        return Ok(Division::Tasks(ranks));
    }
    let layout = (constraints.leaders(), settings.force_matrix);
    let mut domains = Box::new(Domains::new(ranks, system, forces, layout)?);
    let places = system.state.position.clone();
    domains.keep_own(&system.simbox, &mut system.state, &places);
    Ok(Division::Domains(domains))
}
