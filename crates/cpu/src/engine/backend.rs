//! The CPU as a [`Backend`].

use super::domain::drop_ghosts;
use super::motion::Pending;
use super::{Cpu, Incoming};
use crate::by_id::ByTeam;
use crate::division::Division;
use crate::domains::Domains;
use crate::electrostatics::LatticeSumKernel;
use crate::embedded::EmbeddedKernel;
use crate::integrate::{Follow, MotionCheck};
use crate::simd::Scalar;
use crate::three_body::ThreeBodyKernel;
use crate::vacuum::VacuumKernel;
use jostle_core::backend::{Algorithm, BiasPlace, Descent, NeighborFacts, StageTime, Timings};
use jostle_core::rigid_body::check_box;
use jostle_core::thermostat::Dissipative;
use jostle_core::{
    AddedForces, AtomStorage, AtomVector, Backend, ClosingKick, DeviceReport, Energies, Error, Evaluate,
    ForceEvaluation, Kinetic, NoiseKey, Result, SimBox, Snapshot, State, SubSteps, Vec3, VolumeMove,
};
use std::time::Instant;

impl<S: Scalar> Cpu<S> {
    /// Brings these vectors of all atoms up to date on rank 0.
    fn gather_vectors(&mut self, vectors: &[AtomVector]) -> Result<()> {
        self.finish(Follow::Not);
        if vectors.contains(&AtomVector::Force) {
            self.collect_forces();
        }
        self.state_of_ranks().map(drop)
    }

    /// Rows of atoms in the order of this state, written by the team.
    fn by_team<'a>(&'a self, state: &'a State) -> ByTeam<'a> {
        ByTeam { team: &self.workers.team, ids: &state.id }
    }
}

impl<S: Scalar> AtomStorage for Cpu<S> {
    fn simbox(&self) -> &SimBox {
        &self.system.simbox
    }

    fn n_atoms(&self) -> usize {
        self.workers.division.domains().map_or(self.system.state.len(), |domains| domains.n_atoms)
    }

    fn state(&mut self) -> Result<&State> {
        self.finish(Follow::Not);
        self.collect_forces();
        self.collect_contacts()?;
        self.state_of_ranks()
    }

    fn write_by_id(&mut self, vector: AtomVector, rows: &mut [Vec3]) -> Result<()> {
        self.gather_vectors(&[vector])?;
        let state = self.gathered_state();
        state.vector_arrays().write_by_id(&self.system.simbox, vector, rows, self.by_team(state))
    }

    fn snapshot(&mut self, vectors: &[AtomVector]) -> Result<Snapshot> {
        self.gather_vectors(vectors)?;
        let state = self.gathered_state();
        let rows = state.vector_arrays().rows(&self.system.simbox, vectors, self.by_team(state))?;
        Ok(Snapshot::new(|| Ok(rows)))
    }

    fn set_state(&mut self, state: State) -> Result<()> {
        self.check_length(&state)?;
        self.set_all_atoms(state);
        Ok(())
    }

    fn list_positions(&mut self) -> Result<&[Vec3]> {
        self.places_of_ranks()
    }

    fn restore(&mut self, state: State, list_positions: Vec<Vec3>, skin: f64) -> Result<()> {
        // The list is built from where it had the atoms before, in the order it left them in, which
        // sorting does not change again. Then they go where they are now.
        if self.workers.division.domains().is_some() {
            self.restore_domains(state, list_positions, skin)?;
            self.follow_restored();
            return Ok(());
        }
        let now = state.clone();
        self.set_state(State { position: list_positions, ..state })?;
        self.neighbors.skin.set(skin);
        self.rebuild_ahead(0.0)?;
        if self.system.state.id != now.id {
            // Clusters of another width, or another device, gave the checkpoint its order.
            return self.set_state(now);
        }
        self.system.state = now;
        self.follow_restored();
        Ok(())
    }

    fn set_box(&mut self, simbox: SimBox, state: State) -> Result<()> {
        simbox.check_cutoff(self.cutoff)?;
        check_box(&self.system.topology.rigid_bodies, &simbox)?;
        self.system.simbox = simbox;
        self.terms.bonded.fit(&simbox);
        self.set_state(state)
    }

    fn deform(&mut self, simbox: SimBox) -> Result<()> {
        simbox.check_cutoff(self.cutoff)?;
        check_box(&self.system.topology.rigid_bodies, &simbox)?;
        self.finish(Follow::Not);
        self.collect_forces();
        self.collect_contacts()?;
        let n_owned = self.n_owned();
        drop_ghosts(&mut self.system.state, n_owned);
        self.system.deform(simbox);
        self.terms.bonded.fit(&simbox);
        self.forget_lists();
        Ok(())
    }

    fn set_velocities(&mut self, velocities: &[Vec3]) -> Result<()> {
        self.finish(Follow::Not);
        self.set_all_velocities(velocities)
    }
}

impl<S: Scalar> ForceEvaluation for Cpu<S> {
    fn add_constraint_virial(&mut self, kick: ClosingKick) -> Result<()> {
        if !self.is_constrained()? {
            return Ok(());
        }
        self.finish(Follow::Not);
        self.collect_forces();
        let (on, simbox, state) =
            ((&self.workers.team, self.workers.level), &self.system.simbox, &self.system.state);
        let unkicked = match kick.turning() {
            0.0 => [0.0; 6],
            _ => self.motion.constraints.correct_velocities(on, simbox, state, 0.0),
        };
        let kicked = self.motion.constraints.correct_velocities(on, simbox, state, -kick.time);
        let virial = self.virial_of_ranks(kick.virial(kicked, unkicked))?;
        self.evaluation.energies.virial.iter_mut().zip(virial).for_each(|(w, more)| *w += more);
        Ok(())
    }

    fn set_long_range_weight(&mut self, weight: f64) -> Result<()> {
        self.terms.lattice_sums.iter_mut().for_each(|sum| sum.weight = weight);
        Ok(())
    }

    fn set_stiffness(&mut self, stiffness: &[f64]) -> Result<()> {
        self.forces.restraints.set_stiffness(stiffness)
    }

    fn set_time(&mut self, time: StageTime) -> Result<()> {
        self.motion.time = time;
        self.forces.set_time(time.now());
        if let Some(contacts) = &mut self.terms.contacts {
            contacts.time = time.now();
        }
        Ok(())
    }

    fn update_neighbors(&mut self) -> Result<()> {
        self.catch_up();
        if self.agree_on_stale()? {
            let start = Instant::now();
            let timings = self.common_timings()?;
            self.neighbors.skin.tune(&timings);
            self.rebuild()?;
            self.timings.neighbors += start.elapsed().as_secs_f64();
        }
        self.neighbors.skin.step();
        Ok(())
    }

    fn compute_forces(&mut self, evaluate: Evaluate) -> Result<()> {
        self.evaluation.evaluated = evaluate;
        self.catch_up();
        if self.tasks.is_empty() {
            self.update_neighbors()?;
        }
        let start = Instant::now();
        self.forward_positions()?;
        if self.algorithm == Algorithm::Reference {
            self.evaluate_reference()?;
        } else {
            let sums = self.evaluate_lists(evaluate)?;
            if evaluate == Evaluate::ForcesAndEnergies {
                let (volume, counts) = (self.system.simbox.volume(), self.counts());
                self.evaluation.energies = Energies::default();
                for (term, sum) in sums.into_iter().enumerate() {
                    let [tail_energy, tail_virial] = self.forces.tail(term, &counts).at(volume);
                    self.evaluation.energies.terms.push(sum.energy + tail_energy);
                    for (k, (w, part)) in
                        self.evaluation.energies.virial.iter_mut().zip(sum.virial).enumerate()
                    {
                        *w += part + if k < 3 { tail_virial } else { 0.0 };
                    }
                }
            }
        }
        self.spread_forces()?;
        self.timings.pair += start.elapsed().as_secs_f64();
        // Checked before atoms move: afterwards the distance that explains it is lost.
        match evaluate {
            Evaluate::ForcesAndEnergies => self.check_evaluation(),
            Evaluate::Forces => Ok(()),
        }
    }

    fn energies_with_charges(&mut self, charges: &[f64]) -> Result<Energies> {
        self.evaluate_with_charges(charges)
    }

    fn add_forces(&mut self, added: &AddedForces) -> Result<()> {
        self.add_to_tasks(added)
    }

    fn energies(&self) -> &Energies {
        &self.evaluation.energies
    }
}

impl<S: Scalar> SubSteps for Cpu<S> {
    fn kick(&mut self, dt: f64) -> Result<()> {
        let corrects = self.motion.pending == Pending::CorrectVelocities;
        if corrects {
            self.motion.pending = Pending::Nothing;
        }
        let (inverse_mass, level) = (self.motion.inverse_mass.clone(), self.workers.level);
        let checks = self.integrate(|mut atoms| match corrects {
            true => atoms.correct_and_kick(level, &inverse_mass, dt),
            false => atoms.kick(level, &inverse_mass, dt),
        });
        if checks?.contains(&MotionCheck::Failed) { self.report_bad_force() } else { Ok(()) }
    }

    fn drift(&mut self, dt: f64) -> Result<()> {
        if self.is_constrained()? {
            let already = self.take_drift();
            self.motion.pending = Pending::Drift(already + dt);
            return Ok(());
        }
        let (follow, level) = (self.follow(), self.workers.level);
        let checks = self.integrate(|mut atoms| atoms.drift(level, dt, follow))?;
        self.neighbors.stale |= checks.contains(&MotionCheck::Failed);
        Ok(())
    }

    fn kick_drift(&mut self, dt: f64) -> Result<()> {
        if self.is_constrained()? {
            self.kick(0.5 * dt)?;
            return self.drift(dt);
        }
        let (follow, level) = (self.follow(), self.workers.level);
        let inverse_mass = self.motion.inverse_mass.clone();
        let checks = self.integrate(|mut atoms| atoms.kick_drift(level, &inverse_mass, dt, follow));
        let checks = checks?;
        self.neighbors.stale |= checks.iter().any(|c| c[1] == MotionCheck::Failed);
        if checks.iter().any(|c| c[0] == MotionCheck::Failed) { self.report_bad_force() } else { Ok(()) }
    }

    fn constrain_positions(&mut self, dt: f64) -> Result<()> {
        if !self.is_constrained()? {
            return Ok(());
        }
        let drift = self.take_drift();
        let start = Instant::now();
        let (on, simbox, state) =
            ((&self.workers.team, self.workers.level), &self.system.simbox, &self.system.state);
        let held = self.motion.constraints.correct_positions(on, simbox, state, dt, drift);
        held.or_else(|failure| self.report(failure))?;
        self.motion.pending = Pending::DriftAndCorrect { drift, dt };
        self.timings.integrate += start.elapsed().as_secs_f64();
        Ok(())
    }

    fn constrain_velocities(&mut self, kick: Option<ClosingKick>) -> Result<()> {
        if !self.is_constrained()? {
            return Ok(());
        }
        self.finish(Follow::Not);
        let start = Instant::now();
        let kick = kick.filter(|_| self.evaluation.evaluated == Evaluate::ForcesAndEnergies);
        let turning = kick.filter(|kick| kick.turning() != 0.0);
        if turning.is_some() {
            self.collect_forces();
        }
        let (on, simbox, state) =
            ((&self.workers.team, self.workers.level), &self.system.simbox, &self.system.state);
        let unkicked = turning.map_or([0.0; 6], |kick| {
            self.motion.constraints.correct_velocities(on, simbox, state, kick.time)
        });
        let kicked = self.motion.constraints.correct_velocities(on, simbox, state, 0.0);
        self.timings.integrate += start.elapsed().as_secs_f64();
        self.motion.pending = Pending::CorrectVelocities;
        if let Some(kick) = kick {
            let virial = self.virial_of_ranks(kick.virial(kicked, unkicked))?;
            self.evaluation.energies.virial.iter_mut().zip(virial).for_each(|(w, more)| *w += more);
        }
        Ok(())
    }

    fn kinetic(&mut self) -> Result<Kinetic> {
        let mass = std::mem::take(&mut self.motion.mass);
        let parts = self.integrate(|atoms| atoms.kinetic(&mass));
        self.motion.mass = mass;
        let mut sums = Kinetic::default();
        for part in parts? {
            for (t, p) in sums.tensor.iter_mut().zip(part.tensor) {
                *t += p;
            }
            for (t, p) in sums.momentum.iter_mut().zip(part.momentum) {
                *t += p;
            }
        }
        let (contacts, n_owned) = (self.terms.contacts.as_ref(), self.n_owned());
        sums.rotation = contacts.map(|contacts| contacts.rotation(&self.system.state, n_owned));
        self.kinetic_of_ranks(sums)
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<()> {
        self.scale_and_shift(factor, Vec3::ZERO)
    }

    fn shift_velocities(&mut self, delta: Vec3) -> Result<()> {
        self.scale_and_shift(1.0, delta)
    }

    fn ornstein_uhlenbeck(&mut self, decay: f64, thermal_energy: f64, noise: NoiseKey) -> Result<()> {
        let inverse_mass = self.motion.inverse_mass.clone();
        let level = self.workers.level;
        self.integrate(|mut atoms| {
            atoms.ornstein_uhlenbeck(level, &inverse_mass, decay, thermal_energy, noise);
        })
        .map(drop)
    }

    fn apply_dpd_thermostat(&mut self, thermostat: &Dissipative, noise: NoiseKey) -> Result<()> {
        self.check_dpd_thermostat(thermostat)?;
        self.forward_positions()?;
        let (clusters, id) = (&self.neighbors.clusters, &self.system.state.id);
        let own = self.own_tasks();
        self.workers.team.map(self.tasks[own.clone()].iter_mut().collect(), |_, task| {
            task.pairs.find(clusters, &task.list, id, thermostat, noise);
        });
        let before = self.system.state.velocity.clone();
        // Half-way first, then all the way with the friction of the velocities half-way.
        for part in [0.5, 1.0] {
            self.forward_velocities()?;
            let (width, velocity) = (self.neighbors.clusters.width, &self.system.state.velocity);
            self.workers.team.map(self.tasks[own.clone()].iter_mut().collect(), |_, task| {
                task.forces.clear(&task.list, width);
                task.pairs.act(width, velocity, thermostat, &mut task.forces);
            });
            self.gather_forces()?;
            self.system.state.velocity.copy_from_slice(&before);
            self.kick(part)?;
        }
        Ok(())
    }

    fn check_dpd_thermostat(&self, thermostat: &Dissipative) -> Result<()> {
        if thermostat.cutoff > self.cutoff {
            let (cutoff, longest) = (thermostat.cutoff, self.cutoff);
            return Err(Error::input(format!(
                "friction and noise reach as far as {cutoff}, but no pair force further than {longest}"
            ))
            .hint("shorten the cut-off of the thermostat, or add a pair force that reaches as far"));
        }
        if self.algorithm == Algorithm::Reference {
            return Err(Error::input("the plain reference has no friction and noise between pairs of atoms")
                .hint("leave out algorithm"));
        }
        if self.workers.division.domains().is_some_and(Domains::is_matrix) {
            return Err(Error::input("a force matrix of ranks does not divide friction and noise of pairs")
                .hint("leave out --force-matrix"));
        }
        Ok(())
    }

    fn has_contacts(&self) -> bool {
        self.terms.contacts.is_some()
    }

    fn apply_contact_friction(&mut self, dt: f64) -> Result<()> {
        if self.algorithm == Algorithm::Reference {
            return Err(
                Error::input("the plain reference has no friction of grains").hint("leave out algorithm")
            );
        }
        self.rub_contacts(dt)
    }

    fn has_reflecting_walls(&self) -> bool {
        !self.forces.reflecting_walls.is_empty()
    }

    fn reflect(&mut self, part: f64) -> Result<()> {
        self.reflect_at_walls(self.motion.time.within_last_step(part))
    }

    fn descent(&mut self) -> Result<Descent> {
        let mut sums = Descent::default();
        let inverse_mass = self.motion.inverse_mass.clone();
        let parts = self.integrate(|atoms| atoms.descent(&inverse_mass));
        for part in parts? {
            sums.power += part.power;
            sums.velocity_square += part.velocity_square;
            sums.force_square += part.force_square;
            sums.largest_force = sums.largest_force.max(part.largest_force);
            sums.largest_speed = sums.largest_speed.max(part.largest_speed);
        }
        sums.largest_force = sums.largest_force.sqrt();
        sums.largest_speed = sums.largest_speed.sqrt();
        self.descent_of_ranks(sums)
    }

    fn mix_velocities(&mut self, keep: f64, along: f64) -> Result<()> {
        let inverse_mass = self.motion.inverse_mass.clone();
        self.integrate(|mut atoms| atoms.mix(&inverse_mass, keep, along)).map(drop)
    }
}

impl<S: Scalar> VolumeMove for Cpu<S> {}

impl<S: Scalar> DeviceReport for Cpu<S> {
    fn describe(&self) -> String {
        let threads = match self.workers.team.size() {
            1 => "1 thread".to_string(),
            n => format!("{n} threads"),
        };
        let precision = if size_of::<S>() == 4 { "mixed" } else { "double" };
        let is_interpreted = self.terms.pairs.iter().any(|(_, kernel)| kernel.is_interpreted());
        let formulas = if is_interpreted { ", formulas interpreted" } else { "" };
        let division = match &self.workers.division {
            Division::None => String::new(),
            Division::Domains(domains) => {
                format!(", {}", domains.describe())
            }
            Division::Tasks(ranks) => match ranks.whole {
                Some(reason) => format!(", forces divided but not atoms ({reason})"),
                None => String::new(),
            },
        };
        match self.algorithm {
            Algorithm::Reference => format!("CPU, {threads}, plain reference{division}"),
            _ => format!("CPU, {threads}, {}, {precision} precision{formulas}{division}", self.workers.level),
        }
    }

    fn timings(&self) -> Timings {
        self.timings
    }

    fn neighbor_facts(&self) -> NeighborFacts {
        let state = &self.system.state;
        let per_atom = 2 * size_of::<u32>() + size_of::<u16>() + 5 * size_of::<Vec3>();
        let tasks = self.tasks.iter();
        let bytes = state.len() * per_atom
            + self.neighbors.clusters.bytes()
            + self.terms.vacuum.as_ref().map_or(0, VacuumKernel::bytes)
            + self.terms.embedded.as_ref().map_or(0, EmbeddedKernel::bytes)
            + self.terms.three_body.as_ref().map_or(0, ThreeBodyKernel::bytes)
            + self.terms.lattice_sums.iter().map(LatticeSumKernel::bytes).sum::<usize>()
            + tasks
                .map(|t| {
                    t.list.bytes()
                        + t.bonds.bytes()
                        + t.forces.bytes()
                        + t.densities.bytes()
                        + t.packed.bytes()
                        + t.centers.bytes()
                        + t.torques.bytes()
                        + t.incoming.len() * size_of::<Incoming>()
                })
                .sum::<usize>();
        NeighborFacts {
            builds: self.neighbors.builds,
            skin: self.neighbors.skin.now(),
            settled: self.neighbors.skin.settled(),
            bytes,
        }
    }
}

impl<S: Scalar> Backend for Cpu<S> {
    fn bias_place(&mut self) -> BiasPlace<'_> {
        BiasPlace::Host("the CPU makes its steps one by one")
    }
}
