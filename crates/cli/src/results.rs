//! Results of an analysis on stdout or in files.

use crate::arguments::AnalyzeOptions;
use crate::numbers::significant;
use crate::output;
use jostle_analysis::{Record, Value};
use jostle_core::{Error, Result};
use serde_json::json;
use std::path::Path;

/// Prints what was found, or writes it to a folder.
pub fn print(options: &AnalyzeOptions, record: Record) -> Result<()> {
    let results = &record.results;
    let without: Vec<&str> =
        results.values.iter().filter(|v| v.error.is_none()).map(|v| v.name.as_str()).collect();
    match record.frames {
        _ if without.is_empty() => {}
        0 | 1 => say!("errors need at least two frames: there are none here"),
        _ => say!("no errors are known of: {}", without.join(", ")),
    }
    results.warnings.iter().for_each(|warning| say!("warning: {warning}"));
    if let Some(folder) = &options.output {
        return write(folder, &record);
    }
    if options.format.json {
        return output::print_json(
            &json!({ "kind": record.kind, "units": record.units, "frames": record.frames, "results": results.json() }),
        );
    }
    match results.tables.first() {
        Some(table) => {
            results.values.iter().for_each(|v| say!("{}", sentence(v)));
            output::print(&table.csv())
        }
        None => output::print(&results.values_csv()),
    }
}

/// `diffusion coefficient all = 2.43 ± 0.05 A^2/ps`
fn sentence(value: &Value) -> String {
    let error =
        value.error.filter(|e| *e > 0.0).map_or(String::new(), |e| format!(" ± {}", significant(e, 2)));
    format!("{} = {}{error} {}", value.name, significant(value.value, 6), value.unit).trim_end().to_string()
}

/// Writes all tables and values into a folder.
fn write(folder: &Path, record: &Record) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, &e))?;
    for (name, text) in record.files(&record.kind) {
        output::write_file(&folder.join(name), text.as_bytes())?;
    }
    record.results.values.iter().for_each(|v| say!("{}", sentence(v)));
    Ok(())
}
