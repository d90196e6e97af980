//! Molecules in open space (`kernels/vacuum.cu`): forces between all pairs of atoms.

use crate::arrays::Reals;
use crate::codegen;
use crate::device_data::DeviceData;
use crate::driver::{Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::neighbor_engine::Trigger;
use crate::sums::{Summation, VIRIAL};
use jostle_core::{Evaluate, Precision, Result};
use jostle_potentials::{Forces, Vacuum};

/// Number of threads of a warp, which computes the force on an atom.
const WARP: u32 = 32;

/// Kernels, and coefficients of every pair of species.
pub struct VacuumKernel {
    forces: Kernel,
    energies: Kernel,
    sums: Kernel,
    table: Reals,
    n_species: usize,
    /// Number of blocks, each of which leaves its shares.
    blocks: u32,
    /// Index in a sample of the virial of pairs, and of the energies of these terms.
    virial: usize,
    first: usize,
}

/// Source of the kernels.
pub fn build(precision: Precision) -> Build {
    let pair = codegen::function("vacuum_pair", 4, precision, |x| {
        let (energies, force_over_r) = Vacuum::evaluate(x[0], [x[1], x[2]], x[3]);
        vec![energies[0], energies[1], force_over_r]
    });
    kernels::module_source(&pair, include_str!("../kernels/vacuum.cu"), precision, Summation::Fast)
}

impl VacuumKernel {
    /// Kernels of these forces, among `n` atoms; `None` without such forces.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn new(device: &Device, n: usize, forces: &Forces, precision: Precision) -> Result<Option<Self>> {
        let Some(term) = &forces.vacuum else { return Ok(None) };
        let build = build(precision);
        let module = device.compile("vacuum.cu", &build.source, &build.options)?;
        let n_species = term.lennard_jones.n_species();
        let table: Vec<f64> = (0..n_species * n_species)
            .flat_map(|k| term.coefficients(k / n_species, k % n_species))
            .collect();
        Ok(Some(VacuumKernel {
            forces: module.kernel("vacuum_forces")?,
            energies: module.kernel("vacuum_forces_energies")?,
            sums: module.kernel("vacuum_sums")?,
            table: Reals::upload(device, precision, &table)?,
            n_species,
            blocks: n.div_ceil((ATOM_THREADS / WARP) as usize).max(1) as u32,
            virial: forces.n_searched(),
            first: forces.n_searched() + VIRIAL,
        }))
    }

    /// Launches that add the forces; with energies, these go into a sample, too.
    pub fn forces(
        &self,
        data: &DeviceData,
        slot: i32,
        row_length: usize,
        trigger: Trigger,
        evaluate: Evaluate,
    ) -> Vec<Launch> {
        let launch = |kernel| {
            Launch::new(kernel, self.blocks, ATOM_THREADS)
                .with_value(*data)
                .with_value(self.table.address())
                .with_value(self.n_species as i32)
                .with_value(slot)
                .with_value(trigger as i32)
        };
        match evaluate {
            Evaluate::Forces => vec![launch(&self.forces)],
            Evaluate::ForcesAndEnergies => {
                let sums = Launch::new(&self.sums, 1, ATOM_THREADS)
                    .with_value(*data)
                    .with_value(self.blocks as i32)
                    .with_value(row_length as i32)
                    .with_value(self.virial as i32)
                    .with_value(self.first as i32)
                    .with_value(trigger as i32);
                vec![launch(&self.energies), sums]
            }
        }
    }

    /// Number of numbers that blocks leave as their shares.
    pub fn partial_length(&self) -> usize {
        self.blocks as usize * (Vacuum::TERMS.len() + VIRIAL)
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        self.table.bytes()
    }
}
