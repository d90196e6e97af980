//! `jostle control`

use crate::arguments::{ControlCommand, ControlOptions};
use jostle_core::quantity::parse_quantity;
use jostle_core::{Dimension, Error, Result, UnitSystem};
use jostle_engine::commands::{RunCommand, send};
use jostle_show::RunFiles;
use std::path::Path;

/// Tells a run under way what to do, and waits until it has heard.
///
/// # Errors
/// If nothing runs there, or it cannot do that.
pub fn control(options: &ControlOptions) -> Result<()> {
    let folder = &options.folder;
    let (order, said) = match &options.command {
        ControlCommand::Pause => (RunCommand::Pause, "it has written a checkpoint and waits".to_string()),
        ControlCommand::GoOn => (RunCommand::GoOn, "it goes on".to_string()),
        ControlCommand::Stop => (RunCommand::Stop, "it writes a checkpoint and ends".to_string()),
        ControlCommand::Temperature { value } => {
            let said =
                format!("its thermostat holds {value} until the stage ends; it has written a checkpoint");
            (RunCommand::Temperature(temperature(folder, value)?), said)
        }
    };
    send(folder, order)?;
    say!("{}: {said}", folder.display());
    Ok(())
}

/// A temperature in the units of a run.
fn temperature(folder: &Path, value: &str) -> Result<f64> {
    if let Ok(number) = value.trim().parse() {
        return Ok(number);
    }
    let run = RunFiles::read(folder)?;
    let name = run.summary["units"].as_str().unwrap_or_default();
    let units = UnitSystem::ALL.into_iter().find(|u| u.name() == name);
    let units = units.ok_or_else(|| Error::file(folder, "its summary does not say in which units it is"))?;
    parse_quantity(value, &[Dimension::TEMPERATURE], units).map(|(value, _)| value)
}
