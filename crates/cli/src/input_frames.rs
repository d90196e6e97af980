//! A trajectory whose frames an input describes: for tables of the input that are evaluated along it.

use crate::arguments::{AnalyzeOptions, ReadingOptions};
use crate::reading::{FrameSelection, Tell, trajectory_at};
use crate::trajectory_context::{TrajectoryContext, input_of};
use jostle_core::{Error, Result, System};
use jostle_io::Input;
use std::path::PathBuf;

/// Frames of a trajectory, and the system that they are of.
pub struct InputFrames {
    /// File of the trajectory.
    pub trajectory: PathBuf,
    /// The input.
    pub input: Input,
    /// Frames that were asked for.
    pub frames: FrameSelection,
    /// System of the frames; its positions are replaced by theirs.
    pub system: System,
}

/// Opens the trajectory of an input that defines a table, such as `variable`.
///
/// # Errors
/// If there is no input with such a table, settings are given which mean nothing for it, or the atoms are not known.
pub fn open(
    options: &AnalyzeOptions,
    table: &str,
    defines: fn(&Input) -> bool,
    tell: Tell,
) -> Result<InputFrames> {
    let what = format!("{table}s");
    refuse_settings(options, &what)?;
    let trajectory = trajectory_at(&options.trajectory, options.stage.as_deref())?;
    let options = AnalyzeOptions { trajectory, ..options.clone() };
    let context = TrajectoryContext::of(&options)?;
    let input = input_of(&options, &what)?;
    if !defines(&input) {
        return Err(Error::input(format!("the input has no [[{table}]]")).in_file(&input.source.path));
    }
    let reading =
        ReadingOptions { units: options.reading.units.or(Some(input.units)), ..options.reading.clone() };
    let frames = FrameSelection::open(&options.trajectory, &reading, tell)?;
    let system = context.system(frames.reader())?.ok_or_else(|| {
        Error::file(&options.trajectory, "the atoms of this trajectory are not known")
            .hint("name an input that describes them: --input FILE")
    })?;
    Ok(InputFrames { trajectory: options.trajectory, input, frames, system })
}

/// Refuses settings and choices of atoms, which tables of an input (`what`) have themselves.
///
/// # Errors
/// If there are any.
fn refuse_settings(options: &AnalyzeOptions, what: &str) -> Result<()> {
    if let Some(setting) = options.settings.first() {
        return Err(Error::input(format!("\"{setting}\" means nothing for {what}")).hint("leave it out"));
    }
    match &options.atoms {
        Some(_) => Err(Error::input(format!("{what} have atoms of their own")).hint("leave out --atoms")),
        None => Ok(()),
    }
}
