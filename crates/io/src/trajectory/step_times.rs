//! Times of steps for trajectories that count steps only, from the `thermo.csv` of the run that wrote them.

use super::source::PACKINGS;
use csv::ReaderBuilder;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, UnitSystem};
use std::path::Path;

/// Stage that a trajectory has its name from: the name without the endings of its format and of its packing.
pub fn stage_in_name(trajectory: &Path) -> Option<&str> {
    let name = trajectory.file_name()?.to_str()?;
    let unpacked = PACKINGS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    Path::new(unpacked).file_stem()?.to_str()
}

/// Steps of a stage, which are equally long.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepTimes {
    step: f64,
    time: f64,
    timestep: f64,
}

impl StepTimes {
    /// Steps of the stage that a trajectory has its name from, if the files of its run stand beside it and are in these
    /// units.
    pub fn beside(trajectory: &Path, units: UnitSystem) -> Option<StepTimes> {
        let stage = stage_in_name(trajectory)?;
        let mut table = ReaderBuilder::new().from_path(trajectory.with_file_name("thermo.csv")).ok()?;
        let unit = match unit_name(units, Dimension::TIME) {
            unit if unit.is_empty() => "time".to_string(),
            unit => format!("time ({unit})"),
        };
        if table.headers().ok()?.iter().take(3).ne(["stage", "step", unit.as_str()]) {
            return None;
        }
        // A row that is still being written is shorter than the others.
        let rows = table.records().map_while(Result::ok).filter(|row| row.get(0) == Some(stage));
        let number = |text: Option<&str>| text?.parse::<f64>().ok();
        let mut rows = rows.filter_map(|row| Some((number(row.get(1))?, number(row.get(2))?)));
        let (step, time) = rows.next()?;
        let (last_step, last_time) = rows.last().filter(|(last, _)| *last > step)?;
        Some(StepTimes { step, time, timestep: (last_time - time) / (last_step - step) })
    }

    /// Time of a step.
    pub fn of(self, step: u64) -> f64 {
        self.time + (step as f64 - self.step) * self.timestep
    }
}
