//! A thermostat as the input asks for it.

use super::{Conditions, Parameter, Thermostat, ThermostatKind};
use crate::Error;

/// The most parameters of a thermostat besides its temperature.
pub const MOST_PARAMETERS: usize = 3;

/// Temperature control of a stage: a kind, a temperature and parameters. There is a function for each kind:
/// `ThermostatInput::bussi(300.0, 0.1)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThermostatInput {
    /// The kind.
    pub kind: ThermostatKind,
    /// The temperature to hold, at the beginning of the stage.
    pub temperature: f64,
    /// Parameters in the order of [`ThermostatKind::parameters`]; zero beyond.
    parameters: [f64; MOST_PARAMETERS],
}

impl ThermostatInput {
    /// A thermostat with parameters in the order of [`ThermostatKind::parameters`], and zero beyond.
    pub const fn new(kind: ThermostatKind, temperature: f64, parameters: [f64; MOST_PARAMETERS]) -> Self {
        ThermostatInput { kind, temperature, parameters }
    }

    /// A thermostat with sensible parameters in reduced units, for tests.
    pub fn example(kind: ThermostatKind, temperature: f64) -> Self {
        let mut parameters = [0.0; MOST_PARAMETERS];
        parameters.iter_mut().zip(kind.parameters()).for_each(|(value, p)| *value = p.example);
        ThermostatInput::new(kind, temperature, parameters)
    }

    /// The temperature it holds, at the beginning of its stage.
    pub fn temperature(&self) -> f64 {
        self.temperature
    }

    /// Its parameters besides the temperature.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters[..self.kind.parameters().len()]
    }

    /// These parameters with what they are.
    pub fn each(&self) -> impl Iterator<Item = (&'static Parameter, f64)> {
        self.kind.parameters().iter().zip(self.parameters)
    }

    /// Refuses parameters that do not go together with each other or with a time step.
    ///
    /// # Errors
    /// If they make no sense: the parameter at fault, and what is wrong.
    pub fn check(&self, timestep: f64) -> Result<(), (&'static str, Error)> {
        self.kind.check(self.parameters(), timestep)
    }

    /// The thermostat, for a stage that begins.
    pub fn begin(&self, stage: &Conditions) -> Thermostat {
        self.kind.begin(self.parameters(), stage)
    }
}
