//! Reports of stages.

use crate::averages::{Estimate, Slope};
use jostle_core::UnitSystem;
use jostle_core::backend::Timings;
use serde::{Deserialize, Serialize};

/// Results of a stage; `summary.json` lists these reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    /// Name of the stage.
    pub name: String,
    /// Number of steps, or of iterations of a minimisation.
    pub steps: u64,
    /// Simulated time, in the unit of time.
    pub simulated: f64,
    /// Degrees of freedom, by which temperatures were computed.
    pub degrees_of_freedom: usize,
    /// Averages over the rows of `thermo.csv`.
    pub averages: Vec<Average>,
    /// Drift of the conserved quantity.
    pub drift: Option<EnergyDrift>,
    /// Outcome of a minimisation.
    pub minimum: Option<Minimum>,
    /// Work on the atoms by changes of the stiffness of restraints; `None` where no stiffness changed.
    pub restraint_work: Option<f64>,
    /// Changes by command, in which the stage departs from its input.
    #[serde(default)]
    pub changes: Vec<TemperatureChange>,
    /// Warnings about the stage.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Speed of the stage.
    pub speed: Speed,
    /// Wall time by kind of work.
    pub time: TimeSpent,
}

/// The average of one quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Average {
    /// Name of the quantity, see [`crate::thermo::quantities`].
    pub quantity: String,
    /// Unit of the quantity.
    pub unit: String,
    /// Mean and error; `None` if there were not enough rows for an error.
    pub estimate: Option<Estimate>,
}

/// The drift of the conserved quantity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EnergyDrift {
    /// Drift of the energy of all atoms, per unit of time.
    pub per_time: Slope,
    /// Drift over the whole stage, relative to the mean kinetic energy.
    pub of_kinetic: f64,
    /// Drift in k_B T per nanosecond and degree of freedom, where the unit system has seconds.
    pub kt_per_ns_per_dof: Option<f64>,
}

/// A change, by command, of the temperature of a thermostat during a stage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TemperatureChange {
    /// Step after which the temperature changed, counted over all stages.
    pub step: u64,
    /// Simulated time of the change.
    pub time: f64,
    /// The temperature held until then.
    pub from: f64,
    /// The temperature held from then on.
    pub to: f64,
}

impl TemperatureChange {
    /// A sentence such as `the thermostat holds 120 K instead of 94.4 K after step 2000, as told from
    /// outside`.
    pub fn describe(&self, unit: &str) -> String {
        let separator = if unit.is_empty() { "" } else { " " };
        let TemperatureChange { step, from, to, .. } = self;
        format!(
            "the thermostat holds {to}{separator}{unit} instead of {from}{separator}{unit} after step {step}, as told from outside"
        )
    }
}

/// Outcome of a minimisation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Minimum {
    /// Convergence to the tolerance.
    pub outcome: Convergence,
    /// The largest force on an atom.
    pub largest_force: f64,
    /// The potential energy.
    pub potential: f64,
}

/// Convergence of a minimisation to its tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Convergence {
    /// The largest force is within the tolerance.
    Converged,
    /// The steps were used up before.
    Unconverged,
}

/// A warning about a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// Rule that gave the warning.
    pub kind: WarningKind,
    /// Sentence with numbers, and with the remedy, if there is one.
    pub message: String,
}

/// The rules, by the names they have in `summary.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// The conserved quantity drifted.
    Drift,
    /// The halves of the stage differ by more than their errors allow.
    NotSettled,
    /// Too few rows are independent for errors to be more than rough.
    FewSamples,
    /// The temperature of the atoms is not that of the thermostat.
    Temperature,
    /// Atoms are much nearer to each other, or further apart, than they are large.
    Spacing,
    /// The time step is long for the fastest motion.
    Timestep,
    /// The barostat holds another pressure than the one that is printed.
    Barostat,
    /// The thermostat samples no ensemble.
    Ensemble,
    /// All steps were made before the condition that should end the stage.
    Until,
    /// A molecule with a net charge is decoupled.
    NetCharge,
    /// Embedded atoms are at densities beyond the end of their table.
    Density,
    /// A minimisation, whose minimum is the result of the run, has not reached its tolerance.
    Unconverged,
    /// Coordinates are far from the constraints, on which a run begins.
    Constraints,
    /// All atoms moved together, which the temperature counts as heat.
    CommonMotion,
    /// Atoms have charges on which no force acts.
    IdleCharges,
}

impl WarningKind {
    /// True for rules that need no step.
    pub fn is_foreseen(self) -> bool {
        match self {
            WarningKind::Spacing
            | WarningKind::Timestep
            | WarningKind::Barostat
            | WarningKind::Ensemble
            | WarningKind::NetCharge
            | WarningKind::IdleCharges
            | WarningKind::Constraints => true,
            WarningKind::Drift
            | WarningKind::NotSettled
            | WarningKind::FewSamples
            | WarningKind::Temperature
            | WarningKind::CommonMotion
            | WarningKind::Until
            | WarningKind::Density
            | WarningKind::Unconverged => false,
        }
    }
}

impl Warning {
    /// A warning about a stage.
    pub(crate) fn new(kind: WarningKind, stage: &str, message: impl std::fmt::Display) -> Self {
        Warning { kind, message: format!("stage \"{stage}\": {message}") }
    }
}

/// Speed of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// Steps per second of wall time.
    pub steps_per_second: f64,
    /// Simulated nanoseconds per day, where the unit system has seconds.
    pub ns_per_day: Option<f64>,
    /// Million atom-steps per second.
    pub million_atom_steps_per_second: f64,
}

impl Speed {
    /// The speed of `steps` steps in `seconds`; `timestep` is 0 where no time passes.
    pub fn of(steps: u64, seconds: f64, atoms: usize, timestep: f64, units: UnitSystem) -> Self {
        let steps_per_second = if seconds > 0.0 { steps as f64 / seconds } else { 0.0 };
        Speed {
            steps_per_second,
            ns_per_day: units
                .nanoseconds()
                .filter(|_| timestep > 0.0)
                .map(|ns| steps_per_second * timestep * ns * 86_400.0),
            million_atom_steps_per_second: 1e-6 * steps_per_second * atoms as f64,
        }
    }
}

/// Wall time of a stage by kind of work, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeSpent {
    /// Total wall time.
    pub total: f64,
    /// Time of pair forces.
    pub pair: f64,
    /// Time of neighbour lists.
    pub neighbors: f64,
    /// Time of the integration: moving atoms, sums over velocities.
    pub integrate: f64,
    /// Time of output: rows, frames, checkpoints.
    pub output: f64,
    /// Time of the analysis during the run (`measure`).
    #[serde(default)]
    pub analysis: f64,
}

impl TimeSpent {
    /// True if the time of steps is known by kind of work; a device that makes many steps on its own reports
    /// only their total.
    pub fn is_divided(&self) -> bool {
        self.neighbors + self.integrate > 0.0
    }

    /// Adds what a device spent between two readings of its clock.
    pub(crate) fn add(&mut self, before: &Timings, after: &Timings) {
        self.pair += after.pair - before.pair;
        self.neighbors += after.neighbors - before.neighbors;
        self.integrate += after.integrate - before.integrate;
    }
}
