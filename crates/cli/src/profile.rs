//! `jostle analyze pmf`: free energy along variables, from hills, adaptive forces, umbrella windows or steered runs.

use crate::arguments::AnalyzeOptions;
use crate::reading::Tell;
use jostle_analysis::{Record, Results, Table};
use jostle_core::quantity::{parse_quantity, unit_name};
use jostle_core::{Dimension, Error, Result, UnitSystem};
use jostle_io::Input;
use jostle_io::input::model::{BiasAction, BiasInput, StageInput};
use jostle_sampling::free_energy::{
    BLOCKS, Mbar, crooks, gradient_profile, independent, inefficiency, jarzynski, wham_of_blocks,
};
use jostle_show::RunFiles;
use std::path::{Path, PathBuf};

/// Bins of a profile where `bins=` does not say.
const BINS: usize = 50;

/// Method for umbrella windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Mbar,
    Wham,
}

/// Settings of the command, and folders or files besides the first.
struct Request {
    paths: Vec<PathBuf>,
    method: Method,
    bins: usize,
    temperature: Option<String>,
}

/// Prints the free energy along the variables of biased runs.
///
/// # Errors
/// If there are no such runs or files, or they do not fit together.
pub fn profile(options: &AnalyzeOptions, tell: Tell) -> Result<Record> {
    let request = request(options)?;
    let first = &request.paths[0];
    let (units, frames, results) = if first.is_file() {
        of_file(first)?
    } else {
        match grid_of_run(first)? {
            Some(file) if request.paths.len() == 1 => of_file(&file)?,
            _ => of_runs(options, &request, tell)?,
        }
    };
    Ok(Record { kind: options.kind.clone(), units, frames, results })
}

fn request(options: &AnalyzeOptions) -> Result<Request> {
    let mut request = Request {
        paths: vec![options.trajectory.clone()],
        method: Method::Mbar,
        bins: BINS,
        temperature: None,
    };
    for word in &options.settings {
        match word.split_once('=') {
            None => request.paths.push(PathBuf::from(word)),
            Some(("method", "mbar")) => request.method = Method::Mbar,
            Some(("method", "wham")) => request.method = Method::Wham,
            Some(("bins", text)) => {
                request.bins = text.parse().ok().filter(|n| (2..=10_000).contains(n)).ok_or_else(|| {
                    Error::input(format!("bins = {text} is not a whole number from 2 to 10000"))
                })?;
            }
            Some(("temperature", text)) => request.temperature = Some(text.to_string()),
            Some(_) => {
                return Err(Error::input(format!("\"{word}\" means nothing for a profile"))
                    .hint("it may be method=mbar, method=wham, bins=... or temperature=..."));
            }
        }
    }
    Ok(request)
}

/// The file with hills or mean forces of a run; `None` if it has none.
fn grid_of_run(folder: &Path) -> Result<Option<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|e| Error::io("open the folder", folder, &e))?;
    let mut names: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    names.sort();
    let kinds = ["hills", "kernels", "grad"];
    let is_grid = |path: &PathBuf| path.extension().is_some_and(|e| kinds.iter().any(|kind| e == *kind));
    Ok(names.into_iter().find(is_grid))
}

fn of_file(path: &Path) -> Result<(String, u64, Results)> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
    let results = if text.starts_with("#! FIELDS time") {
        hills(path, &text)?
    } else if text.starts_with("#! FIELDS") {
        kernels(path, &text)?
    } else {
        mean_forces(path, &text)?
    };
    let rows = text.lines().filter(|line| !line.starts_with('#')).count();
    Ok((String::new(), rows as u64, results))
}

/// Numbers of the rows of a file.
fn numbers(path: &Path, text: &str, columns: usize) -> Result<Vec<Vec<f64>>> {
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let row: Option<Vec<f64>> = line.split_whitespace().map(|x| x.parse().ok()).collect();
        match row.filter(|row| row.len() == columns) {
            Some(row) => rows.push(row),
            None => {
                return Err(Error::file_line(
                    path,
                    number + 1,
                    format!("this is no row of {columns} numbers"),
                ));
            }
        }
    }
    if rows.is_empty() {
        return Err(Error::file(path, "there are no rows in this file yet"));
    }
    Ok(rows)
}

/// Cuts of the second half of a run, after each of which the hills so far give a profile.
const CUTS: usize = 8;

/// Gaussians of one or two variables with a grid over all of them.
struct Gaussians {
    names: Vec<String>,
    periodic: Vec<bool>,
    /// Centres, widths, heights and what else a file has, in the order of its columns.
    rows: Vec<Vec<f64>>,
    axes: Vec<Vec<f64>>,
}

impl Gaussians {
    /// Reads a file whose rows have the centre, the widths and the height of a Gaussian after so many other columns,
    /// and so many behind.
    fn read(path: &Path, text: &str, [before, behind]: [usize; 2]) -> Result<Self> {
        let fields: Vec<&str> = text.lines().next().unwrap_or_default().split_whitespace().skip(2).collect();
        let dimensions = fields.len().saturating_sub(before + behind + 1) / 2;
        if !(1..=2).contains(&dimensions) || fields.len() != 2 * dimensions + before + behind + 1 {
            return Err(Error::file_line(path, 1, "these are not Gaussians of one or two variables"));
        }
        let mut rows = numbers(path, text, fields.len())?;
        rows.iter_mut().for_each(|row| row.rotate_left(before));
        let names: Vec<String> =
            fields[before..before + dimensions].iter().map(ToString::to_string).collect();
        let is_periodic = |name: &String| text.contains(&format!("#! SET min_{name} -pi"));
        let periodic: Vec<bool> = names.iter().map(is_periodic).collect();
        let axis = |d: usize| -> Vec<f64> {
            let [low, high] = if periodic[d] {
                [-std::f64::consts::PI, std::f64::consts::PI]
            } else {
                let ends = |sign: f64| rows.iter().map(move |row| row[d] + sign * row[dimensions + d]);
                [ends(-1.0).fold(f64::INFINITY, f64::min), ends(1.0).fold(f64::NEG_INFINITY, f64::max)]
            };
            let n = if dimensions == 1 { 200 } else { 60 };
            (0..n).map(|k| low + (high - low) * (k as f64 + 0.5) / n as f64).collect()
        };
        let axes = (0..dimensions).map(axis).collect();
        Ok(Gaussians { names, periodic, rows, axes })
    }

    fn points(&self) -> usize {
        self.axes.iter().map(Vec::len).product()
    }

    fn place(&self, point: usize, d: usize) -> f64 {
        let first = self.axes[0].len();
        if d == 0 { self.axes[0][point % first] } else { self.axes[1][point / first] }
    }

    /// Value of the Gaussian of a row at a point of the grid, and its squared distance in widths.
    fn value(&self, row: &[f64], point: usize) -> (f64, f64) {
        let (n, pi) = (self.names.len(), std::f64::consts::PI);
        let square = |d: usize| {
            let period = self.periodic[d].then_some(2.0 * pi);
            (difference(period, self.place(point, d), row[d]) / row[n + d]).powi(2)
        };
        let square: f64 = (0..n).map(square).sum();
        (row[2 * n] * (-0.5 * square).exp(), square)
    }

    /// Columns with the places of the points.
    fn columns(&self) -> Vec<(String, Vec<f64>)> {
        let places = |d: usize| (0..self.points()).map(|point| self.place(point, d)).collect();
        (0..self.names.len()).map(|d| (self.names[d].clone(), places(d))).collect()
    }
}

/// Minus the sum of hills: of hills of constant height the mean over the second half of the run, of well-tempered
/// ones that of all. The error is the standard deviation of the profile over the second half.
fn hills(path: &Path, text: &str) -> Result<Results> {
    let hills = Gaussians::read(path, text, [1, 1])?;
    let (points, count) = (hills.points(), hills.rows.len());
    let tempered = hills.rows.iter().any(|row| row[2 * hills.names.len() + 1] > 1.0);
    let mut sum = vec![0.0; points];
    let mut profiles: Vec<Vec<f64>> = Vec::new();
    for (number, row) in hills.rows.iter().enumerate() {
        sum.iter_mut().enumerate().for_each(|(point, sum)| *sum -= hills.value(row, point).0);
        let done = (number + 1) * 2 * CUTS / count;
        if done >= CUTS && done > number * 2 * CUTS / count {
            let mean = sum.iter().sum::<f64>() / points as f64;
            profiles.push(sum.iter().map(|x| x - mean).collect());
        }
    }
    let n = profiles.len().max(1) as f64;
    let mean: Vec<f64> = (0..points).map(|p| profiles.iter().map(|f| f[p]).sum::<f64>() / n).collect();
    let spread = |p: usize| (profiles.iter().map(|f| (f[p] - mean[p]).powi(2)).sum::<f64>() / n).sqrt();
    let errors: Vec<f64> = (0..points).map(spread).collect();
    let values = if tempered { profiles.last().cloned().unwrap_or(mean) } else { mean };
    Ok(table(hills.columns(), "", values, Some(errors)))
}

/// -k_B T ln of a density of kernels, where there are any.
fn kernels(path: &Path, text: &str) -> Result<Results> {
    let kernels = Gaussians::read(path, text, [0, 0])?;
    let setting = |name: &str| -> Result<f64> {
        let found = text.lines().find_map(|line| line.strip_prefix(&format!("#! SET {name} ")));
        found
            .and_then(|x| x.parse().ok())
            .ok_or_else(|| Error::file(path, format!("this file has no {name}")))
    };
    let (thermal_energy, end) = (setting("thermal_energy")?, setting("square_cutoff")?);
    let density = |point: usize| -> f64 {
        let one = |row: &Vec<f64>| {
            let (value, square) = kernels.value(row, point);
            if square < end { value } else { 0.0 }
        };
        kernels.rows.iter().map(one).sum()
    };
    let value = |point: usize| match density(point) {
        density if density > 0.0 => -thermal_energy * density.ln(),
        _ => f64::NAN,
    };
    Ok(table(kernels.columns(), "", (0..kernels.points()).map(value).collect(), None))
}

/// A table of a profile, whose smallest value is zero.
fn table(
    columns: Vec<(String, Vec<f64>)>,
    unit: &str,
    values: Vec<f64>,
    errors: Option<Vec<f64>>,
) -> Results {
    let lowest = values.iter().copied().filter(|x| x.is_finite()).fold(f64::INFINITY, f64::min);
    let mut columns = columns.into_iter();
    let (name, places) = columns.next().unwrap_or_default();
    let mut table = Table::new("pmf", &name, String::new(), places);
    columns.for_each(|(name, places)| table.plain(&name, "", places));
    table.plain("free energy", unit, values.iter().map(|x| x - lowest).collect());
    if let Some(errors) = errors {
        table.plain("free energy error", unit, errors);
    }
    Results { tables: vec![table], ..Results::default() }
}

/// Integral of the mean forces on a grid in Colvars' layout.
fn mean_forces(path: &Path, text: &str) -> Result<Results> {
    let head: Vec<Vec<f64>> = text
        .lines()
        .take_while(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').split_whitespace().filter_map(|x| x.parse().ok()).collect())
        .collect();
    let dimensions = head.first().and_then(|line| line.first()).copied().unwrap_or_default();
    let axes = head.get(1..).unwrap_or_default();
    if !(dimensions == 1.0 || dimensions == 2.0)
        || axes.len() != dimensions as usize
        || axes.iter().any(|axis| axis.len() != 4)
    {
        return Err(Error::file_line(path, 1, "this is no grid of mean forces")
            .hint("its head is \"# 1\" and \"# lower spacing bins periodic\""));
    }
    let n = axes.len();
    let rows = numbers(path, text, 2 * n)?;
    let bins: Vec<usize> = axes.iter().map(|axis| axis[2] as usize).collect();
    let spacing: Vec<f64> = axes.iter().map(|axis| axis[1]).collect();
    let periodic: Vec<bool> = axes.iter().map(|axis| axis[3] != 0.0).collect();
    let gradients: Vec<Vec<f64>> = rows.iter().map(|row| row[n..].to_vec()).collect();
    let values = gradient_profile(&bins, &spacing, &periodic, &gradients).map_err(|e| e.blame_file(path))?;
    let columns = (0..n).map(|d| (format!("variable {}", d + 1), rows.iter().map(|row| row[d]).collect()));
    Ok(table(columns.collect(), "", values, None))
}

/// A run with a harmonic bias.
struct BiasedRun {
    input: Input,
    bias: BiasInput,
    files: RunFiles,
    path: PathBuf,
}

/// Returns true for harmonic biases whose centre or stiffness changes.
fn moves(action: &BiasAction) -> bool {
    match action {
        BiasAction::Harmonic { center, stiffness } => center[0] != center[1] || stiffness[0] != stiffness[1],
        _ => false,
    }
}

impl BiasedRun {
    fn read(path: &Path) -> Result<Self> {
        let input = Input::read(&path.join("input.toml"))?;
        let harmonic = |wanted: fn(&BiasAction) -> bool| -> Vec<BiasInput> {
            let biases = input.biases.iter().map(|bias| &bias.value);
            biases.filter(|bias| wanted(&bias.action)).cloned().collect()
        };
        // Beside a bias that moves others may hold the variable before.
        let mut found = harmonic(moves);
        if found.is_empty() {
            found = harmonic(|action| matches!(action, BiasAction::Harmonic { .. }));
        }
        let Ok([bias]) = <[BiasInput; 1]>::try_from(found) else {
            return Err(Error::file(
                path,
                "this run has not one harmonic bias, as a window or a steered run has",
            )
            .hint("a profile is also made from the files of hills or adaptive forces"));
        };
        let files = RunFiles::read(path)?;
        Ok(BiasedRun { input, bias, files, path: path.to_path_buf() })
    }

    /// Centre and stiffness at the beginning and at the end.
    fn ends(&self) -> [[f64; 2]; 2] {
        match self.bias.action {
            BiasAction::Harmonic { center, stiffness } => [center, stiffness],
            _ => [[f64::NAN; 2]; 2],
        }
    }

    fn moves(&self) -> bool {
        moves(&self.bias.action)
    }

    fn variable(&self) -> (&str, Option<f64>) {
        let variable = &self.input.variables[self.bias.variables[0]].value;
        (&variable.name.value, variable.kind.period())
    }

    /// Values of a column in a stage, the last one where none is named.
    fn column(&self, name: &str, stage: Option<&str>) -> Result<Vec<f64>> {
        let missing = || Error::file(&self.path, format!("thermo.csv has no column {name}"));
        let thermo = self.files.thermo.as_ref().ok_or_else(missing)?;
        let quantity = thermo.quantity(name).ok_or_else(missing)?;
        let rows = match stage {
            Some(stage) => thermo.stages.iter().find(|rows| rows.name == stage),
            None => thermo.stages.last(),
        };
        Ok(rows.ok_or_else(missing)?.values[quantity].clone())
    }

    /// k_B T, of the setting or of the last thermostat.
    fn thermal_energy(&self, given: Option<&str>) -> Result<f64> {
        let units = self.input.units;
        let temperature = match given {
            Some(text) => match text.parse::<f64>() {
                Ok(number) => number,
                Err(_) => parse_quantity(text, &[Dimension::TEMPERATURE], units)?.0,
            },
            None => {
                let of = |stage: &StageInput| stage.temperatures().map(|[_, last]| last);
                self.input.stages.iter().rev().find_map(|stage| of(&stage.value)).ok_or_else(|| {
                    Error::file(&self.path, "no stage has a thermostat").hint("give temperature=...")
                })?
            }
        };
        match temperature > 0.0 && temperature.is_finite() {
            true => Ok(units.boltzmann() * temperature),
            false => Err(Error::input(format!("a temperature of {temperature}"))),
        }
    }
}

fn of_runs(options: &AnalyzeOptions, request: &Request, tell: Tell) -> Result<(String, u64, Results)> {
    let runs = request.paths.iter().map(|path| BiasedRun::read(path)).collect::<Result<Vec<_>>>()?;
    let (name, units) = (runs[0].variable().0.to_string(), runs[0].input.units);
    if let Some(other) = runs.iter().find(|run| run.variable().0 != name || run.input.units != units) {
        return Err(Error::file(
            &other.path,
            format!("this run has no bias on '{name}' in units of \"{units}\""),
        ));
    }
    if runs.iter().any(BiasedRun::moves) {
        return steered(&runs, request, units);
    }
    windows(options, &runs, (request, units), tell)
}

/// Free energy from the work of steered runs.
fn steered(runs: &[BiasedRun], request: &Request, units: UnitSystem) -> Result<(String, u64, Results)> {
    let first = runs[0].ends();
    let back = first.map(|[a, b]| [b, a]);
    let (mut forward, mut backward) = (Vec::new(), Vec::new());
    let thermal_energy = runs[0].thermal_energy(request.temperature.as_deref())?;
    for run in runs {
        let works = run.column(&format!("{}_work", run.bias.name), None)?;
        let work = works.last().copied().unwrap_or(f64::NAN) / thermal_energy;
        match run.ends() {
            ends if ends == first => forward.push(work),
            ends if ends == back => backward.push(work),
            _ => {
                return Err(Error::file(&run.path, "this run goes between other places than the first one")
                    .hint("give runs between the same two places, in both directions or in one"));
            }
        }
    }
    let unit = unit_name(units, Dimension::ENERGY);
    let mut results = Results::default();
    let mut add = |name: &str, found: jostle_sampling::free_energy::Estimate| {
        results.value(name, &unit, (thermal_energy * found.value, Some(thermal_energy * found.error)));
    };
    if forward.len() > 1 {
        add("free energy by Jarzynski's equality", jarzynski(&forward)?);
    }
    if !backward.is_empty() {
        add("free energy by Crooks' theorem", crooks(&forward, &backward)?);
    } else if forward.len() < 2 {
        return Err(Error::input("one steered run gives no free energy")
            .hint("give several, best in both directions"));
    }
    Ok((units.name().into(), runs.len() as u64, results))
}

/// Free energy from umbrella windows.
fn windows(
    options: &AnalyzeOptions,
    runs: &[BiasedRun],
    (request, units): (&Request, UnitSystem),
    tell: Tell,
) -> Result<(String, u64, Results)> {
    let (name, period) = runs[0].variable();
    let thermal_energy = runs[0].thermal_energy(request.temperature.as_deref())?;
    let (mut samples, mut counts, mut total) = (Vec::new(), Vec::new(), 0);
    for run in runs {
        let mut own = run.column(name, options.stage.as_deref())?;
        own.retain(|x| x.is_finite());
        total += own.len();
        // A variable on a circle is made continuous about the window for its correlations.
        let [[center, _], _] = run.ends();
        let about: Vec<f64> = own.iter().map(|x| difference(period, *x, center)).collect();
        let chosen = independent(own.len(), inefficiency(&about));
        counts.push(chosen.len());
        samples.extend(chosen.into_iter().map(|k| own[k]));
    }
    tell(&format!("{} independent of {total} samples of {} windows", samples.len(), runs.len()));
    let energy = |run: &BiasedRun, x: f64| {
        let [[center, _], [stiffness, _]] = run.ends();
        0.5 * stiffness * difference(period, x, center).powi(2) / thermal_energy
    };
    let [low, high] = match period {
        Some(period) => [-0.5 * period, 0.5 * period],
        None => [
            samples.iter().copied().fold(f64::INFINITY, f64::min),
            samples.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ],
    };
    let width = (high - low) / request.bins as f64;
    let bin_of = |x: f64| ((x - low) / width).floor().clamp(0.0, request.bins as f64 - 1.0) as usize;
    let places: Vec<f64> = (0..request.bins).map(|k| low + (k as f64 + 0.5) * width).collect();
    let [values, errors] = match request.method {
        Method::Mbar => {
            let energies = runs.iter().map(|run| samples.iter().map(|x| energy(run, *x)).collect()).collect();
            let mbar = Mbar::new(energies, counts.clone())?;
            let bins: Vec<Option<usize>> = samples.iter().map(|x| Some(bin_of(*x))).collect();
            let profile = mbar.profile(&vec![0.0; samples.len()], &bins, places.clone());
            [profile.values, profile.errors]
        }
        Method::Wham => {
            let mut blocks = vec![vec![vec![0.0; request.bins]; runs.len()]; BLOCKS];
            let mut next = 0;
            for (k, count) in counts.iter().enumerate() {
                for (number, x) in samples[next..next + count].iter().enumerate() {
                    blocks[number * BLOCKS / count][k][bin_of(*x)] += 1.0;
                }
                next += count;
            }
            let bias: Vec<Vec<f64>> =
                runs.iter().map(|run| places.iter().map(|x| energy(run, *x)).collect()).collect();
            wham_of_blocks(&blocks, &bias)?
        }
    };
    let scaled = |all: Vec<f64>| all.iter().map(|x| thermal_energy * x).collect::<Vec<f64>>();
    let (values, errors) = (scaled(values), Some(scaled(errors)));
    let unit = unit_name(units, Dimension::ENERGY);
    let results = table(vec![(name.to_string(), places)], &unit, values, errors);
    Ok((units.name().into(), total as u64, results))
}

/// Difference of two values, the shortest way round.
fn difference(period: Option<f64>, a: f64, b: f64) -> f64 {
    match period {
        Some(period) => (a - b) - period * ((a - b) / period).round(),
        None => a - b,
    }
}
