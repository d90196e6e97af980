use super::{Surroundings, resize};
use crate::freedom::Momentum;
use jostle_core::{Backend, Error, Evaluate, Result, Survey, SymTensor};
use serde::{Deserialize, Serialize};

/// A change of the volume by more at once is no small step of a random walk any more.
const LARGEST_STEP: f64 = 0.2;

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
        if around.molecules.are_constrained() || around.waves != 1.0 {
            // Without what constraints add to the virial in the course of a step, and waves as they are.
            backend.weigh_waves(1.0);
            backend.compute_forces(Evaluate::ForcesAndEnergies)?;
            backend.weigh_waves(around.waves);
        }
        let (volume, energy) = (backend.simbox().volume(), backend.energies().potential());
        let survey = backend.survey(around.molecules)?;
        let twice_kinetic = survey.twice_kinetic;
        let virial = molecular_virial(&backend.energies().virial, &survey);
        let mut pressure = (twice_kinetic + virial) / (3.0 * volume);
        if self.momentum == Momentum::Conserved {
            // The centre of mass of all atoms is at rest, but has its part in the distribution.
            pressure += kt / volume;
        }
        let after = self.walk(volume, pressure, kt, interval, around.random.normal())?;
        let factor = (after / volume).cbrt();
        let kinetic = 0.5 * twice_kinetic * (1.0 / (factor * factor) - 1.0);
        let (_, after) = resize(backend, survey, [factor; 3], 1.0 / factor - 1.0)?;
        Ok(after - energy + kinetic)
    }

    /// The volume after an interval. The walk is that of the root of the volume, on which the strength
    /// of the noise does not depend.
    fn walk(&self, volume: f64, pressure: f64, kt: f64, interval: f64, noise: f64) -> Result<f64> {
        let (root, rate) = (volume.sqrt(), 0.5 * self.compressibility / self.time);
        let excess = pressure - self.pressure + 0.5 * kt / volume;
        let after = root + rate * root * excess * interval + (rate * kt * interval).sqrt() * noise;
        let growth = (after / root).powi(2);
        if after > 0.0 && (growth - 1.0).abs() < LARGEST_STEP {
            return Ok(growth * volume);
        }
        let percent = 100.0 * (growth - 1.0);
        Err(Error::simulation(format!("the barostat would change the volume by {percent:.0}% at once"))
            .hint("the pressure is far from what it should be: choose a longer \"time\", or bring the system nearer to it at first"))
    }
}

/// The trace of the virial of molecules as points, sum of R . F over their centres: that of atoms,
/// without constraints, less what their forces do within molecules.
fn molecular_virial(virial: &SymTensor, survey: &Survey) -> f64 {
    virial[..3].iter().sum::<f64>() - survey.within
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::random::{Purpose, Stream};
    use jostle_core::{Molecules, Precision, Settings, Species, Topology, UnitSystem, WaterShape};
    use jostle_io::input::model::{DensityInput, RegionInput};
    use jostle_potentials::electrostatics::Method;
    use jostle_potentials::{Electrostatics, Forces, PairEntry, PairKind, PairTerm, Truncation};

    /// The virial is what the energy does when the box grows and molecules are moved: of water with and
    /// without a rigid shape, whose atoms by themselves have quite another one.
    #[test]
    fn the_virial_is_a_derivative() {
        let species = |name: &str, mass, charge| Species { name: name.into(), mass, charge };
        let shape = WaterShape::new(0.1, 109.47);
        let (molecules, units) = (60, UnitSystem::Nano);
        let mut system = crate::Mixture::new(units)
            .with(species("O", 16.0, -0.8476), None)
            .with(species("H", 1.0, 0.4238), None)
            .water(molecules, RegionInput::Density(DensityInput::Number(60.0)), &shape, 3)
            .unwrap();
        let mut core = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 2);
        core.set(0, 0, PairEntry { parameters: vec![0.65, 0.3166], cutoff: 0.7 });
        let forces = Forces {
            electrostatics: Some(Electrostatics::new(Method::ewald(0.7, 1e-8), units.coulomb(), 0.7)),
            ..Forces::from(vec![core])
        };
        for rigid in [true, false] {
            system.topology = Topology::rigid_water(molecules, &shape);
            if !rigid {
                // Free ones, in the same places.
                system.topology.constraints.clear();
            }
            let settings = Settings { precision: Precision::Double, threads: Some(1), ..Settings::default() };
            let mut backend = jostle_cpu::open(system.clone(), forces.clone(), settings).unwrap();
            let backend = &mut *backend;
            backend.update_neighbors().unwrap();
            backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
            let joined = Molecules::new(&system.topology, &system.species, backend.state().unwrap());
            let survey = backend.survey(&joined).unwrap();
            let virial = molecular_virial(&backend.energies().virial, &survey);
            let atomic: f64 = backend.energies().virial[..3].iter().sum();
            assert_eq!((atomic - virial).abs() > 0.1 * virial.abs(), rigid, "{atomic} {virial}");
            let step: f64 = 1e-5;
            let mut at = |factor: f64| {
                let (before, energy) = resize(backend, survey.clone(), [factor; 3], 0.0).unwrap();
                backend.take_back(before).unwrap();
                energy
            };
            let slope = (at(1.0 + step) - at(1.0 - step)) / (2.0 * step);
            assert!((slope / -virial - 1.0).abs() < 1e-5, "{rigid}: {slope} is not {}", -virial);
        }
    }

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
