//! Restraints and temperatures of stages: stiffness of the restraints that act in a stage, and linear ramps
//! of stiffness and temperature.

use jostle_core::{Backend, Error, Result};
use jostle_io::input::model::{Action, StageInput};
use jostle_potentials::restraint::Restraints;
use serde::{Deserialize, Serialize};

/// Most changes in a ramp, which is a staircase: a device makes the time steps between two changes by itself,
/// the work of each change is accounted for exactly, and a run may be interrupted anywhere.
const MOST_CHANGES: u64 = 1000;
/// Fewest time steps between two changes, each of which costs an evaluation of the forces.
const FEWEST_STEPS: u64 = 10;
/// Number of changes in a stage too short for that.
const FEWEST_CHANGES: u64 = 10;

/// Target of a restraint, which decides on the conservation of momentum and on the pressure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RestraintTarget {
    /// Distance between groups.
    Distance,
    /// Reference positions that do not change.
    FixedPositions,
    /// Reference positions that follow the box.
    ScaledPositions,
}

/// Stiffness and target of each restraint of a system.
#[derive(Debug, Clone, Default)]
pub(crate) struct Springs(Vec<(f64, RestraintTarget)>);

impl Springs {
    /// The springs of the restraints of a system.
    pub fn new(restraints: &Restraints) -> Self {
        let mut anchored = vec![false; restraints.springs.len()];
        restraints.anchors.iter().for_each(|anchor| anchored[anchor.spring as usize] = true);
        let one = |(spring, anchored): (&jostle_potentials::restraint::Spring, bool)| {
            let target = match (anchored, spring.center) {
                (false, _) => RestraintTarget::Distance,
                (true, None) => RestraintTarget::FixedPositions,
                (true, Some(_)) => RestraintTarget::ScaledPositions,
            };
            (spring.stiffness, target)
        };
        Springs(restraints.springs.iter().zip(anchored).map(one).collect())
    }

    /// The stiffness of each restraint at the beginning and at the end of a stage.
    fn stiffness(&self, stage: &StageInput) -> Vec<[f64; 2]> {
        let defined = || self.0.iter().map(|(stiffness, _)| [*stiffness; 2]).collect();
        stage.restraints.clone().unwrap_or_else(defined)
    }

    /// True if a restraint of a `wanted` target acts in a stage.
    fn act(&self, stage: &StageInput, wanted: impl Fn(RestraintTarget) -> bool) -> bool {
        let stiffness = self.stiffness(stage);
        self.0.iter().zip(stiffness).any(|((_, target), ends)| wanted(*target) && ends != [0.0; 2])
    }

    /// True if any restraint acts in a stage.
    pub fn are_in(&self, stage: &StageInput) -> bool {
        self.act(stage, |_| true)
    }

    /// True if position restraints act in a stage, so that momentum is not conserved.
    pub fn hold_positions(&self, stage: &StageInput) -> bool {
        self.act(stage, |target| target != RestraintTarget::Distance)
    }

    /// True if restraints to positions that do not follow the box act in a stage.
    pub fn hold_fixed_positions(&self, stage: &StageInput) -> bool {
        self.act(stage, |target| target == RestraintTarget::FixedPositions)
    }

    /// For each restraint, true if it acts in none of these stages.
    pub fn idle(&self, stages: &[StageInput]) -> Vec<bool> {
        let acts = |k: usize| stages.iter().any(|s| self.stiffness(s).get(k).is_some_and(|e| *e != [0.0; 2]));
        (0..self.0.len()).map(|k| !acts(k)).collect()
    }

    /// Refuses restraints of a stage that make no sense.
    ///
    /// # Errors
    /// If there are more or fewer than the system has, a stiffness is negative, or one changes while
    /// energy is minimised.
    pub fn check(&self, stage: &StageInput) -> Result<()> {
        let stiffness = self.stiffness(stage);
        if stiffness.len() != self.0.len() {
            let (given, there) = (stiffness.len(), self.0.len());
            return Err(Error::input(format!("{given} restraints, but the system has {there}")));
        }
        if let Some(k) = stiffness.iter().flatten().find(|k| !(**k >= 0.0 && k.is_finite())) {
            return Err(Error::input(format!("the stiffness of a restraint cannot be {k}")));
        }
        let changes = stiffness.iter().any(|[first, last]| first != last);
        match stage.action {
            Action::Minimize { .. } if changes => {
                Err(Error::input("the stiffness of a restraint cannot change while energy is minimised")
                    .hint("give it one value, and others in stages of their own"))
            }
            _ => Ok(()),
        }
    }
}

/// Ramps of stiffness and temperature in the course of a stage, as staircases from the first to the last
/// value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ramps {
    /// Time steps between two changes; 0: nothing changes.
    every: u64,
    /// Number of values of each ramp.
    values: u64,
    /// First and last stiffness of each restraint.
    stiffness: Vec<[f64; 2]>,
    /// First and last k_B T of the thermostat, where it changes.
    thermal_energy: Option<[f64; 2]>,
}

impl Ramps {
    /// The ramps of a stage of a system with these restraints.
    pub fn new(stage: &StageInput, springs: &Springs, boltzmann: f64) -> Self {
        let stiffness = springs.stiffness(stage);
        let changes = |ends: &[f64; 2]| ends[0] != ends[1];
        let temperatures = stage.temperatures().filter(changes);
        let mut ramps = Ramps {
            every: 0,
            values: 1,
            thermal_energy: temperatures.map(|ends| ends.map(|t| boltzmann * t)),
            stiffness,
        };
        if let Action::Dynamics { steps, .. } = stage.action
            && (ramps.move_springs() || ramps.thermal_energy.is_some())
        {
            let least = FEWEST_STEPS.min(steps.div_ceil(FEWEST_CHANGES)).max(1);
            let every = steps.div_ceil(MOST_CHANGES).max(least);
            // Changes of stiffness evaluate the forces, at steps at which long-range forces act.
            ramps.every = every.next_multiple_of(stage.long_range_every.max(1));
            ramps.values = steps.div_ceil(ramps.every).max(1);
        }
        ramps
    }

    /// Time steps between two changes; 0: nothing changes.
    pub fn every(&self) -> u64 {
        self.every
    }

    /// True if a value changes after so many steps, before the next one.
    pub fn is_due(&self, stage_step: u64) -> bool {
        self.every > 0 && stage_step > 0 && stage_step.is_multiple_of(self.every)
    }

    /// True if the stiffness of a restraint changes in the course of the stage.
    pub fn move_springs(&self) -> bool {
        self.stiffness.iter().any(|[first, last]| first != last)
    }

    /// The stiffness of each restraint in a step of the stage, counted from 1.
    pub fn stiffness(&self, step: u64) -> Vec<f64> {
        self.stiffness.iter().map(|ends| self.between(*ends, step)).collect()
    }

    /// Sets the stiffness of restraints to that in a step of the stage; forces must be evaluated anew.
    ///
    /// # Errors
    /// If the device failed.
    pub fn set_stiffness(&self, step: u64, backend: &mut dyn Backend) -> Result<()> {
        match self.stiffness(step) {
            none if none.is_empty() => Ok(()),
            stiffness => backend.set_stiffness(&stiffness),
        }
    }

    /// k_B T of the thermostat in a step of the stage, counted from 1; `None` where it does not change.
    pub fn thermal_energy(&self, step: u64) -> Option<f64> {
        self.thermal_energy.map(|ends| self.between(ends, step))
    }

    /// The value of a ramp in a step: the first value in the first steps, the last value in the last steps.
    fn between(&self, [first, last]: [f64; 2], step: u64) -> f64 {
        if first == last || self.values < 2 {
            return first;
        }
        let stair = step.saturating_sub(1) / self.every;
        let part = (stair as f64 / (self.values - 1) as f64).min(1.0);
        first * (1.0 - part) + last * part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_io::input::model::ThermostatInput;
    use jostle_potentials::restraint::Spring;

    fn springs() -> Springs {
        let distances =
            Restraints { springs: vec![Spring::new(5.0), Spring::new(7.0)], ..Restraints::default() };
        Springs::new(&distances)
    }

    /// A ramp reaches both ends whatever the number of steps, all its stairs but the last are equally long
    /// and equally high, and there are not too many.
    #[test]
    fn ramps_lead_from_the_first_to_the_last_value() {
        let bussi = ThermostatInput::bussi(10.0, 1.0);
        for (steps, long_range) in [(2, 1), (3, 1), (24, 1), (99, 1), (1000, 2), (9_999, 3), (123_456, 4)] {
            let steps = steps - steps % long_range;
            let stage = StageInput::dynamics("s", steps, 0.1).thermostat(bussi).ramp_temperature(300.0);
            let stage = stage.long_range(long_range).restrain([[100.0, 0.0], [3.0, 3.0]]);
            let ramps = Ramps::new(&stage, &springs(), 2.0);
            let every = ramps.every();
            assert!(every.is_multiple_of(long_range) && every > 0, "{steps}: {every}");
            assert!(steps / every <= MOST_CHANGES, "{steps}: {every}");
            assert_eq!((ramps.stiffness(0), ramps.thermal_energy(0)), (vec![100.0, 3.0], Some(20.0)));
            assert_eq!((ramps.stiffness(1), ramps.thermal_energy(1)), (vec![100.0, 3.0], Some(20.0)));
            assert_eq!((ramps.stiffness(steps), ramps.thermal_energy(steps)), (vec![0.0, 3.0], Some(600.0)));
            let mut changes = Vec::new();
            for step in 1..steps {
                let (now, next) =
                    (ramps.thermal_energy(step).unwrap(), ramps.thermal_energy(step + 1).unwrap());
                assert_eq!(now != next, ramps.is_due(step), "{steps}: {step}");
                changes.extend((now != next).then_some(next - now));
            }
            let even = changes.iter().all(|change| (change / changes[0] - 1.0).abs() < 1e-9);
            assert!(even && changes[0] > 0.0, "{steps}: {changes:?}");
        }
    }

    #[test]
    fn what_does_not_change_is_not_due() {
        let stage = StageInput::dynamics("s", 1000, 0.1).restrain([[1.0, 1.0], [0.0, 0.0]]);
        let ramps = Ramps::new(&stage, &springs(), 1.0);
        assert!((0..=1000).all(|step| !ramps.is_due(step) && ramps.stiffness(step) == [1.0, 0.0]));
        let plain = StageInput::dynamics("s", 1000, 0.1);
        assert_eq!(Ramps::new(&plain, &springs(), 1.0).stiffness(500), [5.0, 7.0]);
        assert_eq!(springs().idle(&[stage.clone(), stage.clone()]), [false, true]);
        assert_eq!(springs().idle(&[stage, plain]), [false, false]);
    }

    #[test]
    fn nonsense_is_refused() {
        let stage = || StageInput::dynamics("s", 1000, 0.1);
        let minimize = StageInput::minimize("m", 10, 1.0, 0.1);
        for bad in [
            stage().restrain([[1.0, 1.0]]),
            stage().restrain([[1.0, -1.0], [1.0, 1.0]]),
            stage().restrain([[1.0, f64::NAN], [1.0, 1.0]]),
            minimize.clone().restrain([[1.0, 2.0], [1.0, 1.0]]),
        ] {
            assert!(springs().check(&bad).is_err(), "{bad:?}");
        }
        springs().check(&minimize.restrain([[2.0, 2.0], [0.0, 0.0]])).unwrap();
    }
}
