//! Stochastic velocity rescaling (G. Bussi, D. Donadio, M. Parrinello, J. Chem. Phys. 126 (2007)
//! 014101): the kinetic energy does the random walk that has the canonical distribution as its
//! stationary one, and all velocities are scaled along. Dynamics are disturbed as little as a
//! thermostat can.

use super::Target;
use crate::step::Tick;
use jostle_core::Backend;
use jostle_core::random::{Purpose, Stream};
use serde::{Deserialize, Serialize};

/// Stochastic velocity rescaling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bussi {
    target: Target,
    decay: f64,
    heat: f64,
}

impl Bussi {
    /// `period` is the relaxation time of the kinetic energy.
    pub fn new(target: Target, period: f64, timestep: f64) -> Self {
        Bussi { target, decay: (-timestep / period).exp(), heat: 0.0 }
    }

    /// The energy given to the atoms so far.
    pub fn heat(&self) -> f64 {
        self.heat
    }

    pub(super) fn after(&mut self, backend: &mut dyn Backend, tick: &Tick) {
        let before = backend.kinetic().energy();
        if before <= 0.0 {
            return;
        }
        let mut stream = Stream::new(tick.seed, Purpose::Thermostat, 0, tick.step);
        let first = stream.normal();
        let others = chi_square(&mut stream, self.target.degrees_of_freedom - 1);
        let factor = scale_factor(before, &self.target, self.decay, first, others);
        backend.scale_velocities(factor);
        self.heat += (factor * factor - 1.0) * before;
    }
}

/// The factor for all velocities: equation (A7) of the paper, with the sign of Bussi and
/// Parrinello, Comput. Phys. Commun. 179 (2008) 26. `decay` is exp(-dt / period), `first` a normal
/// deviate and `others` the sum of squares of one for each other degree of freedom.
fn scale_factor(kinetic: f64, target: &Target, decay: f64, first: f64, others: f64) -> f64 {
    // K_target / (N_f K), the strength of the noise against what is there.
    let ratio = 0.5 * target.thermal_energy / kinetic;
    let noise = ((1.0 - decay) * ratio).sqrt();
    let kept = decay.sqrt();
    let along = kept + noise * first;
    (along * along + noise * noise * others).sqrt().copysign(along)
}

/// The sum of `n` squared normal deviates.
fn chi_square(stream: &mut Stream, n: usize) -> f64 {
    match n {
        0 => 0.0,
        1 => stream.normal().powi(2),
        _ => 2.0 * gamma(stream, 0.5 * n as f64),
    }
}

/// A deviate of the gamma distribution with a shape of at least 1 (G. Marsaglia and W. W. Tsang,
/// ACM Trans. Math. Softw. 26 (2000) 363).
fn gamma(stream: &mut Stream, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = stream.normal();
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && stream.uniform().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean n and variance 2 n, within four standard errors.
    #[test]
    fn chi_square_has_its_moments() {
        for n in [1usize, 2, 3, 10, 2589] {
            let draws = 50_000;
            let values: Vec<f64> = (0..draws)
                .map(|k| chi_square(&mut Stream::new(3, Purpose::Thermostat, n as u32, k), n))
                .collect();
            let (count, n) = (draws as f64, n as f64);
            let mean = values.iter().sum::<f64>() / count;
            let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
            assert!((mean - n).abs() < 4.0 * (2.0 * n / count).sqrt(), "{n}: mean {mean}");
            // The variance of the sample variance: (mu4 - sigma^4) / count, mu4 = 12 n (n + 4).
            let spread = ((12.0 * n * (n + 4.0) - 4.0 * n * n) / count).sqrt();
            assert!((variance - 2.0 * n).abs() < 4.0 * spread, "{n}: variance {variance}");
        }
    }

    /// The kinetic energy's random walk on its own: it must end in the gamma distribution of
    /// N_f / 2, whatever it starts from. Kolmogorov and Smirnov's distance at the 1% level.
    #[test]
    fn kinetic_energy_becomes_canonical() {
        let dof = 4; // shape 2: the distribution function is 1 - exp(-x) (1 + x)
        let target = Target { thermal_energy: 1.5, degrees_of_freedom: dof };
        let (decay, samples) = ((-1.0f64).exp(), 4000);
        let mut walk = 100.0;
        let mut seen = Vec::new();
        for k in 0..10 * samples {
            let mut stream = Stream::new(8, Purpose::Thermostat, 0, k);
            let first = stream.normal();
            let others = chi_square(&mut stream, dof - 1);
            walk *= scale_factor(walk, &target, decay, first, others).powi(2);
            if k % 10 == 9 {
                seen.push(walk / target.thermal_energy);
            }
        }
        let seen = &mut seen[20..];
        seen.sort_by(f64::total_cmp);
        let n = seen.len() as f64;
        let distance = seen
            .iter()
            .enumerate()
            .map(|(k, x)| ((k as f64 + 0.5) / n - (1.0 - (-x).exp() * (1.0 + x))).abs())
            .fold(0.0, f64::max);
        assert!(distance < 1.63 / n.sqrt(), "{distance}");
    }

    #[test]
    fn without_time_nothing_changes() {
        let target = Target { thermal_energy: 1.0, degrees_of_freedom: 9 };
        assert_eq!(scale_factor(3.0, &target, 1.0, 0.7, 8.0), 1.0);
    }
}
