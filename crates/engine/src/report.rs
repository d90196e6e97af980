//! What a stage amounted to.

use crate::averages::{Estimate, Slope};
use crate::warnings::Warning;
use jostle_core::UnitSystem;
use jostle_core::backend::Timings;
use serde::{Deserialize, Serialize};

/// What a stage amounted to; `summary.json` is made of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    /// Its name.
    pub name: String,
    /// Steps, or iterations, made.
    pub steps: u64,
    /// Simulated time, in the unit of time.
    pub simulated: f64,
    /// What the temperature was counted with.
    pub degrees_of_freedom: usize,
    /// Averages over the rows of `thermo.csv`.
    pub averages: Vec<Average>,
    /// How fast the conserved quantity drifted.
    pub drift: Option<EnergyDrift>,
    /// How a minimisation ended.
    pub minimum: Option<Minimum>,
    /// The energy that atoms got as restraints became stiffer or softer; `None` where none did.
    pub restraint_work: Option<f64>,
    /// What was changed from outside while it ran: where it departs from its input.
    #[serde(default)]
    pub changes: Vec<TemperatureChange>,
    /// Reasons to doubt it.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// How fast it went.
    pub speed: Speed,
    /// Where the time went.
    pub time: TimeSpent,
}

/// The average of one quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Average {
    /// The quantity, see [`crate::thermo::quantities`].
    pub quantity: String,
    /// Its unit.
    pub unit: String,
    /// Mean and error; `None` if there were not enough rows for an error.
    pub estimate: Option<Estimate>,
}

/// The drift of the conserved quantity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EnergyDrift {
    /// In energy per unit of time, all atoms together.
    pub per_time: Slope,
    /// Over the whole stage, relative to the mean kinetic energy.
    pub of_kinetic: f64,
    /// In k_B T per nanosecond and degree of freedom, where units have seconds.
    pub kt_per_ns_per_dof: Option<f64>,
}

/// Another temperature of a thermostat, as somebody wanted it while the stage ran.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TemperatureChange {
    /// After this step, counted over all stages.
    pub step: u64,
    /// The simulated time.
    pub time: f64,
    /// The temperature held until then.
    pub from: f64,
    /// The temperature held from then on.
    pub to: f64,
}

impl TemperatureChange {
    /// `the thermostat holds 120 K instead of 94.4 K after step 2000, as told from outside`
    pub fn describe(&self, unit: &str) -> String {
        let separator = if unit.is_empty() { "" } else { " " };
        let TemperatureChange { step, from, to, .. } = self;
        format!(
            "the thermostat holds {to}{separator}{unit} instead of {from}{separator}{unit} after step {step}, as told from outside"
        )
    }
}

/// How a minimisation ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Minimum {
    /// Whether the tolerance was reached.
    pub outcome: Convergence,
    /// The largest force on an atom.
    pub largest_force: f64,
    /// The potential energy.
    pub potential: f64,
}

/// Whether a minimisation reached its tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Convergence {
    /// It did.
    Converged,
    /// It ran out of steps before.
    Unconverged,
}

/// How fast a stage went.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// Steps per second of wall time.
    pub steps_per_second: f64,
    /// Simulated nanoseconds per day, where units have seconds.
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

/// Where the wall time of a stage went, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeSpent {
    /// All of it.
    pub total: f64,
    /// Pair forces.
    pub pair: f64,
    /// Neighbour lists.
    pub neighbors: f64,
    /// Moving atoms, sums over velocities.
    pub integrate: f64,
    /// Rows, frames, checkpoints.
    pub output: f64,
    /// Analysis while it runs (`measure`).
    #[serde(default)]
    pub analysis: f64,
}

impl TimeSpent {
    /// Whether it is known how the time of steps divides; a device that makes many of them on its
    /// own does not tell.
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
