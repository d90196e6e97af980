//! `jostle bench CASE --profile`: where a GPU's time goes, kernel by kernel, and what its lists hold.

use super::measure::{Measured, RunSettings, TimedSystem};
use crate::numbers::{grouped, significant};
use crate::output;
use jostle_core::Result;
use jostle_core::backend::{KernelTime, ListContents};
use jostle_engine::kernel_profile::StepProfile;
use jostle_io::Input;

/// Seconds of steps, as fast as they were measured, that are made again with each kernel alone: several batches, since the
/// first ones are short and end with slots that have nothing to do.
const SECONDS: f64 = 0.5;
/// Steps of that, at least and at most.
const STEPS: (u64, u64) = (50, 2_000);
/// Columns of the kernels.
const COLUMNS: [&str; 6] = ["a step", "us each", "us a step", "share", "blocks x threads", "registers"];

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

/// Prints the kernels and the lists of a profile.
///
/// # Errors
/// If there is nowhere to print to.
pub fn print(profile: &StepProfile, measured: &Measured) -> Result<()> {
    let [step, alone] = [measured.seconds_per_step(), profile.seconds_per_step()].map(microseconds);
    let mut text = format!(
        "\n  Kernels of {} steps, each alone on the GPU: {alone} us a step; as they run, beside each other, {step} us\n\n",
        grouped(profile.steps)
    );
    text += &line("kernel", COLUMNS.map(str::to_string));
    for kernel in &profile.profile.kernels {
        text += &row(profile, kernel);
    }
    text += "\n";
    for ListContents { what, lists, mean, most, room } in &profile.profile.lists {
        let (lists, mean) = (grouped(*lists as u64), significant(*mean, 3));
        text += &format!("  {what}: {mean} on average of {lists}, at most {most}, with room for {room}\n");
    }
    output::print(&text)
}

fn row(profile: &StepProfile, kernel: &KernelTime) -> String {
    let KernelTime { name, launches, seconds, blocks, threads, registers, spilled } = kernel;
    let steps = profile.steps as f64;
    let spilled = if *spilled > 0 { format!(" + {spilled} B") } else { String::new() };
    let columns = [
        significant(*launches as f64 / steps, 3),
        microseconds(seconds / *launches as f64),
        microseconds(seconds / steps),
        format!("{:.1}%", 100.0 * seconds / steps / profile.seconds_per_step().max(f64::MIN_POSITIVE)),
        format!("{} x {threads}", grouped(blocks.round() as u64)),
        format!("{registers}{spilled}"),
    ];
    line(name, columns)
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
