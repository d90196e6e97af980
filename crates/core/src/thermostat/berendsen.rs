use super::*;
use crate::Dimension;

/// Weak coupling to a heat bath (H. J. C. Berendsen, J. P. M. Postma, W. F. van Gunsteren, A. DiNola and
/// J. R. Haak, J. Chem. Phys. 81 (1984) 3684): the kinetic energy relaxes exponentially to its mean at the
/// temperature, and all velocities are scaled along. It is what [`Bussi`] has without noise, and samples no
/// ensemble: the kinetic energy fluctuates too little, and its parts do not share it equally (S. C. Harvey,
/// R. K.-Z. Tan and T. E. Cheatham, J. Comput. Chem. 19 (1998) 726).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Berendsen {
    /// The temperature it holds.
    pub target: Target,
    /// Part of a deviation of the kinetic energy that one step leaves: exp(-dt / period).
    pub decay: f64,
    /// The energy given to the atoms so far.
    pub heat: f64,
}

impl ThermostatMethod for Berendsen {
    const KIND: &'static str = "berendsen";
    const ABOUT: &'static str =
        "velocities scaled gently to the temperature: to equilibrate, no ensemble (Berendsen 1984)";
    const LISTED: u8 = 6;
    const PARAMETERS: &'static [Parameter] = &[Parameter {
        name: "period",
        quantity: Quantity::Measured(Dimension::TIME),
        absent: PERIODS,
        about: "relaxation time",
        example: 0.1,
    }];
    const STEP: &'static [SubStep] = SCALED_AFTER_DRIFT;
    const CAUTION: Option<&'static str> = Some(
        "a Berendsen thermostat samples no ensemble: the kinetic energy fluctuates too little and is not shared \
         equally; kind = \"bussi\" relaxes likewise and has the right ensemble",
    );

    fn begin(parameters: &[f64], stage: &Conditions) -> Self {
        Berendsen { target: stage.target, decay: (-stage.timestep / parameters[0]).exp(), heat: 0.0 }
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

    fn constants(&self) -> Vec<f64> {
        vec![self.target.kinetic_energy(), self.decay]
    }

    fn counted_heat(&mut self) -> Option<&mut f64> {
        Some(&mut self.heat)
    }

    fn factor_by_kinetic<R: Real>(known: &Known<R>, _variables: &mut [R]) -> R {
        berendsen_factor(known.kinetic, known.constants[0], known.constants[1])
    }
}

impl ThermostatInput {
    /// Weak coupling to a heat bath, see [`Berendsen`]; `period` is its relaxation time.
    pub const fn berendsen(temperature: f64, period: f64) -> Self {
        ThermostatInput::new(ThermostatKind::Berendsen, temperature, [period, 0.0, 0.0])
    }
}

/// The factor for all velocities that leaves a part `decay` of the deviation of the kinetic energy from the
/// wanted one; 1 for atoms at rest.
pub fn berendsen_factor<R: Real>(kinetic: R, wanted: R, decay: R) -> R {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let square = decay + (one - decay) * wanted / kinetic;
    R::select(zero.lt(kinetic), square.sqrt(), one)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Free particles: the deviation of the kinetic energy decays as exp(-t / period), and the sum of
    /// kinetic energy and heat is conserved.
    #[test]
    fn kinetic_energy_relaxes_exponentially() {
        let target = Target { thermal_energy: 2.0, degrees_of_freedom: 9 };
        let stage = Conditions { target, timestep: 0.01, start: 0 };
        let mut thermostat = ThermostatInput::berendsen(2.0, 0.5).begin(&stage);
        let mut kinetic = 30.0;
        for step in 1..=200 {
            kinetic *= thermostat.scale_by_kinetic(kinetic, 0.01, None).powi(2);
            let exact = 9.0 + 21.0 * (-0.02 * f64::from(step)).exp();
            assert!((kinetic - exact).abs() < 1e-12 * exact, "{step}: {kinetic} {exact}");
            assert!((kinetic - thermostat.heat().unwrap() - 30.0).abs() < 1e-11, "{step}");
        }
        assert_eq!(berendsen_factor(0.0, 9.0, 0.5), 1.0);
    }
}
