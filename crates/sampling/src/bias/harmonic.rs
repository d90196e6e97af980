//! Harmonic bias: a window of umbrella sampling or, where its centre or its stiffness changes, steered and targeted
//! dynamics.

use super::switching::switching_work;
use super::{Bias, BiasVariable, Column, ColumnQuantity, Moment, from_bytes, to_bytes};
use jostle_core::backend::{BiasFunction, BiasMemory, SpringMemory};
use jostle_core::{Dual, Real, Result};

/// U = stiffness/2 (s - centre)^2
pub struct Harmonic {
    variables: [BiasVariable; 1],
    /// Centre at the beginning and at the end of the stages in which it acts.
    center: [f64; 2],
    stiffness: [f64; 2],
    work: f64,
    /// Value and progress at the end of the last step.
    last: Option<[f64; 2]>,
    /// Centre at the last evaluation.
    now: f64,
}

/// Number that changes linearly from the first to the second one while progress goes from 0 to 1.
pub fn between<R: Real>([first, last]: [R; 2], progress: R) -> R {
    first + (last - first) * progress
}

/// Energy of a spring and its derivative, at a distance from its centre.
pub fn spring<R: Real>(off: R, stiffness: R) -> (R, R) {
    let (off, stiffness) = (Dual::variable(off), Dual::constant(stiffness));
    let energy = Dual::lit(0.5) * stiffness * off * off;
    (energy.value, energy.slope)
}

impl Harmonic {
    /// A bias whose centre and stiffness change linearly from the first to the second value.
    pub fn new(variable: BiasVariable, center: [f64; 2], stiffness: [f64; 2]) -> Self {
        let now = center[0];
        Harmonic { variables: [variable], center, stiffness, work: 0.0, last: None, now }
    }

    /// Energy and its derivative.
    fn energy(&self, value: f64, progress: f64) -> (f64, f64) {
        let off = self.variables[0].difference(value, between(self.center, progress));
        spring(off, between(self.stiffness, progress))
    }

    fn moves(&self) -> bool {
        self.center[0] != self.center[1] || self.stiffness[0] != self.stiffness[1]
    }
}

impl Bias for Harmonic {
    fn variables(&self) -> &[BiasVariable] {
        &self.variables
    }

    fn evaluate(&mut self, values: &[f64], now: &Moment, slopes: &mut [f64]) -> Result<f64> {
        let (energy, slope) = self.energy(values[0], now.progress);
        slopes[0] = slope;
        self.now = between(self.center, now.progress);
        Ok(energy)
    }

    fn end_step(&mut self, values: &[f64], now: &Moment) -> Result<()> {
        if let Some([value, progress]) = self.last {
            let at = |value, progress| self.energy(value, progress).0;
            let before = [at(value, progress), at(value, now.progress)];
            let after = [at(values[0], progress), at(values[0], now.progress)];
            self.work += switching_work(before, after);
        }
        self.last = Some([values[0], now.progress]);
        Ok(())
    }

    fn begin(&mut self, values: &[f64], now: &Moment) -> Result<()> {
        self.last = Some([values[0], now.progress]);
        Ok(())
    }

    fn work(&self) -> f64 {
        self.work
    }

    fn columns(&self) -> Vec<Column> {
        if !self.moves() {
            return Vec::new();
        }
        vec![
            Column { name: "center", quantity: ColumnQuantity::Variable, value: self.now },
            Column { name: "work", quantity: ColumnQuantity::Energy, value: self.work },
        ]
    }

    fn function(&self) -> Option<BiasFunction> {
        Some(BiasFunction::Harmonic { center: self.center, stiffness: self.stiffness })
    }

    fn memory(&self) -> BiasMemory {
        let mut numbers = vec![0.0; SpringMemory::COUNT];
        numbers[SpringMemory::WORK] = self.work;
        if let Some([value, progress]) = self.last {
            numbers[SpringMemory::KNOWN] = 1.0;
            numbers[SpringMemory::VALUE] = value;
            numbers[SpringMemory::PROGRESS] = progress;
        }
        BiasMemory { numbers, ..BiasMemory::default() }
    }

    fn take_memory(&mut self, BiasMemory { numbers, .. }: BiasMemory) {
        self.work = numbers[SpringMemory::WORK];
        let known = numbers[SpringMemory::KNOWN] != 0.0;
        self.last = known.then(|| [numbers[SpringMemory::VALUE], numbers[SpringMemory::PROGRESS]]);
    }

    fn show(&mut self, center: f64, work: f64) {
        (self.now, self.work) = (center, work);
    }

    fn save(&self) -> Result<Vec<u8>> {
        to_bytes(&(self.work, self.last))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        (self.work, self.last) = from_bytes(saved)?;
        Ok(())
    }
}
