//! Arrays of the atoms that others read and write in device memory, and forces that they compute there.

use super::Cuda;
use crate::device_force::DeviceForceKernels;
use crate::launches::Others;
use crate::neighbor_engine::Trigger;
use jostle_core::backend::{ArraysChanged, DeviceArrays, DeviceForce};
use jostle_core::{Components, Error, Evaluate, Result, Sample, StepBatch, Thermostat};

impl Cuda {
    pub(super) fn share_arrays(&mut self) -> Result<DeviceArrays> {
        self.read_control()?;
        Ok(self.arrays.share(&self.device, &self.control))
    }

    pub(super) fn adopt_arrays(&mut self, changed: ArraysChanged) -> Result<()> {
        self.device.synchronize_all()?;
        match changed {
            ArraysChanged::Nothing | ArraysChanged::Velocities => Ok(()),
            ArraysChanged::Positions => {
                self.read_control()?;
                self.download()?;
                if self.system.state.position.as_flattened().iter().any(|x| !x.is_finite()) {
                    return Err(Error::simulation("a position written on the device is not finite"));
                }
                self.enter(self.system.simbox)
            }
        }
    }

    /// Adds the forces of others where the trigger says that they are due.
    pub(super) fn queue_device_forces(
        &mut self,
        forces: &mut [&mut dyn DeviceForce],
        slot: i32,
        trigger: Trigger,
    ) -> Result<()> {
        if forces.is_empty() {
            return Ok(());
        }
        let (precision, sums) = (self.precision, self.plan.summation);
        let kernels = match &mut self.terms.device_forces {
            Some(kernels) => kernels,
            none => none.insert(DeviceForceKernels::new(&self.device, precision, sums)?),
        };
        kernels.fit(&self.device, forces, self.system.state.len())?;
        kernels.queue(&self.data, &self.device, &self.system.simbox, forces, (slot, trigger))
    }

    /// Takes note of the presence of forces of others in the steps that come: they are recorded otherwise.
    pub(super) fn admit_others(&mut self, forces: &[&mut dyn DeviceForce]) {
        let others = if forces.is_empty() { Others::Absent } else { Others::Present };
        if self.recorded.others != others {
            self.recorded.others = others;
            self.recorded.graphs = None;
        }
    }

    /// Makes the steps of a batch with forces of others; `None` where they must be made one by one.
    pub(super) fn make_batch_with(
        &mut self,
        batch: &StepBatch,
        thermostat: &mut Thermostat,
        forces: &mut [&mut dyn DeviceForce],
    ) -> Result<Option<Vec<Sample>>> {
        if self.terms.grains.is_some() || thermostat.pair_noise().is_some() {
            return Ok(None);
        }
        let mut samples = Vec::new();
        // Energies of others are those at their last positions: a sample ends a batch.
        let length = if batch.sample_every > 0 { batch.sample_every } else { batch.steps.max(1) };
        for done in (0..batch.steps).step_by(length as usize) {
            let part = StepBatch { first_step: batch.first_step + done, steps: length, ..*batch };
            let mut taken = self.make_batch(&part, thermostat, forces)?;
            if !taken.is_empty() || batch.evaluate == Evaluate::ForcesAndEnergies {
                self.evaluation.energies.add_device_forces(forces)?;
            }
            taken.iter_mut().for_each(|sample| sample.energies = self.evaluation.energies.clone());
            samples.append(&mut taken);
        }
        Ok(Some(samples))
    }
}
