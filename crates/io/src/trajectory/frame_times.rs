//! Times of the frames of a trajectory: of a time step that the user gives, of the file, or of the run beside it.

use super::frame::Snapshot;
use super::source::FileUnits;
use super::step_times::StepTimes;
use super::units::{are_written_as_they_are, picoseconds};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, UnitSystem};
use std::path::Path;

/// Times of frames, in the units of the reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameTimes {
    units: UnitSystem,
    /// Unit of time of the file; `None` where it is not known.
    unit: Option<f64>,
    /// Time of a step that the user gives, who knows better than the file.
    timestep: Option<f64>,
    /// Times of the run, for files that count steps only.
    of_run: Option<StepTimes>,
}

impl FrameTimes {
    /// Times of the frames of a file, given the units that are read and whether anything but the format tells them.
    pub fn of_file(
        of_file: FileUnits,
        units: UnitSystem,
        units_are_told: bool,
        timestep: Option<f64>,
    ) -> Self {
        // The unit systems of Jostle that are those of LAMMPS, too, as far as lengths and times go.
        let of_lammps =
            are_written_as_they_are(units) || matches!(units, UnitSystem::Real | UnitSystem::Metal);
        let unit = match of_file {
            FileUnits::Fixed(_) => Some(1.0 / picoseconds(units)),
            FileUnits::FixedLength(_) => (units_are_told && of_lammps).then_some(1.0),
            FileUnits::Unknown | FileUnits::Of(_) => Some(1.0),
        };
        FrameTimes { units, unit, timestep, of_run: None }
    }

    /// Times from the run beside a file that counts steps only, as its first frame shows.
    pub fn with_run(self, path: &Path, first: &Snapshot) -> Self {
        match self.of(first) {
            Some(_) => self,
            None => FrameTimes { of_run: StepTimes::beside(path, self.units), ..self },
        }
    }

    /// Time of a frame, whose own one is still in the unit of the file.
    pub fn of(&self, frame: &Snapshot) -> Option<f64> {
        self.given(frame).or_else(|| self.own(frame)).or_else(|| Some(self.of_run?.of(frame.step)))
    }

    /// Returns true where a time step is given for frames that have times.
    pub fn are_replaced(&self, frame: &Snapshot) -> bool {
        self.timestep.is_some() && self.own(frame).is_some()
    }

    /// Notes for the user about times of these frames, the first ones, that are not known or not taken.
    pub fn notes(&self, frames: &[&Snapshot]) -> Vec<String> {
        let without_unit = self.unit.is_none() && frames.iter().any(|frame| frame.time.is_some());
        let unknown = (without_unit && self.timestep.is_none()).then(|| {
            "times are not known: LAMMPS wrote it, in the unit of time of its run, which the file does not tell (--units \
             real, metal or lj gives it, --timestep the time of a step)"
                .to_string()
        });
        unknown.into_iter().chain(frames.iter().find_map(|frame| self.contradiction(frame))).collect()
    }

    /// Note where the time step that is given contradicts the file.
    fn contradiction(&self, frame: &Snapshot) -> Option<String> {
        let (given, own) = (self.given(frame)?, self.own(frame)?);
        // Files have few decimals, or single precision.
        let rounding = 1e-2 * self.timestep? + 1e-5 * own.abs();
        let unit = unit_name(self.units, Dimension::TIME);
        // Six digits, no more than it has.
        let digits = |time: f64| format!("{time:.5e}").parse::<f64>().unwrap_or(time);
        let in_words = |time: f64| format!("{} {unit}", digits(time)).trim_end().to_string();
        ((given - own).abs() > rounding).then(|| {
            format!(
                "step {} is at {} by --timestep, which counts, and at {} by the file",
                frame.step,
                in_words(given),
                in_words(own)
            )
        })
    }

    fn given(&self, frame: &Snapshot) -> Option<f64> {
        self.timestep.map(|timestep| timestep * frame.step as f64)
    }

    fn own(&self, frame: &Snapshot) -> Option<f64> {
        Some(frame.time? * self.unit?)
    }
}
