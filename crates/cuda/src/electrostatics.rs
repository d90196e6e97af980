//! Long-range parts of charges, or of dispersion over all images: atoms excluded from each other, and
//! reciprocal space, on a mesh or by single wave vectors.

mod box_change;
pub mod ewald;
pub mod excluded;
pub mod mesh;
mod planes;

use crate::device_data::DeviceData;
use crate::driver::{Device, Launch};
use crate::exchange::MeshWork;
use crate::exclusions::Exclusions;
use crate::kernels::Gpus;
use crate::neighbor_engine::Trigger;
use crate::sums::Summation;
pub use box_change::BoxChange;
use ewald::Ewald;
use excluded::ExcludedCharges;
use jostle_core::{Evaluate, Precision, Result, SimBox, System};
use jostle_potentials::{Forces, LatticeSum};
pub use mesh::{ForcesTo, MeshForces, SPREAD_ATOMS};
use mesh::{Mesh, MeshAddresses};

/// Number of sums of which each part leaves shares: energy and virial.
pub const SUMS: usize = 7;

/// Lattice sum on a device: of charges, or of dispersion.
pub struct LatticeSumKernel {
    sum: LatticeSum,
    /// Number of the term.
    pub term: usize,
    excluded: Option<ExcludedCharges>,
    mesh: Option<Mesh>,
    ewald: Option<Ewald>,
}

impl LatticeSumKernel {
    /// Kernels of the lattice sums of a system, besides those of pairs.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn all(
        device: &Device,
        system: &System,
        forces: &Forces,
        exclusions: &Exclusions,
        (precision, summation): (Precision, Summation),
        gpus: Gpus,
    ) -> Result<Vec<Self>> {
        let n = system.state.len();
        let numbered = (forces.n_pairs()..).zip(forces.sums());
        let one = |(term, sum): (usize, LatticeSum)| {
            let excluded = match exclusions.is_empty() {
                true => None,
                false => ExcludedCharges::new(device, &sum, n, precision, summation)?,
            };
            let mesh = Mesh::new(device, system, &sum, exclusions, (precision, summation), gpus)?;
            let ewald = Ewald::new(device, &system.simbox, &sum, precision)?;
            Ok(LatticeSumKernel { sum, term, excluded, mesh, ewald })
        };
        numbered.map(one).collect()
    }

    /// Returns true where there is anything to compute besides pairs.
    pub fn acts(&self) -> bool {
        self.excluded.is_some() || self.mesh.is_some() || self.ewald.is_some()
    }

    /// Sum of all strengths, and sum of their squares.
    pub fn strength_sums(&self, system: &System) -> [f64; 2] {
        self.sum.strength_sums(system)
    }

    /// Energy of all atoms with themselves, and with the uniform background, from the sums of their strengths: see
    /// [`LatticeSum::constants_of`].
    pub fn constants(&self, sums: [f64; 2], volume: f64) -> [f64; 2] {
        self.sum.constants_of(sums, volume)
    }

    /// Adapts to other charges, times the root of Coulomb's constant.
    pub fn fit_charges(&mut self, charges: &[f64]) {
        if let (LatticeSum::Charges(_), Some(mesh)) = (&self.sum, &mut self.mesh) {
            mesh.fit_strengths(charges);
        }
    }

    /// Adapts to a box that has changed.
    ///
    /// # Errors
    /// If there is not enough memory for a larger mesh, or its kernels cannot be compiled.
    pub fn follow(&mut self, device: &Device, simbox: &SimBox) -> Result<BoxChange> {
        match (&mut self.mesh, &mut self.ewald) {
            (Some(mesh), _) => mesh.follow(device, simbox),
            (_, Some(ewald)) => ewald.follow(device, simbox),
            (None, None) => Ok(BoxChange::AsItWas),
        }
    }

    /// Mesh, where there is one.
    pub fn mesh(&self) -> Option<&Mesh> {
        self.mesh.as_ref()
    }

    /// Takes the addresses of the meshes of all GPUs, of which this one has the number `rank`.
    pub fn set_peers(&mut self, rank: usize, all: &[MeshAddresses]) {
        self.mesh.iter_mut().for_each(|mesh| mesh.set_peers(rank, all));
    }

    /// Launches of the reciprocal-space potential, which depends on no forces and is used by
    /// [`LatticeSumKernel::forces`] only. `add_up` gives the launch that follows one that leaves so many
    /// shares of energy and virial.
    pub fn reciprocal(
        &self,
        data: &DeviceData,
        slot: i32,
        trigger: Trigger,
        evaluate: Evaluate,
        work: &MeshWork,
        add_up: impl Fn(u32) -> Launch,
    ) -> Vec<Launch> {
        match (&self.mesh, &self.ewald) {
            (Some(mesh), _) => mesh.reciprocal(data, slot, trigger, evaluate, work, add_up),
            (_, Some(ewald)) => ewald.reciprocal(data, slot, trigger, evaluate, add_up),
            (None, None) => Vec::new(),
        }
    }

    /// Returns true where forces are those of a mesh alone, or of nothing, so that they may have an array of their own.
    pub fn has_mesh_at_most(&self) -> bool {
        self.excluded.is_none() && self.ewald.is_none()
    }

    /// Launches that compute the forces, with `add_up` as in [`LatticeSumKernel::reciprocal`]. Only those of a
    /// mesh go elsewhere than to the forces of pairs.
    pub fn forces(
        &self,
        data: &DeviceData,
        slot: i32,
        trigger: Trigger,
        evaluate: Evaluate,
        how: MeshForces,
        add_up: impl Fn(u32) -> Launch,
    ) -> Vec<Launch> {
        let mut launches = Vec::new();
        if let Some(excluded) = &self.excluded {
            launches.push(excluded.forces(data, slot, trigger, evaluate));
            launches.extend((evaluate == Evaluate::ForcesAndEnergies).then(|| add_up(excluded.shares())));
        }
        if let Some(mesh) = &self.mesh {
            launches.extend(mesh.forces(data, slot, trigger, evaluate, how, add_up));
        }
        launches.extend(self.ewald.as_ref().map(|ewald| ewald.forces(data, slot, trigger, how.weight)));
        launches
    }

    /// Largest number of shares that any part leaves.
    pub fn most_shares(&self) -> u32 {
        let excluded = self.excluded.as_ref().map_or(0, ExcludedCharges::shares);
        excluded
            .max(self.mesh.as_ref().map_or(0, Mesh::shares))
            .max(self.ewald.as_ref().map_or(0, Ewald::shares))
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        self.mesh.as_ref().map_or(0, Mesh::bytes) + self.ewald.as_ref().map_or(0, Ewald::bytes)
    }
}
