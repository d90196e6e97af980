//! Profiles of a GPU in a run: some steps of each stage are made with each kernel alone on the GPU. Positions are those
//! that the run has without.

use jostle_core::backend::{KernelTime, ListContents, Profile};
use jostle_core::{DeviceReport, Result};
use jostle_io::input::model::{Action, StageInput};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Seconds of a stage after which its profile begins, once the search for a skin has ended; at the latest it begins where
/// as many steps are left as it may have, or half of those of a short stage.
const WARM: f64 = 2.0;
/// Steps of a profile, at most, and at least where it takes this long.
const STEPS: (u64, u64) = (2_000, 50);
const LONG_ENOUGH: Duration = Duration::from_secs(1);

/// Profile of some steps.
#[derive(Debug, Clone, PartialEq)]
pub struct StepProfile {
    /// Number of steps.
    pub steps: u64,
    /// Kernels and lists of the device.
    pub profile: Profile,
}

impl StepProfile {
    /// Seconds of all kernels, in a step.
    pub fn seconds_per_step(&self) -> f64 {
        self.profile.kernels.iter().map(|kernel| kernel.seconds).sum::<f64>() / self.steps as f64
    }

    /// Profile as JSON: seconds of a step, and the lists.
    pub fn to_json(&self) -> Value {
        let steps = self.steps as f64;
        let kernel = |k: &KernelTime| {
            json!({
                "name": k.name,
                "launches_per_step": k.launches as f64 / steps,
                "seconds_per_step": k.seconds / steps,
                "blocks": k.blocks,
                "threads": k.threads,
                "registers": k.registers,
                "spilled_bytes": k.spilled,
            })
        };
        let list = |l: &ListContents| json!({ "of": l.what, "lists": l.lists, "mean": l.mean, "most": l.most, "room": l.room });
        json!({
            "steps": self.steps,
            "kernels": Vec::from_iter(self.profile.kernels.iter().map(kernel)),
            "lists": Vec::from_iter(self.profile.lists.iter().map(list)),
        })
    }
}

/// Progress of the profile of a stage.
#[derive(Debug, Default)]
pub(crate) enum Profiler {
    /// No profiles are asked for.
    #[default]
    Off,
    /// The profile of the stage under way is still to come.
    Waiting,
    /// Profile under way since this step of the stage, and this time.
    Running(u64, Instant),
    /// Profile of the stage under way.
    Done(StepProfile),
}

impl Profiler {
    /// Profiles of all stages to come, where a device can make them.
    ///
    /// # Errors
    /// If it is not one GPU.
    pub fn of(device: &mut dyn DeviceReport) -> Result<Self> {
        device.start_profile()?;
        device.end_profile()?;
        Ok(Profiler::Waiting)
    }

    /// Takes note that a batch begins, so many steps and seconds after its stage; returns the most steps that it may have:
    /// profiles begin and end between batches.
    pub fn begin_batch(
        &mut self,
        device: &mut dyn DeviceReport,
        stage: &StageInput,
        done: u64,
        seconds: f64,
    ) -> Result<u64> {
        let (Action::Dynamics { steps, .. } | Action::Minimize { steps, .. }) = stage.action;
        let latest = (steps / 2).max(steps.saturating_sub(STEPS.0));
        if matches!(self, Profiler::Waiting)
            && (done >= latest || (seconds > WARM && device.neighbor_facts().settled))
        {
            device.start_profile()?;
            *self = Profiler::Running(done, Instant::now());
        }
        Ok(match self {
            Profiler::Waiting => latest - done,
            Profiler::Running(first, _) => (*first + STEPS.0).saturating_sub(done).max(1),
            Profiler::Off | Profiler::Done(_) => u64::MAX,
        })
    }

    /// Takes note that a batch is over.
    pub fn end_batch(&mut self, device: &mut dyn DeviceReport, done: u64) -> Result<()> {
        if let Profiler::Running(first, begun) = *self {
            let (most, least) = STEPS;
            let steps = done - first;
            if steps >= most || steps >= least && begun.elapsed() >= LONG_ENOUGH {
                *self = Profiler::Done(StepProfile { steps, profile: device.end_profile()? });
            }
        }
        Ok(())
    }

    /// Profile of a stage that is over after so many steps; the next one is to come.
    pub fn end_stage(&mut self, device: &mut dyn DeviceReport, done: u64) -> Result<Option<StepProfile>> {
        let next = if matches!(self, Profiler::Off) { Profiler::Off } else { Profiler::Waiting };
        Ok(match std::mem::replace(self, next) {
            Profiler::Running(first, _) => {
                let profile = device.end_profile()?;
                (done > first).then_some(StepProfile { steps: done - first, profile })
            }
            Profiler::Done(profile) => Some(profile),
            Profiler::Off | Profiler::Waiting => None,
        })
    }

    /// Gives up the profile under way, where the run is left: it begins anew where it goes on.
    pub fn leave(&mut self, device: &mut dyn DeviceReport) {
        if let Profiler::Running(..) = self {
            // A device that cannot end it has failed before.
            let _ = device.end_profile();
            *self = Profiler::Waiting;
        }
    }
}
