//! `jostle bench --devices 1,2,4`: a case on so many GPUs, side by side.

use super::measure::{Exchange, Measured, RunSettings, measure};
use crate::numbers::significant;
use crate::output;
use jostle_core::Result;
use jostle_engine::model::{DeviceInput, GpuSet, Gpus};
use jostle_io::Input;
use serde_json::{Value, json};

/// A case on some GPUs.
struct Row {
    gpus: usize,
    measured: Measured,
}

/// Measures each case on each number of GPUs; results as JSON where these are asked for.
///
/// # Errors
/// If there are fewer GPUs, or a case cannot run.
pub fn devices(
    inputs: Vec<(String, Input)>,
    counts: &[usize],
    run_settings: &RunSettings,
    seconds: f64,
    as_json: bool,
) -> Result<()> {
    let mut cases = Vec::new();
    for (name, input) in inputs {
        let mut rows: Vec<Row> = Vec::new();
        for gpus in counts {
            say!("{name} on {gpus}: warming up, then measuring for {seconds} s");
            let measured = measure(&name, input.clone(), &on(run_settings, *gpus), seconds)?;
            rows.push(Row { gpus: *gpus, measured });
        }
        match as_json {
            true => cases.extend(rows.iter().map(|row| to_json(row, &rows[0]))),
            false => print(&name, &rows)?,
        }
    }
    if as_json { output::print_json(&json!({ "cases": cases })) } else { Ok(()) }
}

/// Settings for the first so many GPUs.
fn on(run_settings: &RunSettings, gpus: usize) -> RunSettings {
    let mut on = *run_settings;
    let set = (1..gpus).fold(GpuSet::FIRST, |set, number| set.and(GpuSet::one(number)));
    on.overrides.device = Some(DeviceInput::Cuda(Gpus::Chosen(set)));
    on
}

fn speed_up(row: &Row, first: &Row) -> f64 {
    first.measured.seconds_per_step() / row.measured.seconds_per_step()
}

fn print(name: &str, rows: &[Row]) -> Result<()> {
    let Some(first) = rows.first() else { return Ok(()) };
    let mut text = format!("{name}, {} atoms, {}\n\n", first.measured.atoms, first.measured.machine());
    text +=
        &format!("{:>6}{:>12}{:>12}{:>10}{:>12}\n", "GPUs", "steps/s", "speed-up", "waiting", "MB a step");
    for row in rows {
        let (waiting, megabytes) = match row.measured.exchange {
            Some(Exchange { waiting, bytes_per_step }) => {
                (format!("{:.0}%", 100.0 * waiting), significant(1e-6 * bytes_per_step, 3))
            }
            None => ("-".into(), "-".into()),
        };
        let speed = significant(1.0 / row.measured.seconds_per_step(), 4);
        let gain = significant(speed_up(row, first), 3);
        text += &format!("{:>6}{speed:>12}{gain:>12}{waiting:>10}{megabytes:>12}\n", row.gpus);
    }
    output::print(&format!("{text}\n"))
}

fn to_json(row: &Row, first: &Row) -> Value {
    let mut json = row.measured.to_json();
    json["gpus"] = json!(row.gpus);
    json["speed_up"] = json!(speed_up(row, first));
    json
}
