//! Contents of the folder of a run, and results of an analysis.

use crate::csv::Csv;
use jostle_analysis::{Column, Record, Table};
use jostle_core::{Error, Result};
use jostle_engine::StageReport;
use jostle_engine::commands::COMMAND_FILE;
use jostle_io::input::model::TrajectoryFormat;
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The folder of a run, read; also one in which there are only analyses.
#[derive(Debug, Clone)]
pub struct RunFiles {
    /// The folder.
    pub path: PathBuf,
    /// `summary.json`; null where there is none.
    pub summary: Json,
    /// The stages that are over, and what there is of the one under way.
    pub stages: Vec<StageReport>,
    /// `input.toml`.
    pub input: Option<String>,
    /// `jostle.log`.
    pub log: Option<String>,
    /// `thermo.csv`.
    pub thermo: Option<ThermoTable>,
    /// Analyses, sorted by name.
    pub findings: Vec<Finding>,
}

/// Results of an analysis, or a single table of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Beginning of the names of its files: the stage it was made in and the kind of analysis.
    pub base: String,
    /// The results.
    pub record: Record,
}

/// `thermo.csv`, without the row of the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThermoTable {
    /// The unit of time.
    pub time_unit: String,
    /// Name and unit of the quantities.
    pub quantities: Vec<(String, String)>,
    /// The stages, in order.
    pub stages: Vec<StageRows>,
}

/// The rows of a stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageRows {
    /// Its name.
    pub name: String,
    /// Times.
    pub time: Vec<f64>,
    /// For each quantity its values; NaN where it has no meaning.
    pub values: Vec<Vec<f64>>,
}

const THERMO: &str = "thermo.csv";
const SUMMARY: &str = "summary.json";

impl RunFiles {
    /// Reads a folder.
    ///
    /// # Errors
    /// If it cannot be read, or there is neither a run nor an analysis in it.
    pub fn read(path: &Path) -> Result<Self> {
        let mut names = Vec::new();
        let failed = |e| Error::io("open the folder", path, &e);
        for entry in std::fs::read_dir(path).map_err(failed)? {
            names.push(entry.map_err(failed)?.path());
        }
        // Commands come and go meanwhile.
        names.retain(|name| name.file_name() != Some(COMMAND_FILE.as_ref()));
        names.sort();
        let summary = path.join(SUMMARY);
        let summary = if summary.is_file() { json(&summary)? } else { Json::Null };
        let thermo = path.join(THERMO);
        let thermo = thermo.is_file().then(|| ThermoTable::read(&thermo)).transpose()?;
        let findings = findings(&names)?;
        let reports = summary["stages"].as_array().into_iter().flatten().chain(summary.get("under_way"));
        let stages = reports.filter_map(|s| StageReport::deserialize(s).ok()).collect();
        let [input, log] = ["input.toml", "jostle.log"].map(|n| std::fs::read_to_string(path.join(n)).ok());
        if thermo.is_none() && findings.is_empty() {
            return Err(Error::file(path, "there is no run and no analysis in this folder")
                .hint("give the folder that jostle run or jostle analyze --output has written"));
        }
        Ok(RunFiles { path: path.to_path_buf(), summary, stages, input, log, thermo, findings })
    }

    /// The title of the run, if it has one.
    pub fn title(&self) -> Option<&str> {
        self.summary["title"].as_str().filter(|t| !t.is_empty())
    }
}

/// True where a run goes on, as far as its folder tells; the trajectories it has written, in the order of
/// its stages.
pub fn trajectories(run: &Path) -> (bool, Vec<PathBuf>) {
    let summary = json(&run.join(SUMMARY)).unwrap_or_default();
    let names = summary["files"].as_array().into_iter().flatten().filter_map(Json::as_str);
    // Only plain names: a summary that was tampered with must not reach outside the folder.
    let plain = names.map(Path::new).filter(|name| name.file_name() == Some(name.as_os_str()));
    let known = |e: &std::ffi::OsStr| TrajectoryFormat::ALL.iter().any(|format| e == format.extension());
    let frames = plain.filter(|name| name.extension().is_some_and(known));
    let frames = frames.filter(|name| *name != Path::new("start.xyz")).map(|name| run.join(name));
    let status = summary["status"].as_str().unwrap_or_default();
    (matches!(status, "running" | "paused"), frames.collect())
}

/// The analyses among the files of a folder. A table in CSV that is in JSON, too, counts once.
fn findings(files: &[PathBuf]) -> Result<Vec<Finding>> {
    let ends = |path: &&PathBuf, ending: &str| path.extension().is_some_and(|e| e == ending);
    let mut findings = Vec::new();
    for path in files.iter().filter(|p| ends(p, "json")) {
        let content = json(path)?;
        if content.get("tables").is_some() && content.get("kind").is_some() {
            findings.push(Finding::of_json(path, content)?);
        }
    }
    let known: HashSet<String> = findings
        .iter()
        .flat_map(|f| f.record.results.tables.iter().map(|t| f.record.stem(&f.base, t)))
        .collect();
    for path in files.iter().filter(|p| ends(p, "csv") && p.file_name() != Some(THERMO.as_ref())) {
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        if !known.contains(stem) && !stem.ends_with("-values") {
            findings.push(Finding::read(path)?);
        }
    }
    Ok(findings)
}

impl Finding {
    /// Reads the JSON or a table in CSV that `jostle analyze` or a run has written.
    ///
    /// # Errors
    /// If the file cannot be read or is none.
    pub fn read(path: &Path) -> Result<Self> {
        if path.extension().is_some_and(|e| e == "json") {
            return Finding::of_json(path, json(path)?);
        }
        let csv = Csv::read(path)?;
        let column = |k: usize| -> Result<Column> {
            let (name, unit) = csv.columns[k].clone();
            Ok(Column { name, unit, values: csv.numbers(k).map_err(|e| e.blame_file(path))? })
        };
        let columns = (0..csv.columns.len()).map(column).collect::<Result<_>>()?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let results = jostle_analysis::Results {
            tables: vec![Table { name: name.clone(), columns }],
            ..jostle_analysis::Results::default()
        };
        let record = Record { kind: name.clone(), units: String::new(), frames: 0, results };
        Ok(Finding { base: name, record })
    }

    fn of_json(path: &Path, content: Json) -> Result<Self> {
        let record: Record = serde_json::from_value(content).map_err(|e| {
            Error::file(path, format!("these are no results of an analysis: {e}"))
                .hint("jostle analyze --output writes such files")
        })?;
        let base = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Finding { base, record })
    }
}

impl ThermoTable {
    /// Reads `thermo.csv`.
    ///
    /// # Errors
    /// If it cannot be read or is something else.
    pub fn read(path: &Path) -> Result<Self> {
        ThermoTable::of(&Csv::read(path)?).map_err(|e| e.blame_file(path))
    }

    fn of(csv: &Csv) -> Result<Self> {
        let names: Vec<&str> = csv.columns.iter().map(|(name, _)| name.as_str()).collect();
        if !names.starts_with(&["stage", "step", "time"]) {
            return Err(Error::simulation("this is no thermo.csv: it begins with other columns"));
        }
        let quantities = csv.columns[3..].to_vec();
        let mut stages: Vec<StageRows> = Vec::new();
        for row in 0..csv.len() {
            let name = csv.text(row, 0);
            // The start, a perfect lattice perhaps, is no sample of the ensemble.
            if csv.text(row, 1) == "0" {
                continue;
            }
            if stages.last().is_none_or(|s| s.name != name) {
                let values = vec![Vec::new(); quantities.len()];
                stages.push(StageRows { name: name.to_string(), time: Vec::new(), values });
            }
            let Some(stage) = stages.last_mut() else { continue };
            stage.time.push(csv.number(row, 2)?);
            for (k, values) in stage.values.iter_mut().enumerate() {
                values.push(csv.number(row, k + 3)?);
            }
        }
        Ok(ThermoTable { time_unit: csv.columns[2].1.clone(), quantities, stages })
    }

    /// Index of a quantity.
    pub fn quantity(&self, name: &str) -> Option<usize> {
        self.quantities.iter().position(|(n, _)| n == name)
    }
}

fn json(path: &Path) -> Result<Json> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
    serde_json::from_str(&text).map_err(|e| Error::file(path, format!("this is no JSON: {e}")))
}
