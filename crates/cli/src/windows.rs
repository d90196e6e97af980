//! Free energies from runs in the windows of a path: files in the layout of GROMACS' dhdl.xvg, as runs with `[alchemy]`
//! write them.

use crate::arguments::AnalyzeOptions;
use crate::biased_run::{acting, stage_number};
use crate::reading::{Tell, refuse_copies};
use crate::same_energy::{Sampled, refuse_different};
use crate::states::{Contents, Samples, UNIT, by_energies};
use jostle_analysis::averages::BlockAverage;
use jostle_analysis::{ResultWarning, Results};
use jostle_core::{Error, Result, UnitSystem};
use jostle_engine::INPUT;
use jostle_io::Input;
use jostle_show::complete_lines;
use std::path::{Path, PathBuf};

/// Ending of the files.
const ENDING: &str = "xvg";

/// Samples of one window.
struct Window {
    path: PathBuf,
    temperature: f64,
    /// Coupling parameters of the window.
    own: Vec<f64>,
    /// Names of the coupling parameters.
    names: Vec<String>,
    /// Coupling parameters of all windows.
    states: Vec<Vec<f64>>,
    /// Derivatives with each coupling parameter, in kJ/mol, by sample.
    slopes: Vec<Vec<f64>>,
    /// Energies in all windows, in units of k_B T, by sample.
    energies: Vec<Vec<f64>>,
}

/// Returns true where a path is that of such a file or of the folder of a run.
pub fn has_windows(path: &Path) -> bool {
    path.is_dir() || path.extension().is_some_and(|ending| ending == ENDING)
}

/// Free energies of all windows relative to the first, and the number of samples.
///
/// # Errors
/// If a file is damaged, or the files are those of different paths or temperatures.
pub fn free_energy(paths: &[PathBuf], options: &AnalyzeOptions, tell: Tell) -> Result<(Results, usize)> {
    let mut windows = Vec::new();
    for path in paths {
        let mut window = read(&file(path, options.stage.as_deref())?, &mut *tell)?;
        window.slopes = options.reading.chosen(window.slopes);
        window.energies = options.reading.chosen(window.energies);
        if window.energies.is_empty() && options.reading.leaves_out() {
            return Err(Error::file(&window.path, "there is no sample in this file that is to be read")
                .hint("look at --first, --last and --every"));
        }
        windows.push(window);
    }
    let Some(first) = windows.first() else { return Err(Error::input("there is no file")) };
    for other in &windows[1..] {
        if other.states != first.states || other.names != first.names {
            return Err(Error::file(
                &other.path,
                format!("its windows are not those of {}", first.path.display()),
            ));
        }
        if (other.temperature - first.temperature).abs() > 1e-6 * first.temperature {
            let message = format!(
                "{} K here, and {} K in {}",
                other.temperature,
                first.temperature,
                first.path.display()
            );
            return Err(Error::file(&other.path, message).hint("all windows have one temperature"));
        }
    }
    let sampled = windows.iter().map(|w| (w.path.as_path(), (&w.own, &w.slopes, &w.energies)));
    refuse_copies(&sampled.collect::<Vec<_>>(), |a, b| !a.2.is_empty() && a == b)?;
    let boxes = refuse_unlike(&windows)?;
    let n = first.states.len();
    let mut samples = Samples {
        states: (0..n).map(|k| k as f64).collect(),
        rows: vec![Vec::new(); n],
        contents: Contents::Energies,
    };
    let mut slopes = vec![Vec::new(); n];
    for window in &windows {
        let state = window.states.iter().position(|state| *state == window.own).ok_or_else(|| {
            Error::file(&window.path, "the window of these samples is not among those with energies")
        })?;
        samples.rows[state].extend(window.energies.iter().cloned());
        slopes[state].extend(window.slopes.iter().cloned());
    }
    let count = samples.rows.iter().map(Vec::len).sum();
    let mut results = by_energies(&samples, tell)?;
    results.warnings.extend(boxes);
    let thermal_energy = UnitSystem::Nano.boltzmann() * first.temperature;
    if let Some(table) = results.tables.first_mut() {
        for (k, name) in first.names.iter().enumerate() {
            table.plain(name, "", first.states.iter().map(|state| state[k]).collect());
        }
    }
    if let Some((value, error)) = integrate(&first.states, &slopes, thermal_energy) {
        results.value("free energy by thermodynamic integration", UNIT, (value, Some(error)));
    }
    let by_mbar = results.get("free energy by MBAR").map(|found| (found.value, found.error));
    if let Some((value, error)) = by_mbar {
        let energy = (thermal_energy * value, error.map(|error| thermal_energy * error));
        results.value("free energy by MBAR, as an energy", "kJ/mol", energy);
    }
    Ok((results, count))
}

/// Refuses windows of runs with other energies than the first, of those that have their input beside their samples.
fn refuse_unlike(windows: &[Window]) -> Result<Option<ResultWarning>> {
    let mut inputs = Vec::new();
    for window in windows {
        let folder = window.path.parent().unwrap_or(Path::new("."));
        let path = folder.join(INPUT);
        if path.is_file() {
            let input = Input::read(&path)?;
            let stage = sampled_stage(&input, &window.path)?;
            inputs.push((folder, input, stage));
        }
    }
    let runs: Vec<Sampled> =
        inputs.iter().map(|(path, input, stage)| Sampled { path, input, stage: *stage }).collect();
    let acts = |name: &str| {
        let biases = runs.iter().flat_map(|run| acting(run.input, &run.input.stages[run.stage].value));
        biases.into_iter().any(|bias| bias.name == name)
    };
    // Energies of biases are not among those of windows, and may not differ.
    refuse_different(&runs, |name| !acts(name), "free energy by MBAR")
}

/// Number of the stage that a file has samples of.
fn sampled_stage(input: &Input, file: &Path) -> Result<usize> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".dhdl.xvg").unwrap_or_default();
    let known = input.alchemy.iter().flat_map(|alchemy| &alchemy.value.stages);
    let stage = known.clone().find(|stage| *stage == stem).or(known.clone().next());
    stage_number(input, file, stage.map(String::as_str))
}

/// Thermodynamic integration along the windows by trapezoids, in units of k_B T; `None` where a window has too few
/// samples.
pub fn integrate(states: &[Vec<f64>], slopes: &[Vec<Vec<f64>>], thermal_energy: f64) -> Option<(f64, f64)> {
    let (mut value, mut variance) = (0.0, 0.0);
    for (k, samples) in slopes.iter().enumerate() {
        let weight = |c: usize| {
            let before = if k > 0 { states[k][c] - states[k - 1][c] } else { 0.0 };
            let after = if k + 1 < states.len() { states[k + 1][c] - states[k][c] } else { 0.0 };
            0.5 * (before + after) / thermal_energy
        };
        let mut average = BlockAverage::default();
        for sample in samples {
            average.add(sample.iter().enumerate().map(|(c, slope)| weight(c) * slope).sum());
        }
        let estimate = average.estimate()?;
        value += estimate.mean;
        variance += estimate.error * estimate.error;
    }
    Some((value, variance.sqrt()))
}

/// File with samples, of a path to it or to the folder of a run.
fn file(path: &Path, stage: Option<&str>) -> Result<PathBuf> {
    if !path.is_dir() {
        return match stage {
            None => Ok(path.to_path_buf()),
            Some(_) => {
                Err(Error::file(path, "a file has the samples of one stage").hint("leave out --stage"))
            }
        };
    }
    let entries = std::fs::read_dir(path).map_err(|e| Error::io("open the folder", path, &e))?;
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.retain(|file| file.extension().is_some_and(|ending| ending == ENDING));
    found.sort();
    if let Some(stage) = stage {
        let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names: Vec<String> = found.iter().map(name).collect();
        found.retain(|file| name(file).strip_suffix(".dhdl.xvg") == Some(stage));
        if found.is_empty() {
            return Err(Error::file(path, format!("there are no samples of a stage '{stage}'"))
                .hint(format!("there are: {}", names.join(", "))));
        }
    }
    match found.len() {
        1 => Ok(found.swap_remove(0)),
        0 => Err(Error::file(path, "there are no samples of windows in this folder (*.dhdl.xvg)")
            .hint("they are written by a run with [alchemy], with its first checkpoint")),
        _ => Err(Error::file(path, "there are samples of several stages in this folder").hint(format!(
            "choose one with --stage, or name one file of each window: {}",
            found[0].display()
        ))),
    }
}

/// Reads the samples of a window.
fn read(path: &Path, tell: &mut dyn FnMut(&str)) -> Result<Window> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
    let lines = complete_lines(&text);
    if lines.len() < text.len() {
        tell(&format!("{}: the last line is not complete and is left out", path.display()));
    }
    let wrong = |line: usize, message: &str| Error::file_line(path, line + 1, message.to_string());
    let mut window = Window {
        path: path.to_path_buf(),
        temperature: 0.0,
        own: Vec::new(),
        names: Vec::new(),
        states: Vec::new(),
        slopes: Vec::new(),
        energies: Vec::new(),
    };
    let mut columns = Vec::new();
    for (number, line) in lines.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(word) = line.strip_prefix('@') {
            read_header(word.trim(), &mut window, &mut columns)
                .ok_or_else(|| wrong(number, "this line of the header cannot be understood"))?;
            continue;
        }
        if window.temperature <= 0.0 || window.own.is_empty() || window.states.is_empty() {
            return Err(wrong(number, "the header does not say temperature, window and columns")
                .hint("such a file has lines '@ subtitle \"T = ...' and '@ s0 legend ...'"));
        }
        let numbers: Option<Vec<f64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| numbers.iter().all(|x| x.is_finite()));
        let numbers = numbers.ok_or_else(|| wrong(number, "there is something that is no number"))?;
        if numbers.len() != columns.len() + 1 {
            return Err(wrong(number, "there are not as many numbers as the header has columns"));
        }
        let of = |kind: Column| {
            columns.iter().zip(&numbers[1..]).filter(move |(c, _)| **c == kind).map(|(_, x)| *x)
        };
        let thermal_energy = UnitSystem::Nano.boltzmann() * window.temperature;
        window.slopes.push(of(Column::Slope).collect());
        window.energies.push(of(Column::Difference).map(|x| x / thermal_energy).collect());
    }
    let names = window.names.len();
    if names == 0 || window.states.iter().chain([&window.own]).any(|state| state.len() != names) {
        return Err(Error::file(path, "its windows do not have one number for each coupling parameter"));
    }
    Ok(window)
}

/// Contents of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    /// Derivative with a coupling parameter.
    Slope,
    /// Energy in a window less that in the window of the run.
    Difference,
    /// Anything else.
    Other,
}

/// Takes a line of the header in; `None` where it makes no sense.
fn read_header(line: &str, window: &mut Window, columns: &mut Vec<Column>) -> Option<()> {
    if line.starts_with("subtitle") {
        let after = |text: &str, word: &str| text.split_once(word).map(|(_, rest)| rest.trim().to_string());
        let temperature = after(line, "T =")?;
        window.temperature = temperature.split_whitespace().next()?.parse().ok()?;
        // "state 0: (coul-lambda, vdw-lambda) = (0.0, 0.0)", or "lambda = 0.0" of one parameter.
        window.own = numbers(line.rsplit_once('=')?.1)?;
    }
    let mut words = line.splitn(3, ' ');
    let (name, kind, legend) = (words.next()?, words.next(), words.next());
    let is_column = name.strip_prefix('s').is_some_and(|number| number.parse::<usize>().is_ok());
    if let (true, Some("legend"), Some(legend)) = (is_column, kind, legend) {
        let legend = legend.trim().trim_matches('"');
        columns.push(match legend {
            _ if legend.starts_with("dH/d") => {
                let name = legend.split_once("\\f{}").map_or(legend, |(_, rest)| rest);
                window.names.push(name.split('=').next()?.trim().to_string());
                Column::Slope
            }
            _ if legend.contains(" to ") => {
                window.states.push(numbers(legend.rsplit_once(" to ")?.1)?);
                Column::Difference
            }
            _ => Column::Other,
        });
    }
    Some(())
}

/// Numbers in parentheses, or a single one.
fn numbers(text: &str) -> Option<Vec<f64>> {
    let inner = text.trim().trim_end_matches('"').trim();
    let inner = inner.trim_start_matches('(').trim_end_matches(')');
    inner.split(',').map(|word| word.trim().parse().ok().filter(|x: &f64| x.is_finite())).collect()
}
