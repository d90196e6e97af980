//! The CPU engine: its state, lists and forces. Its methods as a device are in [`backend`], the motion of
//! atoms in [`motion`].

mod added;
mod backend;
mod forces;
mod motion;
mod ranks;

use crate::blocks::TaskForces;
use crate::bonded::{BondedKernels, TaskBonds};
use crate::cells::Clusters;
use crate::constraints::Constraints;
use crate::dissipative::TaskPairs;
use crate::electrostatics::LatticeSumKernel;
use crate::embedded::{EmbeddedKernel, PackedPairs};
use crate::external::RestraintKernel;
use crate::grains::{Contacts, TaskContacts};
use crate::interaction::PairKernel;
use crate::neighbors::{Exclusions, ListBuild, PairList};
use crate::pair;
use crate::ranks::{Partition, Ranks};
use crate::simd::{Level, Scalar};
use crate::skin::{self, Skin};
use crate::threads::Team;
use crate::vacuum::VacuumKernel;
use jostle_core::backend::{Algorithm, Timings};
use jostle_core::prediction;
use jostle_core::virtual_sites::follow_atoms;
use jostle_core::{
    Energies, Evaluate, Masses, PositionPrediction, Precision, Result, Settings, System, Vec3,
};
use jostle_potentials::{Forces, check};
use std::ops::Range;

/// The CPU engine: the atoms, their forces, and their motion. `S` is the arithmetic of the forces.
pub struct Cpu<S: Scalar> {
    system: System,
    forces: Forces,
    /// Pair forces with the number of their term.
    kernels: Vec<(usize, Box<dyn PairKernel<S>>)>,
    embedded: Option<EmbeddedKernel<S>>,
    /// Sums over all images.
    lattice_sums: Vec<LatticeSumKernel<S>>,
    constraints: Constraints,
    contacts: Option<Contacts>,
    /// Results of the last evaluation of forces.
    evaluated: Evaluate,
    vacuum: Option<VacuumKernel>,
    bonded: BondedKernels<S>,
    restraints: RestraintKernel,
    /// Ids of the excluded partners by id; empty without exclusions.
    excluded: Vec<Vec<u32>>,
    algorithm: Algorithm,
    level: Level,
    team: Team,
    /// The ranks of the run; `None` where there is one.
    ranks: Option<Ranks>,
    partition: Partition,
    mass: Masses,
    inverse_mass: Masses,
    cutoff: f64,
    skin: Skin,
    clusters: Clusters<S>,
    tasks: Vec<Task<S>>,
    list_positions: Vec<Vec3>,
    stale: bool,
    /// Changes of positions or velocities that have yet to be made.
    pending: motion::Pending,
    /// True if atoms have moved since their coordinates in clusters were updated.
    unfollowed: bool,
    energies: Energies,
    timings: Timings,
    builds: u64,
}

/// One thread's share of the clusters.
#[derive(Default)]
struct Task<S> {
    list: PairList<S>,
    forces: TaskForces<S>,
    /// Densities at embedded atoms.
    densities: TaskForces<S>,
    packed: PackedPairs<S>,
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
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = ranks.as_ref().map_or(settings.threads.unwrap_or(cores), Ranks::threads);
        let spacing = (system.simbox.volume() / system.state.len().max(1) as f64).cbrt();
        let excluded = system.topology.exclusions(system.state.len(), forces.exclude);
        let lattice_sums = LatticeSumKernel::all(&system, &forces);
        let contacts = forces.grains.as_ref().map(|grains| Contacts::new(&system, grains, &forces.walls));
        if contacts.is_some() {
            system.state.angular_velocity.resize(system.state.len(), [0.0; 3]);
        }
        // The pass over charges may include one of them.
        let companion = lattice_sums.iter().find_map(|sum| sum.companion);
        let pairs = forces.pairs.iter().enumerate().filter(|(term, _)| Some(*term) != companion);
        Ok(Cpu {
            algorithm: settings.algorithm,
            kernels: pairs.map(|(term, pair)| (term, pair::prepare(pair, level))).collect(),
            embedded: forces.embedded.clone().map(EmbeddedKernel::new),
            lattice_sums,
            constraints: Constraints::new(&system, level)?,
            contacts,
            evaluated: Evaluate::Forces,
            vacuum: forces.vacuum.as_ref().map(VacuumKernel::new),
            bonded: BondedKernels::new(&system, &forces),
            restraints: RestraintKernel::new(&system, &forces),
            excluded,
            level,
            team: Team::new(threads),
            ranks,
            partition: if settings.reproducible { Partition::Fixed } else { Partition::ByThreads },
            inverse_mass,
            mass,
            cutoff,
            skin: Skin::new(settings.skin, skin::guess(spacing, &system.topology), settings.reproducible),
            clusters: Clusters::new(level.width::<S>()),
            tasks: Vec::new(),
            list_positions: Vec::new(),
            stale: true,
            pending: motion::Pending::Nothing,
            unfollowed: false,
            energies: Energies::default(),
            timings: Timings::default(),
            builds: 0,
            system,
            forces,
        })
    }

    /// Builds lists around the predicted positions of atoms, see [`jostle_core::prediction`].
    fn rebuild(&mut self) -> Result<()> {
        self.collect_forces();
        let velocities = &self.system.state.velocity;
        let chunk = velocities.len().div_ceil(self.team.size()).max(1);
        let fastest2 = self.team.map(velocities.chunks(chunk).collect(), |_, velocities| {
            let square = |v: &Vec3| v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
            velocities.iter().map(square).fold(0.0, f64::max)
        });
        let fastest = fastest2.into_iter().fold(0.0, f64::max).sqrt();
        let time = prediction::prediction_distance(&self.system.topology) * self.skin.now() / fastest;
        self.rebuild_ahead(if time.is_finite() { time } else { 0.0 })
    }

    /// Sorts atoms, forms clusters, divides them into tasks and builds their lists, for the positions of
    /// atoms after `time`.
    fn rebuild_ahead(&mut self, time: f64) -> Result<()> {
        let far = 1e3 * self.cutoff.max(1e-3);
        let (_, inverse_mass) = self.system.dynamic_masses();
        let System { simbox, state, .. } = &mut self.system;
        let most = prediction::FARTHEST * self.skin.now();
        let prediction = PositionPrediction { time, most, inverse_mass: &inverse_mass };
        self.clusters.build(&self.team, simbox, state, (prediction, &mut self.list_positions), far)?;
        let n = self.clusters.count();
        let n_tasks = match (self.partition, &self.ranks) {
            (Partition::ByThreads, None) => self.team.size(),
            (Partition::ByThreads, Some(ranks)) => ranks.all_threads(),
            (Partition::Fixed, _) => (n / 64).clamp(1, 16),
        };
        self.tasks.resize_with(n_tasks, Task::default);
        self.divide_tasks();
        let own = self.own_tasks();
        let reach = self.cutoff + self.skin.now();
        // In open space there are no lists.
        let searched = self.forces.vacuum.is_none() || self.forces.n_searched() > 0;
        let (clusters, simbox, level) = (&self.clusters, &self.system.simbox, self.level);
        let (width, state, bonded) = (clusters.width, &self.system.state, &self.bonded);
        // Indices by id are needed only by terms that name atoms.
        let asked = !bonded.is_empty() || !self.excluded.is_empty() || self.vacuum.is_some();
        let asked = asked || !self.constraints.is_empty() || !self.restraints.is_empty();
        let index_by_id = if asked { state.index_by_id() } else { Vec::new() };
        if let Some(vacuum) = &mut self.vacuum {
            vacuum.sort(&self.system, &self.excluded, &index_by_id);
        }
        let exclusions = (!self.excluded.is_empty())
            .then(|| Exclusions::new(clusters, &state.id, &index_by_id, &self.excluded));
        let exclusions = exclusions.as_ref();
        if !self.constraints.is_empty() {
            let share = |t: usize| t * n / n_tasks..(t + 1) * n / n_tasks;
            let shares: Vec<_> = (0..n_tasks).map(share).collect();
            self.constraints.place(&state.id, &index_by_id, clusters, &shares);
        }
        self.restraints.place(&index_by_id);
        for sum in &mut self.lattice_sums {
            // Atoms are within half a skin of their positions in the list, now and later.
            sum.place(
                &self.team,
                &self.system,
                clusters,
                &self.excluded,
                &index_by_id,
                2.0 * self.skin.now(),
            );
        }
        self.team.map(self.tasks.iter_mut().collect(), |t, task| {
            task.list.clusters = t * n / n_tasks..(t + 1) * n / n_tasks;
            if !own.contains(&t) {
                task.list.clear();
                task.forces.clear(&task.list, width);
                return;
            }
            if self.algorithm != Algorithm::Reference && searched {
                level.run(ListBuild { clusters, simbox, reach, exclusions, list: &mut task.list });
            }
            task.forces.clear(&task.list, width);
            if !bonded.is_empty() {
                let own = task.list.clusters.clone();
                bonded.place(simbox, state, &index_by_id, clusters, own, &mut task.bonds);
            }
        });
        self.share_foreign_clusters()?;
        self.route_foreign_forces();
        self.stale = false;
        self.builds += 1;
        Ok(())
    }

    /// Finds the forces of other tasks on the clusters of each task, in a fixed order.
    fn route_foreign_forces(&mut self) {
        let owners: Vec<Range<usize>> = self.tasks.iter().map(|t| t.list.clusters.clone()).collect();
        let mut incoming: Vec<Vec<Incoming>> = owners.iter().map(|_| Vec::new()).collect();
        for (t, task) in self.tasks.iter().enumerate() {
            for (from, &cluster) in task.list.foreign.iter().enumerate() {
                let owner = owners.partition_point(|range| range.end <= cluster as usize);
                let to = cluster - owners[owner].start as u32;
                incoming[owner].push(Incoming { task: t as u32, from: from as u32, to });
            }
        }
        for (task, incoming) in self.tasks.iter_mut().zip(incoming) {
            task.incoming = incoming;
        }
    }
}
