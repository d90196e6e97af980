use super::*;
use crate::Dimension;
use crate::random::{Purpose, Stream};

/// Stochastic velocity rescaling (G. Bussi, D. Donadio, M. Parrinello, J. Chem. Phys. 126 (2007)
/// 014101): the kinetic energy does the random walk that has the canonical distribution as its
/// stationary one, and all velocities are scaled along. Dynamics are disturbed as little as a
/// thermostat can.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bussi {
    /// The temperature it holds.
    pub target: Target,
    /// Part of a deviation of the kinetic energy that one step leaves: exp(-dt / period).
    pub decay: f64,
    /// The energy given to the atoms so far.
    pub heat: f64,
}

impl Bussi {
    /// `period` is the relaxation time of the kinetic energy.
    pub fn new(target: Target, period: f64, timestep: f64) -> Self {
        Bussi { target, decay: (-timestep / period).exp(), heat: 0.0 }
    }

    /// The random deviates of a step.
    pub fn deviates(&self, seed: u64, step: u64) -> Deviates {
        Deviates::draw(seed, step, self.target.degrees_of_freedom)
    }

    /// The factor for all velocities, given their kinetic energy; counts the heat.
    pub fn scale(&mut self, kinetic: f64, deviates: Deviates) -> f64 {
        let Deviates { first, others } = deviates;
        let factor = bussi_factor(kinetic, self.target.thermal_energy, self.decay, first, others);
        self.heat += heat_of_scaling(factor, kinetic);
        factor
    }
}

impl ThermostatMethod for Bussi {
    const KIND: &'static str = "bussi";
    const ABOUT: &'static str =
        "stochastic velocity rescaling: right ensemble, little disturbance (Bussi 2007)";
    const LISTED: u8 = 1;
    const PARAMETERS: &'static [Parameter] = &[Parameter {
        name: "period",
        quantity: Quantity::Measured(Dimension::TIME),
        absent: PERIODS,
        about: "relaxation time",
        example: 0.1,
    }];
    const STEP: &'static [SubStep] = SCALED_AFTER_DRIFT;

    fn begin(parameters: &[f64], stage: &Conditions) -> Self {
        Bussi::new(stage.target, parameters[0], stage.timestep)
    }

    fn thermal_energy(&self) -> f64 {
        self.target.thermal_energy
    }

    fn set_thermal_energy(&mut self, thermal_energy: f64) {
        self.target.thermal_energy = thermal_energy;
    }

    fn heat(&self) -> Option<f64> {
        Some(self.heat)
    }

    fn deviates(&self, seed: u64, step: u64) -> Option<[f64; 2]> {
        let Deviates { first, others } = Bussi::deviates(self, seed, step);
        Some([first, others])
    }

    fn constants(&self) -> Vec<f64> {
        vec![self.target.thermal_energy, self.decay]
    }

    fn counted_heat(&mut self) -> Option<&mut f64> {
        Some(&mut self.heat)
    }

    fn factor_by_kinetic<R: Real>(known: &Known<R>, _variables: &mut [R]) -> R {
        let [first, others] = known.deviates;
        bussi_factor(known.kinetic, known.constants[0], known.constants[1], first, others)
    }
}

impl ThermostatInput {
    /// Stochastic velocity rescaling, see [`Bussi`]; `period` is its relaxation time.
    pub const fn bussi(temperature: f64, period: f64) -> Self {
        ThermostatInput::new(ThermostatKind::Bussi, temperature, [period, 0.0, 0.0])
    }
}

/// The random deviates of one step. They do not depend on the atoms, so that those of many steps
/// can be drawn ahead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deviates {
    /// A normal deviate, for the degree of freedom along the velocities.
    pub first: f64,
    /// The sum of squares of one for each other degree of freedom.
    pub others: f64,
}

impl Deviates {
    /// Deviates of a step, counted over all stages: a function of these three numbers only.
    pub fn draw(seed: u64, step: u64, degrees_of_freedom: usize) -> Self {
        let mut stream = Stream::new(seed, Purpose::Thermostat, 0, step);
        let first = stream.normal();
        Deviates { first, others: chi_square(&mut stream, degrees_of_freedom.saturating_sub(1)) }
    }
}

/// The factor for all velocities: equation (A7) of the paper, with the sign of Bussi and
/// Parrinello, Comput. Phys. Commun. 179 (2008) 26; 1 for atoms at rest. `decay` is
/// exp(-dt / period), for `first` and `others` see [`Deviates`].
pub fn bussi_factor<R: Real>(kinetic: R, thermal_energy: R, decay: R, first: R, others: R) -> R {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    // K_target / (N_f K), the strength of the noise against what is there.
    let ratio = R::lit(0.5) * thermal_energy / kinetic;
    let noise = ((one - decay) * ratio).sqrt();
    let along = decay.sqrt() + noise * first;
    let size = (along * along + noise * noise * others).sqrt();
    let factor = R::select(along.lt(zero), -size, size);
    R::select(zero.lt(kinetic), factor, one)
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
        let mut thermostat = Bussi::new(target, 1.0, 1.0);
        let samples = 4000;
        let mut walk = 100.0;
        let mut seen = Vec::new();
        for k in 0..10 * samples {
            let deviates = thermostat.deviates(8, k);
            walk *= thermostat.scale(walk, deviates).powi(2);
            if k % 10 == 9 {
                seen.push(walk / target.thermal_energy);
            }
        }
        assert!((thermostat.heat - (walk - 100.0)).abs() < 1e-9, "{} {walk}", thermostat.heat);
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
    fn without_time_or_motion_nothing_changes() {
        assert_eq!(bussi_factor(3.0, 1.0, 1.0, 0.7, 8.0), 1.0);
        assert_eq!(bussi_factor(0.0, 1.0, 0.5, 0.7, 8.0), 1.0);
    }
}
