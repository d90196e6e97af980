//! Thermostats: what atoms exchange heat with, one file each and one line in the registry below.
//!
//! A file says all there is to know of a thermostat ([`ThermostatMethod`]): its name and parameters in the
//! input, the time step it makes as a list of sub-steps ([`SubStep`]), what it does in them, and, as plain
//! data, what has to be remembered from one step to the next. What it does to the kinetic energy is a
//! function of a few numbers, generic over [`Real`]: the engine evaluates it between the verbs of a step, a
//! GPU gets it as source code and needs no host in between.

mod input;
mod method;
mod substep;

pub use input::{MOST_PARAMETERS, ThermostatInput};
pub use method::{
    Absent, AtomNoise, Conditions, Known, Lowest, PERIODS, Parameter, Quantity, Schedule, ThermostatMethod,
};
pub use substep::*;

use crate::{Error, Real};
use serde::{Deserialize, Serialize};

/// The temperature a thermostat holds, in energies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// k_B T.
    pub thermal_energy: f64,
    /// Number of degrees of freedom that share the kinetic energy.
    pub degrees_of_freedom: usize,
}

impl Target {
    /// The mean kinetic energy at the target temperature.
    pub fn kinetic_energy(&self) -> f64 {
        0.5 * self.degrees_of_freedom as f64 * self.thermal_energy
    }
}

macro_rules! registry {
    ($($file:ident::$name:ident,)*) => {
        $(mod $file; pub use $file::*;)*

        /// The kinds of thermostats.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ThermostatKind {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name,)*
        }

        impl ThermostatKind {
            /// All kinds, in the order of their numbers in checkpoints.
            pub const ALL: &'static [ThermostatKind] = &[$(ThermostatKind::$name,)*];

            /// The name in the input file.
            pub fn name(self) -> &'static str {
                match self { $(ThermostatKind::$name => $name::KIND,)* }
            }

            /// One line for help and documentation.
            pub fn about(self) -> &'static str {
                match self { $(ThermostatKind::$name => $name::ABOUT,)* }
            }

            fn listed(self) -> u8 {
                match self { $(ThermostatKind::$name => $name::LISTED,)* }
            }

            /// Its parameters besides the temperature.
            pub fn parameters(self) -> &'static [Parameter] {
                match self { $(ThermostatKind::$name => $name::PARAMETERS,)* }
            }

            /// One of its time steps.
            pub fn step(self) -> &'static [SubStep] {
                match self { $(ThermostatKind::$name => $name::STEP,)* }
            }

            /// The lowest temperature it can hold.
            pub fn lowest(self) -> Lowest {
                match self { $(ThermostatKind::$name => $name::LOWEST,)* }
            }

            /// See [`ThermostatMethod::AGAINST_CONSTRAINTS`].
            pub fn against_constraints(self) -> Option<&'static str> {
                match self { $(ThermostatKind::$name => $name::AGAINST_CONSTRAINTS,)* }
            }

            /// See [`ThermostatMethod::CAUTION`].
            pub fn caution(self) -> Option<&'static str> {
                match self { $(ThermostatKind::$name => $name::CAUTION,)* }
            }

            /// Refuses parameters that do not go together, see [`ThermostatMethod::check`].
            ///
            /// # Errors
            /// If they make no sense: the parameter at fault, and what is wrong.
            pub fn check(self, parameters: &[f64], timestep: f64) -> Result<(), (&'static str, Error)> {
                match self { $(ThermostatKind::$name => <$name as ThermostatMethod>::check(parameters, timestep),)* }
            }

            /// The thermostat with these parameters, for a stage that begins.
            pub fn begin(self, parameters: &[f64], stage: &Conditions) -> Thermostat {
                match self {
                    $(ThermostatKind::$name => Thermostat::$name(<$name as ThermostatMethod>::begin(parameters, stage)),)*
                }
            }
        }

        /// Heat bath of a stage, with its state between steps.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub enum Thermostat {
            /// Nothing: constant energy.
            Isolated,
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name),)*
        }

        impl Thermostat {
            /// Its kind; `None` for isolated atoms.
            pub fn kind(&self) -> Option<ThermostatKind> {
                match self {
                    Thermostat::Isolated => None,
                    $(Thermostat::$name(_) => Some(ThermostatKind::$name),)*
                }
            }

            /// k_B T of what it holds the atoms at; `None` for isolated ones.
            pub fn thermal_energy(&self) -> Option<f64> {
                match self {
                    Thermostat::Isolated => None,
                    $(Thermostat::$name(thermostat) => Some(ThermostatMethod::thermal_energy(thermostat)),)*
                }
            }

            /// Holds another k_B T between two steps. What the atoms have drawn so far stays, so that the
            /// conserved quantity goes on without a jump. Isolated atoms stay isolated.
            pub fn set_thermal_energy(&mut self, thermal_energy: f64) {
                match self {
                    Thermostat::Isolated => {}
                    $(Thermostat::$name(thermostat) => {
                        ThermostatMethod::set_thermal_energy(thermostat, thermal_energy)
                    })*
                }
            }

            /// The energy the atoms have drawn from the thermostat since the stage began: their total energy
            /// less this is conserved. `None` where keeping count would cost two sums over all atoms a step.
            pub fn heat(&self) -> Option<f64> {
                match self {
                    Thermostat::Isolated => Some(0.0),
                    $(Thermostat::$name(thermostat) => ThermostatMethod::heat(thermostat),)*
                }
            }

            /// The steps in which it scales velocities by their kinetic energy.
            pub fn schedule(&self) -> Schedule {
                match self {
                    Thermostat::Isolated => Schedule { every: 1, start: 0 },
                    $(Thermostat::$name(thermostat) => ThermostatMethod::schedule(thermostat),)*
                }
            }

            /// The random deviates of a step, see [`ThermostatMethod::deviates`].
            pub fn deviates(&self, seed: u64, step: u64) -> Option<[f64; 2]> {
                match self {
                    Thermostat::Isolated => None,
                    $(Thermostat::$name(thermostat) => ThermostatMethod::deviates(thermostat, seed, step),)*
                }
            }

            /// The numbers that its factors follow from, and that stay the same during a stage.
            pub fn constants(&self) -> Vec<f64> {
                match self {
                    Thermostat::Isolated => Vec::new(),
                    $(Thermostat::$name(thermostat) => ThermostatMethod::constants(thermostat),)*
                }
            }

            /// The numbers that its factors follow from, and that change from step to step.
            pub fn variables(&self) -> Vec<f64> {
                match self {
                    Thermostat::Isolated => Vec::new(),
                    $(Thermostat::$name(thermostat) => ThermostatMethod::variables(thermostat),)*
                }
            }

            /// Takes such numbers over.
            pub fn set_variables(&mut self, variables: &[f64]) {
                match self {
                    Thermostat::Isolated => {}
                    $(Thermostat::$name(thermostat) => ThermostatMethod::set_variables(thermostat, variables),)*
                }
            }

            /// The counter of the energy that scaling velocities gives to the atoms, if it has one.
            pub fn counted_heat(&mut self) -> Option<&mut f64> {
                match self {
                    Thermostat::Isolated => None,
                    $(Thermostat::$name(thermostat) => ThermostatMethod::counted_heat(thermostat),)*
                }
            }

            /// The factor of [`SubStep::ScaleByKinetic`] for a thermostat of this kind, whatever its
            /// numbers are.
            pub fn factor_by_kinetic<R: Real>(&self, known: &Known<R>, variables: &mut [R]) -> R {
                match self {
                    Thermostat::Isolated => R::lit(1.0),
                    $(Thermostat::$name(_) => <$name as ThermostatMethod>::factor_by_kinetic(known, variables),)*
                }
            }

            /// The factor of [`SubStep::ScaleByState`] likewise.
            pub fn factor_by_state<R: Real>(&self, timestep: R, variables: &mut [R]) -> R {
                match self {
                    Thermostat::Isolated => R::lit(1.0),
                    $(Thermostat::$name(_) => <$name as ThermostatMethod>::factor_by_state(timestep, variables),)*
                }
            }

            /// The friction and noise of [`SubStep::Noise`].
            pub fn noise(&self) -> Option<AtomNoise> {
                match self {
                    Thermostat::Isolated => None,
                    $(Thermostat::$name(thermostat) => ThermostatMethod::noise(thermostat),)*
                }
            }

            /// The friction and noise of [`SubStep::PairNoise`].
            pub fn pair_noise(&self) -> Option<&Dissipative> {
                match self {
                    Thermostat::Isolated => None,
                    $(Thermostat::$name(thermostat) => ThermostatMethod::pair_noise(thermostat),)*
                }
            }
        }
    };
}

// Numbers in checkpoints follow the order of these lines: new ones come last.
registry! {
    rescale::Rescale,
    langevin::Langevin,
    nose_hoover::NoseHoover,
    bussi::Bussi,
    dissipative::Dissipative,
    berendsen::Berendsen,
}

impl ThermostatKind {
    /// The kind with this name in the input file.
    pub fn from_name(name: &str) -> Option<ThermostatKind> {
        ThermostatKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// All kinds, in the order of the documentation.
    pub fn documented() -> Vec<ThermostatKind> {
        let mut kinds = ThermostatKind::ALL.to_vec();
        kinds.sort_by_key(|kind| kind.listed());
        kinds
    }

    /// Returns true for a thermostat that scales velocities, so that it can do nothing with atoms at rest.
    pub fn scales_velocities(self) -> bool {
        self.step().contains(&SubStep::ScaleByKinetic)
    }

    /// Returns true where each atom has noise of its own, so that the centre of mass is thermal like every
    /// other degree of freedom.
    pub fn moves_center_of_mass(self) -> bool {
        self.step().contains(&SubStep::Noise)
    }
}

impl Thermostat {
    /// One of its time steps.
    pub fn step(&self) -> &'static [SubStep] {
        self.kind().map_or(VELOCITY_VERLET, ThermostatKind::step)
    }

    /// Returns true for a thermostat that scales velocities, so that it can do nothing with atoms at rest.
    pub fn scales_velocities(&self) -> bool {
        self.kind().is_some_and(ThermostatKind::scales_velocities)
    }

    /// The factor of [`SubStep::ScaleByKinetic`] for velocities with this kinetic energy, in a step that is
    /// due; counts the heat.
    pub fn scale_by_kinetic(&mut self, kinetic: f64, timestep: f64, deviates: Option<[f64; 2]>) -> f64 {
        let (constants, mut variables) = (self.constants(), self.variables());
        let deviates = deviates.unwrap_or_default();
        let known = Known { kinetic, timestep, deviates, constants: &constants };
        let factor = self.factor_by_kinetic(&known, &mut variables);
        self.set_variables(&variables);
        if let Some(heat) = self.counted_heat() {
            *heat += heat_of_scaling(factor, kinetic);
        }
        factor
    }

    /// The factor of [`SubStep::ScaleByState`] for a step so long.
    pub fn scale_by_state(&mut self, timestep: f64) -> f64 {
        let mut variables = self.variables();
        let factor = self.factor_by_state(timestep, &mut variables);
        self.set_variables(&variables);
        factor
    }
}

/// The energy that scaling all velocities by a factor gives to atoms with a kinetic energy.
///
/// In the middle of a step this is not all: (factor - 1) dt/2 times the sum of v . f is left out. Where the factor
/// follows from the kinetic energy, which this sum changes, it is not zero in the mean: the conserved quantity gains
/// dt^2 / (8 period) times the mean of f^2 / m of a degree of freedom in a unit of time, whatever the number of atoms.
/// Of a few dozen atoms that is seen in long runs.
pub fn heat_of_scaling<R: Real>(factor: R, kinetic: R) -> R {
    (factor * factor - R::lit(1.0)) * kinetic
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind, at this k_B T.
    fn thermostats(thermal_energy: f64) -> impl Iterator<Item = Thermostat> {
        let target = Target { thermal_energy, degrees_of_freedom: 30 };
        let stage = Conditions { target, timestep: 0.01, start: 0 };
        ThermostatKind::ALL.iter().map(move |kind| ThermostatInput::example(*kind, 1.0).begin(&stage))
    }

    #[test]
    fn another_temperature_makes_the_thermostat_of_that_temperature() {
        for (mut thermostat, wanted) in thermostats(1.0).zip(thermostats(4.0)) {
            thermostat.set_thermal_energy(4.0);
            assert_eq!(thermostat, wanted);
            assert!((thermostat.thermal_energy().unwrap() - 4.0).abs() < 1e-14);
        }
        let mut isolated = Thermostat::Isolated;
        isolated.set_thermal_energy(2.0);
        assert_eq!((isolated.thermal_energy(), isolated), (None, Thermostat::Isolated));
    }

    /// The heat that a thermostat has counted, or holds itself, is the energy that scaling has given.
    #[test]
    fn heat_is_what_scaling_gives() {
        for mut thermostat in thermostats(1.0).filter(Thermostat::scales_velocities) {
            let (mut kinetic, start) = (40.0, thermostat.heat().unwrap());
            for step in 2..160 {
                let before = thermostat.scale_by_state(0.0025);
                kinetic *= before.powi(2);
                if thermostat.schedule().is_due(step) {
                    let deviates = thermostat.deviates(7, step);
                    kinetic *= thermostat.scale_by_kinetic(kinetic, 0.0025, deviates).powi(2);
                }
            }
            let (given, gained) = (thermostat.heat().unwrap() - start, kinetic - 40.0);
            assert!(gained.abs() > 0.01, "{thermostat:?}");
            assert!((given - gained).abs() < 1e-3 * gained.abs(), "{thermostat:?}: {given} {gained}");
        }
    }

    #[test]
    fn names_and_places_are_of_one_kind_each() {
        for (k, kind) in ThermostatKind::documented().iter().enumerate() {
            assert_eq!(ThermostatKind::from_name(kind.name()), Some(*kind));
            let others = &ThermostatKind::documented()[k + 1..];
            assert!(others.iter().all(|other| other.listed() != kind.listed()), "{kind:?}");
            assert!(kind.parameters().len() <= MOST_PARAMETERS, "{kind:?}");
        }
        assert_eq!(ThermostatKind::from_name("none"), None);
    }

    /// Thermostats have the numbers that their lists of sub-steps need.
    #[test]
    fn sub_steps_have_what_they_need() {
        for thermostat in thermostats(1.0) {
            let has = |part| thermostat.step().contains(&part);
            assert_eq!(has(SubStep::Noise), thermostat.noise().is_some(), "{thermostat:?}");
            assert_eq!(has(SubStep::PairNoise), thermostat.pair_noise().is_some(), "{thermostat:?}");
        }
    }
}
