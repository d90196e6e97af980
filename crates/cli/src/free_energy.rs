//! `jostle analyze free-energy`: free energies of states from tables in the layout of alchemlyb.

use crate::arguments::AnalyzeOptions;
use crate::reading::{Tell, refuse_twice};
use crate::states::{Contents, Samples, UNIT, by_energies, pairs};
use crate::windows::{self, has_windows};
use jostle_analysis::averages::BlockAverage;
use jostle_analysis::{Record, Results, Table};
use jostle_core::{Error, Result};
use jostle_sampling::free_energy::{Estimate, mean_force_integral};
use std::path::{Path, PathBuf};

/// Columns that say from which state a sample is.
const STATE_COLUMNS: [&str; 4] = ["fep-lambda", "lambda", "state", "lambdas"];
/// Columns with the derivative of the energy.
const DERIVATIVE_COLUMNS: [&str; 3] = ["fep", "dHdl", "dU/dlambda"];

/// Free energies of all states relative to the first.
///
/// # Errors
/// If a file is no such table, or the states have nothing in common.
pub fn free_energy(options: &AnalyzeOptions, tell: Tell) -> Result<Record> {
    let paths: Vec<PathBuf> = std::iter::once(options.trajectory.clone())
        .chain(options.settings.iter().map(PathBuf::from))
        .collect();
    if options.atoms.is_some() {
        return Err(Error::input("free energies are those of states, not of atoms").hint("leave out --atoms"));
    }
    refuse_twice(&paths)?;
    if has_windows(&options.trajectory) {
        let (results, count) = windows::free_energy(&paths, options, tell)?;
        return Ok(Record { kind: options.kind.clone(), units: UNIT.into(), frames: count as u64, results });
    }
    if options.stage.is_some() {
        let error = Error::input("tables of energies and derivatives have no stages");
        return Err(error.hint("leave out --stage, or give the folders of runs"));
    }
    let samples = read(&paths, options)?;
    let count: usize = samples.rows.iter().map(Vec::len).sum();
    let results = match samples.contents {
        Contents::Energies => by_energies(&samples, tell)?,
        Contents::Derivatives => by_derivatives(&samples)?,
    };
    Ok(Record { kind: options.kind.clone(), units: UNIT.into(), frames: count as u64, results })
}

fn read(paths: &[PathBuf], options: &AnalyzeOptions) -> Result<Samples> {
    let mut all: Vec<(f64, Vec<f64>)> = Vec::new();
    let mut known: Option<(Vec<f64>, Contents)> = None;
    for path in paths {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
        let table = table(path, &text)?;
        let head = (table.states, table.contents);
        if known.as_ref().is_some_and(|known| *known != head) {
            return Err(Error::file(path, "this table has other columns than the first one"));
        }
        known = Some(head);
        all.extend(options.reading.chosen(table.rows));
    }
    let (mut states, contents) = known.unwrap_or((Vec::new(), Contents::Derivatives));
    if contents == Contents::Derivatives {
        states = all.iter().map(|(state, _)| *state).collect();
        states.sort_by(f64::total_cmp);
        states.dedup();
    }
    let mut rows = vec![Vec::new(); states.len()];
    for (state, row) in all {
        match states.iter().position(|s| (s - state).abs() < 1e-9) {
            Some(k) => rows[k].push(row),
            None => {
                let message = format!("there is a sample of state {state}, but no column with its energies");
                return Err(Error::input(message));
            }
        }
    }
    Ok(Samples { states, rows, contents })
}

/// A table of one file.
struct StateTable {
    states: Vec<f64>,
    contents: Contents,
    rows: Vec<(f64, Vec<f64>)>,
}

fn table(path: &Path, text: &str) -> Result<StateTable> {
    let mut lines =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let fields = |line: &str| -> Vec<String> {
        line.split([',', '\t']).map(|field| field.trim().trim_matches('"').to_string()).collect()
    };
    let head = lines.next().map(|(_, line)| fields(line)).unwrap_or_default();
    let wanted = "the head of such a table is time,fep-lambda,0.0,0.5,1.0 or time,fep-lambda,fep";
    let state = head.iter().position(|name| STATE_COLUMNS.contains(&name.as_str())).ok_or_else(|| {
        Error::file_line(path, 1, "no column says from which state a sample is").hint(wanted)
    })?;
    let numbered: Vec<(usize, f64)> =
        head.iter().enumerate().filter_map(|(k, name)| Some((k, name.parse().ok()?))).collect();
    let derivative = head.iter().position(|name| DERIVATIVE_COLUMNS.contains(&name.as_str()));
    let (columns, states, contents) = match (numbered.is_empty(), derivative) {
        (false, _) => {
            let (columns, states) = numbered.into_iter().unzip();
            (columns, states, Contents::Energies)
        }
        (true, Some(column)) => (vec![column], Vec::new(), Contents::Derivatives),
        (true, None) => {
            return Err(Error::file_line(path, 1, "no column has energies or derivatives").hint(wanted));
        }
    };
    let mut rows = Vec::new();
    for (number, line) in lines {
        let cells = fields(line);
        let value =
            |column: usize| -> Result<f64> {
                let text = cells.get(column).map_or("", String::as_str);
                match text {
                    // An infinite energy is one that a state never has.
                    "inf" | "Inf" => Ok(f64::INFINITY),
                    _ => text.parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(|| {
                        Error::file_line(path, number + 1, format!("\"{text}\" is not a number"))
                    }),
                }
            };
        rows.push((value(state)?, columns.iter().map(|k| value(*k)).collect::<Result<_>>()?));
    }
    Ok(StateTable { states, contents, rows })
}

fn by_derivatives(samples: &Samples) -> Result<Results> {
    let mean = |rows: &Vec<Vec<f64>>| -> Result<Estimate> {
        let mut average = BlockAverage::default();
        rows.iter().for_each(|row| average.add(row[0]));
        let estimate =
            average.estimate().ok_or_else(|| Error::input("a state has fewer than two samples"))?;
        Ok(Estimate { value: estimate.mean, error: estimate.error })
    };
    let means: Vec<Estimate> = samples.rows.iter().map(mean).collect::<Result<_>>()?;
    let total = mean_force_integral(&samples.states, &means)?;
    let mut table = Table::new("free-energy", "state", String::new(), samples.states.clone());
    table.with_errors("derivative", UNIT, &pairs(&means));
    let mut results = Results::default();
    results.value("free energy by thermodynamic integration", UNIT, (total.value, Some(total.error)));
    results.tables.push(table);
    Ok(results)
}
