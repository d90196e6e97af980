//! `jostle run` and `jostle resume`

use crate::arguments::{ComputeOptions, ResumeOptions, RunOptions, WarningsOptions};
use crate::compiling;
use crate::console::Console;
use crate::dashboard::Dashboard;
use crate::error_report::SUCCESS;
use crate::imd;
use crate::input_file;
use crate::interrupt;
use crate::numbers::{duration, grouped};
use jostle_core::{Error, Result};
use jostle_engine::model::Strictness;
use jostle_engine::summary::findings;
use jostle_engine::{Existing, Outcome, Overrides, Simulation, default_folder};
use jostle_imd::Session;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

impl ComputeOptions {
    /// Changes that these options make to an input.
    pub fn overrides(&self) -> Overrides {
        let [threads, ranks] = [self.threads, self.ranks].map(|n| n.map(|n| n.get()));
        Overrides { threads, ranks, device: self.device, ..Overrides::default() }
    }
}

impl WarningsOptions {
    /// Treatment of warnings by these options.
    pub fn strictness(&self) -> Strictness {
        if self.strict { Strictness::Strict } else { Strictness::Lenient }
    }
}

/// Runs the stages of an input.
///
/// # Errors
/// If the input is wrong, the folder cannot be written, or the simulation fails.
pub fn run(options: &RunOptions) -> Result<u8> {
    let input = input_file::read(&options.file)?;
    if input.stages.is_empty() {
        return Err(Error::input("the input has no [[stage]], so there is nothing to run")
            .in_file(&options.file)
            .hint("add a stage, for instance: [[stage]] with steps = 1000 and timestep = ..."));
    }
    let strictness = options.warnings.strictness();
    let overrides = Overrides { most_steps: options.steps, strictness, ..options.compute.overrides() };
    let mut simulation = Simulation::from_input(&input, &overrides)?;
    let folder = options.output.clone().unwrap_or_else(|| default_folder(&input));
    let existing = if options.overwrite { Existing::Replace } else { Existing::Refuse };
    let mut controls = Controls::open(&simulation, options.tui)?;
    controls.imd = imd::serve(&options.imd, &mut simulation)?;
    // Last of all that can be refused: this removes the results of an earlier run.
    simulation.write_to(&folder, existing)?;
    if !input.title.is_empty() {
        say!("{}", input.title);
    }
    go(simulation, &folder, controls)
}

/// Goes on with the run in a folder.
///
/// # Errors
/// If the folder holds no run, or the simulation fails.
pub fn resume(options: &ResumeOptions) -> Result<u8> {
    let strictness = options.warnings.strictness();
    let overrides = Overrides { strictness, ..options.compute.overrides() };
    let mut simulation = Simulation::resume(&options.folder, &overrides)?;
    if simulation.is_finished() {
        say!("the run in {} is finished; there is nothing left to do", options.folder.display());
        return Ok(SUCCESS);
    }
    let mut controls = Controls::open(&simulation, options.tui)?;
    controls.imd = imd::serve(&options.imd, &mut simulation)?;
    say!("going on with {} after step {}", options.folder.display(), grouped(simulation.step()));
    go(simulation, &options.folder, controls)
}

/// Observation of a run, and the means to stop it.
struct Controls {
    stop: Arc<AtomicBool>,
    dashboard: Option<Dashboard>,
    /// Clients that watch and pull.
    imd: Option<(Session, imd::Begin)>,
}

impl Controls {
    fn open(simulation: &Simulation, tui: bool) -> Result<Self> {
        let stop = interrupt::listen()?;
        let dashboard = tui.then(|| Dashboard::open(simulation.units(), stop.clone())).transpose()?;
        Ok(Controls { stop, dashboard, imd: None })
    }
}

/// Runs what is left of a simulation, talking on stderr.
fn go(mut simulation: Simulation, folder: &Path, controls: Controls) -> Result<u8> {
    compiling::done();
    let Controls { stop, dashboard, imd } = controls;
    let (atoms, device) = (simulation.backend().n_atoms(), simulation.backend().describe());
    say!("{} atoms on {device}", grouped(atoms as u64));
    if let Some(missed) = simulation.missed_device() {
        say!("{missed}");
    }
    say!("");
    let is_stopped = || stop.load(Ordering::Relaxed);
    if let Some((session, imd::Begin::WithFirstClient)) = &imd {
        say!("waiting for a first IMD client");
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
            say!("go on with: jostle resume {}", folder.display());
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
