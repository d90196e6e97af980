use super::*;

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

    /// The factor for all velocities, given their kinetic energy; counts the heat.
    pub fn scale(&mut self, kinetic: f64) -> f64 {
        let factor = rescale_factor(kinetic, self.target.kinetic_energy());
        self.heat += heat_of_scaling(factor, kinetic);
        factor
    }
}

impl ThermostatMethod for Rescale {
    const KIND: &'static str = "rescale";
    const ABOUT: &'static str =
        "velocities scaled to the temperature now and then: to equilibrate, no ensemble (Rapaport)";
    const LISTED: u8 = 5;
    const PARAMETERS: &'static [Parameter] = &[Parameter {
        name: "every",
        quantity: Quantity::Count,
        absent: Absent::Value("100"),
        about: "steps between rescalings",
        example: 10.0,
    }];
    const STEP: &'static [SubStep] = SCALED_AT_END;

    fn begin(parameters: &[f64], stage: &Conditions) -> Self {
        Rescale::new(stage.target, parameters[0] as u64, stage.start)
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

    fn schedule(&self) -> Schedule {
        Schedule { every: self.every, start: self.start }
    }

    fn constants(&self) -> Vec<f64> {
        vec![self.target.kinetic_energy()]
    }

    fn counted_heat(&mut self) -> Option<&mut f64> {
        Some(&mut self.heat)
    }

    fn factor_by_kinetic<R: Real>(known: &Known<R>, _variables: &mut [R]) -> R {
        rescale_factor(known.kinetic, known.constants[0])
    }
}

impl ThermostatInput {
    /// Velocities scaled to the temperature every so many steps, see [`Rescale`].
    pub const fn rescale(temperature: f64, every: u64) -> Self {
        ThermostatInput::new(ThermostatKind::Rescale, temperature, [every as f64, 0.0, 0.0])
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
        let due: Vec<u64> = (6..40).filter(|step| thermostat.schedule().is_due(*step)).collect();
        assert_eq!(due, [15, 25, 35]);
    }
}
