//! `jostle analyze pmf`: free energy along variables, from hills, adaptive forces, umbrella windows or steered runs.

use crate::arguments::AnalyzeOptions;
use crate::biased_run::{BiasedRun, acting, moves, stage_number, thermal_energy};
use crate::grid_profile::{hills_of_walkers, of_file, of_walkers};
use crate::reading::{Tell, refuse_copies, refuse_failed, refuse_twice};
use crate::steered;
use crate::umbrella::{self, Method, WindowSettings};
use jostle_analysis::{Record, Results};
use jostle_core::{Error, Result};
use jostle_engine::INPUT;
use jostle_io::Input;
use jostle_io::input::model::{BiasAction, BiasInput};
use std::path::{Path, PathBuf};

/// Settings of the command, and folders or files besides the first.
struct Request {
    paths: Vec<PathBuf>,
    /// The first setting, as it is written.
    setting: Option<String>,
    windows: WindowSettings,
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
    refuse_failed(&request.paths)?;
    let first = &request.paths[0];
    let walkers = match first.join(INPUT).is_file() || first.is_file() {
        true => Vec::new(),
        false => hills_of_walkers(first)?,
    };
    let grid = match first.is_file() {
        true => Some(first.clone()),
        false if walkers.is_empty() && request.paths.len() == 1 => {
            grid_of_run(first, options.stage.as_deref())?
        }
        false => None,
    };
    let (units, frames, results) = match grid {
        Some(file) => {
            refuse_rows(options, "a profile from hills, kernels or mean forces is of the whole file")?;
            refuse_stage(options, first)?;
            request.refuse_settings()?;
            of_file(&file)?
        }
        None if !walkers.is_empty() => {
            refuse_rows(options, "a profile from hills of walkers is of all their hills")?;
            refuse_stage(options, first)?;
            request.refuse_settings()?;
            of_walkers(&walkers)?
        }
        None => of_runs(options, &request, tell)?,
    };
    Ok(Record { kind: options.kind.clone(), units, frames, results })
}

/// Refuses a choice of rows where there is none.
fn refuse_rows(options: &AnalyzeOptions, reason: &str) -> Result<()> {
    match options.reading.leaves_out() {
        true => Err(Error::input(reason).hint("leave out --first, --last and --every")),
        false => Ok(()),
    }
}

/// Refuses the choice of a stage of what is not the folder of a run.
fn refuse_stage(options: &AnalyzeOptions, path: &Path) -> Result<()> {
    match options.stage.is_some() && !path.join(INPUT).is_file() {
        true => {
            Err(Error::file(path, "this is not the folder of a run, which has stages")
                .hint("leave --stage out"))
        }
        false => Ok(()),
    }
}

impl Request {
    /// Refuses settings where there is no choice.
    fn refuse_settings(&self) -> Result<()> {
        match &self.setting {
            Some(word) => Err(Error::input(format!(
                "\"{word}\" means nothing for a profile from hills, kernels or mean forces"
            ))
            .hint("leave it out")),
            None => Ok(()),
        }
    }
}

fn request(options: &AnalyzeOptions) -> Result<Request> {
    let mut request = Request {
        paths: vec![options.trajectory.clone()],
        setting: None,
        windows: WindowSettings::default(),
        temperature: None,
    };
    let mut given: Vec<&str> = Vec::new();
    for word in &options.settings {
        // Folders of a sweep are named "center=0.5".
        let setting = if Path::new(word).exists() { None } else { word.split_once('=') };
        request.setting = request.setting.or_else(|| setting.map(|_| word.clone()));
        if let Some((name, _)) = setting {
            if given.contains(&name) {
                return Err(Error::given_twice(name));
            }
            given.push(name);
        }
        match setting {
            None => request.paths.push(PathBuf::from(word)),
            Some(("method", "mbar")) => request.windows.method = Method::Mbar,
            Some(("method", "wham")) => request.windows.method = Method::Wham,
            Some(("bins", text)) => {
                request.windows.bins =
                    text.parse().ok().filter(|n| (2..=10_000).contains(n)).ok_or_else(|| {
                        Error::input(format!("bins = {text} is not a whole number from 2 to 10000"))
                    })?;
            }
            Some(("variable", text)) => request.windows.variable = Some(text.to_string()),
            Some(("temperature", text)) => request.temperature = Some(text.to_string()),
            Some(_) => {
                return Err(Error::input(format!("\"{word}\" means nothing for a profile"))
                    .hint("it may be method=mbar, method=wham, bins=..., variable=... or temperature=..."));
            }
        }
    }
    Ok(request)
}

/// The file with hills, kernels or mean forces of a run, of the bias that acts in its stage; `None` if none does, or if
/// the folder has no such file.
fn grid_of_run(folder: &Path, stage: Option<&str>) -> Result<Option<PathBuf>> {
    let path = folder.join(INPUT);
    if !path.is_file() {
        return Ok(None);
    }
    let input = Input::read(&path)?;
    let stage = &input.stages[stage_number(&input, folder, stage)?].value;
    let file = |bias: &BiasInput| {
        let ending = match bias.action {
            BiasAction::Metadynamics(..) => "hills",
            BiasAction::Opes(_) => "kernels",
            BiasAction::Abf(_) => "grad",
            _ => return None,
        };
        Some(folder.join(format!("{}.{ending}", bias.name)))
    };
    let shares = |bias: &&BiasInput| matches!(bias.action, BiasAction::Metadynamics(_, Some(_)));
    if let Some(bias) = acting(&input, stage).find(shares) {
        let message = format!(
            "bias '{}' has the hills of all walkers, of which this folder has those of one run",
            bias.name
        );
        return Err(Error::file(folder, message)
            .hint("give the folder that the walkers share (walkers = ... in the input)"));
    }
    let mut files: Vec<PathBuf> = acting(&input, stage).filter_map(file).collect();
    match files.len() {
        0 | 1 => Ok(files.pop()),
        _ => {
            let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            let message = format!("several biases of stage '{}' give a profile", stage.name);
            Err(Error::file(folder, message).hint(format!("name the file of one: {}", names.join(", "))))
        }
    }
}

/// Returns true for columns with rows that are the same to the last digit, where some have no value included.
fn is_copy(columns: &[Vec<f64>], others: &[Vec<f64>]) -> bool {
    let [a, b] = [columns, others].map(|columns| columns.iter().flatten().map(|x| x.to_bits()));
    columns.iter().any(|column| !column.is_empty()) && a.eq(b)
}

fn of_runs(options: &AnalyzeOptions, request: &Request, tell: Tell) -> Result<(String, u64, Results)> {
    let stage = options.stage.as_deref();
    let runs = request.paths.iter().map(|path| BiasedRun::read(path, stage)).collect::<Result<Vec<_>>>()?;
    let sampled = runs.iter().map(|run| Ok((run.path.as_path(), &run.rows()?.values)));
    refuse_copies(&sampled.collect::<Result<Vec<_>>>()?, |a, b| is_copy(a, b))?;
    let units = runs[0].input.units;
    if let Some(other) = runs.iter().find(|run| run.input.units != units) {
        return Err(Error::file(&other.path, format!("this run is not in units of \"{units}\"")));
    }
    let thermal_energy = thermal_energy(&runs, request.temperature.as_deref())?;
    if runs.iter().any(|run| run.biases().any(moves)) {
        refuse_rows(options, "the work of a steered run is that at its end")?;
        return steered::free_energy(&runs, thermal_energy);
    }
    umbrella::profile(options, &runs, (&request.windows, thermal_energy), tell)
}
