//! `jostle sweep`

use crate::arguments::SweepOptions;
use crate::error_report::{self, SUCCESS};
use crate::grid::{self, Point};
use crate::input_file;
use crate::interrupt;
use crate::output;
use crate::run::{self, Controls};
use jostle_core::{Error, Result};
use jostle_engine::{Existing, INPUT, Overrides, SUMMARY, Simulation};
use jostle_io::Input;
use jostle_io::input::Assignment;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs an input once for each combination of values, and prints the results as a table.
///
/// # Errors
/// If the input is wrong with one of the values, or stdout cannot be written. A run that fails is a row of the
/// table, and the others go on.
pub fn sweep(options: &SweepOptions) -> Result<u8> {
    let points = grid::points(&options.over)?;
    let folder = options.output.clone().unwrap_or_else(|| default_folder(&options.file));
    // All inputs are read before the first run begins.
    let inputs = points.iter().map(|point| input(options, point)).collect::<Result<Vec<Input>>>()?;
    let stop = interrupt::listen()?;
    let overrides = options.settings.overrides();
    let mut code = SUCCESS;
    for ((point, input), number) in points.iter().zip(&inputs).zip(1..) {
        say!("{number} of {}: {}", points.len(), point.folder);
        match run_point(input, &folder.join(&point.folder), &overrides, &stop) {
            Ok(()) => {}
            Err(error) => {
                error_report::print(&error);
                code = error_report::exit_code(&error);
            }
        }
        if stop.load(Ordering::Relaxed) {
            say!("the same command again goes on here");
            return Ok(interrupt::EXIT_CODE);
        }
        say!("");
    }
    let rows: Vec<Row> = points.iter().map(|point| Row::read(point, &folder.join(&point.folder))).collect();
    let labels: Vec<&str> = options.over.iter().map(|axis| axis.path.as_str()).collect();
    match options.format.json {
        true => output::print_json(&json(&labels, &rows))?,
        false => output::print(&csv(&labels, &rows))?,
    }
    Ok(code)
}

/// Folder of the folders of all runs.
fn default_folder(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or("jostle".as_ref()).to_string_lossy();
    PathBuf::from(format!("{stem}-sweep"))
}

/// The input with the values of a point.
fn input(options: &SweepOptions, point: &Point) -> Result<Input> {
    let mut values = options.settings.values.clone();
    for (axis, value) in options.over.iter().zip(&point.values) {
        values.set.push(Assignment::new(&axis.path, value)?);
    }
    input_file::read(&options.file, &values)
}

/// Runs what is left of a point: all of it, the rest of an interrupted run, or nothing.
fn run_point(input: &Input, folder: &Path, overrides: &Overrides, stop: &Arc<AtomicBool>) -> Result<()> {
    let before = std::fs::read_to_string(folder.join(INPUT)).ok();
    if before.as_deref().is_some_and(|before| before != &*input.source.text) {
        return Err(Error::file(folder, "this folder holds a run of another input")
            .hint("remove it, or choose another folder with --output DIR"));
    }
    if before.is_some() && summary(folder)["status"] == "finished" {
        say!("is finished");
        return Ok(());
    }
    let has_checkpoint = before.is_some() && folder.join(jostle_engine::CHECKPOINT).exists();
    let simulation = match has_checkpoint {
        true => Simulation::resume(folder, overrides)?,
        false => {
            let mut simulation = run::simulation(input, overrides)?;
            let existing = if before.is_some() { Existing::Replace } else { Existing::Refuse };
            simulation.write_to(folder, existing)?;
            simulation
        }
    };
    let controls = Controls::open(&simulation, false, stop)?;
    run::go(simulation, folder, controls).map(drop)
}

/// The summary of a run; null where there is none.
fn summary(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join(SUMMARY)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Results of a run.
struct Row {
    values: Vec<String>,
    folder: String,
    status: String,
    /// Averages of the last stage: quantity, unit, mean and error.
    averages: Vec<(String, String, f64, f64)>,
}

impl Row {
    fn read(point: &Point, folder: &Path) -> Self {
        let summary = summary(folder);
        let stage = summary["stages"].as_array().and_then(|stages| stages.last());
        let averages = stage.and_then(|stage| stage["averages"].as_array());
        let average = |average: &Value| {
            let text = |name: &str| average[name].as_str().map(String::from);
            let estimate = |name: &str| average["estimate"][name].as_f64();
            Some((text("quantity")?, text("unit")?, estimate("mean")?, estimate("error")?))
        };
        let finished = summary["status"] == "finished";
        Row {
            values: point.values.clone(),
            folder: point.folder.clone(),
            status: summary["status"].as_str().unwrap_or("did not begin").to_string(),
            averages: averages.filter(|_| finished).into_iter().flatten().filter_map(average).collect(),
        }
    }
}

fn json(labels: &[&str], rows: &[Row]) -> Value {
    let row = |row: &Row| {
        let values = labels.iter().zip(&row.values);
        let values: serde_json::Map<_, _> =
            values.map(|(label, value)| ((*label).to_string(), number_or_text(value))).collect();
        let averages = row.averages.iter().map(|(quantity, unit, mean, error)| {
            let average = serde_json::json!({ "mean": mean, "error": error, "unit": unit });
            (quantity.clone(), average)
        });
        let averages: serde_json::Map<_, _> = averages.collect();
        serde_json::json!({ "values": values, "folder": row.folder, "status": row.status, "averages": averages })
    };
    Value::Array(rows.iter().map(row).collect())
}

fn number_or_text(value: &str) -> Value {
    value.parse::<f64>().map_or_else(|_| Value::from(value), Value::from)
}

/// A line for each run; quantities that no run has an average of are left out.
fn csv(labels: &[&str], rows: &[Row]) -> String {
    let mut quantities: Vec<(&str, &str)> = Vec::new();
    for (quantity, unit, ..) in rows.iter().flat_map(|row| &row.averages) {
        if !quantities.contains(&(quantity, unit)) {
            quantities.push((quantity, unit));
        }
    }
    let named = |name: String, unit: &str| if unit.is_empty() { name } else { format!("{name} ({unit})") };
    let mut head: Vec<String> = labels.iter().map(|label| field(label)).collect();
    head.extend(["folder".to_string(), "status".to_string()]);
    for (quantity, unit) in &quantities {
        head.push(field(&named((*quantity).to_string(), unit)));
        head.push(field(&named(format!("{quantity}_error"), unit)));
    }
    let mut text = head.join(",") + "\n";
    for row in rows {
        let mut cells: Vec<String> = row.values.iter().map(|value| field(value)).collect();
        cells.extend([field(&row.folder), field(&row.status)]);
        for (quantity, _) in &quantities {
            let average = row.averages.iter().find(|(name, ..)| name == quantity);
            cells.push(average.map(|(.., mean, _)| format!("{mean}")).unwrap_or_default());
            cells.push(average.map(|(.., error)| format!("{error}")).unwrap_or_default());
        }
        text += &(cells.join(",") + "\n");
    }
    text
}

/// A field of a CSV file (RFC 4180).
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}
