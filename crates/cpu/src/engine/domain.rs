//! The engine of a rank that owns a domain: sort and ghosts, messages between evaluations, and what all ranks
//! together have.

use super::{Cpu, Task};
use crate::blocks::{Sums, TaskForces};
use crate::cells::{Fractions, predict};
use crate::division::Division;
use crate::domains::{Condition, Domains, Failure};
use crate::electrostatics::LatticeSumKernel;
use crate::simd::Scalar;
use jostle_core::{
    Error, Evaluate, Kinetic, PositionPrediction, Precision, Result, SimBox, State, SymTensor, System, Vec3,
    Vector,
};
use jostle_core::{backend::Descent, prediction};
use jostle_potentials::diagnose;

impl<S: Scalar> Cpu<S> {
    /// Number of atoms that this rank moves.
    pub(super) fn n_owned(&self) -> usize {
        self.workers.division.domains().map_or(self.system.state.len(), |domains| domains.n_owned)
    }

    /// The box with the images that the search for pairs has to look at: along other axes they are ghosts.
    pub(super) fn box_with_images(&self) -> SimBox {
        let ghosts = self.workers.division.domains().map_or([false; 3], Domains::axes_with_ghosts);
        self.system.simbox.without_images(ghosts)
    }

    /// Largest of the numbers of all ranks that have different atoms.
    pub(super) fn largest(&self, own: f64) -> Result<f64> {
        self.workers.division.domains().map_or(Ok(own), |domains| domains.communicator.largest(own))
    }

    /// Gives atoms to the ranks that own the places where they are after `time`, sorts those of this rank into
    /// clusters, gets ghosts, and divides all into tasks.
    pub(super) fn sort_among_ranks(&mut self, time: f64) -> Result<()> {
        let (far, reach) = (1e3 * self.cutoff.max(1e-3), self.cutoff + self.neighbors.skin.now());
        let with_images = self.box_with_images();
        let Division::Domains(domains) = &mut self.workers.division else { return Ok(()) };
        let System { simbox, state, .. } = &mut self.system;
        let (neighbors, team) = (&mut self.neighbors, &self.workers.team);
        drop_ghosts(state, domains.n_owned);
        let most = prediction::FARTHEST * neighbors.skin.now();
        let prediction = PositionPrediction { time, most, inverse_mass: &self.motion.inverse_mass };
        let (clusters, places) = (&mut neighbors.clusters, &mut neighbors.list_positions);
        let predicted = predict(team, simbox, state, (prediction, places)).map(drop);
        domains.agree_on(predicted)?;
        domains.balance()?;
        (domains.gathered, domains.gathered_places) = Default::default();
        domains.join_groups(simbox, state, places);
        domains.migrate(simbox, state, places)?;
        let fractions = Fractions::of(simbox, places);
        clusters.arrange(team, &with_images, (state, places), &fractions);
        let ghosts = domains.import_ghosts(simbox, reach, clusters, (state, places))?;
        let mut order = Vec::with_capacity(ghosts.numbers.len());
        for n in ghosts.sizes {
            let (begin, first) = (order.len(), domains.n_owned + order.len());
            let sorted = clusters.arrange_ghosts(team, &with_images, (state, places), first..first + n);
            order.extend(sorted.iter().map(|k| ghosts.numbers[begin + *k as usize]));
        }
        clusters.list_pairs(&domains.ghosts.partners);
        clusters.fill_empty_places(far);
        let n_tasks = self.n_runs() * self.workers.team.size();
        self.tasks.resize_with(n_tasks, Task::default);
        let shares = self.shares();
        let Division::Domains(domains) = &mut self.workers.division else { return Ok(()) };
        domains.place(&self.neighbors.clusters, &order, &shares);
        let (bonded, state) = (&self.terms.bonded, &mut self.system.state);
        let with_excluded = self.terms.lattice_sums.iter().any(LatticeSumKernel::acts_on_excluded);
        let excluded = if with_excluded { &self.neighbors.excluded[..] } else { &[] };
        if bonded.is_empty() && excluded.is_empty() {
            return Ok(());
        }
        // Atoms of this rank come before the ghosts of the same atoms.
        let (owned, index_by_id) = (&state.id[..domains.n_owned], state.index_by_id());
        let mut wanted = bonded.absent(owned, &index_by_id);
        let partners = owned.iter().filter_map(|id| excluded.get(*id as usize)).flatten();
        wanted.extend(partners.filter(|id| index_by_id.get(**id).is_none()));
        wanted.sort_unstable();
        wanted.dedup();
        domains.import_guests(wanted, state)
    }

    /// Gives ghosts the positions of their atoms.
    pub(super) fn forward_positions(&mut self) -> Result<()> {
        let Division::Domains(domains) = &self.workers.division else { return Ok(()) };
        domains.forward_positions(&mut self.neighbors.clusters, &mut self.system.state.position)
    }

    /// Gives ghosts the velocities of their atoms, angular ones included.
    pub(super) fn forward_velocities(&mut self) -> Result<()> {
        let Division::Domains(domains) = &self.workers.division else { return Ok(()) };
        domains.forward_vectors(&mut self.system.state.velocity)?;
        match domains.turning {
            true => domains.forward_vectors(&mut self.system.state.angular_velocity),
            false => Ok(()),
        }
    }

    /// Gives ghosts the numbers of their atoms, of an array with one number for every lane of clusters.
    pub(super) fn forward_numbers(&self, numbers: &mut [S]) -> Result<()> {
        let Division::Domains(domains) = &self.workers.division else { return Ok(()) };
        domains.forward_numbers(numbers)
    }

    /// Sets what tasks of ghosts without lists have to zero, `stride` numbers a cluster.
    pub(super) fn clear_ghosts(&mut self, stride: usize, of: fn(&mut Task<S>) -> &mut TaskForces<S>) {
        let evaluated = self.evaluated_tasks().end;
        for task in &mut self.tasks[evaluated..] {
            let n_clusters = task.list.clusters.len();
            of(task).clear_own(n_clusters * stride);
        }
    }

    /// Adds what tasks of ghosts have to what the owners of their atoms have, `stride` numbers a cluster.
    pub(super) fn return_from_ghosts(
        &mut self,
        stride: usize,
        of: fn(&mut Task<S>) -> &mut TaskForces<S>,
    ) -> Result<()> {
        let Division::Domains(domains) = &self.workers.division else { return Ok(()) };
        let width = self.neighbors.clusters.width;
        let mut tasks: Vec<&mut [S]> = self.tasks.iter_mut().map(|task| of(task).split().0).collect();
        domains.reverse(width, stride / width, &mut tasks)
    }

    /// Returns true where the list of any rank is stale.
    ///
    /// # Errors
    /// If a rank has failed since the last agreement.
    pub(super) fn agree_on_stale(&mut self) -> Result<bool> {
        let stale = self.neighbors.stale;
        let Some(domains) = self.workers.division.domains_mut() else { return Ok(stale) };
        match domains.agree(stale)? {
            Condition::BadForce => Err(self.common_force_fault()?),
            condition => Ok(condition == Condition::Stale),
        }
    }

    /// A force on this rank that is not finite: an error at once, or with the next agreement.
    pub(super) fn report_bad_force(&mut self) -> Result<()> {
        match self.workers.division.domains_mut() {
            Some(domains) => domains.failure = Failure::Force,
            None => return Err(self.force_fault()),
        }
        Ok(())
    }

    /// A failure of this rank in an evaluation, in which others are waiting for its numbers: an error at once, or with
    /// the next agreement.
    pub(super) fn report(&mut self, failure: Error) -> Result<()> {
        match self.workers.division.domains_mut() {
            Some(domains) => domains.failure = Failure::Other(failure),
            None => return Err(failure),
        }
        Ok(())
    }

    /// Refuses an evaluation with a force or an energy that is not finite on any rank.
    pub(super) fn check_evaluation(&mut self) -> Result<()> {
        let is_finite = self.evaluation.energies.potential().is_finite();
        let is_bad = self.bad_force().is_some();
        let Some(domains) = self.workers.division.domains_mut() else {
            return if is_bad || !is_finite { Err(self.force_fault()) } else { Ok(()) };
        };
        if is_bad && matches!(domains.failure, Failure::None) {
            domains.failure = Failure::Force;
        }
        match domains.agree(false)? {
            Condition::BadForce => Err(self.common_force_fault()?),
            _ if !is_finite => Err(diagnose::energy(&self.forces, &self.evaluation.energies.terms)),
            _ => Ok(()),
        }
    }

    /// The error of a force that is not finite on some rank: rank 0 has all atoms for it.
    fn common_force_fault(&mut self) -> Result<Error> {
        self.collect_forces();
        let Some(domains) = self.workers.division.domains_mut() else { return Ok(self.force_fault()) };
        domains.gather_atoms(&self.system.simbox, &self.system.state, None)?;
        let State { force, id, .. } = &domains.gathered;
        let bad = |index: &usize| force[*index].iter().any(|x| !x.is_finite());
        let bad = (0..force.len()).filter(bad).min_by_key(|index| id[*index]);
        let precision = if size_of::<S>() == 4 { Precision::Mixed } else { Precision::Double };
        let Some(index) = bad else { return Ok(Error::simulation("a force is not finite")) };
        let state = domains.gathered.clone();
        let system = System { state, ..System { state: State::default(), ..self.system.clone() } };
        Ok(diagnose::force(&system, &self.forces, precision, index))
    }

    /// Energies and virials of all ranks, from those of this one, where energies are asked for.
    pub(super) fn sum_over_ranks(&self, sums: &mut [Sums], evaluate: Evaluate) -> Result<()> {
        let Some(domains) = self.workers.division.domains() else { return Ok(()) };
        if evaluate == Evaluate::Forces {
            return Ok(());
        }
        let mut numbers: Vec<f64> =
            sums.iter().flat_map(|sum| [sum.energy].into_iter().chain(sum.virial)).collect();
        domains.communicator.sum(&mut numbers)?;
        for (sum, numbers) in sums.iter_mut().zip(numbers.chunks_exact(7)) {
            sum.energy = numbers[0];
            sum.virial.copy_from_slice(&numbers[1..]);
        }
        Ok(())
    }

    /// A virial of all ranks, from the part of this one.
    pub(super) fn virial_of_ranks(&self, mut own: SymTensor) -> Result<SymTensor> {
        if let Some(domains) = self.workers.division.domains() {
            domains.communicator.sum(&mut own)?;
        }
        Ok(own)
    }

    /// Kinetic energy and momentum of all ranks.
    pub(super) fn kinetic_of_ranks(&self, own: Kinetic) -> Result<Kinetic> {
        let Some(domains) = self.workers.division.domains() else { return Ok(own) };
        let mut numbers = [0.0; 10];
        numbers[..6].copy_from_slice(&own.tensor);
        numbers[6..9].copy_from_slice(&own.momentum[..]);
        numbers[9] = own.rotation.unwrap_or_default();
        domains.communicator.sum(&mut numbers)?;
        let (tensor, momentum) = (std::array::from_fn(|k| numbers[k]), Vector::from_fn(|k| numbers[6 + k]));
        Ok(Kinetic { tensor, momentum, rotation: own.rotation.map(|_| numbers[9]) })
    }

    /// Sums of all ranks for a minimiser, whose largest force and speed are not squared.
    pub(super) fn descent_of_ranks(&self, own: Descent) -> Result<Descent> {
        let Some(domains) = self.workers.division.domains() else { return Ok(own) };
        let mut sums = [own.power, own.force_square, own.velocity_square];
        domains.communicator.sum(&mut sums)?;
        let [power, force_square, velocity_square] = sums;
        let (largest_force, largest_speed) = (
            domains.communicator.largest(own.largest_force)?,
            domains.communicator.largest(own.largest_speed)?,
        );
        Ok(Descent { power, force_square, velocity_square, largest_force, largest_speed })
    }

    /// All atoms in the order of ranks, where this is rank 0; otherwise those of this rank.
    pub(super) fn state_of_ranks(&mut self) -> Result<&State> {
        if self.agree_on_failures()? {
            return Err(self.common_force_fault()?);
        }
        let places = (!self.tasks.is_empty()).then_some(&self.neighbors.list_positions[..]);
        if let Some(domains) = self.workers.division.domains_mut() {
            domains.gather_atoms(&self.system.simbox, &self.system.state, places)?;
            domains.gathered.contacts.clone_from(&self.system.state.contacts);
        }
        Ok(self.gathered_state())
    }

    /// All atoms on rank 0 as they were gathered last, and those of its domain on another one.
    pub(super) fn gathered_state(&self) -> &State {
        match self.workers.division.domains() {
            Some(domains) if domains.rank() == 0 => &domains.gathered,
            _ => &self.system.state,
        }
    }

    /// Returns true where a rank has had a force that is not finite since the last agreement.
    fn agree_on_failures(&mut self) -> Result<bool> {
        let Some(domains) = self.workers.division.domains_mut() else { return Ok(false) };
        Ok(domains.agree(false)? == Condition::BadForce)
    }

    /// Positions in the lists of all ranks, likewise.
    pub(super) fn places_of_ranks(&mut self) -> Result<&[Vec3]> {
        let places = &self.neighbors.list_positions;
        let Some(domains) = self.workers.division.domains_mut() else { return Ok(places) };
        domains.gather_places(&self.system.simbox, places)?;
        match domains.rank() {
            0 => Ok(&domains.gathered_places),
            _ => Ok(places),
        }
    }

    /// Goes on from a checkpoint: lists are built from where they had atoms before, then atoms go where they are.
    pub(super) fn restore_domains(
        &mut self,
        state: State,
        list_positions: Vec<Vec3>,
        skin: f64,
    ) -> Result<()> {
        self.check_length(&state)?;
        let (mut now, simbox) = (state.clone(), self.system.simbox);
        let Some(domains) = self.workers.division.domains_mut() else { return Ok(()) };
        domains.cut(&simbox, &list_positions);
        domains.keep_own(&simbox, &mut now, &list_positions);
        self.set_all_atoms(State { position: list_positions, ..state });
        self.neighbors.skin.set(skin);
        self.rebuild_ahead(0.0)?;
        let index_by_id = now.index_by_id();
        let n_owned = self.n_owned();
        let State { id, position, image, .. } = &mut self.system.state;
        for ((id, image), position) in id[..n_owned].iter().zip(image).zip(position) {
            // The build was at the very places by which atoms were kept, so that all of them are here.
            if let Some(index) = index_by_id.get(*id) {
                // It may have moved atoms to another image.
                let shift = simbox.shift([0, 1, 2].map(|k| image[k] - now.image[index][k]));
                *position = now.position[index] - shift;
            }
        }
        Ok(())
    }

    /// Takes the atoms of all ranks and keeps those of this one, where there are domains.
    pub(super) fn set_all_atoms(&mut self, mut state: State) {
        if self.terms.contacts.is_some() {
            state.angular_velocity.resize(state.len(), Vec3::ZERO);
        }
        if let Some(domains) = self.workers.division.domains_mut() {
            let places = state.position.clone();
            domains.keep_own(&self.system.simbox, &mut state, &places);
        }
        self.system.state = state;
        self.forget_lists();
    }

    /// Takes velocities of all ranks, in the order of ranks.
    pub(super) fn set_all_velocities(&mut self, velocities: &[Vec3]) -> Result<()> {
        let own = match self.workers.division.domains() {
            Some(domains) => domains.own_part()?,
            None => 0..self.system.state.len(),
        };
        let n = own.len();
        match velocities.get(own) {
            Some(velocities) => self.system.state.velocity[..n].copy_from_slice(velocities),
            None => return Err(Error::input("there are not as many velocities as atoms")),
        }
        Ok(())
    }
}

/// Drops the ghosts, which come last.
pub(super) fn drop_ghosts(state: &mut State, n_owned: usize) {
    // Contacts are those of all ranks.
    let State { id, species, position, image, velocity, force, angular_velocity, contacts: _ } = state;
    id.truncate(n_owned);
    species.truncate(n_owned);
    image.truncate(n_owned);
    [position, velocity, force, angular_velocity].into_iter().for_each(|vectors| vectors.truncate(n_owned));
}
