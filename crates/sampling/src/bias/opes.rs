//! On-the-fly probability enhanced sampling (Invernizzi and Parrinello, J. Phys. Chem. Lett. 11, 2731 (2020)): the bias
//! follows from an estimate of the unbiased density by kernels, few of which remain because near ones are merged.

use super::switching::Switching;
use super::{Bias, BiasVariable, Column, ColumnQuantity, Moment, from_bytes, gaussians, to_bytes};
use jostle_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Settings of the method.
#[derive(Debug, Clone, PartialEq)]
pub struct OpesSettings {
    /// Highest barrier to be crossed, an energy.
    pub barrier: f64,
    /// k_B T
    pub thermal_energy: f64,
    /// Width of the first kernel along each variable: the fluctuation in a basin.
    pub width: Vec<f64>,
    /// Steps between kernels.
    pub every: u64,
}

/// A kernel of the density.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Kernel {
    center: Vec<f64>,
    width: Vec<f64>,
    height: f64,
}

/// An estimate of the density and of its mean where it has been explored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Density {
    kernels: Vec<Kernel>,
    /// Sums of weights and of their squares.
    weights: [f64; 2],
    /// Mean of the density over the kernels.
    mean: f64,
}

/// State that a checkpoint has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    density: Density,
    switching: Switching<Density>,
}

/// The bias.
pub struct Opes {
    variables: Vec<BiasVariable>,
    settings: OpesSettings,
    state: State,
}

/// Distance, in widths, within which kernels are merged.
const MERGED: f64 = 1.0;

impl Opes {
    /// A bias on one or two variables.
    ///
    /// # Errors
    /// If the barrier is not higher than k_B T.
    pub fn new(variables: Vec<BiasVariable>, settings: OpesSettings) -> Result<Self> {
        let OpesSettings { barrier, thermal_energy, .. } = settings;
        if barrier.is_nan() || barrier <= thermal_energy {
            return Err(Error::input(format!(
                "a barrier of {barrier} is not higher than k_B T = {thermal_energy}"
            ))
            .hint("give the height of the barriers between the states of interest"));
        }
        let mut made = Opes {
            variables,
            settings,
            state: State {
                density: Density { kernels: Vec::new(), weights: [0.0; 2], mean: 1.0 },
                switching: Switching::default(),
            },
        };
        let first = made.least().powf(made.part());
        made.state.density.weights = [first, first * first];
        Ok(made)
    }

    /// 1 - 1/gamma, with gamma the barrier over k_B T.
    fn part(&self) -> f64 {
        1.0 - self.settings.thermal_energy / self.settings.barrier
    }

    /// Least value of the density over its mean, which limits the bias to the barrier.
    fn least(&self) -> f64 {
        (-self.settings.barrier / (self.settings.thermal_energy * self.part())).exp()
    }

    /// Squared distance, in widths, beyond which kernels vanish.
    fn square_cutoff(&self) -> f64 {
        2.0 * self.settings.barrier / (self.settings.thermal_energy * self.part())
    }

    /// Value of a kernel, whose derivatives are added to `slopes`.
    fn kernel(&self, kernel: &Kernel, values: &[f64], slopes: &mut [f64]) -> f64 {
        let part = |k: usize| self.variables[k].difference(values[k], kernel.center[k]) / kernel.width[k];
        let square: f64 = (0..values.len()).map(|k| part(k).powi(2)).sum();
        let end = self.square_cutoff();
        if square >= end {
            return 0.0;
        }
        let gauss = kernel.height * (-0.5 * square).exp();
        slopes.iter_mut().enumerate().for_each(|(k, slope)| *slope -= gauss * part(k) / kernel.width[k]);
        gauss - kernel.height * (-0.5 * end).exp()
    }

    /// Sum of the kernels, and its derivatives.
    fn sum(&self, density: &Density, values: &[f64]) -> (f64, Vec<f64>) {
        let mut slopes = vec![0.0; values.len()];
        let sum = density.kernels.iter().map(|kernel| self.kernel(kernel, values, &mut slopes)).sum();
        (sum, slopes)
    }

    /// Energy of the bias of a density, and its derivatives.
    fn energy(&self, density: &Density, values: &[f64]) -> (f64, Vec<f64>) {
        let (sum, slopes) = self.sum(density, values);
        let scale = self.settings.thermal_energy * self.part();
        let norm = density.weights[0] * density.mean;
        let inner = sum / norm + self.least();
        (scale * inner.ln(), slopes.into_iter().map(|slope| scale * slope / norm / inner).collect())
    }

    /// The density with one more kernel.
    fn with_kernel(&self, density: &Density, values: &[f64]) -> Density {
        let mut next = density.clone();
        let weight = (self.energy(density, values).0 / self.settings.thermal_energy).exp();
        next.weights[0] += weight;
        next.weights[1] += weight * weight;
        let effective = (1.0 + next.weights[0]).powi(2) / (1.0 + next.weights[1]);
        let d = values.len() as f64;
        // Silverman's rule.
        let narrower = (effective * (d + 2.0) / 4.0).powf(-1.0 / (d + 4.0));
        let mut kernel = Kernel {
            center: values.to_vec(),
            width: self.settings.width.iter().map(|width| width * narrower).collect(),
            height: weight / narrower.powi(values.len() as i32),
        };
        while let Some(near) = self.nearest(&next.kernels, &kernel.center) {
            let other = next.kernels.swap_remove(near);
            kernel = self.merged(&other, &kernel);
        }
        next.kernels.push(kernel);
        let sum: f64 = next.kernels.iter().map(|kernel| self.sum(&next, &kernel.center).0).sum();
        next.mean = sum / (next.weights[0] * next.kernels.len() as f64);
        next
    }

    /// The nearest kernel within reach of a place.
    fn nearest(&self, kernels: &[Kernel], place: &[f64]) -> Option<usize> {
        let square = |kernel: &Kernel| -> f64 {
            let part = |k: usize| self.variables[k].difference(place[k], kernel.center[k]) / kernel.width[k];
            (0..place.len()).map(|k| part(k).powi(2)).sum()
        };
        let all = kernels.iter().map(square).enumerate();
        let near = all.filter(|(_, square)| *square < MERGED * MERGED);
        near.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(k, _)| k)
    }

    /// One kernel with the height, the mean and the variance of two.
    fn merged(&self, a: &Kernel, b: &Kernel) -> Kernel {
        let height = a.height + b.height;
        let [of_a, of_b] = [a.height / height, b.height / height];
        let (mut center, mut width) = (Vec::new(), Vec::new());
        for (k, variable) in self.variables.iter().enumerate() {
            let off = variable.difference(b.center[k], a.center[k]);
            let middle = a.center[k] + of_b * off;
            center.push(match variable.period {
                Some(period) => middle - period * (middle / period).round(),
                None => middle,
            });
            let square = of_a * a.width[k].powi(2) + of_b * b.width[k].powi(2) + of_a * of_b * off * off;
            width.push(square.sqrt());
        }
        Kernel { center, width, height }
    }
}

impl Bias for Opes {
    fn variables(&self) -> &[BiasVariable] {
        &self.variables
    }

    fn evaluate(&mut self, values: &[f64], now: &Moment, slopes: &mut [f64]) -> Result<f64> {
        if let Some(density) = self.state.switching.pending.take_due(now.step) {
            let before = std::mem::replace(&mut self.state.density, density);
            self.state.switching.begin(now.step, before);
        }
        let (energy, derivatives) = self.energy(&self.state.density, values);
        slopes.copy_from_slice(&derivatives);
        Ok(energy)
    }

    fn end_step(&mut self, values: &[f64], now: &Moment) -> Result<()> {
        let mut switching = std::mem::take(&mut self.state.switching);
        let energies = |before: &Density, values: &[f64]| {
            [before, &self.state.density].map(|density| self.energy(density, values).0)
        };
        switching.end_step(now.step, values, energies);
        if now.step.is_multiple_of(self.settings.every) {
            switching.pending.note(now.step, self.with_kernel(&self.state.density, values));
        }
        self.state.switching = switching;
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
        let dimensions = self.variables.len();
        if state.density.kernels.iter().any(|kernel| kernel.center.len() != dimensions) {
            return Err(Error::input("the checkpoint has kernels of other variables")
                .hint("begin a new run with this input"));
        }
        self.state = state;
        Ok(())
    }

    /// Kernels of the unbiased density, from which the free energy follows.
    fn files(&self) -> Vec<(String, String)> {
        let density = self.state.switching.pending.get().unwrap_or(&self.state.density);
        let row = |Kernel { center, width, height }: &Kernel| [&center[..], &width[..], &[*height]].concat();
        let settings = [
            ("thermal_energy", self.settings.thermal_energy.to_string()),
            ("square_cutoff", self.square_cutoff().to_string()),
        ];
        let rows = density.kernels.iter().map(row);
        vec![("kernels".to_string(), gaussians::text(&self.variables, [&[], &["height"]], &settings, rows))]
    }
}
