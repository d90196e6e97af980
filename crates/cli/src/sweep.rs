//! `jostle sweep`

use crate::arguments::SweepOptions;
use crate::error_report::{self, SUCCESS};
use crate::exchange;
use crate::grid;
use crate::interrupt;
use crate::run::{self, Controls};
use crate::sweep_runs;
use jostle_core::{Error, Result};
use jostle_engine::{Existing, INPUT, Overrides, Simulation};
use jostle_io::Input;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs an input once for each combination of values, and prints the results as a table.
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
    // All inputs are read before the first run begins.
    let inputs =
        points.iter().map(|point| sweep_runs::input(options, point, &[])).collect::<Result<Vec<Input>>>()?;
    let stop = interrupt::listen()?;
    let overrides = options.settings.overrides();
    let mut code = SUCCESS;
    for ((point, input), number) in points.iter().zip(&inputs).zip(1..) {
        say!("{number} of {}: {}", points.len(), point.folder);
        match run_point(input, &folder.join(&point.folder), &overrides, &stop) {
            Ok(()) => {}
            Err(error) => {
                error_report::print(&error);
                code = error_report::exit_code(&error);
            }
        }
        if stop.load(Ordering::Relaxed) {
            say!("the same command again goes on here");
            return Ok(interrupt::EXIT_CODE);
        }
        say!("");
    }
    sweep_runs::print_table(options, &points, &folder)?;
    Ok(code)
}

/// Folder of the folders of all runs.
fn default_folder(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or("jostle".as_ref()).to_string_lossy();
    PathBuf::from(format!("{stem}-sweep"))
}

/// Runs what is left of a point: all of it, the rest of an interrupted run, or nothing.
fn run_point(input: &Input, folder: &Path, overrides: &Overrides, stop: &Arc<AtomicBool>) -> Result<()> {
    let before = std::fs::read_to_string(folder.join(INPUT)).ok();
    if before.as_deref().is_some_and(|before| before != &*input.source.text) {
        return Err(Error::file(folder, "this folder holds a run of another input")
            .hint("remove it, or choose another folder with --output DIR"));
    }
    if before.is_some() && sweep_runs::summary(folder)["status"] == "finished" {
        say!("is finished");
        return Ok(());
    }
    let has_checkpoint = before.is_some() && folder.join(jostle_engine::CHECKPOINT).exists();
    let simulation = match has_checkpoint {
        true => Simulation::resume(folder, overrides)?,
        false => {
            let mut simulation = run::simulation(input, overrides)?;
            let existing = if before.is_some() { Existing::Replace } else { Existing::Refuse };
            simulation.write_to(folder, existing)?;
            simulation
        }
    };
    let controls = Controls::open(&simulation, false, stop)?;
    run::go(simulation, folder, controls).map(drop)
}
