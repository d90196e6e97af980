//! The GPU as a device ([`jostle_core::Backend`]).

use super::faults::lists_keep_growing;
use super::{Cuda, MOST_ATTEMPTS, kinetic_from};
use crate::added::AddedKernel;
use crate::biases::BiasKernels;
use crate::bonded::BondedKernels;
use crate::by_id::ByThreads;
use crate::constraints::Constraints;
use crate::device_data::BoxGeometry;
use crate::electrostatics::LatticeSumKernel;
use crate::grains::Contacts;
use crate::molecules::{Bodies, MOLECULAR_SUMS};
use crate::neighbor_engine::Trigger;
use crate::sums::{KINETIC, VIRIAL};
use crate::vacuum::VacuumKernel;
use jostle_core::backend::{BiasPlace, Descent, Member, NeighborFacts, Profile, StageTime, Timings};
use jostle_core::rigid_body::check_box;
use jostle_core::thermostat::Dissipative;
use jostle_core::{
    AddedForces, ArraysChanged, AtomStorage, AtomVector, Backend, ClosingKick, DeviceArrays, DeviceForce,
    DeviceReport, Energies, Error, Evaluate, ForceEvaluation, Kinetic, MolecularVirial, Molecules, NoiseKey,
    Precision, Result, Sample, SavedVolume, SimBox, Snapshot, State, StepBatch, SubSteps, Thermostat, Vec3,
    VolumeMove,
};

impl AtomStorage for Cuda {
    fn simbox(&self) -> &SimBox {
        &self.system.simbox
    }

    fn n_atoms(&self) -> usize {
        self.system.state.len()
    }

    fn state(&mut self) -> Result<&State> {
        self.read_control()?;
        self.download()?;
        Ok(&self.system.state)
    }

    fn write_by_id(&mut self, vector: AtomVector, rows: &mut [Vec3]) -> Result<()> {
        let simbox = self.system.simbox;
        let state = self.state()?;
        state.vector_arrays().write_by_id(&simbox, vector, rows, ByThreads::new(&state.id))
    }

    fn snapshot(&mut self, vectors: &[AtomVector]) -> Result<Snapshot> {
        self.read_control()?;
        let simbox = self.system.simbox;
        // Grains have spins elsewhere.
        if !vectors.contains(&AtomVector::AngularVelocity)
            && let Some(snapshot) = self.arrays.snapshot(&self.device, &self.control, simbox, vectors)?
        {
            return Ok(snapshot);
        }
        self.download()?;
        let state = &self.system.state;
        let rows = state.vector_arrays().rows(&simbox, vectors, ByThreads::new(&state.id))?;
        Ok(Snapshot::new(|| Ok(rows)))
    }

    fn set_state(&mut self, state: State) -> Result<()> {
        if state.len() != self.system.state.len() {
            return Err(Error::input(format!(
                "a state of {} atoms cannot replace one of {}",
                state.len(),
                self.system.state.len()
            )));
        }
        self.system.state = state;
        if self.system.simbox.periodic() != [true; 3] {
            self.geometry = self.geometry_of_box(self.cutoff + self.skin.now());
            self.lay_out()?;
        }
        self.upload()
    }

    fn list_positions(&mut self) -> Result<&[Vec3]> {
        self.order.list_positions = self.arrays.built(&self.geometry)?;
        Ok(&self.order.list_positions)
    }

    fn restore(&mut self, state: State, list_positions: Vec<Vec3>, skin: f64) -> Result<()> {
        // The list is built around the same positions as before, not around where atoms might go
        // from there; sorting finds them in order already. Then they go where they are now.
        let now = state.clone();
        self.skin.set(skin);
        self.set_state(State { position: list_positions, ..state })?;
        let prediction_distance = std::mem::take(&mut self.control.prediction_distance);
        self.write_control()?;
        self.update_neighbors()?;
        self.control.prediction_distance = prediction_distance;
        self.write_control()?;
        self.download()?;
        if self.system.state.id != now.id {
            // Another kind of device gave the checkpoint its order.
            return self.set_state(now);
        }
        self.arrays.overwrite(&self.control, &now)?;
        self.terms.grains.as_ref().map_or(Ok(()), |grains| grains.upload(&now))?;
        self.system.state = now;
        self.place_listed()?;
        self.read_control()
    }

    fn set_box(&mut self, simbox: SimBox, state: State) -> Result<()> {
        simbox.check_cutoff(self.cutoff)?;
        check_box(&self.system.topology.rigid_bodies, &simbox)?;
        self.system.state = state;
        self.fit_box(simbox)?;
        self.upload()
    }

    fn set_velocities(&mut self, velocities: &[Vec3]) -> Result<()> {
        self.arrays.overwrite_velocities(&self.control, velocities)
    }

    fn device_arrays(&mut self) -> Result<DeviceArrays> {
        self.share_arrays()
    }

    fn take_back_arrays(&mut self, changed: ArraysChanged) -> Result<()> {
        self.adopt_arrays(changed)
    }
}

impl ForceEvaluation for Cuda {
    fn add_constraint_virial(&mut self, kick: ClosingKick) -> Result<()> {
        self.find_groups()?;
        let Some(constraints) = &self.terms.constraints else { return Ok(()) };
        self.run_all(constraints.trial_kick(&self.data, kick.time, kick.turning()))?;
        self.collect_constraint_virial(kick.time)
    }

    fn set_long_range_weight(&mut self, weight: f64) -> Result<()> {
        self.evaluation.long_range_weight = weight;
        Ok(())
    }

    fn set_stiffness(&mut self, stiffness: &[f64]) -> Result<()> {
        self.forces.restraints.set_stiffness(stiffness)?;
        self.follow_springs()
    }

    fn set_time(&mut self, time: StageTime) -> Result<()> {
        self.evaluation.time = time;
        if !self.forces.depend_on_time() {
            return Ok(());
        }
        self.forces.set_time(time.now());
        self.terms.external.as_ref().map_or(Ok(()), |external| external.set_time(time))?;
        self.terms.reflection.as_ref().map_or(Ok(()), |reflection| reflection.set_time(time))?;
        self.terms.grains.as_ref().map_or(Ok(()), |contacts| contacts.set_time(time))
    }

    fn update_neighbors(&mut self) -> Result<()> {
        if std::mem::take(&mut self.order.drifted) {
            // Only now: in the middle of a drift, or before constraints, atoms may have been further away.
            self.place_listed()?;
        }
        // A list is built with what GPUs need to know of each other's atoms.
        self.recorded.motion = Some(self.motion());
        for _ in 0..MOST_ATTEMPTS {
            self.barrier()?;
            self.run_all(self.launches().build(0))?;
            self.read_control()?;
            if self.control.faults == 0 {
                self.order.sorted = true;
                return Ok(());
            }
            self.settle_faults()?;
        }
        Err(lists_keep_growing())
    }

    fn compute_forces(&mut self, evaluate: Evaluate) -> Result<()> {
        if self.control.slot[0].stale != 0 {
            // The host has done away with the list, to let it grow or for another skin.
            self.update_neighbors()?;
        }
        self.complete_lists()?;
        self.barrier()?;
        self.run_all(self.launches().forces(0, Trigger::Immediate, evaluate))?;
        self.evaluation.evaluated = evaluate;
        if evaluate == Evaluate::ForcesAndEnergies {
            let length = self.forces.n_terms() + VIRIAL;
            let row = self.totals(length)?;
            let row = self.whole_rows(row, length)?;
            self.evaluation.energies = self.energies_from(&row);
            if !self.evaluation.energies.potential().is_finite() {
                self.kick(0.0)?;
                self.read_control()?;
                return Err(self.diagnose_force());
            }
            self.add_bias_energies()?;
        }
        Ok(())
    }

    fn energies_with_charges(&mut self, charges: &[f64]) -> Result<Energies> {
        self.evaluate_with_charges(charges)
    }

    fn add_forces(&mut self, added: &AddedForces) -> Result<()> {
        added.check(self.n_atoms())?;
        if self.evaluation.evaluated == Evaluate::ForcesAndEnergies {
            self.evaluation.energies.add(added);
        }
        if added.ids.is_empty() {
            return Ok(());
        }
        let (n, precision, sums) = (self.n_atoms(), self.precision, self.plan.summation);
        let kernel = match &mut self.terms.added {
            Some(kernel) => kernel,
            none => none.insert(AddedKernel::new(&self.device, n, precision, sums)?),
        };
        let launch = kernel.launch(&self.data, &added.by_id(n))?;
        self.device.run(&launch)
    }

    fn add_device_forces(&mut self, forces: &mut [&mut dyn DeviceForce]) -> Result<()> {
        self.queue_device_forces(forces, 0, Trigger::Immediate)
    }

    fn energies(&self) -> &Energies {
        &self.evaluation.energies
    }
}

impl SubSteps for Cuda {
    fn kick(&mut self, dt: f64) -> Result<()> {
        let launch = self.launches().atoms(&self.kernels.kick).with_value(dt);
        self.device.run(&launch)
    }

    fn drift(&mut self, dt: f64) -> Result<()> {
        let launch = self.launches().atoms(&self.kernels.drift).with_value(dt);
        self.order.drifted = true;
        self.device.run(&launch)
    }

    fn constrain_positions(&mut self, dt: f64) -> Result<()> {
        self.find_groups()?;
        let hold = self.terms.constraints.as_ref().map(|c| c.hold(&self.data, dt));
        self.run_all(hold.unwrap_or_default())
    }

    fn constrain_velocities(&mut self, kick: Option<ClosingKick>) -> Result<()> {
        self.constrain_velocities_after(kick)
    }

    fn kinetic(&mut self) -> Result<Kinetic> {
        self.run_all(self.launches().kinetic(Trigger::Immediate))?;
        let row = self.totals(KINETIC)?;
        let rotation = self.terms.grains.as_ref().map(Contacts::rotation).transpose()?;
        Ok(Kinetic { rotation, ..kinetic_from(&row) })
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<()> {
        let launch = self.launches().atoms(&self.kernels.scale_and_shift).with_value(factor);
        self.device.run(&launch.with_value(0.0).with_value(0.0).with_value(0.0))
    }

    fn shift_velocities(&mut self, delta: Vec3) -> Result<()> {
        let launch = self.launches().atoms(&self.kernels.scale_and_shift).with_value(1.0);
        let launch = launch.with_value(delta[0]).with_value(delta[1]).with_value(delta[2]);
        self.device.run(&launch)
    }

    fn ornstein_uhlenbeck(&mut self, decay: f64, thermal_energy: f64, noise: NoiseKey) -> Result<()> {
        let launch = self.launches().atoms(&self.kernels.noise).with_value(decay).with_value(thermal_energy);
        self.device.run(&launch.with_value(noise.seed).with_value(noise.step))
    }

    fn apply_dpd_thermostat(&mut self, thermostat: &Dissipative, noise: NoiseKey) -> Result<()> {
        let data = self.data;
        let launches = self.pair_thermostat(thermostat)?.now(&data, thermostat, noise);
        launches.iter().try_for_each(|launch| self.device.run(launch))
    }

    fn check_dpd_thermostat(&self, thermostat: &Dissipative) -> Result<()> {
        self.check_pair_reach(thermostat.cutoff)
    }

    fn has_contacts(&self) -> bool {
        self.terms.grains.is_some()
    }

    fn apply_contact_friction(&mut self, dt: f64) -> Result<()> {
        let launches = self.terms.grains.as_ref().map(|grains| grains.now(&self.data, dt));
        self.run_all(launches.into_iter().flatten().collect())
    }

    fn has_reflecting_walls(&self) -> bool {
        self.terms.reflection.is_some()
    }

    fn reflect(&mut self, part: f64) -> Result<()> {
        let launches = self.terms.reflection.as_ref().map(|reflection| reflection.now(&self.data, part));
        self.run_all(launches.into_iter().collect())
    }

    fn descent(&mut self) -> Result<Descent> {
        let launches = self.launches();
        let shares = launches.atoms(&self.kernels.descent_shares);
        let add = launches.add_shares(launches.atom_shares(), 3, 0, Trigger::Immediate);
        self.sums.total.clear()?;
        self.run_all(vec![shares, add])?;
        let row = self.totals(5)?;
        Ok(Descent {
            power: row[0],
            force_square: row[1],
            velocity_square: row[2],
            largest_force: row[3].sqrt(),
            largest_speed: row[4].sqrt(),
        })
    }

    fn mix_velocities(&mut self, keep: f64, along: f64) -> Result<()> {
        let launch = self.launches().atoms(&self.kernels.mix).with_value(keep).with_value(along);
        self.device.run(&launch)
    }
}

impl VolumeMove for Cuda {
    fn molecular_virial(&mut self, molecules: &Molecules) -> Result<MolecularVirial> {
        if self.terms.bodies.is_none() {
            let simbox = self.system.simbox;
            self.read_control()?;
            self.download()?;
            let (precision, sums) = (self.precision, self.plan.summation);
            let bodies = Bodies::new(&self.device, molecules, &simbox, &self.system.state, precision, sums)?;
            self.terms.bodies = Some(bodies);
        }
        let Some(bodies) = &self.terms.bodies else { return Ok(MolecularVirial::on_device(0.0, 0.0)) };
        let launches = self.launches();
        let add = launches.add_shares(launches.atom_shares(), MOLECULAR_SUMS, 0, Trigger::Immediate);
        self.run_all([bodies.molecular_virial(&self.data), vec![add]].concat())?;
        let sums = self.totals(MOLECULAR_SUMS)?;
        Ok(MolecularVirial::on_device(sums[0], sums[1]))
    }

    fn scale_volume(
        &mut self,
        _molecular: MolecularVirial,
        simbox: SimBox,
        faster: f64,
    ) -> Result<SavedVolume> {
        simbox.check_cutoff(self.cutoff)?;
        check_box(&self.system.topology.rigid_bodies, &simbox)?;
        let Some(bodies) = &self.terms.bodies else {
            return Err(Error::device("the molecular virial was not taken"));
        };
        let before = self.system.simbox;
        let after = BoxGeometry::new(&simbox, &self.system.state, 0.0, self.plan.summation.open_range());
        self.device.run(&bodies.scale_volume(&self.data, after, faster))?;
        self.read_control()?;
        self.enter(simbox)?;
        Ok(SavedVolume { simbox: before, state: None })
    }

    fn undo_scale(&mut self, before: SavedVolume) -> Result<()> {
        let Some(bodies) = &self.terms.bodies else {
            return Err(Error::device("the molecular virial was not taken"));
        };
        self.device.run(&bodies.undo_scale(&self.data))?;
        self.read_control()?;
        self.enter(before.simbox)
    }
}

impl DeviceReport for Cuda {
    fn describe(&self) -> String {
        let precision = match self.precision {
            Precision::Mixed => "mixed",
            Precision::Double => "double",
        };
        format!("{}, {}, {precision} precision", self.device.name(), self.pairs.engine.name())
    }

    fn timings(&self) -> Timings {
        self.timings
    }

    fn neighbor_facts(&self) -> NeighborFacts {
        NeighborFacts {
            builds: self.control.builds as u64,
            skin: self.skin.now(),
            settled: self.skin.settled(),
            bytes: self.arrays.bytes()
                + self.pairs.engine.bytes()
                + self.plan.excluded.bytes()
                + self.plan.peers().map_or(0, |peers| peers.exchange.bytes())
                + self.terms.charges.iter().map(LatticeSumKernel::bytes).sum::<usize>()
                + self.terms.vacuum.as_ref().map_or(0, VacuumKernel::bytes)
                + self.terms.bonded.as_ref().map_or(0, BondedKernels::bytes)
                + self.terms.biases.as_ref().map_or(0, BiasKernels::bytes)
                + self.terms.constraints.as_ref().map_or(0, Constraints::bytes),
        }
    }

    fn start_profile(&mut self) -> Result<()> {
        self.device.start_profile()
    }

    fn end_profile(&mut self) -> Result<Profile> {
        let kernels = self.device.end_profile()?;
        Ok(Profile { kernels, lists: self.pairs.engine.contents()? })
    }
}

impl Backend for Cuda {
    fn run_steps(&mut self, batch: &StepBatch, thermostat: &mut Thermostat) -> Result<Option<Vec<Sample>>> {
        if lacks_virial(batch) {
            return Ok(None);
        }
        match self.terms.grains {
            Some(_) if batch.sample_every > 0 => self.make_batch_in_parts(batch, thermostat),
            _ => self.make_batch(batch, thermostat, &mut []),
        }
        .map(Some)
    }

    fn run_steps_with(
        &mut self,
        batch: &StepBatch,
        thermostat: &mut Thermostat,
        forces: &mut [&mut dyn DeviceForce],
    ) -> Result<Option<Vec<Sample>>> {
        if lacks_virial(batch) { Ok(None) } else { self.make_batch_with(batch, thermostat, forces) }
    }

    fn bias_place(&mut self) -> BiasPlace<'_> {
        self.place_of_biases()
    }

    fn gpu(&self) -> Option<usize> {
        self.plan.peers().is_none().then(|| self.device.number())
    }

    fn join(&mut self, member: &Member) -> bool {
        self.join_ensemble(member)
    }

    fn agreed_duration(&self) -> Option<f64> {
        self.is_together().then_some(self.recorded.seconds)
    }
}

/// Returns true where energies of a batch would have virials of constraints for long-range forces at another weight
/// than 1.
fn lacks_virial(batch: &StepBatch) -> bool {
    let with_energies = batch.sample_every > 0 || batch.evaluate == Evaluate::ForcesAndEnergies;
    batch.long_range.every > 1 && with_energies
}

impl Cuda {
    /// Builds the lists that steps do without. One that does not fit lets all of them grow.
    fn complete_lists(&mut self) -> Result<()> {
        for _ in 0..MOST_ATTEMPTS {
            let rest = self.pairs.engine.build_rest(&self.data, 0, Trigger::Immediate);
            let Some(launch) = rest else { return Ok(()) };
            self.device.run(&launch)?;
            self.read_control()?;
            if self.control.faults == 0 {
                return Ok(());
            }
            self.settle_faults()?;
            self.update_neighbors()?;
        }
        Err(lists_keep_growing())
    }

    /// Makes sure that atoms have been sorted, if there are constraints: before that it is not known where
    /// the atoms of a molecule are.
    fn find_groups(&mut self) -> Result<()> {
        if self.terms.constraints.is_none() || self.order.sorted { Ok(()) } else { self.update_neighbors() }
    }

    fn constrain_velocities_after(&mut self, kick: Option<ClosingKick>) -> Result<()> {
        self.find_groups()?;
        let Some(constraints) = &self.terms.constraints else { return Ok(()) };
        let (time, turning) = kick.map_or((0.0, 0.0), |kick| (kick.time, kick.turning()));
        self.run_all(constraints.brake(&self.data, time, turning))?;
        match self.evaluation.evaluated {
            Evaluate::ForcesAndEnergies if kick.is_some() => self.collect_constraint_virial(time),
            _ => Ok(()),
        }
    }

    /// Adds what constraints bore of a kick by `time`.
    fn collect_constraint_virial(&mut self, time: f64) -> Result<()> {
        let Some(constraints) = &self.terms.constraints else { return Ok(()) };
        self.device.run(&constraints.sums(&self.data, 0, Trigger::Immediate))?;
        let impulse = self.totals(self.evaluation.energies.virial.len())?;
        self.evaluation.energies.virial.iter_mut().zip(impulse).for_each(|(w, part)| *w += part / time);
        Ok(())
    }
}
