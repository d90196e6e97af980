//! Biases: energies that are functions of variables, and forces that adapt to where they have been. A kind is one
//! file; inputs name it among the keys of `[[bias]]`.

mod abf;
mod bins;
mod closed;
mod formula;
mod gaussians;
mod harmonic;
mod kernel_density;
mod linear;
mod metadynamics;
mod opes;
mod switching;
mod torque;
mod wall;

pub use abf::{Abf, AbfSettings, FIRST_VELOCITY, advance_particle, reflected, taken_off, thermal_velocity};
pub use closed::{ClosedPart, Modes, project_every, slopes_in_cell};
pub use formula::FormulaBias;
pub use gaussians::add_row;
pub use harmonic::{Harmonic, between, spring};
pub use kernel_density::{
    density_kernel, merged_kernel, new_kernel, opes_energy, sample_weight, square_in_widths,
};
pub use linear::{Linear, linear};
pub use metadynamics::{Metadynamics, MetadynamicsSettings, PendingHill, hill_along, hill_energy, tempering};
pub use opes::{MERGED, Opes, OpesSettings};
pub use switching::switching_work;
pub use torque::Torque;
pub use wall::{Side, Wall, wall};

use crate::grid::Axis;
use jostle_core::backend::{BiasFunction, BiasMemory};
use jostle_core::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Moment of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moment {
    /// Number of the step, counted over all stages.
    pub step: u64,
    /// Simulated time.
    pub time: f64,
    /// Length of a step of the stage under way.
    pub timestep: f64,
    /// Part of the stages in which the bias acts that is over, from 0 to 1.
    pub progress: f64,
    /// Seed of the run.
    pub seed: u64,
}

/// A variable of a bias.
#[derive(Debug, Clone, PartialEq)]
pub struct BiasVariable {
    /// Its number among all variables.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// Its period.
    pub period: Option<f64>,
}

impl BiasVariable {
    /// Difference of two values, the shortest way round.
    pub fn difference(&self, a: f64, b: f64) -> f64 {
        match self.period {
            Some(period) => (a - b) - period * ((a - b) / period).round(),
            None => a - b,
        }
    }
}

/// Refuses a variable with a period, on which an energy like `what` is none of a circle: it jumps where the period ends, and
/// forces have no part of that.
fn refuse_period(variable: &BiasVariable, what: &str, hint: &str) -> Result<()> {
    let Some(period) = variable.period else { return Ok(()) };
    let message = format!(
        "{what} on variable '{}', which has a period: its energy would jump where the variable goes on from {:.4} at {:.4}",
        variable.name,
        0.5 * period,
        -0.5 * period
    );
    Err(Error::input(message).hint(hint))
}

/// Axes of a grid over variables, of which one without a period needs a range.
///
/// # Errors
/// If a range is empty, or there are more points or bins, as `what` calls them, than memory is used for.
fn axes(variables: &[BiasVariable], range: &[[f64; 2]], spacing: &[f64], what: &str) -> Result<Vec<Axis>> {
    for (variable, [lower, upper]) in variables.iter().zip(range) {
        if variable.period.is_none() && (lower >= upper || !(upper - lower).is_finite()) {
            let message = format!("the {what} of variable '{}' go from {lower} to {upper}", variable.name);
            return Err(Error::input(message).hint("give lower and upper, the values that it can reach"));
        }
    }
    let parts = variables.iter().zip(range).zip(spacing);
    let count = |((variable, [lower, upper]), spacing): ((&BiasVariable, &[f64; 2]), &f64)| {
        variable.period.unwrap_or(upper - lower) / spacing
    };
    if let Some((number, _)) = parts.clone().map(count).enumerate().find(|(_, count)| *count < 2.0) {
        let message = format!(
            "spacing = {} leaves fewer than two {what} along '{}'",
            spacing[number], variables[number].name
        );
        return Err(Error::input(message).hint("make spacing narrower"));
    }
    let total: f64 = parts.clone().map(count).product();
    if total.is_nan() || total >= MOST_POINTS {
        return Err(Error::input(format!("a grid of {total:.0} {what}")).hint("make spacing wider"));
    }
    Ok(parts.map(|((variable, range), spacing)| Axis::new(variable.period, *range, *spacing)).collect())
}

/// Most points or bins of a grid.
const MOST_POINTS: f64 = 1e7;

/// A bias.
pub trait Bias: Send {
    /// Variables that it acts on.
    fn variables(&self) -> &[BiasVariable];

    /// Takes note of values and moment where a stage begins.
    ///
    /// # Errors
    /// If the bias cannot begin there.
    fn begin(&mut self, _values: &[f64], _now: &Moment) -> Result<()> {
        Ok(())
    }

    /// Energy at values of its variables, whose derivatives it writes to `slopes`. It depends on these, on the
    /// moment and on what [`Bias::end_step`] has left at earlier steps, so that an evaluation may be repeated.
    ///
    /// # Errors
    /// If the bias is not defined there.
    fn evaluate(&mut self, values: &[f64], now: &Moment, slopes: &mut [f64]) -> Result<f64>;

    /// Takes note of the end of a step of dynamics; what changes by it acts from the next step on.
    ///
    /// # Errors
    /// If the variables have left what the bias can describe.
    fn end_step(&mut self, values: &[f64], now: &Moment) -> Result<()>;

    /// Energy put into the system by changes of the bias, which is not in its energy.
    fn work(&self) -> f64 {
        0.0
    }

    /// Columns of `thermo.csv` besides energy and variables.
    fn columns(&self) -> Vec<Column> {
        Vec::new()
    }

    /// Its energy as plain data, for a device that evaluates it; `None` where only the host can.
    fn function(&self) -> Option<BiasFunction> {
        None
    }

    /// Numbers that change from step to step, for a device.
    fn memory(&self) -> BiasMemory {
        BiasMemory::default()
    }

    /// Takes over what a device has left of these numbers.
    fn take_memory(&mut self, _memory: BiasMemory) {}

    /// Takes over the centre and the work of a step that a device has made, for the columns.
    fn show(&mut self, _center: f64, _work: f64) {}

    /// State for a checkpoint.
    ///
    /// # Errors
    /// If it cannot be written.
    fn save(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Restores it.
    ///
    /// # Errors
    /// If the bytes are those of another bias.
    fn restore(&mut self, _saved: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Metadynamics, whose hills several walkers share; `None` for other biases.
    fn metadynamics(&mut self) -> Option<&mut Metadynamics> {
        None
    }

    /// Files for others to read: names after that of the bias, and texts.
    fn files(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// A column of `thermo.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name after that of the bias.
    pub name: &'static str,
    /// Kind of the quantity.
    pub quantity: ColumnQuantity,
    /// Value.
    pub value: f64,
}

/// Kind of the quantity in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnQuantity {
    /// Energy.
    Energy,
    /// As the first variable of the bias.
    Variable,
}

/// Bytes of a state.
pub(crate) fn to_bytes(state: &impl Serialize) -> Result<Vec<u8>> {
    postcard::to_allocvec(state).map_err(|e| Error::simulation(format!("a bias cannot be saved: {e}")))
}

/// State from bytes.
pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|_| {
        Error::input("the checkpoint has another bias in this place").hint("begin a new run with this input")
    })
}
