//! `jostle run` and `jostle resume`

use crate::arguments::{
    ComputeOptions, ForceMatrix, ResumeOptions, RunOptions, SettingOptions, WarningsOptions,
};
use crate::compiling;
use crate::console::Console;
use crate::dashboard::Dashboard;
use crate::error_report::{self, SUCCESS};
use crate::imd;
use crate::input_file;
use crate::interrupt;
use crate::ipi;
use crate::numbers::{duration, grouped};
use jostle_core::{Error, Result, shell_word};
use jostle_engine::model::Strictness;
use jostle_engine::summary::findings;
use jostle_engine::{Existing, INPUT, Outcome, Overrides, Simulation, default_folder};
use jostle_imd::Session;
use jostle_io::Input;
use jostle_show::Viewer;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

impl ComputeOptions {
    /// Changes that these options make to an input.
    pub fn overrides(&self) -> Overrides {
        let [threads, ranks] = [self.threads, self.ranks].map(|n| n.map(|n| n.get()));
        let force_matrix = self.force_matrix.map(|ForceMatrix(shape)| shape);
        Overrides { threads, ranks, force_matrix, device: self.device, ..Overrides::default() }
    }
}

impl WarningsOptions {
    /// Treatment of warnings by these options.
    pub fn strictness(&self) -> Strictness {
        if self.strict { Strictness::Strict } else { Strictness::Lenient }
    }
}

impl SettingOptions {
    /// Changes that these options make to an input, besides single values of it.
    pub fn overrides(&self) -> Overrides {
        let strictness = self.warnings.strictness();
        Overrides { most_steps: self.steps, strictness, ..self.compute.overrides() }
    }
}

/// Runs the stages of inputs, one input after the other.
///
/// # Errors
/// If an input is wrong, the folder cannot be written, or the simulation fails; with several inputs, those that
/// follow run nevertheless.
pub fn run(options: &RunOptions) -> Result<u8> {
    let files = &options.files;
    let read = |file: &PathBuf| input_file::read(file, &options.settings.values);
    let inputs = files.iter().map(read).collect::<Result<Vec<Input>>>()?;
    if options.settings.values.set.iter().any(|set| set.path() == input_file::TEMPERATURE) {
        inputs.iter().for_each(input_file::warn_of_other_temperatures);
    }
    if let Some(address) = &options.ipi {
        let [input] = &inputs[..] else {
            return Err(Error::input("--ipi gives the forces of one input, but there are several"));
        };
        return ipi::serve(input, address, &options.settings.overrides());
    }
    if options.imd.view.is_some() && inputs.len() > 1 {
        return Err(
            Error::input("--view shows one run, but there are several inputs").hint("run them one by one")
        );
    }
    let folders = folders(&inputs, options)?;
    let stop = interrupt::listen()?;
    let mut code = SUCCESS;
    for ((input, folder), file) in inputs.iter().zip(&folders).zip(files) {
        if files.len() > 1 {
            say!("{}", file.display());
        }
        match run_one(input, folder, options, &stop) {
            Ok(_) if stop.load(Ordering::Relaxed) => return Ok(interrupt::EXIT_CODE),
            Ok(outcome) if outcome == SUCCESS => {}
            Ok(other) => code = other,
            Err(error) if files.len() == 1 => return Err(error),
            Err(error) => {
                error_report::print(&error);
                code = error_report::exit_code(&error);
            }
        }
        if files.len() > 1 {
            say!("");
        }
    }
    Ok(code)
}

/// The folder of each input.
fn folders(inputs: &[Input], options: &RunOptions) -> Result<Vec<PathBuf>> {
    if inputs.len() > 1 && options.output.is_some() {
        return Err(Error::input("--output names one folder, but there are several inputs")
            .hint("leave it out: each run has a folder with the name of its input"));
    }
    let folder = |input: &Input| options.output.clone().unwrap_or_else(|| default_folder(input));
    let folders: Vec<PathBuf> = inputs.iter().map(folder).collect();
    match folders.iter().enumerate().find(|(k, folder)| folders[..*k].contains(folder)) {
        Some((_, twice)) => {
            Err(Error::input(format!("two of the inputs would write to the folder {}", twice.display()))
                .hint("run them one by one, with --output DIR"))
        }
        None => Ok(folders),
    }
}

fn run_one(input: &Input, folder: &Path, options: &RunOptions, stop: &Arc<AtomicBool>) -> Result<u8> {
    let mut simulation = simulation(input, &options.settings.overrides())?;
    if options.profile.profile {
        simulation.profile_kernels()?;
    }
    let existing = if options.overwrite { Existing::Replace } else { Existing::Refuse };
    let mut controls = Controls::open(&simulation, options.tui, stop)?;
    controls.imd = imd::serve(&options.imd, &mut simulation)?;
    let browser = imd::listen_for_browser(&options.imd)?;
    // Last of all that can be refused: this removes the results of an earlier run.
    simulation.write_to(folder, existing)?;
    controls.viewer = imd::show(browser, controls.session(), &mut simulation, folder)?;
    if !input.title.is_empty() {
        say!("{}", input.title);
    }
    go(simulation, folder, controls)
}

/// The simulation of an input that has stages.
///
/// # Errors
/// If there are none, or the input asks for something impossible.
pub fn simulation(input: &Input, overrides: &Overrides) -> Result<Simulation> {
    if input.stages.is_empty() {
        return Err(Error::input("the input has no [[stage]], so there is nothing to run")
            .in_file(&input.source.path)
            .hint("add a stage, for instance: [[stage]] with steps = 1000 and timestep = ..."));
    }
    Simulation::from_input(input, overrides)
}

/// Goes on with the run in a folder.
///
/// # Errors
/// If the folder holds no run, or the simulation fails.
pub fn resume(options: &ResumeOptions) -> Result<u8> {
    let strictness = options.warnings.strictness();
    let overrides = Overrides { strictness, ..options.compute.overrides() };
    let mut simulation = Simulation::resume(&options.folder, &overrides)?;
    if simulation.has_other_input(&options.folder.join(INPUT)) {
        say!(
            "{} is not the input that this run goes on with, which its checkpoint has: changes need a run of their own",
            options.folder.join(INPUT).display()
        );
    }
    if simulation.is_finished() {
        say!("the run in {} is finished; there is nothing left to do", options.folder.display());
        if let Some(most) = simulation.most_steps() {
            say!("it was tried with --steps {most}: run its input anew for all of the steps");
        }
        return Ok(SUCCESS);
    }
    if options.profile.profile {
        simulation.profile_kernels()?;
    }
    let mut controls = Controls::open(&simulation, options.tui, &interrupt::listen()?)?;
    controls.imd = imd::serve(&options.imd, &mut simulation)?;
    let browser = imd::listen_for_browser(&options.imd)?;
    controls.viewer = imd::show(browser, controls.session(), &mut simulation, &options.folder)?;
    say!("going on with {} after step {}", options.folder.display(), grouped(simulation.step()));
    go(simulation, &options.folder, controls)
}

/// Observation of a run, and the means to stop it.
pub struct Controls {
    stop: Arc<AtomicBool>,
    dashboard: Option<Dashboard>,
    /// Clients that watch and pull.
    imd: Option<(Session, imd::Begin)>,
    /// Pages that show the run.
    viewer: Option<Viewer>,
}

impl Controls {
    /// Controls of a run that ends where `stop` is set.
    ///
    /// # Errors
    /// If the terminal cannot show the dashboard.
    pub fn open(simulation: &Simulation, tui: bool, stop: &Arc<AtomicBool>) -> Result<Self> {
        let stop = stop.clone();
        let dashboard = tui.then(|| Dashboard::open(simulation.units(), stop.clone())).transpose()?;
        Ok(Controls { stop, dashboard, imd: None, viewer: None })
    }

    /// Clients of the run, if it serves any.
    fn session(&self) -> Option<&Session> {
        self.imd.as_ref().map(|(session, _)| session)
    }
}

/// Runs what is left of a simulation, talking on stderr.
///
/// # Errors
/// If the simulation fails.
pub fn go(mut simulation: Simulation, folder: &Path, controls: Controls) -> Result<u8> {
    compiling::done();
    let Controls { stop, dashboard, imd, viewer } = controls;
    let (atoms, device) = (simulation.backend().n_atoms(), simulation.backend().describe());
    say!("{} atoms on {device}", grouped(atoms as u64));
    if let Some(note) = simulation.device_note() {
        say!("{note}");
    }
    say!("");
    let is_stopped = || stop.load(Ordering::Relaxed);
    if let Some((session, imd::Begin::WithFirstClient)) = &imd {
        say!("waiting for a first client or page");
        session.wait_for_client(&is_stopped);
    }
    let units = simulation.units();
    let mut console = Console::new(units, atoms, simulation.stages(), dashboard);
    let begun = Instant::now();
    let outcome = simulation.run_with(&mut console, &is_stopped);
    console.end();
    if let Some((session, _)) = imd {
        session.close();
    }
    viewer.inspect(Viewer::settle);
    match outcome? {
        Outcome::Finished => {
            if let Some(last) = simulation.reports().last() {
                say!("\n{}\n{}", last.name, findings(last, simulation.units()));
            }
            say!(
                "\ndone in {}; results are in {}",
                duration(begun.elapsed().as_secs_f64()),
                folder.display()
            );
            for file in files(folder)? {
                say!("  {}", folder.join(file).display());
            }
            match simulation.reports().iter().map(|report| report.warnings.len()).sum::<usize>() {
                0 => {}
                1 => say!("there is a warning, see above and the report"),
                n => say!("there are {n} warnings, see above and the report"),
            }
            Ok(SUCCESS)
        }
        Outcome::Interrupted | Outcome::Paused => {
            say!("interrupted after step {}; a checkpoint is written", grouped(simulation.step()));
            say!("go on with: jostle resume {}", shell_word(folder));
            Ok(interrupt::EXIT_CODE)
        }
    }
}

/// The names of the files in the folder of a run, sorted.
fn files(folder: &Path) -> Result<Vec<String>> {
    let failed = |error| Error::io("list", folder, &error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
