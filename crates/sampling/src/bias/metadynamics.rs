//! Metadynamics (Laio and Parrinello 2002), plain or well-tempered (Barducci, Bussi and Parrinello 2008).

use super::{Bias, BiasVariable, Column, ColumnQuantity, Moment, from_bytes, switching_work, to_bytes};
use crate::grid::{Axis, Grid};
use jostle_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Settings of metadynamics.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadynamicsSettings {
    /// Standard deviation of hills along each variable.
    pub width: Vec<f64>,
    /// Height of hills, an energy.
    pub height: f64,
    /// Steps between hills.
    pub every: u64,
    /// gamma and k_B T, where hills become lower with the energy that is there; `None`: they do not.
    pub tempering: Option<[f64; 2]>,
    /// First and last value on the grid for each variable; a periodic one has its period.
    pub range: Vec<[f64; 2]>,
    /// Distance of points for each variable.
    pub spacing: Vec<f64>,
}

/// A hill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Hill {
    time: f64,
    center: Vec<f64>,
    height: f64,
}

/// State that a checkpoint has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    hills: Vec<Hill>,
    grid: Grid,
    /// Hill of a step that is over, which acts after it.
    pending: Option<(u64, Hill)>,
    /// The hill that the last step has begun to act on, and the values before that step.
    newest: Option<(u64, Hill)>,
    last: Vec<f64>,
    work: f64,
}

/// Hills where the variables have been.
pub struct Metadynamics {
    variables: Vec<BiasVariable>,
    settings: MetadynamicsSettings,
    state: State,
}

/// Most points of a grid.
const MOST_POINTS: f64 = 1e7;

impl Metadynamics {
    /// Metadynamics of one or two variables.
    ///
    /// # Errors
    /// If the settings make no sense.
    pub fn new(variables: Vec<BiasVariable>, settings: MetadynamicsSettings) -> Result<Self> {
        let MetadynamicsSettings { range, spacing, .. } = &settings;
        for (variable, [lower, upper]) in variables.iter().zip(range) {
            if variable.period.is_none() && (lower >= upper || !(upper - lower).is_finite()) {
                return Err(Error::input(format!(
                    "the grid of variable '{}' goes from {lower} to {upper}",
                    variable.name
                ))
                .hint("give lower and upper, the values that it can reach"));
            }
        }
        let parts = variables.iter().zip(range).zip(spacing);
        let count = |((variable, [lower, upper]), spacing): ((&BiasVariable, &[f64; 2]), &f64)| {
            variable.period.unwrap_or(upper - lower) / spacing
        };
        let points: f64 = parts.clone().map(count).product();
        if points.is_nan() || points >= MOST_POINTS {
            return Err(Error::input(format!("a grid of {points:.0} points")).hint("make spacing wider"));
        }
        let axes =
            parts.map(|((variable, range), spacing)| Axis::new(variable.period, *range, *spacing)).collect();
        let state = State {
            hills: Vec::new(),
            grid: Grid::new(axes),
            pending: None,
            newest: None,
            last: Vec::new(),
            work: 0.0,
        };
        Ok(Metadynamics { variables, settings, state })
    }

    /// Energy of a hill.
    fn hill(&self, hill: &Hill, values: &[f64]) -> f64 {
        let parts = self.variables.iter().zip(&hill.center).zip(values).zip(&self.settings.width);
        let exponent: f64 =
            parts.map(|(((v, c), x), width)| -0.5 * (v.difference(*x, *c) / width).powi(2)).sum();
        hill.height * exponent.exp()
    }

    /// Adds the hill of an earlier step to the grid.
    fn take_pending(&mut self, step: u64) {
        if self.state.pending.as_ref().is_none_or(|(since, _)| *since >= step) {
            return;
        }
        let Some((_, hill)) = self.state.pending.take() else { return };
        let one = |d: usize| {
            let (variable, center, width) =
                (self.variables[d].clone(), hill.center[d], self.settings.width[d]);
            move |x: f64| {
                let off = variable.difference(x, center) / width;
                let value = (-0.5 * off * off).exp();
                [value, -off / width * value]
            }
        };
        let functions: Vec<_> = (0..self.variables.len()).map(one).collect();
        let functions: Vec<&dyn Fn(f64) -> [f64; 2]> =
            functions.iter().map(|f| f as &dyn Fn(f64) -> [f64; 2]).collect();
        self.state.grid.add_product(hill.height, &functions);
        self.state.hills.push(hill.clone());
        self.state.newest = Some((step, hill));
    }

    fn outside(&self, values: &[f64]) -> Error {
        let off = self.state.grid.axes.iter().zip(&self.variables).zip(values);
        let mut off = off.filter(|((axis, _), x)| axis.interval(**x).is_none());
        let message = match off.next() {
            Some(((axis, variable), x)) => format!(
                "variable '{}' is {x}, outside of the grid of metadynamics from {} to {}",
                variable.name,
                axis.lower,
                axis.upper()
            ),
            None => "the variables are outside of the grid of metadynamics".to_string(),
        };
        Error::simulation(message).hint("widen the grid by lower and upper, or add a wall before its end")
    }
}

impl Bias for Metadynamics {
    fn variables(&self) -> &[BiasVariable] {
        &self.variables
    }

    fn evaluate(&mut self, values: &[f64], now: &Moment, slopes: &mut [f64]) -> Result<f64> {
        self.take_pending(now.step);
        self.state.grid.evaluate(values, slopes).ok_or_else(|| self.outside(values))
    }

    fn end_step(&mut self, values: &[f64], now: &Moment) -> Result<()> {
        if let Some((step, hill)) = &self.state.newest
            && *step == now.step
        {
            let (before, after) = (self.hill(hill, &self.state.last), self.hill(hill, values));
            self.state.work += switching_work([0.0, before], [0.0, after]);
            self.state.newest = None;
        }
        if now.step.is_multiple_of(self.settings.every) {
            let mut slopes = vec![0.0; values.len()];
            let there = self.state.grid.evaluate(values, &mut slopes).ok_or_else(|| self.outside(values))?;
            let factor = self
                .settings
                .tempering
                .map_or(1.0, |[gamma, thermal_energy]| (-there / (thermal_energy * (gamma - 1.0))).exp());
            let hill =
                Hill { time: now.time, center: values.to_vec(), height: factor * self.settings.height };
            self.state.pending = Some((now.step, hill));
        }
        self.state.last = values.to_vec();
        Ok(())
    }

    fn work(&self) -> f64 {
        self.state.work
    }

    fn columns(&self) -> Vec<Column> {
        vec![Column { name: "work", quantity: ColumnQuantity::Energy, value: self.state.work }]
    }

    fn save(&self) -> Result<Vec<u8>> {
        to_bytes(&self.state)
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let state: State = from_bytes(saved)?;
        if state.grid.axes != self.state.grid.axes {
            return Err(Error::input("the checkpoint has metadynamics on another grid")
                .hint("begin a new run with this input"));
        }
        self.state = state;
        Ok(())
    }

    /// Hills in PLUMED's layout. Well-tempered ones have heights times gamma / (gamma - 1), so that minus their
    /// sum is the free energy.
    fn files(&self) -> Vec<(String, String)> {
        let names: Vec<&str> = self.variables.iter().map(|v| v.name.as_str()).collect();
        let sigmas: Vec<String> = names.iter().map(|name| format!("sigma_{name}")).collect();
        let mut text = format!(
            "#! FIELDS time {} {} height biasf\n#! SET multivariate false\n",
            names.join(" "),
            sigmas.join(" ")
        );
        for variable in self.variables.iter().filter(|v| v.period.is_some()) {
            let _ = writeln!(text, "#! SET min_{} -pi\n#! SET max_{} pi", variable.name, variable.name);
        }
        let (factor, gamma) = match self.settings.tempering {
            Some([gamma, _]) => (gamma / (gamma - 1.0), gamma),
            None => (1.0, 1.0),
        };
        let pending = self.state.pending.iter().map(|(_, hill)| hill);
        for Hill { time, center, height } in self.state.hills.iter().chain(pending) {
            let _ = write!(text, "{time}");
            center.iter().chain(&self.settings.width).for_each(|x| {
                let _ = write!(text, " {x}");
            });
            let _ = writeln!(text, " {} {gamma}", factor * height);
        }
        vec![("hills".to_string(), text)]
    }
}
