//! Metadynamics (Laio and Parrinello 2002), plain or well-tempered (Barducci, Bussi and Parrinello 2008).

use super::switching::Switching;
use super::{Bias, BiasVariable, Column, ColumnQuantity, Moment, axes, from_bytes, gaussians, to_bytes};
use crate::grid::Grid;
use jostle_core::{Error, Result};
use serde::{Deserialize, Serialize};

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
    switching: Switching<Hill>,
}

/// Hills where the variables have been.
pub struct Metadynamics {
    variables: Vec<BiasVariable>,
    settings: MetadynamicsSettings,
    state: State,
}

impl Hill {
    /// Energy, with `widths` along the variables.
    fn energy(&self, variables: &[BiasVariable], widths: &[f64], values: &[f64]) -> f64 {
        let parts = variables.iter().zip(&self.center).zip(values).zip(widths);
        let exponent: f64 =
            parts.map(|(((v, c), x), width)| -0.5 * (v.difference(*x, *c) / width).powi(2)).sum();
        self.height * exponent.exp()
    }
}

impl Metadynamics {
    /// Metadynamics of one or two variables.
    ///
    /// # Errors
    /// If the settings make no sense.
    pub fn new(variables: Vec<BiasVariable>, settings: MetadynamicsSettings) -> Result<Self> {
        let axes = axes(&variables, &settings.range, &settings.spacing, "points")?;
        let state = State { hills: Vec::new(), grid: Grid::new(axes), switching: Switching::default() };
        Ok(Metadynamics { variables, settings, state })
    }

    /// Adds the hill of an earlier step to the grid.
    fn take_pending(&mut self, step: u64) {
        let Some(hill) = self.state.switching.pending.take_due(step) else { return };
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
        self.state.switching.begin(step, hill);
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
        let (variables, widths) = (&self.variables, &self.settings.width);
        let energies = |hill: &Hill, values: &[f64]| [0.0, hill.energy(variables, widths, values)];
        self.state.switching.end_step(now.step, values, energies);
        if now.step.is_multiple_of(self.settings.every) {
            let mut slopes = vec![0.0; values.len()];
            let there = self.state.grid.evaluate(values, &mut slopes).ok_or_else(|| self.outside(values))?;
            let factor = self
                .settings
                .tempering
                .map_or(1.0, |[gamma, thermal_energy]| (-there / (thermal_energy * (gamma - 1.0))).exp());
            let hill =
                Hill { time: now.time, center: values.to_vec(), height: factor * self.settings.height };
            self.state.switching.pending.note(now.step, hill);
        }
        Ok(())
    }

    fn work(&self) -> f64 {
        self.state.switching.work
    }

    fn columns(&self) -> Vec<Column> {
        vec![Column { name: "work", quantity: ColumnQuantity::Energy, value: self.state.switching.work }]
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
        let (factor, gamma) = match self.settings.tempering {
            Some([gamma, _]) => (gamma / (gamma - 1.0), gamma),
            None => (1.0, 1.0),
        };
        let row = |Hill { time, center, height }: &Hill| {
            let widths = &self.settings.width;
            [&[*time], &center[..], &widths[..], &[factor * height, gamma]].concat()
        };
        let hills = self.state.hills.iter().chain(self.state.switching.pending.get());
        let columns: [&[&str]; 2] = [&["time"], &["height", "biasf"]];
        let settings = [("multivariate", "false".to_string())];
        let text = gaussians::text(&self.variables, columns, &settings, hills.map(row));
        vec![("hills".to_string(), text)]
    }
}
