//! Part of a simulation in replica exchange: its atoms, which another one takes, and their reduced energy.

use super::Simulation;
use jostle_core::{AtomStorage, Error, ForceEvaluation, Result, SimBox, State};

/// Atoms and box of a simulation between two steps.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    simbox: SimBox,
    state: State,
}

impl Simulation {
    /// Seed of all random numbers.
    pub(crate) fn seed(&self) -> u64 {
        self.origin.seed
    }

    /// Thermal energy k_B T of the thermostat of the stage under way.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn thermal_energy(&self) -> Result<f64> {
        let temperature = self.run.as_ref().and_then(|run| run.temperature(self.units));
        temperature
            .map(|temperature| temperature * self.units.boltzmann())
            .ok_or_else(|| Error::simulation("replicas exchange atoms only in stages with a thermostat"))
    }

    /// Reduced energy (U + P V) / k_B T of the present atoms, with the forces, biases, thermostat and barostat of this
    /// simulation.
    ///
    /// # Errors
    /// If there is no thermostat, a force or an energy is not finite, or the device failed.
    pub(crate) fn reduced_energy(&mut self) -> Result<f64> {
        let thermal_energy = self.thermal_energy()?;
        self.evaluate()?;
        let barostat = self.stages.get(self.clock.stage).and_then(|stage| stage.barostat);
        let work = barostat.map_or(0.0, |barostat| barostat.pressure() * self.backend.simbox().volume());
        Ok((self.backend.energies().potential() + work) / thermal_energy)
    }

    /// Conserved quantity of the present atoms, where there is one.
    ///
    /// # Errors
    /// If a force or an energy is not finite, or the device failed.
    pub(crate) fn conserved(&mut self) -> Result<Option<f64>> {
        Ok(self.evaluate()?.thermo.conserved)
    }

    /// Takes what adopted atoms have added to the conserved quantity off it, like heat.
    ///
    /// # Errors
    /// As for [`Simulation::conserved`].
    pub(crate) fn keep_conserved(&mut self, before: Option<f64>) -> Result<()> {
        if let (Some(before), Some(after)) = (before, self.conserved()?)
            && let Some(run) = &mut self.run
        {
            run.add_work(after - before);
            self.evaluated = None;
        }
        Ok(())
    }

    /// Atoms and box at present.
    ///
    /// # Errors
    /// If the device failed.
    pub(crate) fn configuration(&mut self) -> Result<Configuration> {
        Ok(Configuration { simbox: *self.backend.simbox(), state: self.backend.state()?.clone() })
    }

    /// Takes the atoms and the box of another simulation, with velocities times a factor. Driven atoms keep theirs.
    ///
    /// # Errors
    /// If the device failed.
    pub(crate) fn adopt(&mut self, configuration: &Configuration, factor: f64) -> Result<()> {
        let Configuration { simbox, mut state } = configuration.clone();
        for index in 0..state.len() {
            if self.tables.driven.binary_search(&state.id[index]).is_ok() {
                continue;
            }
            state.velocity[index] = state.velocity[index].map(|v| v * factor);
            if let Some(spin) = state.angular_velocity.get_mut(index) {
                *spin = spin.map(|w| w * factor);
            }
        }
        self.tables.driven_velocities.hold(&mut state);
        self.disturb();
        match simbox == *self.backend.simbox() {
            true => self.backend.set_state(state),
            false => self.backend.set_box(simbox, state),
        }
    }
}
