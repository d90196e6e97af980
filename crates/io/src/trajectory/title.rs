//! Titles of frames with units, time and step, in formats whose frames have a line of free text. Time and step are
//! written as GROMACS does.

use super::frame::{Frame, TrajectoryHeader};
use super::units::{are_written_as_they_are, picoseconds};
use jostle_core::UnitSystem;

/// Facts in the title of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FrameTitle {
    /// Unit system of the numbers, if numbers of it are written as they are.
    pub reduced: Option<UnitSystem>,
    /// Time in ps.
    pub time: Option<f64>,
    /// Number of the time step.
    pub step: Option<u64>,
}

impl FrameTitle {
    /// Facts in a title of this or another program, as far as there are any.
    pub fn read(text: &str) -> FrameTitle {
        let behind = |key: &str| {
            let rest = text.split_once(key)?.1.trim_start();
            Some(rest.split(|c: char| c.is_whitespace() || c == ',').next().unwrap_or(rest))
        };
        let named = |name: &str| {
            UnitSystem::ALL.into_iter().find(|u| u.name() == name && are_written_as_they_are(*u))
        };
        FrameTitle {
            reduced: behind("units = ").and_then(named),
            time: behind("t= ").and_then(|t| t.parse().ok()).filter(|t: &f64| t.is_finite()),
            step: behind("step= ").and_then(|step| step.parse().ok()),
        }
    }

    /// Title of a frame that is written.
    pub fn of(header: &TrajectoryHeader, frame: &Frame) -> String {
        let time = frame.time.map(|time| format!("t= {} ", time * picoseconds(header.units)));
        format!("by Jostle, units = {}, {}step= {}", header.units, time.unwrap_or_default(), frame.step)
    }
}
