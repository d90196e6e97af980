//! `jostle analyze free-energy`: free energies of states from tables in the layout of alchemlyb.

use crate::arguments::AnalyzeOptions;
use crate::reading::{Tell, refuse_failed, refuse_twice};
use crate::state_table::{StateTable, along_path};
use crate::states::{Contents, Samples, UNIT, by_energies, pairs};
use crate::windows::{self, has_windows, integrate};
use jostle_analysis::averages::BlockAverage;
use jostle_analysis::{Record, Results, Table};
use jostle_core::{Error, Result};
use jostle_sampling::free_energy::{Estimate, mean_force_integral};
use std::path::PathBuf;

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
    refuse_failed(&paths)?;
    if has_windows(&options.trajectory) {
        let (results, count) = windows::free_energy(&paths, options, tell)?;
        return Ok(Record { kind: options.kind.clone(), units: UNIT.into(), frames: count as u64, results });
    }
    if options.stage.is_some() {
        let error = Error::input("tables of energies and derivatives have no stages");
        return Err(error.hint("leave out --stage, or give the folders of runs"));
    }
    let (path, samples) = read(&paths, options)?;
    let count: usize = samples.rows.iter().map(Vec::len).sum();
    let mut results = match samples.contents {
        Contents::Energies => by_energies(&samples, tell)?,
        Contents::Derivatives => by_derivatives(&path, &samples)?,
    };
    if let (Some(table), true) = (results.tables.first_mut(), path.names.len() > 1) {
        path.add_columns(table);
    }
    Ok(Record { kind: options.kind.clone(), units: UNIT.into(), frames: count as u64, results })
}

/// States along a path.
struct StatePath {
    /// Names of the parameters.
    names: Vec<String>,
    /// Parameters of each state.
    states: Vec<Vec<f64>>,
}

impl StatePath {
    /// Number of a state; `None` for one that is not on the path.
    fn find(&self, state: &[f64]) -> Option<usize> {
        let is_same = |other: &Vec<f64>| other.iter().zip(state).all(|(a, b)| (a - b).abs() < 1e-9);
        self.states.iter().position(is_same)
    }

    /// Adds the parameters of the states to their table.
    fn add_columns(&self, table: &mut Table) {
        for (k, name) in self.names.iter().enumerate() {
            table.plain(name, "", self.states.iter().map(|state| state[k]).collect());
        }
    }
}

/// Samples of all tables, and the path of their states.
fn read(paths: &[PathBuf], options: &AnalyzeOptions) -> Result<(StatePath, Samples)> {
    let mut all: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    let mut known: Option<(Vec<String>, Vec<Vec<f64>>, Contents)> = None;
    for path in paths {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
        let table = StateTable::parse(path, &text)?;
        let head = (table.names, table.states, table.contents);
        if known.as_ref().is_some_and(|known| *known != head) {
            return Err(Error::file(path, "this table has other columns than the first one"));
        }
        known = Some(head);
        let chosen = options.reading.chosen(table.rows);
        if chosen.is_empty() && options.reading.leaves_out() {
            return Err(Error::file(path, "there is no sample in this file that is to be read")
                .hint("look at --first, --last and --every"));
        }
        all.extend(chosen);
    }
    let (names, mut given, contents) = known.unwrap_or((Vec::new(), Vec::new(), Contents::Derivatives));
    if contents == Contents::Derivatives {
        all.iter().for_each(|(state, _)| {
            if !given.contains(state) {
                given.push(state.clone());
            }
        });
    }
    let order = along_path(&given);
    let path = StatePath { states: order.iter().map(|k| given[*k].clone()).collect(), names };
    let mut rows = vec![Vec::new(); given.len()];
    for (state, mut row) in all {
        let Some(k) = path.find(&state) else {
            let words = state.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
            let message = format!("there is a sample of state {words}, but no column with its energies");
            return Err(Error::input(message));
        };
        if contents == Contents::Energies {
            row = order.iter().map(|column| row[*column]).collect();
        }
        rows[k].push(row);
    }
    let states = match path.names.len() {
        1 => path.states.iter().map(|state| state[0]).collect(),
        _ => (0..given.len()).map(|k| k as f64).collect(),
    };
    Ok((path, Samples { states, rows, contents }))
}

/// Thermodynamic integration by trapezoids along the path.
fn by_derivatives(path: &StatePath, samples: &Samples) -> Result<Results> {
    let mean = |rows: &Vec<Vec<f64>>, parameter: usize| -> Result<Estimate> {
        let mut average = BlockAverage::default();
        rows.iter().for_each(|row| average.add(row[parameter]));
        let estimate =
            average.estimate().ok_or_else(|| Error::input("a state has fewer than two samples"))?;
        Ok(Estimate { value: estimate.mean, error: estimate.error })
    };
    let means = |parameter| samples.rows.iter().map(|rows| mean(rows, parameter)).collect::<Result<Vec<_>>>();
    let mut table = Table::new("free-energy", "state", String::new(), samples.states.clone());
    let total = match &path.names[..] {
        [_] => {
            let means = means(0)?;
            table.with_errors("derivative", UNIT, &pairs(&means));
            mean_force_integral(&samples.states, &means)?
        }
        names => {
            for (k, name) in names.iter().enumerate() {
                table.with_errors(&format!("derivative with {name}"), UNIT, &pairs(&means(k)?));
            }
            let found = integrate(&path.states, &samples.rows, 1.0);
            let (value, error) = found.ok_or_else(|| Error::input("a state has fewer than two samples"))?;
            Estimate { value, error }
        }
    };
    let mut results = Results::default();
    results.value("free energy by thermodynamic integration", UNIT, (total.value, Some(total.error)));
    results.tables.push(table);
    Ok(results)
}
