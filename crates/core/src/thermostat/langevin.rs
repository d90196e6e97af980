use super::*;
use crate::Dimension;

/// Langevin dynamics: every atom has friction and noise of its own.
///
/// Integrated as BAOAB (B. Leimkuhler and C. Matthews, J. Chem. Phys. 138 (2013) 174102): half a
/// kick, half a drift, the exact Ornstein-Uhlenbeck step for friction and noise, half a drift, half
/// a kick. The noise moves the centre of mass, which is thermal like every other degree of freedom:
/// temperatures count 3 N of them, and the next stage that conserves momentum brings it to rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Langevin {
    /// k_B T.
    pub thermal_energy: f64,
    /// Part of a velocity that friction leaves in one step.
    pub decay: f64,
}

impl Langevin {
    /// `friction` is a rate: velocities decay as exp(-friction t).
    pub fn new(thermal_energy: f64, friction: f64, timestep: f64) -> Self {
        Langevin { thermal_energy, decay: (-friction * timestep).exp() }
    }
}

impl ThermostatMethod for Langevin {
    const KIND: &'static str = "langevin";
    const ABOUT: &'static str = "friction and noise on every atom (BAOAB): right ensemble, slows diffusion";
    const LISTED: u8 = 3;
    const PARAMETERS: &'static [Parameter] = &[Parameter {
        name: "friction",
        quantity: Quantity::Measured(Dimension::RATE),
        absent: Absent::ByUnits(["1", "0.001", "1", "1", "0.01", "0.2"]),
        about: "friction",
        example: 2.0,
    }];
    const STEP: &'static [SubStep] = NOISE_IN_DRIFT;

    fn begin(parameters: &[f64], stage: &Conditions) -> Self {
        Langevin::new(stage.target.thermal_energy, parameters[0], stage.timestep)
    }

    fn thermal_energy(&self) -> f64 {
        self.thermal_energy
    }

    fn set_thermal_energy(&mut self, thermal_energy: f64) {
        self.thermal_energy = thermal_energy;
    }

    fn heat(&self) -> Option<f64> {
        None
    }

    fn noise(&self) -> Option<AtomNoise> {
        Some(AtomNoise { decay: self.decay, thermal_energy: self.thermal_energy })
    }
}

impl ThermostatInput {
    /// Langevin dynamics, see [`Langevin`]; `friction` is a rate.
    pub const fn langevin(temperature: f64, friction: f64) -> Self {
        ThermostatInput::new(ThermostatKind::Langevin, temperature, [friction, 0.0, 0.0])
    }
}

/// The standard deviation of the noise that the exact Ornstein-Uhlenbeck step adds to a velocity,
/// sqrt((1 - decay^2) kT / m): what friction takes away from it, at the temperature of the thermostat.
pub fn noise_amplitude<R: Real>(decay: R, thermal_energy: R, inverse_mass: R) -> R {
    ((R::lit(1.0) - decay * decay) * thermal_energy * inverse_mass).sqrt()
}
