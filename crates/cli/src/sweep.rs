//! `jostle sweep`

use crate::arguments::SweepOptions;
use crate::at_once;
use crate::error_report::{self, SUCCESS};
use crate::exchange;
use crate::grid::{self, Point};
use crate::interrupt;
use crate::run;
use crate::sweep_runs::{self, Before, Seeds, before};
use jostle_core::{Error, Result};
use jostle_engine::device::share_out;
use jostle_engine::replicas::ExchangeFolder;
use jostle_engine::side_by_side::on_all;
use jostle_engine::{Existing, Outcome, Overrides, Simulation};
use jostle_io::Input;
use jostle_io::input::model::DeviceInput;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Runs an input once for each combination of values, several at once where that pays, and prints the results as a table.
///
/// # Errors
/// If the input is wrong with one of the values, or stdout cannot be written. A run that fails is a row of the
/// table, and the others go on.
pub fn sweep(options: &SweepOptions) -> Result<u8> {
    let points = grid::points(&options.over)?;
    let folder = options.output.clone().unwrap_or_else(|| default_folder(&options.file));
    if let Some(every) = options.exchange {
        return exchange::run(options, &points, every, &folder);
    }
    refuse_exchange(&folder, &points)?;
    // All inputs are read before the first run begins.
    let inputs = sweep_runs::inputs(options, &points, Seeds::AsTheyAre)?;
    let stop = interrupt::listen()?;
    let code = run_points(options, &points, &inputs, &folder, &stop)?;
    if code == interrupt::EXIT_CODE || stop.load(Ordering::Relaxed) {
        say!("the same command again goes on here");
    }
    if stop.load(Ordering::Relaxed) {
        return Ok(interrupt::EXIT_CODE);
    }
    sweep_runs::print_table(options, &points, inputs.iter(), &folder)?;
    Ok(code)
}

/// Runs all points, until `stop` is set; returns the exit code of the last one that failed, else that of runs that a command
/// has stopped, if there are such.
fn run_points<'a>(
    options: &SweepOptions,
    points: &'a [Point],
    inputs: &[Input],
    folder: &Path,
    stop: &Arc<AtomicBool>,
) -> Result<u8> {
    let overrides = at_once::overrides(options);
    let (mut code, mut stopped) = (SUCCESS, SUCCESS);
    let mut fail = |error: &Error| {
        error_report::print(error);
        code = error_report::exit_code(error);
    };
    let asked = inputs.iter().map(|input| overrides.device.unwrap_or(input.run.device));
    let asked: Vec<DeviceInput> = asked.collect();
    let shared = share_out(&asked);
    let n_devices = shared.as_ref().map_or(1, Vec::len);
    let devices = shared.unwrap_or(asked).into_iter().cycle();
    let mut left = (1..).zip(points.iter().zip(inputs).zip(devices));
    let open = |(number, ((point, input), device)): (usize, ((&'a Point, &Input), DeviceInput))| {
        let overrides = Overrides { device: Some(device), ..overrides };
        let opened = open_point(input, &folder.join(&point.folder), &overrides);
        (number, point.folder.as_str(), opened)
    };
    while !stop.load(Ordering::Relaxed)
        && let Some(first) = left.next()
    {
        let mut first = open(first);
        let at_once = match &mut first.2 {
            Ok(Some(simulation)) => at_once::number(options, simulation, n_devices),
            _ => 1,
        };
        // Kernels that were compiled for the first one serve all.
        let others = left.by_ref().take(at_once - 1).collect();
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let mut runs = Vec::new();
        for (number, name, opened) in std::iter::once(first).chain(on_all(others, threads, open)) {
            say!("{number} of {}: {name}", points.len());
            match opened {
                Ok(None) => say!("is finished"),
                Ok(Some(simulation)) => runs.push((name, simulation)),
                Err(error) => fail(&error),
            }
        }
        for outcome in at_once::run(runs, folder, stop) {
            match outcome {
                Ok(Outcome::Finished) => {}
                Ok(Outcome::Interrupted | Outcome::Paused) => stopped = interrupt::EXIT_CODE,
                Err(error) => fail(&error),
            }
        }
        say!("");
    }
    Ok(if code == SUCCESS { stopped } else { code })
}

/// Refuses folders of replicas, whose atoms have been exchanged: they are no runs of their own.
fn refuse_exchange(folder: &Path, points: &[Point]) -> Result<()> {
    let Some(exchange) = ExchangeFolder::at(folder) else { return Ok(()) };
    if !points.iter().any(|point| exchange.has(&point.folder)) {
        return Ok(());
    }
    Err(Error::file(folder, "this folder holds runs with exchange").hint(format!(
        "go on with them by the same command with --exchange {}, or choose another folder with --output DIR",
        exchange.every
    )))
}

/// Folder of the folders of all runs.
fn default_folder(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or("jostle".as_ref()).to_string_lossy();
    PathBuf::from(format!("{stem}-sweep"))
}

/// The simulation of what is left of a point: all of it, or the rest of an interrupted run; `None` for nothing.
fn open_point(input: &Input, folder: &Path, overrides: &Overrides) -> Result<Option<Simulation>> {
    let another = || {
        Err(Error::file(folder, "this folder holds a run of another input, of files that have changed since, or with another --steps")
            .hint("remove it, or choose another folder with --output DIR"))
    };
    let before = before(folder, input, overrides.most_steps);
    if before == Before::Another {
        return another();
    }
    if before == Before::This && sweep_runs::summary(folder)["status"] == "finished" {
        return Ok(None);
    }
    if before == Before::This && folder.join(jostle_engine::CHECKPOINT).exists() {
        let simulation = Simulation::resume(folder, overrides)?;
        return if simulation.most_steps() == overrides.most_steps {
            Ok(Some(simulation))
        } else {
            another()
        };
    }
    let mut simulation = run::simulation(input, overrides)?;
    let existing = if before == Before::This { Existing::Replace } else { Existing::Refuse };
    simulation.write_to(folder, existing)?;
    Ok(Some(simulation))
}
