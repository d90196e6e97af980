//! Warnings before the first step of a run or of a stage, and errors under `strict`.

use super::Simulation;
use crate::degrees_of_freedom::degrees_of_freedom;
use crate::progress::Progress;
use crate::report::Warning;
use crate::stage::{check_motion, check_until};
use crate::thermostat::from_input;
use jostle_core::{AtomStorage, Error, Result, SubSteps};
use jostle_io::input::model::{Action, StageInput, Strictness};

impl Simulation {
    /// Refuses stages that end by a quantity that is no column of `thermo.csv`.
    pub(super) fn check_conditions(&self) -> Result<()> {
        for stage in &self.stages {
            let Some(until) = &stage.until else { continue };
            check_until(&until.value, &self.columns.quantities).map_err(|error| {
                match &self.origin.source {
                    Some(source) => {
                        error.at_span(&source.path, &source.text.as_str().into(), until.span.clone())
                    }
                    None => error,
                }
            })?;
        }
        Ok(())
    }

    /// Refuses a stage whose thermostat the device cannot apply.
    pub(super) fn check_thermostat(&self, stage: &StageInput) -> Result<()> {
        let Action::Dynamics { timestep, ref thermostat, .. } = stage.action else { return Ok(()) };
        let thermostat = from_input(thermostat.as_ref(), self.units.boltzmann(), 1, timestep, 0);
        let fits = thermostat
            .pair_noise()
            .map_or(Ok(()), |thermostat| self.backend.check_dpd_thermostat(thermostat));
        fits.map_err(|e| e.context(format!("stage '{}'", stage.name)))
    }

    /// Refuses stages to come that could not begin as the atoms and the observers are now.
    fn check_beginnings(&mut self) -> Result<()> {
        let mut kinetic = self.backend.kinetic()?.energy();
        let under_way = usize::from(self.run.is_some());
        for stage in self.stages.iter().skip(self.clock.stage + under_way) {
            let fits = check_motion(stage, kinetic).and_then(|()| self.check_observers(stage));
            fits.map_err(|e| e.context(format!("stage '{}'", stage.name)))?;
            // Forces set atoms in motion; a minimisation leaves velocities as they were.
            if let Action::Dynamics { .. } = stage.action {
                kinetic = f64::INFINITY;
            }
        }
        Ok(())
    }

    /// Refuses stages to come that could not begin; warns about their implausible time steps and barostats.
    ///
    /// # Errors
    /// If a stage could not begin, there are warnings under `strict`, or the device failed.
    pub(super) fn check_stages(&mut self, progress: &mut dyn Progress) -> Result<()> {
        self.check_beginnings()?;
        let degrees = self.degrees();
        // Initial velocities are drawn without regard to constraints.
        let freedom = degrees_of_freedom(degrees.free_atoms, degrees.momentum).max(1) as f64;
        let mut temperature = 2.0 * self.backend.kinetic()?.energy() / (self.units.boltzmann() * freedom);
        let volume = self.backend.simbox().volume();
        let mut warnings = Vec::new();
        for (k, stage) in self.stages.iter().enumerate().skip(self.clock.stage) {
            if let Action::Dynamics { thermostat: Some(thermostat), .. } = &stage.action {
                temperature = thermostat.temperature();
            }
            let found = self.facts.scales.of_stage(stage, temperature, volume, self.units);
            warnings.extend(found.into_iter().map(|warning| (k, warning)));
        }
        let last = self.stages.len().saturating_sub(1);
        warnings.extend(self.warnings_of_system.iter().map(|warning| (last, warning.clone())));
        warnings.retain(|warning| !self.early_warnings.contains(warning));
        for (_, warning) in &warnings {
            self.output.warn(progress, warning)?;
        }
        let new: Vec<Warning> = warnings.iter().map(|(_, warning)| warning.clone()).collect();
        self.early_warnings.extend(warnings);
        self.refuse_if_strict(&new)
    }

    /// Warns about implausible distances of atoms, before the first stage of dynamics: a minimisation is
    /// meant to change them.
    ///
    /// # Errors
    /// If there is a warning under `strict`, or the device failed.
    pub(super) fn check_distances(&mut self, stage: &StageInput, progress: &mut dyn Progress) -> Result<()> {
        let is_dynamics = |s: &StageInput| matches!(s.action, Action::Dynamics { .. });
        if !is_dynamics(stage) || self.stages[..self.clock.stage].iter().any(is_dynamics) {
            return Ok(());
        }
        let simbox = *self.backend.simbox();
        let Some(warning) = self.facts.scales.spacing(&stage.name, &simbox, self.backend.state()?) else {
            return Ok(());
        };
        self.output.warn(progress, &warning)?;
        self.early_warnings.push((self.clock.stage, warning.clone()));
        self.refuse_if_strict(&[warning])
    }

    /// Turns warnings into an error under `strict`.
    pub(super) fn refuse_if_strict(&self, warnings: &[Warning]) -> Result<()> {
        let (Strictness::Strict, [first, others @ ..]) = (self.origin.strictness, warnings) else {
            return Ok(());
        };
        let more = match others.len() {
            0 => String::new(),
            n => format!(" (and {n} more)"),
        };
        Err(Error::simulation(format!("{}{more}", first.message)).hint(
            "warnings are errors here: mend the cause, or leave out strict = true in [run] and --strict",
        ))
    }
}
