//! Stochastic cell rescaling.

use super::molecular::{MolecularPressure, Surroundings, resize, small_enough, without_constraints};
use crate::degrees_of_freedom::Momentum;
use jostle_core::{Backend, Result, Vector};
use serde::{Deserialize, Serialize};

/// Stochastic cell rescaling (M. Bernetti and G. Bussi, J. Chem. Phys. 153 (2020) 114107), isotropic:
/// the volume does the overdamped random walk whose stationary distribution is that of constant
/// pressure.
///
/// Centres of molecules scale with the box and their velocities inversely, so the pressure that drives the
/// volume is the molecular one, that of molecules as points, to which neither bonds nor constraints
/// contribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CellRescaling {
    pub pressure: f64,
    pub time: f64,
    pub compressibility: f64,
    pub momentum: Momentum,
}

impl CellRescaling {
    /// Changes the volume by one interval of the walk; returns the energy that the atoms gained.
    pub fn act(&self, backend: &mut dyn Backend, around: &mut Surroundings, interval: f64) -> Result<f64> {
        let kt = around.thermal_energy;
        without_constraints(backend, around)?;
        let energy = backend.energies().potential();
        let molecular = backend.molecular_virial(around.molecules)?;
        let MolecularPressure { twice_kinetic, virial, volume } = MolecularPressure::new(backend, &molecular);
        let mut pressure = (twice_kinetic + virial) / (3.0 * volume);
        // The centre of mass of all atoms is at rest, but contributes to the distribution all the same.
        pressure += self.momentum.n_conserved() as f64 * kt / (3.0 * volume);
        let after = self.walk(volume, pressure, kt, interval, around.random.normal())?;
        let factor = (after / volume).cbrt();
        let kinetic = 0.5 * twice_kinetic * (1.0 / (factor * factor) - 1.0);
        let (_, after) = resize(backend, molecular, Vector([factor; 3]), 1.0 / factor - 1.0)?;
        Ok(after - energy + kinetic)
    }

    /// The volume after an interval. The walk is made in the square root of the volume, for which the noise
    /// is additive.
    fn walk(&self, volume: f64, pressure: f64, kt: f64, interval: f64, noise: f64) -> Result<f64> {
        let (root, rate) = (volume.sqrt(), 0.5 * self.compressibility / self.time);
        let excess = pressure - self.pressure + 0.5 * kt / volume;
        let after = root + rate * root * excess * interval + (rate * kt * interval).sqrt() * noise;
        let growth = (after.max(0.0) / root).powi(2);
        small_enough(growth)?;
        Ok(growth * volume)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::random::{Purpose, Stream};

    /// Random walk of the volume of an ideal gas whose pressure has no noise: the distribution of volumes is
    /// proportional to V^N exp(-P V / kT), of mean (N + 1) kT / P and variance mean kT / P.
    #[test]
    fn volumes_of_an_ideal_gas() {
        let (n, kt, pressure) = (20.0, 1.5, 0.3);
        let walk = CellRescaling {
            pressure,
            time: 1.0,
            compressibility: 1.0 / pressure,
            momentum: Momentum::Thermal,
        };
        let mean = (n + 1.0) * kt / pressure;
        let mut volume = mean;
        let steps = 400_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for step in 0..steps {
            let noise = Stream::new(5, Purpose::Barostat, 0, step).normal();
            volume = walk.walk(volume, n * kt / volume, kt, 0.01, noise).unwrap();
            sum += volume - mean;
            squares += (volume - mean).powi(2);
        }
        let (count, variance) = (steps as f64, mean * kt / pressure);
        let (off, spread) = (sum / count, squares / count);
        // A value counts as new after two relaxation times: 2000 independent ones.
        let independent = 0.5 * count * 0.01;
        assert!(off.abs() < 4.0 * (variance / independent).sqrt(), "mean off by {off} of {mean}");
        let error = (2.0 / independent).sqrt();
        assert!((spread / variance - 1.0).abs() < 4.0 * error, "variance {spread}, not {variance}");
    }

    #[test]
    fn changes_too_large_for_one_interval_are_refused() {
        let walk =
            CellRescaling { pressure: 1.0, time: 1.0, compressibility: 1.0, momentum: Momentum::Thermal };
        let error = walk.walk(100.0, 3.0, 1.0, 0.1, 0.0).unwrap_err();
        assert!(error.message().contains("21% at once"), "{error}");
        assert!(walk.walk(100.0, -25.0, 1.0, 0.1, 0.0).is_err());
    }
}
