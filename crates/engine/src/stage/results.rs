//! Results of a stage: averages, drift, outcome of a minimisation, warnings.

use super::{Motion, StageRun};
use crate::averages::BlockAverage;
use crate::minimize::{ConstraintProjection, largest_force};
use crate::report::{Average, Convergence, EnergyDrift, Minimum, Speed, StageReport};
use crate::thermo::{Mean, Quantity, Thermo};
use crate::warnings::{Role, unconverged};
use jostle_core::{Backend, Evaluate, Result, UnitSystem};
use jostle_io::input::model::{Action, StageInput};

impl StageRun {
    /// Checks the stability of the integration by a measurement.
    ///
    /// # Errors
    /// As for [`Evidence::watch`](crate::warnings::Evidence::watch).
    pub(crate) fn watch(&mut self, thermo: &Thermo, units: UnitSystem) -> Result<()> {
        let target = self.temperature(units);
        match self.motion {
            Motion::Dynamics(_) => self.evidence.watch(thermo, target, units),
            Motion::Minimization(..) => Ok(()),
        }
    }

    /// Adds a measurement to what the end of the stage depends on; returns true where it has come.
    pub(crate) fn watch_for_end(
        &mut self,
        stage: &StageInput,
        quantities: &[Quantity],
        thermo: &Thermo,
    ) -> bool {
        if let Some(until) = &stage.until {
            self.ending.record(&until.value, quantities, thermo);
        }
        self.ending.is_reached()
    }

    /// Adds a measurement to the averages.
    pub(crate) fn record(&mut self, thermo: &Thermo, units: UnitSystem) {
        if matches!(self.motion, Motion::Minimization(..)) {
            return;
        }
        self.evidence.record(thermo, self.temperature(units));
        for (k, value) in thermo.values().enumerate() {
            if k == self.averages.len() {
                self.averages.push(BlockAverage::default());
            }
            if let Some(value) = value {
                self.averages[k].add(value);
            }
        }
        if let Some(conserved) = thermo.conserved {
            self.conserved.add(thermo.time - self.start_time, conserved);
        }
    }

    /// Results of the stage so far, with the warnings about a stage of this role.
    pub(crate) fn report(
        &self,
        stage: &StageInput,
        role: Role,
        backend: &mut dyn Backend,
        quantities: &[Quantity],
        units: UnitSystem,
        projection: Option<&ConstraintProjection>,
    ) -> Result<StageReport> {
        let averages: Vec<Average> = quantities
            .iter()
            .zip(&self.averages)
            .filter(|(q, _)| q.mean != Mean::OnCircle)
            .map(|(q, average)| Average {
                quantity: q.name.clone(),
                unit: q.unit.clone(),
                estimate: average.estimate(),
            })
            .collect();
        let simulated = self.time_at(stage, self.stage_step) - self.start_time;
        let (timestep, minimum) = match stage.action {
            Action::Dynamics { timestep, .. } => (timestep, None),
            Action::Minimize { force_tolerance, .. } => {
                backend.compute_forces(Evaluate::ForcesAndEnergies)?;
                let largest_force = largest_force(backend, projection)?;
                let outcome = match largest_force <= force_tolerance {
                    true => Convergence::Converged,
                    false => Convergence::Unconverged,
                };
                (0.0, Some(Minimum { outcome, largest_force, potential: backend.energies().potential() }))
            }
        };
        let mut report = StageReport {
            name: stage.name.clone(),
            steps: self.stage_step,
            simulated,
            degrees_of_freedom: self.degrees_of_freedom,
            drift: self.drift(simulated, &averages, units),
            averages,
            minimum,
            restraint_work: self.ramps.move_springs().then_some(self.work),
            changes: self.changes.clone(),
            warnings: Vec::new(),
            speed: Speed::of(self.stage_step, self.time.total, backend.n_atoms(), timestep, units),
            time: self.time,
        };
        report.warnings = self.evidence.warnings(&report, role);
        if let Action::Minimize { force_tolerance, .. } = stage.action {
            report.warnings.extend(unconverged(&report, force_tolerance, role, units));
        }
        Ok(report)
    }

    /// True where a thermostat scales velocities by the temperature of all atoms.
    pub(crate) fn scales_velocities(&self) -> bool {
        matches!(&self.motion, Motion::Dynamics(thermostat) if thermostat.scales_velocities())
    }

    fn drift(&self, simulated: f64, averages: &[Average], units: UnitSystem) -> Option<EnergyDrift> {
        let per_time = self.conserved.slope()?;
        let kinetic = averages.iter().find(|a| a.quantity == "kinetic")?.estimate?.mean;
        // Of atoms that all stand still a drift is no part of anything.
        if kinetic <= 0.0 {
            return None;
        }
        let thermal_energy = 2.0 * kinetic / self.degrees_of_freedom as f64;
        let per_freedom = per_time.slope / thermal_energy / self.degrees_of_freedom as f64;
        Some(EnergyDrift {
            per_time,
            of_kinetic: per_time.slope * simulated / kinetic,
            kt_per_ns_per_dof: units.nanoseconds().map(|ns| per_freedom / ns),
        })
    }
}
