//! On-the-fly probability enhanced sampling (Invernizzi and Parrinello, J. Phys. Chem. Lett. 11, 2731 (2020)): the bias
//! follows from an estimate of the unbiased density by kernels, few of which remain because near ones are merged.

use super::kernel_density::{
    density_kernel, merged_kernel, new_kernel, opes_energy, sample_weight, square_in_widths,
};
use super::switching::{Pending, Switching};
use super::{Bias, BiasVariable, Column, ColumnQuantity, Moment, from_bytes, gaussians, to_bytes};
use jostle_core::backend::{
    BiasFunction, BiasMemory, DensityMemory, KERNEL_NUMBERS, KernelMemory, KernelSettings,
};
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

impl Kernel {
    /// Its widths, 1 along a variable that is not there.
    fn widths(&self) -> [f64; 2] {
        [0, 1].map(|k| self.width.get(k).copied().unwrap_or(1.0))
    }

    /// Its numbers for a device.
    fn numbers(&self) -> [f64; KERNEL_NUMBERS] {
        let along = |d: usize| self.center.get(d).copied().unwrap_or_default();
        let [first, second] = self.widths();
        [self.height, along(0), along(1), first, second]
    }

    /// The kernel of these numbers.
    fn of([height, x, y, first, second]: [f64; KERNEL_NUMBERS], dimensions: usize) -> Self {
        let [center, width] = [[x, y], [first, second]].map(|both| both[..dimensions].to_vec());
        Kernel { center, width, height }
    }
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
    settings: KernelSettings,
    state: State,
}

/// Distance, in widths, within which kernels are merged.
pub const MERGED: f64 = 1.0;

impl Opes {
    /// A bias on one or two variables.
    ///
    /// # Errors
    /// If the barrier is not higher than k_B T.
    pub fn new(variables: Vec<BiasVariable>, settings: OpesSettings) -> Result<Self> {
        let OpesSettings { barrier, thermal_energy, width, every } = settings;
        if barrier.is_nan() || barrier <= thermal_energy {
            return Err(Error::input(format!(
                "a barrier of {barrier} is not higher than k_B T = {thermal_energy}"
            ))
            .hint("give the height of the barriers between the states of interest"));
        }
        // 1 - 1/gamma, with gamma the barrier over k_B T.
        let part = 1.0 - thermal_energy / barrier;
        let scale = thermal_energy * part;
        let (least, square_cutoff) = ((-barrier / scale).exp(), 2.0 * barrier / scale);
        let settings = KernelSettings { width, every, thermal_energy, scale, least, square_cutoff };
        let first = least.powf(part);
        let density = Density { kernels: Vec::new(), weights: [first, first * first], mean: 1.0 };
        Ok(Opes { variables, settings, state: State { density, switching: Switching::default() } })
    }

    /// Distances of two places.
    fn off(&self, a: &[f64], b: &[f64]) -> [f64; 2] {
        let mut off = [0.0; 2];
        let parts = self.variables.iter().zip(a).zip(b);
        off.iter_mut().zip(parts).for_each(|(off, ((variable, a), b))| *off = variable.difference(*a, *b));
        off
    }

    /// Value of a kernel at a place, and its derivatives.
    fn kernel(&self, kernel: &Kernel, values: &[f64]) -> [f64; 3] {
        let (off, widths) = (self.off(values, &kernel.center), kernel.widths());
        match square_in_widths(off, widths) < self.settings.square_cutoff {
            true => density_kernel(kernel.height, off, widths, self.settings.least),
            false => [0.0; 3],
        }
    }

    /// Energy of the bias of a density, and its derivatives.
    fn energy(&self, density: &Density, values: &[f64]) -> (f64, Vec<f64>) {
        let mut sums = [0.0; 3];
        for kernel in &density.kernels {
            sums.iter_mut().zip(self.kernel(kernel, values)).for_each(|(sum, x)| *sum += x);
        }
        let norm = density.weights[0] * density.mean;
        let [energy, slope] = opes_energy(sums[0], norm, self.settings.least, self.settings.scale);
        (energy, sums[1..].iter().take(values.len()).map(|sum| slope * sum).collect())
    }

    /// The density with one more kernel.
    fn with_kernel(&self, density: &Density, values: &[f64]) -> Density {
        let mut next = density.clone();
        let weight = sample_weight(self.energy(density, values).0, self.settings.thermal_energy);
        next.weights[0] += weight;
        next.weights[1] += weight * weight;
        let [narrower, height] = new_kernel(weight, next.weights, values.len() as f64);
        let mut kernel = Kernel {
            center: values.to_vec(),
            width: self.settings.width.iter().map(|width| width * narrower).collect(),
            height,
        };
        // Sum of all kernels at the centres of all, of which only parts with new or merged kernels change.
        let mut sum = density.mean * density.weights[0] * density.kernels.len() as f64;
        while let Some(near) = self.nearest(&next.kernels, &kernel.center) {
            let other = next.kernels.swap_remove(near);
            sum -= self.overlap(&next.kernels, &other);
            kernel = self.merged(&other, &kernel);
        }
        sum += self.overlap(&next.kernels, &kernel);
        next.kernels.push(kernel);
        next.mean = sum / (next.weights[0] * next.kernels.len() as f64);
        next
    }

    /// Sum of a kernel at its own centre and those of others, and of the others at its centre.
    fn overlap(&self, others: &[Kernel], kernel: &Kernel) -> f64 {
        let both =
            |other: &Kernel| self.kernel(kernel, &other.center)[0] + self.kernel(other, &kernel.center)[0];
        self.kernel(kernel, &kernel.center)[0] + others.iter().map(both).sum::<f64>()
    }

    /// The nearest kernel within reach of a place.
    fn nearest(&self, kernels: &[Kernel], place: &[f64]) -> Option<usize> {
        let square = |kernel: &Kernel| square_in_widths(self.off(place, &kernel.center), kernel.widths());
        let all = kernels.iter().map(square).enumerate();
        let near = all.filter(|(_, square)| *square < MERGED * MERGED);
        near.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(k, _)| k)
    }

    /// One kernel with the height, the mean and the variance of two.
    fn merged(&self, a: &Kernel, b: &Kernel) -> Kernel {
        let off = self.off(&b.center, &a.center);
        let mut merged = Kernel { height: a.height + b.height, ..a.clone() };
        for (k, variable) in self.variables.iter().enumerate() {
            let [shift, width] = merged_kernel([a.height, b.height], off[k], [a.width[k], b.width[k]]);
            merged.center[k] = variable.difference(a.center[k] + shift, 0.0);
            merged.width[k] = width;
        }
        merged
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

    fn function(&self) -> Option<BiasFunction> {
        Some(BiasFunction::Opes(self.settings.clone()))
    }

    fn memory(&self) -> BiasMemory {
        let Switching { pending, newest, last, work } = &self.state.switching;
        let mut numbers = vec![0.0; KernelMemory::COUNT];
        numbers[KernelMemory::WORK] = *work;
        if !last.is_empty() {
            numbers[KernelMemory::KNOWN] = 1.0;
            numbers[KernelMemory::VALUES..][..last.len()].copy_from_slice(last);
        }
        let step = |noted: Option<&(u64, Density)>| noted.map_or(-1.0, |(step, _)| *step as f64);
        numbers[KernelMemory::PENDING] = step(pending.noted());
        numbers[KernelMemory::NEWEST] = step(newest.as_ref().filter(|_| pending.noted().is_none()));
        let other = pending.noted().or(newest.as_ref()).map(|(_, density)| density);
        let mut kernels = [Vec::new(), Vec::new()];
        for (k, density) in [Some(&self.state.density), other].into_iter().enumerate() {
            let Some(Density { kernels: all, weights: [weight, squares], mean }) = density else { continue };
            let own = &mut numbers[KernelMemory::DENSITIES[k]..][..DensityMemory::COUNT];
            own[DensityMemory::KERNELS] = all.len() as f64;
            own[DensityMemory::WEIGHT] = *weight;
            own[DensityMemory::SQUARES] = *squares;
            own[DensityMemory::MEAN] = *mean;
            kernels[k] = all.iter().map(Kernel::numbers).collect();
        }
        BiasMemory { numbers, kernels, ..BiasMemory::default() }
    }

    fn take_memory(&mut self, BiasMemory { numbers, kernels, .. }: BiasMemory) {
        let dimensions = self.variables.len();
        let density = |k: usize| {
            let own = &numbers[KernelMemory::DENSITIES[k]..][..DensityMemory::COUNT];
            Density {
                kernels: kernels[k].iter().map(|kernel| Kernel::of(*kernel, dimensions)).collect(),
                weights: [own[DensityMemory::WEIGHT], own[DensityMemory::SQUARES]],
                mean: own[DensityMemory::MEAN],
            }
        };
        let current = numbers[KernelMemory::CURRENT] as usize;
        let noted =
            |step: usize| (numbers[step] >= 0.0).then(|| (numbers[step] as u64, density(1 - current)));
        let known = numbers[KernelMemory::KNOWN] != 0.0;
        let last = if known { numbers[KernelMemory::VALUES..][..dimensions].to_vec() } else { Vec::new() };
        let mut pending = Pending::default();
        if let Some((step, density)) = noted(KernelMemory::PENDING) {
            pending.note(step, density);
        }
        let (newest, work) = (noted(KernelMemory::NEWEST), numbers[KernelMemory::WORK]);
        self.state =
            State { density: density(current), switching: Switching { pending, newest, last, work } };
    }

    fn show(&mut self, _center: f64, work: f64) {
        self.state.switching.work = work;
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
            ("square_cutoff", self.settings.square_cutoff.to_string()),
        ];
        let rows = density.kernels.iter().map(row);
        vec![("kernels".to_string(), gaussians::text(&self.variables, [&[], &["height"]], &settings, rows))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A walk on a circle and a line, with kernels that are merged.
    fn walked() -> Opes {
        let variable = |name: &str, period| BiasVariable { number: 0, name: name.into(), period };
        let variables = vec![variable("phi", Some(2.0)), variable("d", None)];
        let settings = OpesSettings { barrier: 6.0, thermal_energy: 1.0, width: vec![0.2, 0.3], every: 1 };
        let mut opes = Opes::new(variables, settings).unwrap();
        for step in 0..200 {
            let t = f64::from(step);
            let values = [(0.37 * t).rem_euclid(2.0) - 1.0, (0.13 * t).sin() + 0.4 * (0.71 * t).cos()];
            opes.state.density = opes.with_kernel(&opes.state.density, &values);
        }
        opes
    }

    /// The mean of the density, of which a kernel changes a part, is that over all kernels.
    #[test]
    fn the_mean_is_that_of_the_density_at_all_kernels() {
        let opes = walked();
        let Density { kernels, weights, mean } = &opes.state.density;
        assert!(kernels.len() > 20 && kernels.len() < 150, "{} kernels", kernels.len());
        let at =
            |place: &Kernel| kernels.iter().map(|kernel| opes.kernel(kernel, &place.center)[0]).sum::<f64>();
        let exact = kernels.iter().map(at).sum::<f64>() / (weights[0] * kernels.len() as f64);
        assert!((mean / exact - 1.0).abs() < 1e-12, "{mean} {exact}");
    }

    /// A device leaves what it was given: the density that acts, and the one that has yet to act or that was before.
    #[test]
    fn a_device_gives_back_both_densities() {
        let mut opes = walked();
        let next = opes.with_kernel(&opes.state.density, &[0.9, 3.0]);
        opes.state.switching.last = vec![0.5, 0.25];
        opes.state.switching.pending.note(200, next.clone());
        let before = opes.state.clone();
        let mut memory = opes.memory();
        opes.take_memory(memory.clone());
        assert_eq!(opes.state, before);
        // The device has begun the next one.
        memory.numbers[KernelMemory::CURRENT] = 1.0;
        memory.numbers[KernelMemory::PENDING] = -1.0;
        memory.numbers[KernelMemory::NEWEST] = 201.0;
        opes.take_memory(memory);
        assert_eq!(opes.state.density, next);
        assert_eq!(opes.state.switching.newest, Some((201, before.density)));
        assert_eq!(opes.state.switching.pending.get(), None);
    }

    /// Slopes are the derivatives of the energy.
    #[test]
    fn slopes_are_differences_of_the_energy() {
        let opes = walked();
        let (place, h) = ([0.9337, 0.4], 1e-6);
        let energy = |values: &[f64]| opes.energy(&opes.state.density, values);
        for (k, slope) in energy(&place).1.into_iter().enumerate() {
            let moved = |by: f64| {
                let mut values = place;
                values[k] += by;
                energy(&values).0
            };
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            assert!((slope - difference).abs() < 1e-6 * (1.0 + slope.abs()), "{k}: {slope} {difference}");
        }
    }
}
