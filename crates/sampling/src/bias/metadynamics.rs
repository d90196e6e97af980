//! Metadynamics (Laio and Parrinello 2002), plain or well-tempered (Barducci, Bussi and Parrinello 2008).

use super::switching::{Pending, Switching};
use super::{Bias, BiasVariable, Column, ColumnQuantity, Moment, axes, from_bytes, gaussians, to_bytes};
use crate::grid::{Axis, Grid};
use jostle_core::backend::{BiasFunction, BiasMemory, HILL_NUMBERS, HillMemory, HillSettings};
use jostle_core::{Dual, Error, Real, Result};
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

/// Beginning of the comment with k_B T in the first lines of a file that walkers share.
const THERMAL_ENERGY: &str = "# thermal_energy ";

/// Part of a hill that has been made and has yet to begin to act in a list of hills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingHill {
    /// It is among them.
    Included,
    /// It is not.
    LeftOut,
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
        let parts = variables.iter().zip(&self.center).zip(values);
        let off: Vec<f64> = parts.map(|((v, c), x)| v.difference(*x, *c)).collect();
        hill_energy(self.height, &off, widths)
    }

    /// Its numbers for a device.
    fn numbers(&self) -> [f64; HILL_NUMBERS] {
        let along = |d: usize| self.center.get(d).copied().unwrap_or_default();
        [self.time, self.height, along(0), along(1)]
    }

    /// The hill of these numbers.
    fn of(numbers: &[f64], dimensions: usize) -> Self {
        Hill { time: numbers[0], height: numbers[1], center: numbers[2..2 + dimensions].to_vec() }
    }
}

/// Energy of a hill at some distances from its centre.
pub fn hill_energy<R: Real>(height: R, off: &[R], widths: &[R]) -> R {
    let exponent = |(off, width): (&R, &R)| {
        let ratio = *off / *width;
        R::lit(-0.5) * (ratio * ratio)
    };
    let mut parts = off.iter().zip(widths).map(exponent);
    let first = parts.next().unwrap_or(R::lit(0.0));
    height * parts.fold(first, |sum, part| sum + part).exp()
}

/// Part of a hill of height 1 along one variable, and its derivative.
pub fn hill_along<R: Real>(off: R, width: R) -> [R; 2] {
    let energy = hill_energy(Dual::lit(1.0), &[Dual::variable(off)], &[Dual::constant(width)]);
    [energy.value, energy.slope]
}

/// Factor of the height of a hill where there is some energy already (Barducci, Bussi and Parrinello 2008, equation 2).
pub fn tempering<R: Real>(there: R, gamma: R, thermal_energy: R) -> R {
    (-there / (thermal_energy * (gamma - R::lit(1.0)))).exp()
}

impl Metadynamics {
    /// Metadynamics of one or two variables.
    ///
    /// # Errors
    /// If the settings make no sense.
    pub fn new(variables: Vec<BiasVariable>, settings: MetadynamicsSettings) -> Result<Self> {
        let axes = axes(&variables, &settings.range, &settings.spacing, "points")?;
        for ((variable, width), spacing) in variables.iter().zip(&settings.width).zip(&settings.spacing) {
            if spacing > width {
                let message = format!(
                    "points of the grid of metadynamics are {spacing} apart along '{}', and hills only {width} wide: they \
                     would fall between the points",
                    variable.name
                );
                return Err(Error::input(message).hint("leave spacing out: it is a fifth of the width then"));
            }
        }
        let state = State { hills: Vec::new(), grid: Grid::new(axes), switching: Switching::default() };
        Ok(Metadynamics { variables, settings, state })
    }

    /// Adds the hill of an earlier step to the grid.
    fn take_pending(&mut self, step: u64) {
        let Some(hill) = self.state.switching.pending.take_due(step) else { return };
        let widths = self.settings.width.clone();
        self.add_to_grid(&hill, &widths);
        self.state.hills.push(hill.clone());
        self.state.switching.begin(step, hill);
    }

    /// Its own hills, that which has yet to begin to act included.
    fn all_hills(&self) -> impl Iterator<Item = &Hill> {
        self.state.hills.iter().chain(self.state.switching.pending.get())
    }

    /// Rows of a file of hills: its own from a number on, that which has yet to begin to act included or not.
    pub fn rows(&self, first: usize, pending: PendingHill) -> Vec<Vec<f64>> {
        let count = match pending {
            PendingHill::Included => usize::MAX,
            PendingHill::LeftOut => self.state.hills.len(),
        };
        self.all_hills().take(count).skip(first).map(|hill| self.row(hill)).collect()
    }

    /// First lines of a file with such rows, and k_B T of their tempering in a comment.
    pub fn head(&self) -> String {
        let text = self.text(std::iter::empty());
        match self.settings.tempering {
            Some([_, thermal_energy]) => text + &format!("{THERMAL_ENERGY}{thermal_energy}\n"),
            None => text,
        }
    }

    /// Refuses rows, or first lines, of hills with other settings.
    ///
    /// # Errors
    /// If widths, the bias factor or k_B T are others; the error has both numbers.
    pub fn check_alike(&self, head: &str, rows: &[Vec<f64>]) -> Result<()> {
        let is_other = |a: f64, b: f64| (a - b).abs() > 1e-6 * b.abs();
        let refuse = |what: &str, theirs: f64, own: f64| {
            let message = format!("hills with {what} = {theirs}, and this run has {own}");
            Err(Error::input(message)
                .hint("walkers of one folder have the same settings: give them, or another folder"))
        };
        let n = self.variables.len();
        let gamma = self.settings.tempering.map_or(1.0, |[gamma, _]| gamma);
        for row in rows.iter().filter(|row| row.len() == self.row_length()) {
            let widths = &self.settings.width;
            if let Some(d) = (0..n).find(|d| is_other(row[1 + n + d], widths[*d])) {
                return refuse(
                    &format!("width along '{}'", self.variables[d].name),
                    row[1 + n + d],
                    widths[d],
                );
            }
            if is_other(row[2 + 2 * n], gamma) {
                return refuse("bias_factor", row[2 + 2 * n], gamma);
            }
        }
        let theirs =
            head.lines().find_map(|line| line.strip_prefix(THERMAL_ENERGY)?.trim().parse::<f64>().ok());
        match (theirs, self.settings.tempering) {
            (Some(theirs), Some([_, own])) if is_other(theirs, own) => {
                refuse("k_B T (temperature)", theirs, own)
            }
            _ => Ok(()),
        }
    }

    /// Number of numbers in a row.
    pub fn row_length(&self) -> usize {
        2 * self.variables.len() + 3
    }

    /// Adds hills of other walkers, by rows of their files. The energy that they have where the variables are is work.
    pub fn add_rows(&mut self, rows: &[Vec<f64>]) {
        let (n, length) = (self.variables.len(), self.row_length());
        for row in rows.iter().filter(|row| row.len() == length) {
            let (center, widths, height) =
                (&row[1..1 + n], &row[1 + n..1 + 2 * n], row[1 + 2 * n] / self.factor());
            let hill = Hill { time: row[0], center: center.to_vec(), height };
            if !self.state.switching.last.is_empty() {
                self.state.switching.work += hill.energy(&self.variables, widths, &self.state.switching.last);
            }
            self.add_to_grid(&hill, widths);
        }
    }

    /// Factor of heights in files, see [`Bias::files`].
    fn factor(&self) -> f64 {
        self.settings.tempering.map_or(1.0, |[gamma, _]| gamma / (gamma - 1.0))
    }

    fn row(&self, Hill { time, center, height }: &Hill) -> Vec<f64> {
        let gamma = self.settings.tempering.map_or(1.0, |[gamma, _]| gamma);
        [&[*time], &center[..], &self.settings.width[..], &[self.factor() * height, gamma]].concat()
    }

    fn text(&self, rows: impl Iterator<Item = Vec<f64>>) -> String {
        let columns: [&[&str]; 2] = [&["time"], &["height", "biasf"]];
        let settings = [("multivariate", "false".to_string())];
        gaussians::text(&self.variables, columns, &settings, rows)
    }

    fn add_to_grid(&mut self, hill: &Hill, widths: &[f64]) {
        let one = |d: usize| {
            let (variable, center, width) = (self.variables[d].clone(), hill.center[d], widths[d]);
            move |x: f64| hill_along(variable.difference(x, center), width)
        };
        let functions: Vec<_> = (0..self.variables.len()).map(one).collect();
        let functions: Vec<&dyn Fn(f64) -> [f64; 2]> =
            functions.iter().map(|f| f as &dyn Fn(f64) -> [f64; 2]).collect();
        self.state.grid.add_product(hill.height, &functions);
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
                .map_or(1.0, |[gamma, thermal_energy]| tempering(there, gamma, thermal_energy));
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

    fn function(&self) -> Option<BiasFunction> {
        let MetadynamicsSettings { width, height, every, tempering, .. } = self.settings.clone();
        let axes = self.state.grid.axes.iter().map(Axis::plain).collect();
        Some(BiasFunction::Metadynamics(HillSettings { width, height, every, tempering, axes }))
    }

    fn memory(&self) -> BiasMemory {
        let Switching { pending, newest, last, work } = &self.state.switching;
        let mut numbers = vec![0.0; HillMemory::COUNT];
        numbers[HillMemory::WORK] = *work;
        if !last.is_empty() {
            numbers[HillMemory::KNOWN] = 1.0;
            numbers[HillMemory::VALUES..][..last.len()].copy_from_slice(last);
        }
        let mut note = |step: usize, hill: usize, noted: Option<&(u64, Hill)>| {
            numbers[step] = noted.map_or(-1.0, |(step, _)| *step as f64);
            if let Some((_, noted)) = noted {
                numbers[hill..hill + HILL_NUMBERS].copy_from_slice(&noted.numbers());
            }
        };
        note(HillMemory::PENDING, HillMemory::PENDING_HILL, pending.noted());
        note(HillMemory::NEWEST, HillMemory::NEWEST_HILL, newest.as_ref());
        BiasMemory { numbers, grid: self.state.grid.numbers().to_vec(), ..BiasMemory::default() }
    }

    fn take_memory(&mut self, BiasMemory { numbers, grid, hills, .. }: BiasMemory) {
        let dimensions = self.variables.len();
        let noted = |step: usize, hill: usize| {
            (numbers[step] >= 0.0).then(|| (numbers[step] as u64, Hill::of(&numbers[hill..], dimensions)))
        };
        let known = numbers[HillMemory::KNOWN] != 0.0;
        let last = if known { numbers[HillMemory::VALUES..][..dimensions].to_vec() } else { Vec::new() };
        let mut pending = Pending::default();
        if let Some((step, hill)) = noted(HillMemory::PENDING, HillMemory::PENDING_HILL) {
            pending.note(step, hill);
        }
        let newest = noted(HillMemory::NEWEST, HillMemory::NEWEST_HILL);
        self.state.switching = Switching { pending, newest, last, work: numbers[HillMemory::WORK] };
        self.state.grid.set_numbers(grid);
        self.state.hills.extend(hills.iter().map(|hill| Hill::of(hill, dimensions)));
    }

    fn show(&mut self, _center: f64, work: f64) {
        self.state.switching.work = work;
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

    fn metadynamics(&mut self) -> Option<&mut Metadynamics> {
        Some(self)
    }

    /// Hills in PLUMED's layout. Well-tempered ones have heights times gamma / (gamma - 1), so that minus their
    /// sum is the free energy.
    fn files(&self) -> Vec<(String, String)> {
        let text = self.text(self.all_hills().map(|hill| self.row(hill)));
        vec![("hills".to_string(), text)]
    }
}
