//! Runs of a sweep: their inputs, and the table of their results.

use crate::arguments::SweepOptions;
use crate::grid::Point;
use crate::input_file::{self, TEMPERATURE};
use crate::output;
use jostle_core::Result;
use jostle_engine::{CHECKPOINT, Checkpoint, INPUT, SUMMARY};
use jostle_io::Input;
use jostle_io::input::Assignment;
use serde_json::Value;
use std::path::Path;

/// Keys whose values make windows, of which one analysis takes all runs together.
const WINDOWS: [&str; 2] = ["alchemy.", "bias."];
/// Key of the seed.
const SEED: &str = "system.seed";

/// Seeds of the runs of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seeds {
    /// That of the input, but in windows: one each. Equal noise would give their errors the same sign.
    AsTheyAre,
    /// One each.
    OneEach,
}

/// Inputs of all runs.
///
/// # Errors
/// As for [`Input::read`], with the values of a point.
pub fn inputs(options: &SweepOptions, points: &[Point], seeds: Seeds) -> Result<Vec<Input>> {
    let is_window = |path: &str| WINDOWS.iter().any(|key| path.starts_with(key));
    let paths = || options.over.iter().map(|axis| axis.path.as_str());
    let one_each = paths().all(|path| path != SEED) && (seeds == Seeds::OneEach || paths().any(is_window));
    let mut inputs: Vec<Input> = Vec::with_capacity(points.len());
    for (point, k) in points.iter().zip(0..) {
        let first = inputs.first().filter(|_| one_each).map(|first| first.system.seed.wrapping_add(k));
        let own = first.map(|seed| Assignment::new(SEED, &seed.to_string())).transpose()?;
        inputs.push(input(options, point, own)?);
    }
    if let Some(input) = inputs.last()
        && paths().any(|path| path == TEMPERATURE)
    {
        input_file::warn_of_other_temperatures(input);
    }
    Ok(inputs)
}

/// The input with the values of a point, and with a seed of its own in place of one that is set.
fn input(options: &SweepOptions, point: &Point, seed: Option<Assignment>) -> Result<Input> {
    let mut values = options.settings.values.clone();
    if let Some(seed) = seed {
        values.set.retain(|given| given.path() != seed.path());
        values.set.push(seed);
    }
    for (axis, value) in options.over.iter().zip(&point.values) {
        values.set.push(Assignment::new(&axis.path, value)?);
    }
    input_file::read(&options.file, &values)
}

/// Prints the results of the runs of these inputs.
pub fn print_table<'a>(
    options: &SweepOptions,
    points: &[Point],
    inputs: impl Iterator<Item = &'a Input>,
    folder: &Path,
) -> Result<()> {
    let most_steps = options.settings.overrides().most_steps;
    let row =
        |(point, input): (&Point, &Input)| Row::read(point, &folder.join(&point.folder), input, most_steps);
    let rows: Vec<Row> = points.iter().zip(inputs).map(row).collect();
    let labels: Vec<&str> = options.over.iter().map(|axis| axis.path.as_str()).collect();
    match options.format.json {
        true => output::print_json(&json(&labels, &rows)),
        false => output::print(&csv(&labels, &rows)),
    }
}

/// Content of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// No run.
    Nothing,
    /// A run of the input, with as many steps.
    This,
    /// A run of another input, of other files that it names, or with another `--steps`.
    Another,
}

/// Content of a folder, as far as its files tell: a run that was killed has no summary that knows of `--steps`.
pub fn before(folder: &Path, input: &Input, most_steps: Option<u64>) -> Before {
    let Ok(text) = std::fs::read_to_string(folder.join(INPUT)) else { return Before::Nothing };
    let summary = summary(folder);
    let steps = summary.is_null() || summary["most_steps"].as_u64() == most_steps;
    let this = text == *input.source.text && steps && has_same_files(folder);
    if this { Before::This } else { Before::Another }
}

/// Returns true where the files that the input of a run names are those that it began with, as far as a checkpoint knows.
fn has_same_files(folder: &Path) -> bool {
    let checkpoint = Checkpoint::read(&folder.join(CHECKPOINT));
    checkpoint.map_or(true, |checkpoint| checkpoint.would_begin_alike())
}

/// The summary of a run; null where there is none.
pub fn summary(folder: &Path) -> Value {
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
    fn read(point: &Point, folder: &Path, input: &Input, most_steps: Option<u64>) -> Self {
        if before(folder, input, most_steps) == Before::Another {
            let (values, folder, status) =
                (point.values.clone(), point.folder.clone(), "another input".into());
            return Row { values, folder, status, averages: Vec::new() };
        }
        let summary = summary(folder);
        let stage = summary["stages"].as_array().and_then(|stages| stages.last());
        let averages = stage.and_then(|stage| stage["averages"].as_array());
        let average = |average: &Value| {
            let text = |name: &str| average[name].as_str().map(String::from);
            let estimate = |name: &str| average["estimate"][name].as_f64();
            // The value of the conserved quantity depends on where a run begins: runs have nothing in common to compare.
            let quantity = text("quantity").filter(|quantity| quantity != "conserved")?;
            Some((quantity, text("unit")?, estimate("mean")?, estimate("error")?))
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
