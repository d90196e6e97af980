//! `jostle bench CASE --profile`: where a GPU's time goes, kernel by kernel, and what its lists hold.

use super::measure::{Measured, RunSettings, TimedSystem};
use crate::numbers::{grouped, significant};
use crate::output;
use jostle_core::Result;
use jostle_core::backend::{KernelTime, ListContents, Profile};
use jostle_io::Input;
use serde_json::{Value, json};

/// Seconds of steps, as fast as they were measured, that are made again with each kernel alone: several batches, since the
/// first ones are short and end with slots that have nothing to do.
const SECONDS: f64 = 0.5;
/// Steps of that, at least and at most.
const STEPS: (u64, u64) = (50, 2_000);
/// Columns of the kernels.
const COLUMNS: [&str; 6] = ["a step", "us each", "us a step", "share", "blocks x threads", "registers"];

/// Profile of some steps.
pub struct StepProfile {
    steps: u64,
    profile: Profile,
}

/// Measures a case, then makes some steps more with each kernel alone on the GPU.
///
/// # Errors
/// If the device is not one GPU, and as [`super::measure::measure`].
pub fn measure_kernels(
    name: &str,
    input: Input,
    run_settings: &RunSettings,
    seconds: f64,
) -> Result<(Measured, StepProfile)> {
    let mut system = TimedSystem::set_up(name, input, run_settings)?;
    // Devices without kernels refuse before anything is measured.
    system.profile(1)?;
    let measured = system.measure(seconds)?;
    let steps = system.steps_in(SECONDS).clamp(STEPS.0, STEPS.1);
    let profile = system.profile(steps)?;
    Ok((measured, StepProfile { steps, profile }))
}

impl StepProfile {
    /// Seconds of all kernels, in a step.
    fn total(&self) -> f64 {
        self.profile.kernels.iter().map(|kernel| kernel.seconds).sum::<f64>() / self.steps as f64
    }

    /// Prints the kernels and the lists.
    ///
    /// # Errors
    /// If there is nowhere to print to.
    pub fn print(&self, measured: &Measured) -> Result<()> {
        let [step, alone] = [measured.seconds_per_step(), self.total()].map(microseconds);
        let mut text = format!(
            "\n  Kernels of {} steps, each alone on the GPU: {alone} us a step; as they run, beside each other, {step} us\n\n",
            grouped(self.steps)
        );
        text += &line("kernel", COLUMNS.map(str::to_string));
        for kernel in &self.profile.kernels {
            text += &self.row(kernel);
        }
        text += "\n";
        for ListContents { what, lists, mean, most, room } in &self.profile.lists {
            let (lists, mean) = (grouped(*lists as u64), significant(*mean, 3));
            text +=
                &format!("  {what}: {mean} on average of {lists}, at most {most}, with room for {room}\n");
        }
        output::print(&text)
    }

    fn row(&self, kernel: &KernelTime) -> String {
        let KernelTime { name, launches, seconds, blocks, threads, registers, spilled } = kernel;
        let steps = self.steps as f64;
        let spilled = if *spilled > 0 { format!(" + {spilled} B") } else { String::new() };
        let columns = [
            significant(*launches as f64 / steps, 3),
            microseconds(seconds / *launches as f64),
            microseconds(seconds / steps),
            format!("{:.1}%", 100.0 * seconds / steps / self.total().max(f64::MIN_POSITIVE)),
            format!("{} x {threads}", grouped(blocks.round() as u64)),
            format!("{registers}{spilled}"),
        ];
        line(name, columns)
    }

    /// Profile as JSON: seconds in a step, and the lists.
    pub fn to_json(&self) -> Value {
        let kernel = |k: &KernelTime| {
            json!({
                "name": k.name,
                "launches_per_step": k.launches as f64 / self.steps as f64,
                "seconds_per_step": k.seconds / self.steps as f64,
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

/// Seconds as microseconds.
fn microseconds(seconds: f64) -> String {
    significant(1e6 * seconds, 3)
}

/// Line of the table.
fn line(name: &str, columns: [String; 6]) -> String {
    let [launches, each, step, share, blocks, registers] = columns;
    format!("  {name:<26}{launches:>8}{each:>10}{step:>11}{share:>8}{blocks:>18}  {registers}\n")
}
