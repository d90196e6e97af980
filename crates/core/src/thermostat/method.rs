//! The description of a thermostat: all that the input, the engine and the devices need to know of it.

use super::{Dissipative, SubStep, Target};
use crate::{Dimension, Error, Real};

/// Temperature control: its place in the input, the step it makes, and what it does in that step.
///
/// Functions that are generic over [`Real`] are evaluated on the CPU and written as source code for a GPU.
pub trait ThermostatMethod: Clone {
    /// The name in the input file, `kind = "..."`.
    const KIND: &'static str;
    /// One line for help and documentation.
    const ABOUT: &'static str;
    /// Its place in the documentation, which goes from general to special use.
    const LISTED: u8;
    /// Its parameters besides the temperature.
    const PARAMETERS: &'static [Parameter];
    /// One of its time steps.
    const STEP: &'static [SubStep];
    /// The lowest temperature it can hold.
    const LOWEST: Lowest = Lowest::Zero;
    /// Subject of a sentence that says why constraints and virtual sites are not kept; `None` if
    /// [`ThermostatMethod::STEP`] satisfies them.
    const AGAINST_CONSTRAINTS: Option<&'static str> = None;
    /// A doubt about what it samples, for a warning before the first step.
    const CAUTION: Option<&'static str> = None;

    /// Refuses parameters that do not go together with each other or with a time step; each of them is in its
    /// range. Names the parameter at fault.
    ///
    /// # Errors
    /// If they make no sense.
    fn check(_parameters: &[f64], _timestep: f64) -> Result<(), (&'static str, Error)> {
        Ok(())
    }

    /// The thermostat with these parameters, in the order of [`ThermostatMethod::PARAMETERS`].
    fn begin(parameters: &[f64], stage: &Conditions) -> Self;

    /// k_B T of what it holds the atoms at.
    fn thermal_energy(&self) -> f64;

    /// Holds another k_B T; what the atoms have drawn so far stays.
    fn set_thermal_energy(&mut self, thermal_energy: f64);

    /// The energy that atoms have drawn from it so far; `None` where keeping count would cost sums over all
    /// atoms in every step.
    fn heat(&self) -> Option<f64>;

    /// The steps in which it scales velocities by their kinetic energy.
    fn schedule(&self) -> Schedule {
        Schedule { every: 1, start: 0 }
    }

    /// The random deviates of a step, which do not depend on the atoms; `None` for a thermostat that needs
    /// none.
    fn deviates(&self, _seed: u64, _step: u64) -> Option<[f64; 2]> {
        None
    }

    /// The numbers of [`ThermostatMethod::factor_by_kinetic`] that stay the same during a stage.
    fn constants(&self) -> Vec<f64> {
        Vec::new()
    }

    /// The numbers that change from step to step, besides the heat.
    fn variables(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Takes such numbers over.
    fn set_variables(&mut self, _variables: &[f64]) {}

    /// The counter of the energy that scaling velocities gives to the atoms, where that is [`ThermostatMethod::heat`].
    fn counted_heat(&mut self) -> Option<&mut f64> {
        None
    }

    /// The factor of [`SubStep::ScaleByKinetic`].
    fn factor_by_kinetic<R: Real>(_known: &Known<R>, _variables: &mut [R]) -> R {
        R::lit(1.0)
    }

    /// The factor of [`SubStep::ScaleByState`] in a step so long.
    fn factor_by_state<R: Real>(_timestep: R, _variables: &mut [R]) -> R {
        R::lit(1.0)
    }

    /// The friction and noise of [`SubStep::Noise`].
    fn noise(&self) -> Option<AtomNoise> {
        None
    }

    /// The friction and noise of [`SubStep::PairNoise`].
    fn pair_noise(&self) -> Option<&Dissipative> {
        None
    }
}

/// A stage in which a thermostat begins to act.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// The temperature to hold.
    pub target: Target,
    /// The time step.
    pub timestep: f64,
    /// Steps made before, counted over all stages.
    pub start: u64,
}

/// The numbers from which [`ThermostatMethod::factor_by_kinetic`] finds a factor.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a, R> {
    /// The kinetic energy.
    pub kinetic: R,
    /// The time step.
    pub timestep: R,
    /// [`ThermostatMethod::deviates`]; zero without.
    pub deviates: [R; 2],
    /// [`ThermostatMethod::constants`].
    pub constants: &'a [R],
}

/// The steps, counted over all stages, in which a thermostat acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Steps from one time to the next.
    pub every: u64,
    /// Steps that were made before they are counted.
    pub start: u64,
}

impl Schedule {
    /// Returns true where it acts in this step.
    pub fn is_due(&self, step: u64) -> bool {
        step.saturating_sub(self.start).is_multiple_of(self.every)
    }
}

/// An exact Ornstein-Uhlenbeck step of every atom, see [`crate::SubSteps::ornstein_uhlenbeck`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtomNoise {
    /// Part of a velocity that friction leaves in one step.
    pub decay: f64,
    /// k_B T.
    pub thermal_energy: f64,
}

/// The lowest temperature that a thermostat can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lowest {
    /// Zero.
    Zero,
    /// Any that is greater than zero.
    AboveZero,
}

/// A parameter of a thermostat, greater than zero.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its key in the input file.
    pub name: &'static str,
    /// Its kind.
    pub quantity: Quantity,
    /// Treatment of an input without it.
    pub absent: Absent,
    /// One line for help and documentation.
    pub about: &'static str,
    /// A sensible value in reduced units, for tests.
    pub example: f64,
}

/// Kind of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A whole number.
    Count,
    /// A quantity of this dimension.
    Measured(Dimension),
}

/// Treatment of an input without a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// The input is refused.
    Refused,
    /// It has this value.
    Value(&'static str),
    /// It has one of these values, depending on the unit system (in the order of
    /// [`crate::UnitSystem::ALL`]).
    ByUnits([&'static str; 6]),
}

/// Relaxation times and periods that are usual, by unit system.
pub const PERIODS: Absent = Absent::ByUnits(["1", "500", "0.5", "0.5", "100", "5"]);
