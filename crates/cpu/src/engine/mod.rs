//! The CPU engine: its state, lists and forces. Its methods as a device are in [`backend`], the motion of
//! atoms in [`motion`].

mod added;
mod backend;
mod motion;

use crate::blocks::{ListPass, Sums, TaskForces};
use crate::bonded::{BondedKernels, TaskBonds};
use crate::cells::Clusters;
use crate::constraints::Constraints;
use crate::dissipative::TaskPairs;
use crate::electrostatics::LatticeSumKernel;
use crate::embedded::{EmbeddedKernel, PackedPairs};
use crate::external::{self, RestraintKernel};
use crate::grains::{Contacts, TaskContacts};
use crate::interaction::PairKernel;
use crate::neighbors::{Exclusions, ListBuild, PairList};
use crate::pair;
use crate::reference;
use crate::simd::{Level, Scalar};
use crate::skin::{self, Skin};
use crate::threads::Team;
use crate::vacuum::VacuumKernel;
use jostle_core::backend::{Algorithm, Timings};
use jostle_core::prediction;
use jostle_core::virtual_sites::follow_atoms;
use jostle_core::{
    Energies, Error, Evaluate, Masses, PositionPrediction, Precision, Result, Settings, State, System, Vec3,
};
use jostle_potentials::{Forces, check, diagnose};
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

/// Division of clusters among tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Partition {
    /// One task a thread: fastest.
    ByThreads,
    /// Independent of the number of threads, so that sums are the same to the last bit.
    Fixed,
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
    pub fn new(mut system: System, forces: Forces, settings: Settings, level: Level) -> Result<Self> {
        let precision = if size_of::<S>() == 4 { Precision::Mixed } else { Precision::Double };
        let cutoff = check::forces(&system, &forces, precision)?;
        follow_atoms(&system.topology.virtual_sites, &system.simbox, &mut system.state);
        let (mass, inverse_mass) = system.dynamic_masses();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
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
            team: Team::new(settings.threads.unwrap_or(cores)),
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
        let n_tasks = match self.partition {
            Partition::ByThreads => self.team.size(),
            Partition::Fixed => (n / 64).clamp(1, 16),
        };
        self.tasks.resize_with(n_tasks, Task::default);
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
            if self.algorithm != Algorithm::Reference && searched {
                level.run(ListBuild { clusters, simbox, reach, exclusions, list: &mut task.list });
            }
            task.forces.clear(&task.list, width);
            if !bonded.is_empty() {
                let own = task.list.clusters.clone();
                bonded.place(simbox, state, &index_by_id, clusters, own, &mut task.bonds);
            }
        });
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

    /// Evaluates the forces over the lists, and bonded ones; returns sums by term.
    ///
    /// # Errors
    /// If a bond has broken: names the two atoms.
    fn evaluate_lists(&mut self, evaluate: Evaluate) -> Result<Vec<Sums>> {
        let embedding = self.embed(evaluate);
        self.restraints.evaluate_distances(&self.system, &self.forces);
        if let Some(vacuum) = &mut self.vacuum {
            vacuum.follow(&self.system.state.position);
        }
        let (clusters, kernels, level) = (&self.clusters, &self.kernels, self.level);
        let (width, embedded, lattice_sums) = (clusters.width, &self.embedded, &self.lattice_sums);
        let (n_pairs, n_searched) = (self.forces.pairs.len(), self.forces.n_searched());
        let (vacuum, bonded, system, all) = (&self.vacuum, &self.bonded, &self.system, &self.forces);
        let restraints = &self.restraints;
        let by_task = self.team.map(self.tasks.iter_mut().collect(), |_, task| {
            task.forces.clear(&task.list, width);
            let (list, forces) = (&task.list, &mut task.forces);
            let mut pass = ListPass { level, clusters, list, accumulated: forces, evaluate };
            let mut sums = vec![Sums::default(); n_searched];
            for (term, kernel) in kernels {
                sums[*term] = kernel.add_forces(pass.reborrow());
            }
            if let Some(kernel) = embedded {
                sums[n_pairs] = kernel.add_forces(pass.reborrow(), &task.packed);
            }
            for LatticeSumKernel { direct, term, companion, charge, .. } in lattice_sums {
                let both = direct.add_forces(pass.reborrow(), charge);
                if let Some(companion) = companion {
                    sums[*companion] = both[0];
                }
                sums[*term] = both[1];
            }
            let own = &mut task.forces.own;
            let vacuum = vacuum.iter();
            let range = &task.list.clusters;
            sums.extend(vacuum.flat_map(|k| k.add_forces(level, clusters, range.clone(), own, evaluate)));
            let (bound, broken) =
                bonded.add_forces(level, &system.state.position, width, &task.bonds, own, evaluate);
            sums.extend(bound);
            sums.extend(external::add_forces(system, all, restraints, clusters, range.clone(), own));
            (sums, broken)
        });
        if let Some(broken) = by_task.iter().find_map(|(_, broken)| *broken) {
            return Err(broken.error(&self.system.state));
        }
        self.gather_forces();
        let mut sums = vec![Sums::default(); self.forces.n_terms()];
        self.add_long_range(evaluate, &mut sums);
        if let (Some(_), Some(sum)) = (&self.embedded, sums.get_mut(self.forces.pairs.len())) {
            sum.energy = embedding;
        }
        for (task, _) in by_task {
            for (sum, part) in sums.iter_mut().zip(task) {
                sum.energy += part.energy;
                for (w, part) in sum.virial.iter_mut().zip(part.virial) {
                    *w += part;
                }
            }
        }
        self.restraints.add_to(sums.last_mut());
        Ok(sums)
    }

    /// Adds the forces of tasks on clusters of others to the forces of the owners.
    fn gather_forces(&mut self) {
        let width = self.clusters.width;
        let parts = self.tasks.iter_mut().map(|task| {
            let (own, foreign) = task.forces.split();
            (own, foreign, &task.incoming[..])
        });
        hand_over(&self.team, parts.collect(), 3 * width);
    }

    /// Adds the torques of tasks on clusters of others to the torques of the owners.
    fn gather_torques(&mut self) {
        let width = self.clusters.width;
        let parts = self.tasks.iter_mut().map(|task| {
            let (own, foreign) = task.torques.split();
            (own, foreign, &task.incoming[..])
        });
        hand_over(&self.team, parts.collect(), 3 * width);
    }

    /// Changes angular velocities by the torques, over `dt`.
    fn turn(&mut self, dt: f64) {
        let Some(contacts) = &self.contacts else { return };
        let (clusters, state) = (&self.clusters, &mut self.system.state);
        let State { id, species, angular_velocity, .. } = state;
        let mut rest = &mut angular_velocity[..];
        let mut parts = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let range = task.list.clusters.clone();
            let n = (clusters.first[range.end] - clusters.first[range.start]) as usize;
            parts.push((task, rest.split_off_mut(..n).unwrap_or_default()));
        }
        self.team.map(parts, |_, (task, angular_velocity)| {
            let mut turning = angular_velocity.iter_mut();
            for (c, cluster) in task.list.clusters.clone().enumerate() {
                for (lane, atom) in clusters.atoms(cluster).enumerate() {
                    let Some(w) = turning.next() else { return };
                    let scale = dt * contacts.inverse_inertia.of(species[atom], id[atom]);
                    for (k, w) in w.iter_mut().enumerate() {
                        *w += scale * task.torques.own[(3 * c + k) * clusters.width + lane].to_f64();
                    }
                }
            }
        });
    }

    /// Adds the long-range forces of charges and dispersion; sums by term.
    fn add_long_range(&mut self, evaluate: Evaluate, sums: &mut [Sums]) {
        let (team, system, clusters) = (&self.team, &self.system, &self.clusters);
        for sum in &mut self.lattice_sums {
            let tasks = self.tasks.iter_mut().map(|task| {
                let range = task.list.clusters.clone();
                (range, &mut task.forces.own[..])
            });
            let on = (team, self.level);
            sums[sum.term] = sum.add_long_range(on, system, clusters, tasks.collect(), evaluate);
        }
    }

    /// Evaluates densities and the derivatives of embedding energies; returns the sum of embedding energies
    /// and, if asked for, of the energies of pairs.
    fn embed(&mut self, evaluate: Evaluate) -> f64 {
        let Some(mut kernel) = self.embedded.take() else { return 0.0 };
        let (clusters, level, width) = (&self.clusters, self.level, self.clusters.width);
        let pairs = self.team.map(self.tasks.iter_mut().collect(), |_, task| {
            let Task { list, densities, packed, .. } = task;
            densities.clear_numbers(list, width);
            kernel.add_densities(ListPass { level, clusters, list, accumulated: densities, evaluate }, packed)
        });
        let parts = self.tasks.iter_mut().map(|task| {
            let (own, foreign) = task.densities.split();
            (own, foreign, &task.incoming[..])
        });
        hand_over(&self.team, parts.collect(), width);
        let mut derivative = std::mem::take(&mut kernel.derivative);
        derivative.resize(self.clusters.count() * width);
        let mut rest = &mut derivative[..];
        let mut parts = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let part = rest.split_off_mut(..task.list.clusters.len() * width).unwrap_or_default();
            parts.push((task, part));
        }
        let clusters = &self.clusters;
        let energies = self
            .team
            .map(parts, |_, (task, part)| kernel.embed(clusters, &task.list, &task.densities.own, part));
        kernel.derivative = derivative;
        self.embedded = Some(kernel);
        pairs.into_iter().chain(energies).sum()
    }

    /// Evaluates forces and energies by the plain reference.
    fn evaluate_reference(&mut self) -> Result<()> {
        let weight = self.lattice_sums.first().map_or(1.0, |sum| sum.weight);
        let (forces, energies) = reference::evaluate_weighted(&self.system, &self.forces, weight)?;
        self.energies = energies;
        let width = self.clusters.width;
        for task in &mut self.tasks {
            let range = task.list.clusters.clone();
            let (own, _) = task.forces.split();
            for (c, cluster) in range.enumerate() {
                for (lane, atom) in self.clusters.atoms(cluster).enumerate() {
                    for k in 0..3 {
                        own[c * 3 * width + k * width + lane] = S::from_f64(forces[atom][k]);
                    }
                }
            }
        }
        Ok(())
    }

    /// Spreads the forces on virtual sites over their atoms.
    fn spread_forces(&mut self) {
        if !self.constraints.have_sites() {
            return;
        }
        let mut forces: Vec<&mut [S]> = self.tasks.iter_mut().map(|task| task.forces.split().0).collect();
        let (System { simbox, state, .. }, width) = (&self.system, self.clusters.width);
        let virial = self.constraints.spread(simbox, state, width, &mut forces);
        if self.evaluated == Evaluate::ForcesAndEnergies {
            self.energies.virial.iter_mut().zip(virial).for_each(|(w, more)| *w += more);
        }
    }

    /// The index of the atom with the smallest id whose force is not finite.
    fn bad_force(&mut self) -> Option<usize> {
        self.collect_forces();
        let State { force, id, .. } = &self.system.state;
        let bad = |index: &usize| force[*index].iter().any(|x| !x.is_finite());
        (0..force.len()).filter(bad).min_by_key(|index| id[*index])
    }

    /// The error that names the force that was not finite, or the energy.
    fn force_fault(&mut self) -> Error {
        let precision = if size_of::<S>() == 4 { Precision::Mixed } else { Precision::Double };
        match self.bad_force() {
            Some(index) => diagnose::force(&self.system, &self.forces, precision, index),
            None => diagnose::energy(&self.forces, &self.energies.terms),
        }
    }
}

/// Adds the numbers that tasks have for clusters of others to the numbers of the owners. Parts are the own
/// numbers of a task, those for others, and the list of incoming ones; `stride` numbers a cluster.
fn hand_over<S: Scalar>(team: &Team, parts: Vec<(&mut [S], &[S], &[Incoming])>, stride: usize) {
    if parts.len() < 2 {
        return;
    }
    let foreign: Vec<&[S]> = parts.iter().map(|(_, foreign, _)| *foreign).collect();
    team.map(parts, |_, (own, _, incoming)| {
        for Incoming { task, from, to } in incoming {
            let from = &foreign[*task as usize][*from as usize * stride..][..stride];
            let to = &mut own[*to as usize * stride..][..stride];
            for (to, from) in to.iter_mut().zip(from) {
                *to = S::from_f64(to.to_f64() + from.to_f64());
            }
        }
    });
}
