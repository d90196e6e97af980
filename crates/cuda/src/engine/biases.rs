//! Biases that the GPU evaluates and applies in its steps.

use super::Cuda;
use crate::biases::{BiasKernels, Growth, refusal};
use jostle_core::backend::{
    BiasCourse, BiasEvaluation, BiasMemory, BiasPlace, BiasRow, CenterBiases, Installation,
};
use jostle_core::{Energies, Error, Result, StepBatch};

impl Cuda {
    /// Place of the biases of this GPU.
    pub(super) fn place_of_biases(&mut self) -> BiasPlace<'_> {
        if self.plan.peers().is_some() {
            BiasPlace::Host("several GPUs share the atoms")
        } else if self.terms.grains.is_some() {
            BiasPlace::Host("grains are measured between batches of steps")
        } else {
            BiasPlace::Device(self)
        }
    }

    fn installed(&mut self) -> Result<&mut BiasKernels> {
        self.terms.biases.as_mut().ok_or_else(|| Error::device("the GPU has been given no biases"))
    }

    /// Makes room for the hills and the rows of a batch.
    pub(super) fn prepare_biases(&mut self, batch: &StepBatch, rows: u64) -> Result<()> {
        if let Some(biases) = &mut self.terms.biases
            && biases.prepare(&self.device, batch, rows)? == Growth::Moved
        {
            self.recorded.graphs = None;
        }
        Ok(())
    }

    /// Rows of the last batch, from one on; empty without biases.
    pub(super) fn bias_rows(&mut self, first: usize, count: usize) -> Result<Vec<BiasRow>> {
        self.terms.biases.as_mut().map_or(Ok(Vec::new()), |biases| biases.rows(first, count))
    }

    /// Adds energy and virial of biases to those of an evaluation outside a batch.
    pub(super) fn add_bias_energies(&mut self) -> Result<()> {
        let Some(biases) = &mut self.terms.biases else { return Ok(()) };
        let row = biases.row_now()?;
        add_energies(&mut self.evaluation.energies, &row);
        Ok(())
    }

    /// Error of a bias or variable that was not defined, if there is one.
    pub(super) fn bias_fault(&self) -> Option<Error> {
        let biases = self.terms.biases.as_ref()?;
        biases.fault().unwrap_or_else(Some)
    }
}

/// Adds energy and virial of biases.
pub(super) fn add_energies(energies: &mut Energies, row: &BiasRow) {
    energies.added.push(row.energy());
    energies.virial.iter_mut().zip(row.virial).for_each(|(w, part)| *w += part);
}

impl BiasEvaluation for Cuda {
    fn install_biases(&mut self, biases: &CenterBiases) -> Result<Installation> {
        if let Some(reason) = refusal(biases, self.system.simbox.periodic()) {
            self.terms.biases = None;
            self.recorded.graphs = None;
            return Ok(Installation::Refused(reason));
        }
        if self.terms.biases.as_ref().is_some_and(|installed| installed.biases() == biases) {
            return Ok(Installation::Taken);
        }
        let (n, precision, sums) = (self.system.state.len(), self.precision, self.plan.summation);
        self.terms.biases = Some(BiasKernels::new(&self.device, n, biases, precision, sums)?);
        self.recorded.graphs = None;
        let data = self.data;
        let launch = self.installed()?.find_atoms(&data);
        self.device.run(&launch)?;
        Ok(Installation::Taken)
    }

    fn begin_biases(&mut self, course: &BiasCourse, memory: &[BiasMemory]) -> Result<()> {
        let device = self.device.clone();
        if self.installed()?.begin(&device, course, memory)? == Growth::Moved {
            self.recorded.graphs = None;
        }
        Ok(())
    }

    fn begin_bias_step(&mut self, step: u64) -> Result<()> {
        let device = self.device.clone();
        if self.installed()?.begin_step(&device, step)? == Growth::Moved {
            self.recorded.graphs = None;
        }
        Ok(())
    }

    fn end_bias_step(&mut self) -> Result<()> {
        let data = self.data;
        let launch = self.installed()?.end_step(&data);
        self.device.run(&launch)
    }

    fn take_bias_memory(&mut self) -> Result<Vec<BiasMemory>> {
        self.installed()?.take_memory()
    }

    fn bias_row(&mut self) -> Result<BiasRow> {
        self.installed()?.last_row()
    }
}
