//! `jostle analyze free-energy`: free energies of states from tables in the layout of alchemlyb.

use crate::arguments::AnalyzeOptions;
use crate::reading::Tell;
use jostle_analysis::averages::BlockAverage;
use jostle_analysis::{Record, Results, Table};
use jostle_core::{Error, Result};
use jostle_sampling::free_energy::{Estimate, Mbar, bennett, independent, inefficiency, mean_force_integral};
use std::path::{Path, PathBuf};

/// Columns that say from which state a sample is.
const STATE_COLUMNS: [&str; 4] = ["fep-lambda", "lambda", "state", "lambdas"];
/// Columns with the derivative of the energy.
const DERIVATIVE_COLUMNS: [&str; 3] = ["fep", "dHdl", "dU/dlambda"];
/// Unit of free energies.
const UNIT: &str = "kT";

/// Samples of all tables, by state.
struct Samples {
    /// Parameter of each state, ascending.
    states: Vec<f64>,
    /// For each state its samples in the order of the files: energies in all states, or one derivative.
    rows: Vec<Vec<Vec<f64>>>,
    contents: Contents,
}

/// Contents of tables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contents {
    /// Energies in all states.
    Energies,
    /// Derivatives with the parameter.
    Derivatives,
}

/// Free energies of all states relative to the first.
///
/// # Errors
/// If a file is no such table, or the states have nothing in common.
pub fn free_energy(options: &AnalyzeOptions, tell: Tell) -> Result<Record> {
    let paths: Vec<PathBuf> = std::iter::once(options.trajectory.clone())
        .chain(options.settings.iter().map(PathBuf::from))
        .collect();
    let samples = read(&paths)?;
    let count: usize = samples.rows.iter().map(Vec::len).sum();
    let results = match samples.contents {
        Contents::Energies => by_energies(&samples, tell)?,
        Contents::Derivatives => by_derivatives(&samples)?,
    };
    Ok(Record { kind: options.kind.clone(), units: UNIT.into(), frames: count as u64, results })
}

fn read(paths: &[PathBuf]) -> Result<Samples> {
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
        all.extend(table.rows);
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

/// Independent samples of a series, by the inefficiency of one number of each.
fn thinned(rows: &[Vec<f64>], number: impl Fn(&Vec<f64>) -> f64) -> Vec<Vec<f64>> {
    let series: Vec<f64> = rows.iter().map(number).collect();
    let finite = series.iter().all(|x| x.is_finite());
    let chosen = independent(rows.len(), if finite { inefficiency(&series) } else { 1.0 });
    chosen.into_iter().map(|k| rows[k].clone()).collect()
}

fn by_energies(samples: &Samples, tell: Tell) -> Result<Results> {
    let n = samples.states.len();
    let other = |k: usize| if k + 1 < n { k + 1 } else { k.saturating_sub(1) };
    let chosen: Vec<Vec<Vec<f64>>> =
        (0..n).map(|k| thinned(&samples.rows[k], |row| row[other(k)] - row[k])).collect();
    let counts: Vec<usize> = chosen.iter().map(Vec::len).collect();
    tell(&format!(
        "{} independent of {} samples",
        counts.iter().sum::<usize>(),
        samples.rows.iter().map(Vec::len).sum::<usize>()
    ));
    let energies = (0..n).map(|k| chosen.iter().flatten().map(|row| row[k]).collect()).collect();
    let mbar = Mbar::new(energies, counts)?;
    let estimates: Vec<Estimate> = (0..n).map(|k| mbar.difference(0, k)).collect();
    let mut table = Table::new("free-energy", "state", String::new(), samples.states.clone());
    table.with_errors("free energy by MBAR", UNIT, &pairs(&estimates));
    let mut steps = vec![Estimate { value: 0.0, error: 0.0 }];
    for k in 1..n {
        let difference = |rows: &[Vec<f64>], from: usize, to: usize| -> Vec<f64> {
            rows.iter().map(|row| row[to] - row[from]).collect()
        };
        let step = bennett(&difference(&chosen[k - 1], k - 1, k), &difference(&chosen[k], k, k - 1));
        let last = steps[k - 1];
        // A state without samples has no neighbours to be compared with.
        let unknown = Estimate { value: f64::NAN, error: f64::NAN };
        steps.push(step.map_or(unknown, |step| Estimate {
            value: last.value + step.value,
            error: last.error.hypot(step.error),
        }));
    }
    table.with_errors("free energy by BAR", UNIT, &pairs(&steps));
    let mut results = Results::default();
    let total = estimates.last().copied().unwrap_or(steps[0]);
    results.value("free energy by MBAR", UNIT, (total.value, Some(total.error)));
    results.tables.push(table);
    let mut overlap = Table::new("overlap", "state", String::new(), samples.states.clone());
    let matrix = mbar.overlap();
    for (k, state) in samples.states.iter().enumerate() {
        overlap.plain(&format!("from {state}"), "", matrix.iter().map(|row| row[k]).collect());
    }
    let least = (1..n).map(|k| matrix[k - 1][k]).fold(f64::INFINITY, f64::min);
    if least < LEAST_OVERLAP {
        tell(&format!("warning: neighbouring states overlap by {least:.3} only: add states between them"));
    }
    results.tables.push(overlap);
    Ok(results)
}

/// Overlap of neighbours below which free energies are doubtful (Klimovich, Shirts and Mobley 2015).
const LEAST_OVERLAP: f64 = 0.03;

fn pairs(estimates: &[Estimate]) -> Vec<(f64, Option<f64>)> {
    estimates.iter().map(|e| (e.value, Some(e.error))).collect()
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
