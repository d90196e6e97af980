use super::{Target, heat_of_scaling};
use crate::Real;
use serde::{Deserialize, Serialize};

/// Velocities scaled to the temperature every so many steps: how Rapaport brings a system to its
/// temperature. No ensemble is sampled; for equilibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rescale {
    /// The temperature it scales to.
    pub target: Target,
    /// Steps from one scaling to the next.
    pub every: u64,
    /// Steps, over all stages, that were made before it began to count.
    pub start: u64,
    /// The energy given to the atoms so far.
    pub heat: f64,
}

impl Rescale {
    /// A thermostat that scales after every `every`th step of a stage that begins when `start` steps
    /// have been made.
    pub fn new(target: Target, every: u64, start: u64) -> Self {
        Rescale { target, every, start, heat: 0.0 }
    }

    /// Whether it scales at the end of a step, counted over all stages.
    pub fn is_due(&self, step: u64) -> bool {
        step.saturating_sub(self.start).is_multiple_of(self.every)
    }

    /// The factor for all velocities, given their kinetic energy; counts the heat.
    pub fn scale(&mut self, kinetic: f64) -> f64 {
        let factor = rescale_factor(kinetic, self.target.kinetic_energy());
        self.heat += heat_of_scaling(factor, kinetic);
        factor
    }
}

/// The factor that brings a kinetic energy to the wanted one; 1 for atoms at rest.
pub fn rescale_factor<R: Real>(kinetic: R, wanted: R) -> R {
    R::select(R::lit(0.0).lt(kinetic), (wanted / kinetic).sqrt(), R::lit(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinetic_energy_comes_to_the_wanted_one() {
        let target = Target { thermal_energy: 2.0, degrees_of_freedom: 9 };
        let mut thermostat = Rescale::new(target, 10, 5);
        let factor = thermostat.scale(4.0);
        assert!((factor * factor * 4.0 - 9.0).abs() < 1e-14);
        assert!((thermostat.heat - 5.0).abs() < 1e-14);
        assert_eq!((thermostat.scale(0.0), thermostat.heat), (1.0, 9.0 - 4.0));
        let due: Vec<u64> = (6..40).filter(|step| thermostat.is_due(*step)).collect();
        assert_eq!(due, [15, 25, 35]);
    }
}
