//! Launches of forces: of pairs, meshes, bonds and all others, beside each other where they do not depend on each other.
//!
//! A mesh is a chain of small kernels, each of which waits for the one before it, beside the pairs, which are one kernel.
//! Where a GPU has room for all blocks of that one, the chain is longer: it follows the kernel that has moved atoms on the
//! main stream, so that it begins at once and has room first, and pairs are on the last stream, behind the noise. Where it
//! has not, pairs are on the main stream, and the mesh finds room beside them as their blocks end.

use super::Launches;
use crate::device_data::{DeviceData, ForcesBeside};
use crate::driver::{Launch, Waits};
use crate::electrostatics::{ForcesTo, LatticeSumKernel, MeshForces, SUMS};
use crate::exchange::{Division, MeshDivision, MeshWork, MotionDivision};
use crate::kernels::ATOM_THREADS;
use crate::neighbor_engine::Trigger;
use crate::sums::VIRIAL;
use jostle_core::Evaluate;

impl Launches<'_> {
    /// Launches of forces and, if asked for, of sums of energies.
    pub fn forces(&self, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch> {
        let energies = evaluate == Evaluate::ForcesAndEnergies;
        let undivided = if self.counts_undivided() { evaluate } else { Evaluate::Forces };
        let mut launches = self.pair_forces(slot, trigger, evaluate);
        let data_of_biases = match trigger {
            Trigger::Step => self.with_bias_forces(self.data),
            _ => self.data,
        };
        let of_biases = self.biases.map(|biases| biases.apply(&data_of_biases, slot, trigger));
        let biases = self.biases.map(|biases| biases.evaluation(&self.data, slot, trigger, evaluate));
        match evaluate {
            Evaluate::Forces => drop(launches.splice(0..0, biases.into_iter().flatten())),
            Evaluate::ForcesAndEnergies => launches.extend(biases.into_iter().flatten()),
        }
        let silent = trigger == Trigger::Immediate && self.long_range_weight == 0.0 && !energies;
        let work = self.mesh_work(slot, trigger);
        let of_mesh = if matches!(work, MeshWork::Part(_)) { evaluate } else { undivided };
        let heard = self.charges.iter().filter(|_| !silent);
        let potentials = |c: &LatticeSumKernel| {
            c.reciprocal(&self.data, slot, trigger, of_mesh, &work, self.add_up(c.term, trigger))
        };
        let reciprocal: Vec<Launch> = heard.flat_map(potentials).collect();
        let meshes_first = trigger == Trigger::Step && !energies && self.has_meshes_first();
        let mut meshes = Vec::new();
        if energies {
            launches.extend(reciprocal);
        } else if meshes_first {
            meshes = reciprocal;
        } else {
            // Shares of energies, which the reciprocal space would overwrite, do not exist.
            launches.splice(0..0, reciprocal.into_iter().map(|launch| launch.waits(Waits::SideStream)));
        }
        let row = self.row_length();
        let vacuum = self.vacuum.map(|v| v.forces(&self.data, slot, row, trigger, undivided));
        launches.extend(vacuum.into_iter().flatten());
        let bonds_beside = self.bonds_beside().filter(|_| trigger == Trigger::Step && !energies);
        if let (Some(bonded), Some(beside)) = (self.bonded, bonds_beside) {
            let data = self.data.with_bond_forces(beside);
            let launch = bonded.forces(&data, slot, trigger, evaluate).waits(Waits::ThirdStream);
            launches.insert(0, launch);
        } else if let Some(bonded) = self.bonded {
            let evaluate = if self.division == Some(Division::Pairs) { undivided } else { evaluate };
            launches.push(bonded.forces(&self.data_of_bonded(evaluate), slot, trigger, evaluate));
            let sums =
                (evaluate == Evaluate::ForcesAndEnergies).then(|| bonded.sums(&self.data, row, trigger));
            launches.extend(sums);
        }
        let external = self.external.map(|o| o.forces(&self.data, slot, row, trigger, undivided));
        launches.extend(external.into_iter().flatten());
        launches.extend(of_biases);
        if meshes_first {
            launches = launches.into_iter().map(Launch::from_main_to_last_stream).collect();
        }
        launches.extend(meshes);
        launches.extend(self.forces_of_charges(slot, trigger, of_mesh, &work));
        if let (Some(exchange), Some(Division::Atoms)) = (self.exchange, self.division) {
            match (trigger, self.motion) {
                (Trigger::Step, MotionDivision::Divided) => {
                    launches.extend(exchange.own_forces(&self.data, slot))
                }
                _ => launches.extend(exchange.forces(&self.data, slot, trigger)),
            }
        }
        launches.extend(self.forces_of_sites(slot, trigger, undivided));
        launches
    }

    /// Launches of long-range forces of charges and of dispersion.
    fn forces_of_charges(
        &self,
        slot: i32,
        trigger: Trigger,
        evaluate: Evaluate,
        work: &MeshWork,
    ) -> Vec<Launch> {
        let beside = trigger == Trigger::Step && self.has_meshes_beside();
        let meshes = self.charges.iter().filter(|c| c.mesh().is_some()).count();
        let mesh_force = self.mesh_force.filter(|_| meshes > 1 || self.has_meshes_beside()).unwrap_or(0);
        let data = self.data.with_mesh_forces(mesh_force);
        let mut number = 0;
        let mut launches = Vec::new();
        for c in self.charges {
            let last = number + 1 >= meshes;
            let to = if beside || !last { ForcesTo::MeshForces } else { ForcesTo::Forces };
            let how = MeshForces { work, weight: self.long_range_weight, to, number };
            launches.extend(c.forces(&data, slot, trigger, evaluate, how, self.add_up(c.term, trigger)));
            number += usize::from(c.mesh().is_some());
        }
        let after = match beside {
            true if self.has_meshes_first() => Waits::MainStream,
            true => Waits::SideStream,
            false => Waits::AllStreams,
        };
        launches.into_iter().map(|launch| launch.waits(after)).collect()
    }

    /// Launch that adds up shares of the energy of a term and the virial.
    fn add_up(&self, term: usize, trigger: Trigger) -> impl Fn(u32) -> Launch {
        move |shares| self.add_onto(shares, SUMS, term, trigger)
    }

    /// Work of this GPU on meshes.
    fn mesh_work(&self, slot: i32, trigger: Trigger) -> MeshWork {
        match (self.division, self.exchange) {
            (Some(Division::Atoms), Some(exchange)) if exchange.mesh_division() == MeshDivision::Divided => {
                MeshWork::Part(exchange.mesh(&self.data, slot, trigger))
            }
            _ => MeshWork::Whole,
        }
    }

    /// Launches of pair forces, and of the sums of their energies.
    fn pair_forces(&self, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch> {
        let mut launches = self.neighbor_engine.forces(&self.data, slot, trigger, evaluate);
        if let (Some(exchange), Some(Division::Pairs)) = (self.exchange, self.division) {
            launches.extend(exchange.sums_of_forces(&self.data, slot, trigger));
        }
        if evaluate == Evaluate::ForcesAndEnergies {
            let count = self.n_pairs + VIRIAL;
            let sum = self.add_shares(self.neighbor_engine.energy_blocks(), count, 0, trigger);
            match self.exchange {
                // Exact sums are over the shares of all atoms.
                Some(exchange) if !self.divides_sums => {
                    launches.extend(exchange.shares(&self.data, count, slot, trigger));
                }
                _ => {}
            }
            launches.push(sum);
        }
        launches
    }

    /// Launches that transfer the forces on virtual sites.
    fn forces_of_sites(&self, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch> {
        let Some(constraints) = self.constraints else { return Vec::new() };
        let data = if trigger == Trigger::Step { self.moved() } else { self.data };
        let Some(spread) = constraints.spread(&data, slot, trigger, evaluate) else { return Vec::new() };
        let energies = evaluate == Evaluate::ForcesAndEnergies;
        let more = || self.add_onto(constraints.shares(), VIRIAL, self.n_pairs, trigger);
        std::iter::once(spread.waits(Waits::AllStreams)).chain(energies.then(more)).collect()
    }

    /// Data for bonded forces: exact sums of their energies are over all atoms.
    fn data_of_bonded(&self, evaluate: Evaluate) -> DeviceData {
        match evaluate {
            Evaluate::ForcesAndEnergies if !self.divides_sums => self.data.with_all_atoms(),
            _ => self.data,
        }
    }

    /// True where the energies of what is not divided are added up here: by one GPU only, if sums are divided.
    pub(super) fn counts_undivided(&self) -> bool {
        self.leads || !self.divides_sums
    }

    /// True where forces of meshes are computed beside those of pairs in steps, and added by the kernel that moves atoms:
    /// where nothing else needs all forces before. One GPU then has room for both.
    pub(super) fn has_meshes_beside(&self) -> bool {
        self.adds_when_moving() && self.charges.iter().any(LatticeSumKernel::acts)
    }

    /// True where meshes come before pairs, all blocks of which the GPU has room for: by the threads that kernels of mixed
    /// precision leave room for, since others were not measured.
    fn has_meshes_first(&self) -> bool {
        let pairs = || self.neighbor_engine.forces(&self.data, 0, Trigger::Step, Evaluate::Forces);
        let room = u64::from(self.resident_blocks) * u64::from(ATOM_THREADS);
        self.has_meshes_beside() && pairs().iter().map(Launch::threads).sum::<u64>() <= room
    }

    /// Stream of the noise of a step. In front of pairs that come after meshes it keeps them while charges are spread.
    pub(super) fn noise_beside(&self) -> Waits {
        if self.has_meshes_first() { Waits::LastStream } else { Waits::ThirdStream }
    }

    /// True where forces on atoms may be left for the kernel that moves them: nothing else needs all of them before, and no
    /// others are added later, since sums would round otherwise than at the ends of segments.
    fn adds_when_moving(&self) -> bool {
        self.exchange.is_none()
            && self.constraints.is_none_or(|constraints| !constraints.has_sites())
            && self.charges.iter().all(LatticeSumKernel::has_mesh_at_most)
    }

    /// Arrays for forces of bonds that are computed beside those of pairs in steps, where some atoms have bonds.
    fn bonds_beside(&self) -> Option<ForcesBeside> {
        let bonded = self.bonded.filter(|_| self.adds_when_moving() && self.external.is_none())?;
        bonded.forces_beside()
    }

    /// Data for kernels that move atoms, which add forces of bonds, likewise.
    pub(super) fn with_bond_forces(&self, data: DeviceData) -> DeviceData {
        self.bonds_beside().map_or(data, |beside| data.with_bond_forces(beside))
    }

    /// Data for kernels that move atoms, which add forces of biases, likewise.
    pub(super) fn with_bias_forces(&self, data: DeviceData) -> DeviceData {
        let biases = self.biases.filter(|_| self.adds_when_moving());
        biases.map_or(data, |biases| data.with_bias_forces(biases.forces_beside()))
    }

    /// Data for kernels that need all forces of pairs and meshes on atoms, from wherever they are.
    pub(super) fn with_mesh_forces(&self, data: DeviceData) -> DeviceData {
        data.with_mesh_forces(self.mesh_force.filter(|_| self.has_meshes_beside()).unwrap_or(0))
    }
}
