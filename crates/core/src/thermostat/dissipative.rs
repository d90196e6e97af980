use super::*;
use crate::random::{Purpose, Stream};
use crate::{Dimension, NoiseKey};

/// Dissipative particle dynamics: pairs of atoms that are near have friction and noise along the
/// line between them, so that momentum is conserved and hydrodynamics is right.
///
/// P. Español and P. Warren, Europhys. Lett. 30 (1995) 191; R. D. Groot and P. B. Warren, J. Chem.
/// Phys. 107 (1997) 4423, eqs. 4 to 9: weights (1 - r/cutoff)^2 and 1 - r/cutoff, and noise of the
/// amplitude sqrt(2 friction kT). It acts in the middle of a step as the noise of [`super::Langevin`]
/// does, and velocities on the way are those of the midpoint rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dissipative {
    /// Where it ends.
    pub cutoff: f64,
    /// Friction over one step: a momentum per velocity.
    pub friction: f64,
    /// The noise's amplitude over one step: a momentum.
    pub noise: f64,
}

impl Dissipative {
    /// `friction` is a force per velocity.
    pub fn new(thermal_energy: f64, friction: f64, cutoff: f64, timestep: f64) -> Self {
        let noise = (2.0 * friction * thermal_energy * timestep).sqrt();
        Dissipative { cutoff, friction: friction * timestep, noise }
    }

    /// k_B T: what friction and noise balance at.
    pub fn thermal_energy(&self) -> f64 {
        self.noise * self.noise / (2.0 * self.friction)
    }

    /// Changes k_B T; friction stays.
    pub fn set_thermal_energy(&mut self, thermal_energy: f64) {
        self.noise = (2.0 * self.friction * thermal_energy).sqrt();
    }
}

impl ThermostatMethod for Dissipative {
    const KIND: &'static str = "dpd";
    const ABOUT: &'static str =
        "friction and noise between atoms that are near (dissipative particle dynamics): conserves momentum";
    const LISTED: u8 = 4;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "friction",
            quantity: Quantity::Measured(Dimension { length: -2, time: 1, energy: 1, ..Dimension::NUMBER }),
            absent: Absent::Refused,
            about: "friction: force per velocity",
            example: 4.5,
        },
        Parameter {
            name: "cutoff",
            quantity: Quantity::Measured(Dimension::LENGTH),
            absent: Absent::Refused,
            about: "where it ends",
            example: 1.5,
        },
    ];
    const STEP: &'static [SubStep] = PAIR_NOISE_IN_DRIFT;
    const AGAINST_CONSTRAINTS: Option<&'static str> = Some("friction and noise between pairs of atoms");

    fn begin(parameters: &[f64], stage: &Conditions) -> Self {
        Dissipative::new(stage.target.thermal_energy, parameters[0], parameters[1], stage.timestep)
    }

    fn thermal_energy(&self) -> f64 {
        Dissipative::thermal_energy(self)
    }

    fn set_thermal_energy(&mut self, thermal_energy: f64) {
        Dissipative::set_thermal_energy(self, thermal_energy);
    }

    fn heat(&self) -> Option<f64> {
        None
    }

    fn pair_noise(&self) -> Option<&Dissipative> {
        Some(self)
    }
}

impl ThermostatInput {
    /// Dissipative particle dynamics, see [`Dissipative`]; `friction` is a force per velocity.
    pub const fn dpd(temperature: f64, friction: f64, cutoff: f64) -> Self {
        ThermostatInput::new(ThermostatKind::Dissipative, temperature, [friction, cutoff, 0.0])
    }
}

/// The impulse that one of two atoms gets along the unit vector that leads to it from the other:
/// friction of their relative velocity along it, and noise of unit variance. `weight` is 1 -
/// r/cutoff.
pub fn pair_impulse<R: Real>(weight: R, velocity: R, noise: R, friction: R, amplitude: R) -> R {
    weight * (amplitude * noise - friction * weight * velocity)
}

/// The noise of a pair of atoms, the same whichever is named first: uniform, with a mean of 0 and a
/// variance of 1. That it is not normal makes no difference to what is observed (Groot and Warren).
pub fn pair_noise(key: NoiseKey, a: u32, b: u32) -> f64 {
    // The second id takes the place of the seed's upper half: streams of pairs share no numbers.
    let (a, b) = (a.min(b), a.max(b));
    let seed = key.seed ^ u64::from(b).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let word = Stream::new(seed, Purpose::Pair, a, key.step).word();
    // The middle of what rounds down to it, from -sqrt(3) to sqrt(3).
    3f64.sqrt() * ((f64::from(word) + 0.5) / 2_147_483_648.0 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_symmetric_with_unit_variance_and_no_correlations() {
        let (n, key) = (300u32, NoiseKey { seed: 5, step: 17 });
        let (mut sum, mut square, mut neighbors, mut next, mut count) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for a in 0..n {
            for b in 0..a {
                let x = pair_noise(key, a, b);
                assert_eq!(x, pair_noise(key, b, a));
                assert!(x.abs() < 3f64.sqrt());
                sum += x;
                square += x * x;
                neighbors += x * pair_noise(key, a + 1, b);
                next += x * pair_noise(NoiseKey { step: 18, ..key }, a, b);
                count += 1.0;
            }
        }
        // Four standard errors: variances of x, of x^2 (9/5 - 1) and of products are known.
        let error = 4.0 / f64::sqrt(count);
        assert!((sum / count).abs() < error, "{sum}");
        assert!((square / count - 1.0).abs() < error * 0.8f64.sqrt());
        assert!((neighbors / count).abs() < error);
        assert!((next / count).abs() < error);
    }
}
