//! Contacts of grains over all tasks: their friction in the middle of a step, and what they remember.

use super::{Cpu, Task};
use crate::division::Division;
use crate::grains::SpringsLeft;
use crate::ranks::Ranks;
use crate::simd::Scalar;
use jostle_core::{RememberedContact, Result, State, SubSteps, Vector};
use jostle_transport::Communicator;

impl<S: Scalar> Cpu<S> {
    /// Damping and friction at all contacts over one step.
    pub(super) fn rub_contacts(&mut self, dt: f64) -> Result<()> {
        self.forward_positions()?;
        if let Some(contacts) = &mut self.terms.contacts {
            contacts.move_walls(dt);
        }
        let (clusters, state) = (&self.neighbors.clusters, &self.system.state);
        let Some(contacts) = &self.terms.contacts else { return Ok(()) };
        let own = self.own_tasks();
        self.workers.team.map(self.tasks[own.clone()].iter_mut().collect(), |_, task| {
            task.contacts.find(clusters, &task.list, state, contacts);
        });
        let (velocity, angular_velocity) = (state.velocity.clone(), state.angular_velocity.clone());
        let (law, remember) = (contacts.law, contacts.remember);
        self.stretch_springs(0.5 * dt)?;
        // Half-way first, then all the way with the friction of the velocities half-way.
        for (part, left) in [(0.5, SpringsLeft::AsTheyAre), (1.0, SpringsLeft::Limited)] {
            self.forward_velocities()?;
            let (width, state) = (self.neighbors.clusters.width, &self.system.state);
            self.workers.team.map(self.tasks[own.clone()].iter_mut().collect(), |_, task| {
                let Task { list, contacts, forces, torques, .. } = task;
                forces.clear(list, width);
                torques.clear(list, width);
                contacts.act(width, state, &law, left, forces, torques);
            });
            self.gather_forces()?;
            self.gather_torques()?;
            self.system.state.velocity.copy_from_slice(&velocity);
            self.system.state.angular_velocity.copy_from_slice(&angular_velocity);
            self.kick(part * dt)?;
            self.turn(part * dt);
        }
        self.stretch_springs(0.5 * dt)?;
        if let Some(contacts) = &mut self.terms.contacts {
            contacts.newer = remember;
        }
        Ok(())
    }

    /// Moves the springs of contacts that remember with the surfaces for some time.
    pub(super) fn stretch_springs(&mut self, time: f64) -> Result<()> {
        if !self.terms.contacts.as_ref().is_some_and(|contacts| contacts.remember) {
            return Ok(());
        }
        self.forward_velocities()?;
        let (own, state) = (self.own_tasks(), &self.system.state);
        self.workers
            .team
            .map(self.tasks[own].iter_mut().collect(), |_, task| task.contacts.stretch(state, time));
        Ok(())
    }

    /// Changes angular velocities by the torques, over `dt`.
    pub(super) fn turn(&mut self, dt: f64) {
        let n_moved = self.moved_tasks();
        let Some(contacts) = &self.terms.contacts else { return };
        let (clusters, state) = (&self.neighbors.clusters, &mut self.system.state);
        let State { id, species, angular_velocity, .. } = state;
        let mut rest = &mut angular_velocity[..];
        let mut parts = Vec::with_capacity(n_moved);
        for task in &self.tasks[..n_moved] {
            let range = task.list.clusters.clone();
            let n = (clusters.first[range.end] - clusters.first[range.start]) as usize;
            parts.push((task, rest.split_off_mut(..n).unwrap_or_default()));
        }
        self.workers.team.map(parts, |_, (task, angular_velocity)| {
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

    /// Puts the contacts of the tasks of all ranks into the state, where they are newer than those there.
    pub(super) fn collect_contacts(&mut self) -> Result<()> {
        if !self.terms.contacts.as_ref().is_some_and(|contacts| contacts.newer) {
            return Ok(());
        }
        let own = self.tasks[self.own_tasks()].iter().flat_map(|task| task.contacts.remembered());
        let all = match &self.workers.division {
            Division::None => own.collect(),
            Division::Tasks(Ranks { communicator, .. }) => of_ranks(communicator, own)?,
            Division::Domains(domains) => of_ranks(&domains.communicator, own)?,
        };
        self.system.state.contacts = all;
        self.system.state.contacts.sort_unstable_by_key(RememberedContact::key);
        Ok(())
    }

    /// Lets the next step take its contacts from the state.
    pub(super) fn recall_contacts(&mut self) {
        if let Some(contacts) = &mut self.terms.contacts {
            contacts.newer = false;
        }
    }
}

/// Contacts of all ranks, from those of this one. Every rank gets all of them, at every new list.
fn of_ranks(
    communicator: &Communicator,
    own: impl Iterator<Item = RememberedContact>,
) -> Result<Vec<RememberedContact>> {
    let numbers: Vec<[f64; 8]> = own
        .map(|RememberedContact { atoms: [a, b], slide, roll }| {
            [f64::from(a), f64::from(b), slide[0], slide[1], slide[2], roll[0], roll[1], roll[2]]
        })
        .collect();
    let all = communicator.gather(&numbers)?.into_iter().flatten();
    Ok(all
        .map(|[a, b, slide @ .., x, y, z]| RememberedContact {
            atoms: [a as u32, b as u32],
            slide: Vector(slide),
            roll: Vector([x, y, z]),
        })
        .collect())
}
