//! Biases that a device with custom forces evaluates by itself.

use crate::custom_force::{CustomForce, EnergyColumn};
use crate::device_with_forces::{Active, DeviceWithForces};
use crate::force_context::TakenBiases;
use jostle_core::Result;
use jostle_core::backend::{BiasEvaluation, BiasPlace, BiasRow, CenterBiases, Installation};
use jostle_sampling::Biases;

impl DeviceWithForces {
    /// Forces that the host computes.
    pub(crate) fn on_host(&self) -> impl Iterator<Item = &dyn CustomForce> {
        let taken = self.taken;
        let on_host = self.forces().enumerate().filter(move |(k, _)| TakenBiases::Force(*k) != taken);
        on_host.map(|(_, force)| force)
    }

    /// Number of forces that have an energy and that the host computes.
    pub(crate) fn n_energies(&self) -> usize {
        self.on_host().filter(|force| force.energy_column() == EnergyColumn::Present).count()
    }

    /// Gives biases to the device, where it takes them; returns a note of what it did, where that has changed.
    pub(crate) fn place_biases(&mut self) -> Result<Option<String>> {
        self.taken = TakenBiases::None;
        let has_biases = |active: &mut Active| active.force.biases().is_some();
        let Some(number) = self.active.iter_mut().position(has_biases) else { return Ok(None) };
        // The device adds their energy before those of the host.
        let first = self.active.iter().take(number).all(|a| a.force.energy_column() == EnergyColumn::Absent);
        let others = self.active.iter_mut().any(|active| active.force.on_device().is_some());
        let plain = match self.active[number].force.biases() {
            _ if others => Err("forces of others are computed in the memory of the device".to_string()),
            Some(biases) if first => biases.plain().map_err(|what| format!("it evaluates {what}")),
            _ => Err("another force comes before them".to_string()),
        };
        let plain = plain.and_then(|plain| self.without_sites(plain));
        let answer = match (self.device.bias_place(), plain) {
            (BiasPlace::Host(reason), _) => Installation::Refused(reason.to_string()),
            (BiasPlace::Device(_), Err(reason)) => Installation::Refused(reason),
            (BiasPlace::Device(device), Ok(plain)) => device.install_biases(&plain)?,
        };
        if answer == Installation::Taken {
            self.taken = TakenBiases::Force(number);
            self.return_biases()?;
        }
        let note = match answer {
            Installation::Taken => {
                "variables and biases are evaluated on the device, within its steps".to_string()
            }
            Installation::Refused(reason) => {
                format!("variables and biases are evaluated by the host, step by step: {reason}")
            }
        };
        let is_new = self.place_of_biases.as_ref() != Some(&note);
        self.place_of_biases = Some(note.clone());
        Ok(is_new.then_some(note))
    }

    /// Refuses forces on virtual sites, for which the host has an error.
    fn without_sites(&self, plain: CenterBiases) -> std::result::Result<CenterBiases, String> {
        let mut members = plain.groups.iter().flatten();
        match members.find(|member| self.sites.binary_search(&member.id).is_ok()) {
            Some(member) => Err(format!("atom {} of a group is a virtual site", member.id)),
            None => Ok(plain),
        }
    }

    /// The device and the biases that it has taken.
    fn biases_on_device(&mut self) -> Option<(&mut dyn BiasEvaluation, &mut Biases)> {
        let TakenBiases::Force(number) = self.taken else { return None };
        let biases = self.active.get_mut(number)?.force.biases()?;
        match self.device.bias_place() {
            BiasPlace::Device(device) => Some((device, biases)),
            BiasPlace::Host(_) => None,
        }
    }

    /// Takes over what the device has left of the biases' state, for checkpoints and files.
    pub(crate) fn fetch_biases(&mut self) -> Result<()> {
        if let Some((device, biases)) = self.biases_on_device() {
            biases.take_memory(device.take_bias_memory()?);
        }
        Ok(())
    }

    /// Gives the device the biases' state anew, which the host has changed.
    pub(crate) fn return_biases(&mut self) -> Result<()> {
        match self.biases_on_device() {
            Some((device, biases)) => device.begin_biases(&biases.device_course(), &biases.memory()),
            None => Ok(()),
        }
    }

    /// Takes over values and energies for the columns: those of a sample, or the last ones of the device.
    pub(crate) fn show_biases(&mut self, sample: Option<&BiasRow>) -> Result<()> {
        let simbox = *self.device.simbox();
        let Some((device, biases)) = self.biases_on_device() else { return Ok(()) };
        match sample {
            Some(row) => biases.show(row),
            None => biases.show(&device.bias_row()?),
        }
        // The host looks at every step, kernels do not.
        biases.check_values(&simbox)
    }

    /// Tells the device number of the step whose sub-steps follow.
    pub(crate) fn begin_bias_step(&mut self, step: u64) -> Result<()> {
        self.biases_on_device().map_or(Ok(()), |(device, _)| device.begin_bias_step(step))
    }

    /// Ends a step that was made by sub-steps, on the device.
    pub(crate) fn end_bias_step(&mut self) -> Result<()> {
        self.biases_on_device().map_or(Ok(()), |(device, _)| device.end_bias_step())
    }
}
