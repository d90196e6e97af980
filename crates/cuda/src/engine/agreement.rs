//! Agreement of the GPUs of a run: sums over all of them, decisions that are the same on all, and their shares.

use super::Cuda;
use crate::device_data::AtomArrays;
use crate::electrostatics::LatticeSumKernel;
use crate::electrostatics::mesh::{Mesh, MeshAddresses};
use crate::exchange::{Division, Exchange, MeshDivision, MotionDivision, Moving, Needs};
use crate::kernels::Gpus;
use crate::launches::Others;
use crate::peers::Peers;
use crate::sums::{Summation, VIRIAL};
use crate::thermostat::ScalingThermostat;
use jostle_core::Result;

/// Number of atoms from which on motion of groups with constraints is divided: below it takes less time to move all
/// atoms on every GPU than to send what others need to know. See PERFORMANCE.md.
const LEAST_FOR_DIVIDED_GROUPS: usize = 1 << 18;

impl Cuda {
    /// True where each GPU adds up the energies of its own atoms. Exact sums need all of them in one place.
    pub(super) fn divides_sums(&self) -> bool {
        self.plan.exchange().is_some() && self.plan.summation == Summation::Fast
    }

    /// Rows of samples, of all GPUs together. The first `by_steps` are from steps, which find all numbers of their own atoms;
    /// where segments end, the kinetic energy is that of all atoms.
    pub(super) fn rows_of_all(&self, mut rows: Vec<f64>, length: usize, by_steps: usize) -> Result<Vec<f64>> {
        let others = self.whole_rows(rows.split_off(by_steps * length), length)?;
        let rows = match self.plan.peers().filter(|_| self.divides_sums() && by_steps > 0) {
            Some(peers) => peers.sums(&rows)?,
            None => rows,
        };
        Ok([rows, others].concat())
    }

    /// Rows of energies by term and virial, of all GPUs together.
    pub(super) fn whole_rows(&self, mut rows: Vec<f64>, length: usize) -> Result<Vec<f64>> {
        let Some(peers) = self.plan.peers().filter(|_| self.divides_sums()) else { return Ok(rows) };
        let searched = self.forces.n_searched() + VIRIAL;
        let bonded = searched + self.forces.n_unbounded();
        let all = peers.sums(&rows)?;
        for (k, (number, sum)) in rows.iter_mut().zip(all).enumerate() {
            let column = k % length;
            let of_bonds = (bonded..bonded + self.forces.n_bonded()).contains(&column);
            let divided = column < searched || (of_bonds && self.plan.division() == Some(Division::Atoms));
            if divided {
                *number = sum;
            }
        }
        Ok(rows)
    }

    /// Addresses of this GPU's arrays of atoms.
    pub(super) fn atom_arrays(&self) -> AtomArrays {
        self.data.atoms
    }

    /// Takes the addresses of the arrays of all GPUs.
    pub(super) fn set_peer_arrays(&mut self, all: &[AtomArrays]) {
        if let Some((peers, _)) = &mut self.plan.peers {
            peers.exchange.set_peer_arrays(all);
        }
    }

    /// Motion of atoms: divided where nothing but the forces on an atom and its group, and their own velocities, decides
    /// where it goes, no fault calls for the host between two lists, and GPUs reach each other's memory. Springs between centres of groups need exact
    /// positions of all their atoms.
    pub(super) fn motion(&self) -> MotionDivision {
        let alone = self.plan.division() == Some(Division::Atoms)
            && self.mid_step().is_none()
            && self.terms.thermostat.as_ref().is_none_or(ScalingThermostat::acts_at_ends)
            && self.forces.restraints.distances.is_empty()
            && self.plan.exchange().is_some_and(Exchange::reaches_others)
            && self.recorded.others == Others::Absent
            && self.system.simbox.periodic() == [true; 3];
        let pays = self.terms.constraints.is_none()
            || self.plan.n >= LEAST_FOR_DIVIDED_GROUPS
            || self.device.is_for_tests();
        if alone && pays { MotionDivision::Divided } else { MotionDivision::Alike }
    }

    /// True where lists are built with what GPUs need to know of each other's atoms.
    pub(super) fn divides_lists(&self) -> bool {
        self.motion() == MotionDivision::Divided || self.always_divides_lists()
    }

    /// True where they are even if motion is not divided.
    fn always_divides_lists(&self) -> bool {
        matches!(self.plan.summation, Summation::Exact(_))
            && self.plan.division() == Some(Division::Atoms)
            && self.plan.exchange().is_some_and(Exchange::reaches_others)
    }

    /// Takes over how motion is divided in a batch. What GPUs need to know of each other's atoms is found with a list: one
    /// that was built without it is built again, except in reproducible runs, whose lists all have it: an atom is put into
    /// the box where a list is built, which rounds its position. One that knows more serves: a resumed run has the lists
    /// of one that was not interrupted.
    pub(super) fn divide_motion(&mut self) {
        let motion = self.motion();
        if self.recorded.motion.replace(motion) != Some(motion) && self.plan.exchange().is_some() {
            self.recorded.graphs = None;
            if motion == MotionDivision::Divided && !self.always_divides_lists() {
                self.control.slot[0].stale = 1;
            }
        }
    }

    /// Motion of an atom, as far as other atoms matter.
    pub(super) fn moving(&self) -> Moving {
        match (&self.terms.constraints, &self.terms.bonded) {
            (Some(constraints), _) => Moving::Together { extent: constraints.extent() },
            (None, Some(bonded)) if bonded.needs_exact_positions() => Moving::Together { extent: Some(0.0) },
            (None, Some(_)) => Moving::Bound,
            (None, None) => Moving::Alone,
        }
    }

    /// Atoms of other GPUs whose positions are needed in a step.
    pub(super) fn needs(&self) -> Needs {
        match self.plan.exchange() {
            Some(exchange)
                if exchange.mesh_division() == MeshDivision::Alike && !self.terms.charges.is_empty() =>
            {
                Needs::All
            }
            _ => Needs::Near,
        }
    }

    /// Waits until no GPU uses the memory of another: before some of it is given back.
    pub(super) fn await_peers(&self) -> Result<()> {
        match self.plan.peers() {
            Some(peers) => self.device.synchronize().and_then(|()| peers.barrier()),
            None => Ok(()),
        }
    }

    /// Takes the addresses of the meshes of all GPUs, where they divide them.
    pub(super) fn connect_meshes(&mut self) -> Result<()> {
        let Some(peers) = self.plan.peers().filter(|_| self.plan.mesh_gpus() == Gpus::Several) else {
            return Ok(());
        };
        for charges in &mut self.terms.charges {
            let Some(mesh) = charges.mesh() else { continue };
            let all = peers.addresses(&mesh.addresses())?;
            let all: Vec<MeshAddresses> =
                all.iter().filter_map(|one| one.as_slice().try_into().ok()).collect();
            charges.set_peers(peers.rank, &all);
        }
        Ok(())
    }

    /// Waits until the threads of all GPUs are about to launch kernels that wait for each other.
    pub(super) fn barrier(&self) -> Result<()> {
        self.plan.peers().map_or(Ok(()), Peers::barrier)
    }

    /// Largest of a number that each GPU has: decisions by times and costs are the same on all.
    pub(super) fn largest_of_all(&self, number: f64) -> Result<f64> {
        self.plan.peers().map_or(Ok(number), |peers| peers.largest(number))
    }

    /// Notes waits for other GPUs, and what was sent to them in so many slots.
    pub(super) fn count_exchange(&mut self, slots: u64) -> Result<()> {
        let Some(exchange) = self.plan.exchange() else { return Ok(()) };
        self.timings.waiting = exchange.waits()?.all;
        let divided = exchange.mesh_division() == MeshDivision::Divided
            && self.plan.division() == Some(Division::Atoms);
        let meshes = self.terms.charges.iter().filter_map(LatticeSumKernel::mesh);
        let of_meshes: f64 = meshes.filter(|_| divided).map(Mesh::bytes_sent).sum();
        let bytes = exchange.bytes_per_step(&self.data, self.motion())? + of_meshes;
        self.timings.bytes_sent += slots as f64 * bytes;
        Ok(())
    }

    /// Gives more atoms to GPUs that wait for others.
    pub(super) fn balance_gpus(&mut self, slots: u64, seconds: f64) -> Result<()> {
        // Reproducible runs must not depend on times, and neither must tests.
        if !self.divides_sums() || self.device.is_emulated() {
            return Ok(());
        }
        let Some((peers, balance)) = &mut self.plan.peers else { return Ok(()) };
        let waited = peers.exchange.waits()?.for_forces;
        let Some(wait) = balance.wait_since(slots, waited) else { return Ok(()) };
        if balance.adapt(&peers.all(wait)?, seconds / slots as f64) { self.move_borders() } else { Ok(()) }
    }

    /// Sets the shares of the GPUs of the run.
    pub(super) fn set_shares(&mut self, shares: &[f64]) -> Result<()> {
        let Some((_, balance)) = &mut self.plan.peers else { return Ok(()) };
        balance.set(shares);
        self.read_control()?;
        self.move_borders()
    }

    /// Continues with other shares of the GPUs: with another list, as that of each GPU is of its own atoms.
    pub(super) fn move_borders(&mut self) -> Result<()> {
        self.arrange()?;
        self.control.slot[0].stale = 1;
        self.write_control()
    }
}
