//! `jostle analyze pmf`: free energy along variables, from hills, adaptive forces, umbrella windows or steered runs.

use crate::arguments::AnalyzeOptions;
use crate::grid_profile::{difference, hills_of_walkers, of_file, of_walkers, table};
use crate::moments::refuse_means;
use crate::reading::{Tell, refuse_twice};
use jostle_analysis::{Record, Results};
use jostle_core::quantity::{parse_quantity, unit_name};
use jostle_core::{Dimension, Error, Result, UnitSystem};
use jostle_io::Input;
use jostle_io::input::model::{BiasAction, BiasInput, StageInput};
use jostle_sampling::free_energy::{
    BLOCKS, Mbar, crooks, independent, inefficiency, jarzynski, wham_of_blocks,
};
use jostle_show::{RunFiles, StageRows};
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
    if options.atoms.is_some() {
        return Err(Error::input("a profile is one of variables, not of atoms").hint("leave out --atoms"));
    }
    let request = request(options)?;
    refuse_twice(&request.paths)?;
    let first = &request.paths[0];
    let walkers = match first.join("input.toml").is_file() || first.is_file() {
        true => Vec::new(),
        false => hills_of_walkers(first)?,
    };
    let grid = match first.is_file() {
        true => Some(first.clone()),
        false if walkers.is_empty() && request.paths.len() == 1 => grid_of_run(first)?,
        false => None,
    };
    let (units, frames, results) = match grid {
        Some(file) => {
            refuse_rows(options, "a profile from hills, kernels or mean forces is of the whole file")?;
            of_file(&file)?
        }
        None if !walkers.is_empty() => {
            refuse_rows(options, "a profile from hills of walkers is of all their hills")?;
            of_walkers(&walkers)?
        }
        None => of_runs(options, &request, tell)?,
    };
    Ok(Record { kind: options.kind.clone(), units, frames, results })
}

/// Refuses a choice of rows or of a stage where there is none.
fn refuse_rows(options: &AnalyzeOptions, reason: &str) -> Result<()> {
    match options.reading.leaves_out() || options.stage.is_some() {
        true => Err(Error::input(reason).hint("leave out --first, --last, --every and --stage")),
        false => Ok(()),
    }
}

fn request(options: &AnalyzeOptions) -> Result<Request> {
    let mut request = Request {
        paths: vec![options.trajectory.clone()],
        method: Method::Mbar,
        bins: BINS,
        temperature: None,
    };
    for word in &options.settings {
        // Folders of a sweep are named "center=0.5".
        let setting = if Path::new(word).exists() { None } else { word.split_once('=') };
        match setting {
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

    /// Values of a variable in a stage, the last one where none is named.
    fn samples(&self, variable: &str, stage: Option<&str>) -> Result<Vec<f64>> {
        let (rows, values) = self.column(variable, stage)?;
        refuse_means(&self.input, &self.path, &rows.name, "a profile")?;
        Ok(values)
    }

    /// Rows of a stage, the last one where none is named, and their values in a column.
    fn column(&self, name: &str, stage: Option<&str>) -> Result<(&StageRows, Vec<f64>)> {
        let missing = || Error::file(&self.path, format!("thermo.csv has no column {name}"));
        let thermo = self.files.thermo.as_ref().ok_or_else(missing)?;
        let quantity = thermo.quantity(name).ok_or_else(missing)?;
        let rows = match stage {
            Some(stage) => thermo.stages.iter().find(|rows| rows.name == stage),
            None => thermo.stages.last(),
        };
        let rows = rows.ok_or_else(|| {
            let names: Vec<&str> = thermo.stages.iter().map(|rows| rows.name.as_str()).collect();
            let message = match stage {
                Some(stage) => format!("thermo.csv has no rows of a stage '{stage}'"),
                None => "thermo.csv has no rows".into(),
            };
            Error::file(&self.path, message).hint(format!("with rows there are: {}", names.join(", ")))
        })?;
        Ok((rows, rows.values[quantity].clone()))
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
        refuse_rows(options, "the work of a steered run is that at its end")?;
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
        let (_, works) = run.column(&format!("{}_work", run.bias.name), None)?;
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
        let mut own = options.reading.chosen(run.samples(name, options.stage.as_deref())?);
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
