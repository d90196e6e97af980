//! Reports of stages, and `summary.json`.

use super::Simulation;
use crate::report::{StageReport, WarningKind};
use crate::stage::StageRun;
use crate::summary_units::{SUMMARY_VERSION, summary_units};
use crate::warnings::{ExternalWork, Role, common_motion};
use jostle_core::{AtomStorage, DeviceReport, Result};
use jostle_io::input::model::StageInput;

impl Simulation {
    /// Results of a stage so far, with all warnings about it.
    pub(super) fn report(&mut self, stage: &StageInput, run: &StageRun) -> Result<StageReport> {
        let index = self.clock.stage;
        let role = if index + 1 < self.stages.len() { Role::Preparation } else { Role::Production };
        let (backend, projection) = (&mut *self.backend, self.facts.projection.as_ref());
        let mut report =
            run.report(stage, role, backend, &self.columns.quantities, self.units, projection)?;
        let driven = self.facts.scales.work == ExternalWork::Driven;
        let mass = self.facts.total_mass;
        if let Some(warning) =
            common_motion(&report, self.units, mass, run.scales_velocities()).filter(|_| !driven)
        {
            // A thermostat of pairs holds its temperature, which the column has not.
            report.warnings.retain(|other| other.kind != WarningKind::Temperature);
            report.warnings.push(warning);
        }
        if self.facts.scales.energies_jump() {
            for warning in report.warnings.iter_mut().filter(|warning| warning.kind == WarningKind::Drift) {
                warning.message += ", and, since energies jump at the cut-off, truncation = \"force-shifted\" or \"switched\"";
            }
        }
        let early = self.early_warnings.iter().filter(|(k, _)| *k == index);
        report.warnings.splice(0..0, early.map(|(_, warning)| warning.clone()));
        Ok(report)
    }

    /// Writes the summary, with the stage under way, if there is one, and returns it; `None` without a folder, or where
    /// quantities of a resumed run lack the custom forces that it had.
    pub(super) fn summarize(
        &mut self,
        status: &str,
        under_way: Option<(&StageInput, &StageRun)>,
    ) -> Result<Option<serde_json::Value>> {
        if !self.output.has_folder() || !self.saved_forces.is_empty() {
            return Ok(None);
        }
        let summary = self.summary(status, under_way);
        self.output.summarize(&summary)?;
        Ok(Some(summary))
    }

    /// Writes the summary as [`Simulation::summarize`] does, with the stage that was under way.
    pub(super) fn summarize_present(&mut self, status: &str) -> Result<Option<serde_json::Value>> {
        let (stage, run) = (self.stage_under_way(), self.run.take());
        let written = self.summarize(status, stage.as_ref().zip(run.as_ref()));
        self.run = run;
        written
    }

    /// Content of `summary.json`.
    fn summary(&mut self, status: &str, under_way: Option<(&StageInput, &StageRun)>) -> serde_json::Value {
        let target = under_way.and_then(|(_, run)| run.temperature(self.units));
        let under_way = under_way
            .filter(|(_, run)| run.stage_step > 0)
            .and_then(|(stage, run)| self.report(stage, run).ok());
        let facts = self.backend.neighbor_facts();
        let counts = self.tables.species.iter().zip(&self.facts.counts);
        let species = counts.map(|(s, n)| serde_json::json!({ "name": s.name, "count": n }));
        let species: Vec<_> = species.collect();
        serde_json::json!({
            "version": SUMMARY_VERSION,
            "jostle": env!("CARGO_PKG_VERSION"),
            "title": self.origin.title,
            "status": status,
            "input": self.origin.source.as_ref().map(|s| s.path.clone()),
            "most_steps": self.most_steps(),
            "units": self.units.name(),
            "unit_of": summary_units(self.units),
            "device": self.backend.describe(),
            "seed": self.origin.seed,
            "atoms": self.backend.n_atoms(),
            "species": species,
            "step": self.clock.step,
            "time": self.clock.time,
            "stages": self.reports,
            "under_way": under_way,
            "target_temperature": target,
            "neighbors": { "builds": facts.builds, "skin": facts.skin, "bytes": facts.bytes },
            "files": self.output.files(),
        })
    }
}
