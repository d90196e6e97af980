//! Adaptive biasing force on an extended variable (Lesage, Lelièvre, Stoltz and Hénin 2017). A fictitious particle
//! is bound to the variables by springs, moves by Langevin's equation, and gets the mean of the force on it taken
//! off, so that it diffuses freely. The free energy of the variables themselves follows from their histogram and from
//! where the particle was (CZAR, equation 20 there), without second derivatives and for any variable.

use super::switching::{Pending, switching_work};
use super::{Bias, BiasVariable, Moment, axes, from_bytes, to_bytes};
use crate::grid::Axis;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Settings of the adaptive biasing force.
#[derive(Debug, Clone, PartialEq)]
pub struct AbfSettings {
    /// k_B T
    pub thermal_energy: f64,
    /// First and last value of each variable; a periodic one has its period.
    pub range: Vec<[f64; 2]>,
    /// Width of bins for each variable.
    pub spacing: Vec<f64>,
    /// Thermal fluctuation of the variable about the particle, which decides on the stiffness of its spring.
    pub coupling: Vec<f64>,
    /// Period of oscillations of the particle on its spring.
    pub relaxation: f64,
    /// Samples in a bin from which the whole mean force is taken off; from half of them on, a part.
    pub full_samples: u64,
}

/// Sums over samples in the bins of a grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Bins {
    count: Vec<u64>,
    /// Sum for each variable, bin after bin.
    sum: Vec<f64>,
}

impl Bins {
    fn new(bins: usize, dimensions: usize) -> Self {
        Bins { count: vec![0; bins], sum: vec![0.0; bins * dimensions] }
    }

    fn add(&mut self, bin: usize, values: &[f64]) {
        self.count[bin] += 1;
        let own = &mut self.sum[bin * values.len()..(bin + 1) * values.len()];
        own.iter_mut().zip(values).for_each(|(sum, x)| *sum += x);
    }
}

/// State that a checkpoint has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    /// Place of the particle, and the one that it has after a step.
    place: Vec<f64>,
    next: Pending<Vec<f64>>,
    velocity: Vec<f64>,
    /// Force on the particle by its place, and displacement of the particle by the place of the variables.
    by_particle: Bins,
    by_variable: Bins,
    /// Values and place at the end of the last step.
    last: Option<[Vec<f64>; 2]>,
    work: f64,
}

/// The bias.
pub struct Abf {
    variables: Vec<BiasVariable>,
    settings: AbfSettings,
    axes: Vec<Axis>,
    stiffness: Vec<f64>,
    mass: Vec<f64>,
    state: State,
}

/// Friction of the particle times the period of its oscillations.
const DAMPING: f64 = 0.2;

impl Abf {
    /// Adaptive biasing force on one or two variables.
    ///
    /// # Errors
    /// If the settings make no sense.
    pub fn new(variables: Vec<BiasVariable>, settings: AbfSettings) -> Result<Self> {
        let axes = axes(&variables, &settings.range, &settings.spacing, "bins")?;
        let bins: usize = axes.iter().map(|axis| axis.intervals).product();
        let kt = settings.thermal_energy;
        let stiffness: Vec<f64> = settings.coupling.iter().map(|sigma| kt / (sigma * sigma)).collect();
        let rate = settings.relaxation / (2.0 * std::f64::consts::PI);
        let mass = stiffness.iter().map(|k| k * rate * rate).collect();
        let dimensions = variables.len();
        let state = State {
            place: Vec::new(),
            next: Pending::default(),
            velocity: vec![0.0; dimensions],
            by_particle: Bins::new(bins, dimensions),
            by_variable: Bins::new(bins, dimensions),
            last: None,
            work: 0.0,
        };
        Ok(Abf { variables, settings, axes, stiffness, mass, state })
    }

    /// Bin with some values; `None` outside.
    fn bin(&self, values: &[f64]) -> Option<usize> {
        let (mut bin, mut stride) = (0, 1);
        for (axis, x) in self.axes.iter().zip(values) {
            bin += axis.interval(*x)?.0 * stride;
            stride *= axis.intervals;
        }
        Some(bin)
    }

    fn displacement(&self, values: &[f64], place: &[f64]) -> Vec<f64> {
        let parts = self.variables.iter().zip(values).zip(place);
        parts.map(|((variable, x), place)| variable.difference(*x, *place)).collect()
    }

    fn energy(&self, values: &[f64], place: &[f64]) -> f64 {
        let d = self.displacement(values, place);
        d.iter().zip(&self.stiffness).map(|(d, k)| 0.5 * k * d * d).sum()
    }

    /// Moves the particle by a step, reflected where its range ends.
    fn advance(&self, values: &[f64], now: &Moment) -> (Vec<f64>, Vec<f64>) {
        let AbfSettings { thermal_energy, relaxation, full_samples, .. } = self.settings;
        let (dt, place) = (now.timestep, &self.state.place);
        let dimensions = self.variables.len();
        let bias = self.bin(place).map(|bin| {
            let count = self.state.by_particle.count[bin];
            let full = full_samples as f64;
            let ramp = ((2.0 * count as f64 - full) / full).clamp(0.0, 1.0);
            let sum = &self.state.by_particle.sum[bin * dimensions..(bin + 1) * dimensions];
            sum.iter().map(|sum| -ramp * sum / count.max(1) as f64).collect::<Vec<f64>>()
        });
        let decay = (-DAMPING * dt / relaxation).exp();
        let (mut places, mut velocities) = (Vec::new(), Vec::new());
        for (k, d) in self.displacement(values, place).iter().enumerate() {
            let force = self.stiffness[k] * d + bias.as_ref().map_or(0.0, |bias| bias[k]);
            let mut stream = Stream::new(now.seed, Purpose::Bias, k as u32, now.step);
            let noise = ((1.0 - decay * decay) * thermal_energy / self.mass[k]).sqrt() * stream.normal();
            let before = self.state.velocity[k] + dt * force / self.mass[k];
            let mut velocity = decay * before + noise;
            let mut to = place[k] + 0.5 * dt * (before + velocity);
            let axis = &self.axes[k];
            if !axis.periodic {
                let (lower, upper) = (axis.lower, axis.upper());
                if to < lower || to > upper {
                    to = if to < lower { 2.0 * lower - to } else { 2.0 * upper - to }.clamp(lower, upper);
                    velocity = -velocity;
                }
            }
            places.push(to);
            velocities.push(velocity);
        }
        (places, velocities)
    }

    /// Gradient of the free energy along each variable at the middle of each bin; NaN where there are no
    /// neighbours with samples.
    pub fn gradient(&self) -> Vec<Vec<f64>> {
        let bins = &self.state.by_variable;
        let (dimensions, kt) = (self.axes.len(), self.settings.thermal_energy);
        let sizes: Vec<usize> = self.axes.iter().map(|axis| axis.intervals).collect();
        let along = |bin: usize, d: usize| -> f64 {
            let stride: usize = sizes[..d].iter().product();
            let index = bin / stride % sizes[d];
            let neighbour = |forward: bool| -> Option<usize> {
                match (forward, self.axes[d].periodic) {
                    (true, false) => (index + 1 < sizes[d]).then(|| bin + stride),
                    (false, false) => (index > 0).then(|| bin - stride),
                    (true, true) => Some(bin - index * stride + (index + 1) % sizes[d] * stride),
                    (false, true) => Some(bin - index * stride + (index + sizes[d] - 1) % sizes[d] * stride),
                }
            };
            let filled = |bin: Option<usize>| bin.filter(|bin| bins.count[*bin] > 0);
            let ln = |bin: usize| (bins.count[bin] as f64).ln();
            let slope = match (filled(neighbour(false)), filled(neighbour(true))) {
                (Some(a), Some(b)) => 0.5 * (ln(b) - ln(a)),
                (None, Some(b)) => ln(b) - ln(bin),
                (Some(a), None) => ln(bin) - ln(a),
                (None, None) => return f64::NAN,
            };
            let mean = bins.sum[bin * dimensions + d] / bins.count[bin] as f64;
            -kt * slope / self.axes[d].spacing + self.stiffness[d] * mean
        };
        let at = |bin: usize| match bins.count[bin] {
            0 => vec![f64::NAN; dimensions],
            _ => (0..dimensions).map(|d| along(bin, d)).collect(),
        };
        (0..bins.count.len()).map(at).collect()
    }

    /// Middle of a bin.
    fn middle(&self, bin: usize) -> Vec<f64> {
        let mut rest = bin;
        let split = |axis: &Axis| {
            let index = rest % axis.intervals;
            rest /= axis.intervals;
            axis.lower + (index as f64 + 0.5) * axis.spacing
        };
        self.axes.iter().map(split).collect()
    }

    /// A grid of Colvars' layout, one row a bin.
    fn table(&self, columns: impl Fn(usize) -> Vec<f64>) -> String {
        let mut text = format!("# {}\n", self.axes.len());
        for axis in &self.axes {
            let Axis { lower, spacing, intervals, periodic } = axis;
            let _ = writeln!(text, "# {lower} {spacing} {intervals} {}", u8::from(*periodic));
        }
        for bin in 0..self.state.by_variable.count.len() {
            let row: Vec<String> =
                self.middle(bin).iter().chain(&columns(bin)).map(|x| format!("{x}")).collect();
            let _ = writeln!(text, "{}", row.join(" "));
        }
        text
    }
}

impl Bias for Abf {
    fn variables(&self) -> &[BiasVariable] {
        &self.variables
    }

    fn begin(&mut self, values: &[f64], now: &Moment) -> Result<()> {
        if self.state.place.is_empty() {
            if self.bin(values).is_none() {
                return Err(Error::simulation(format!(
                    "the variables of a bias begin at {values:?}, outside of its bins"
                ))
                .hint("widen the range by lower and upper"));
            }
            self.state.place = values.to_vec();
            for (k, velocity) in self.state.velocity.iter_mut().enumerate() {
                let mut stream = Stream::new(now.seed, Purpose::Bias, k as u32 + 1000, now.step);
                *velocity = (self.settings.thermal_energy / self.mass[k]).sqrt() * stream.normal();
            }
        }
        self.state.last = Some([values.to_vec(), self.state.place.clone()]);
        Ok(())
    }

    fn evaluate(&mut self, values: &[f64], now: &Moment, slopes: &mut [f64]) -> Result<f64> {
        if let Some(place) = self.state.next.take_due(now.step) {
            self.state.place = place;
        }
        let d = self.displacement(values, &self.state.place);
        slopes.iter_mut().zip(d.iter().zip(&self.stiffness)).for_each(|(slope, (d, k))| *slope = k * d);
        Ok(self.energy(values, &self.state.place))
    }

    fn end_step(&mut self, values: &[f64], now: &Moment) -> Result<()> {
        let place = self.state.place.clone();
        if let Some([x, before]) = &self.state.last {
            let work = switching_work(
                [self.energy(x, before), self.energy(x, &place)],
                [self.energy(values, before), self.energy(values, &place)],
            );
            self.state.work += work;
        }
        self.state.last = Some([values.to_vec(), place.clone()]);
        let d = self.displacement(values, &place);
        if let Some(bin) = self.bin(&place) {
            let force: Vec<f64> = d.iter().zip(&self.stiffness).map(|(d, k)| k * d).collect();
            self.state.by_particle.add(bin, &force);
        }
        if let Some(bin) = self.bin(values) {
            self.state.by_variable.add(bin, &self.displacement(&place, values));
        }
        let (next, velocity) = self.advance(values, now);
        self.state.velocity = velocity;
        self.state.next.note(now.step, next);
        Ok(())
    }

    fn work(&self) -> f64 {
        self.state.work
    }

    fn save(&self) -> Result<Vec<u8>> {
        to_bytes(&self.state)
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let state: State = from_bytes(saved)?;
        let same = |a: &Bins, b: &Bins| a.count.len() == b.count.len() && a.sum.len() == b.sum.len();
        if !(same(&state.by_variable, &self.state.by_variable) && state.velocity.len() == self.axes.len()) {
            return Err(Error::input("the checkpoint has an adaptive force on other bins")
                .hint("begin a new run with this input"));
        }
        self.state = state;
        Ok(())
    }

    fn files(&self) -> Vec<(String, String)> {
        let gradient = self.gradient();
        let count = |bin: usize| vec![self.state.by_variable.count[bin] as f64];
        vec![
            ("count".to_string(), self.table(count)),
            ("grad".to_string(), self.table(|bin| gradient[bin].clone())),
        ]
    }
}
