use super::{MolecularPressure, Surroundings, resize, small_enough, without_constraints};
use crate::degrees_of_freedom::Momentum;
use jostle_core::{Backend, Result};
use serde::{Deserialize, Serialize};

/// Stochastic cell rescaling (M. Bernetti and G. Bussi, J. Chem. Phys. 153 (2020) 114107), isotropic:
/// the volume does the overdamped random walk whose stationary distribution is that of constant
/// pressure.
///
/// What scales is what the pressure must be that of: centres of molecules go up with the box, their
/// velocities down, and the pressure is that of molecules as points, to which neither bonds nor
/// constraints add anything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CellRescaling {
    pub pressure: f64,
    pub time: f64,
    pub compressibility: f64,
    pub momentum: Momentum,
}

impl CellRescaling {
    /// Makes the change of an interval; the energy that atoms got by that.
    pub fn act(&self, backend: &mut dyn Backend, around: &mut Surroundings, interval: f64) -> Result<f64> {
        let kt = around.thermal_energy;
        without_constraints(backend, around)?;
        let energy = backend.energies().potential();
        let molecular = backend.molecular_virial(around.molecules)?;
        let MolecularPressure { twice_kinetic, virial, volume } = MolecularPressure::new(backend, &molecular);
        let mut pressure = (twice_kinetic + virial) / (3.0 * volume);
        if self.momentum == Momentum::Conserved {
            // The centre of mass of all atoms is at rest, but has its part in the distribution.
            pressure += kt / volume;
        }
        let after = self.walk(volume, pressure, kt, interval, around.random.normal())?;
        let factor = (after / volume).cbrt();
        let kinetic = 0.5 * twice_kinetic * (1.0 / (factor * factor) - 1.0);
        let (_, after) = resize(backend, molecular, [factor; 3], 1.0 / factor - 1.0)?;
        Ok(after - energy + kinetic)
    }

    /// The volume after an interval. The walk is that of the root of the volume, on which the strength
    /// of the noise does not depend.
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

    /// The random walk on its own, of an ideal gas whose pressure has no noise: the distribution of
    /// volumes is proportional to V^N exp(-P V / kT), of mean (N + 1) kT / P and variance mean kT / P.
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
    fn leaps_are_refused() {
        let walk =
            CellRescaling { pressure: 1.0, time: 1.0, compressibility: 1.0, momentum: Momentum::Thermal };
        let error = walk.walk(100.0, 3.0, 1.0, 0.1, 0.0).unwrap_err();
        assert!(error.message().contains("21% at once"), "{error}");
        assert!(walk.walk(100.0, -25.0, 1.0, 0.1, 0.0).is_err());
    }
}
