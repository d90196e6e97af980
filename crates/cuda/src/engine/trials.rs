//! Number of GPUs that make a run fastest, found by steps of a copy of the system that hardly move it.

use super::SeveralGpus;
use crate::driver::Device;
use jostle_core::{
    Backend, Evaluate, ForceEvaluation, RespaSchedule, Result, Settings, StepBatch, System, Thermostat,
};
use jostle_potentials::Forces;
use std::fmt;
use std::time::Instant;

/// Steps that are not counted: kernels are loaded and steps recorded meanwhile.
const FIRST_STEPS: u64 = 20;
/// Time step, in any system of units: constraints divide by it, so that it is not 0.
const TIMESTEP: f64 = 1e-4;
/// Seconds of steps that are counted.
const LONG_ENOUGH: f64 = 0.2;
/// Gain that one more GPU has to bring.
const WORTH_IT: f64 = 1.03;

/// Speeds of a system on one GPU, two, and so on.
#[derive(Debug, Clone, PartialEq)]
pub struct Trials {
    /// Numbers of GPUs, with steps per second.
    speeds: Vec<(usize, f64)>,
    /// Reason for which more GPUs were not tried.
    ended_by: Option<String>,
}

impl Trials {
    /// Number of GPUs that is fastest; fewer, where more bring hardly anything.
    pub fn fastest(&self) -> usize {
        let mut best = (1, 0.0);
        for (count, speed) in &self.speeds {
            if *speed > best.1 * WORTH_IT {
                best = (*count, *speed);
            }
        }
        best.0
    }
}

impl fmt::Display for Trials {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let one = |(count, speed): &(usize, f64)| format!("{speed:.0} steps/s on {count}");
        let tried: Vec<String> = self.speeds.iter().map(one).collect();
        let tried = if tried.is_empty() { "none".into() } else { tried.join(", ") };
        let reason = self.ended_by.as_ref().map_or(String::new(), |reason| format!(" (then: {reason})"));
        write!(f, "GPUs tried: {tried}{reason}; the run takes {}", self.fastest())
    }
}

/// Measures a system on one GPU, two, four and so on, up to all of them, until more are slower or a trial fails. A trial
/// that fails says nothing of the run: GPUs may not be linked or have too little memory, and a system may have to be
/// minimised before it can make steps.
pub fn try_gpus(devices: &[Device], system: &System, forces: &Forces, settings: Settings) -> Trials {
    let doubled = std::iter::successors(Some(1), |count| Some(2 * count));
    let counts = doubled.take_while(|count| *count < devices.len()).chain([devices.len()]);
    let (mut speeds, mut ended_by): (Vec<(usize, f64)>, _) = (Vec::new(), None);
    for count in counts {
        match speed(&devices[..count], system, forces, settings) {
            Ok(speed) => speeds.push((count, speed)),
            Err(error) => {
                ended_by = Some(error.message().to_string());
                break;
            }
        }
        if let [.., (_, before), (_, now)] = speeds[..]
            && now < before
        {
            break;
        }
    }
    Trials { speeds, ended_by }
}

/// Steps per second of a system on some GPUs.
fn speed(devices: &[Device], system: &System, forces: &Forces, settings: Settings) -> Result<f64> {
    let mut gpus = SeveralGpus::new(devices.to_vec(), system.clone(), forces.clone(), settings)?;
    gpus.update_neighbors()?;
    gpus.compute_forces(Evaluate::Forces)?;
    let mut make = |steps| {
        let batch = StepBatch {
            first_step: 1,
            steps,
            timestep: TIMESTEP,
            seed: 0,
            sample_every: 0,
            evaluate: Evaluate::Forces,
            long_range: RespaSchedule::ALWAYS,
        };
        let start = Instant::now();
        gpus.run_steps(&batch, &mut Thermostat::Isolated)?;
        Ok(start.elapsed().as_secs_f64())
    };
    make(FIRST_STEPS)?;
    let one: f64 = make(FIRST_STEPS)? / FIRST_STEPS as f64;
    let steps = ((LONG_ENOUGH / one) as u64).max(FIRST_STEPS);
    Ok(steps as f64 / make(steps)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_gpus_are_taken_than_pay() {
        let trials = |speeds: &[(usize, f64)]| Trials { speeds: speeds.to_vec(), ended_by: None };
        assert_eq!(trials(&[(1, 100.0), (2, 180.0), (4, 300.0)]).fastest(), 4);
        assert_eq!(trials(&[(1, 100.0), (2, 102.0), (4, 101.0)]).fastest(), 1);
        assert_eq!(trials(&[(1, 100.0), (2, 150.0), (4, 151.0)]).fastest(), 2);
        let said = trials(&[(1, 100.4), (2, 180.0)]).to_string();
        assert_eq!(said, "GPUs tried: 100 steps/s on 1, 180 steps/s on 2; the run takes 2");
        let failed = Trials { speeds: Vec::new(), ended_by: Some("a force is not finite".into()) };
        assert_eq!(failed.to_string(), "GPUs tried: none (then: a force is not finite); the run takes 1");
    }
}
