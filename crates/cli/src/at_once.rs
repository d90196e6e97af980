//! Several runs of a sweep at once.

use crate::arguments::SweepOptions;
use crate::compiling;
use crate::console::Console;
use crate::error_report::SUCCESS;
use crate::numbers::{duration, grouped};
use crate::run::{self, Controls};
use jostle_core::Result;
use jostle_engine::side_by_side::{AfterFailure, SideBySide};
use jostle_engine::{Extent, Outcome, Overrides, Simulation};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

/// Atoms of all runs with which a GPU is busy.
const ENOUGH_ATOMS: usize = 250_000;
/// Most runs at once where no number is asked for: as many as were measured to gain.
const MOST_RUNS: usize = 64;

/// Settings of runs of which several may be made at once: they share the cores.
pub fn overrides(options: &SweepOptions) -> Overrides {
    let overrides = options.settings.overrides();
    match options.at_once {
        Some(runs) if runs > 1 && overrides.threads.is_none() => {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            Overrides { threads: Some((cores / (runs as usize)).max(1)), ..overrides }
        }
        _ => overrides,
    }
}

/// Number of runs like this one that are made at once by so many devices. Boxes that change are written to recordings again
/// and again, which costs what is gained.
pub fn number(options: &SweepOptions, simulation: &mut Simulation, devices: usize) -> usize {
    let same_box = simulation.stages().iter().all(|s| s.barostat.is_none() && s.deformation.is_none());
    match options.at_once {
        Some(runs) => usize::try_from(runs).unwrap_or(usize::MAX),
        None if same_box && simulation.is_on_gpu() => {
            devices * (ENOUGH_ATOMS / simulation.n_atoms().max(1)).clamp(1, MOST_RUNS)
        }
        None => devices,
    }
}

/// Makes some runs at once, each in its folder, until `stop` is set; returns how each has ended.
pub fn run(runs: Vec<(&str, Simulation)>, folder: &Path, stop: &Arc<AtomicBool>) -> Vec<Result<Outcome>> {
    if runs.len() > 1 {
        return run_side_by_side(runs, stop);
    }
    let one = |(name, simulation): (&str, Simulation)| {
        let controls = Controls::open(&simulation, false, stop)?;
        let code = run::go(simulation, &folder.join(name), controls)?;
        Ok(if code == SUCCESS { Outcome::Finished } else { Outcome::Interrupted })
    };
    runs.into_iter().map(one).collect()
}

fn run_side_by_side(runs: Vec<(&str, Simulation)>, stop: &Arc<AtomicBool>) -> Vec<Result<Outcome>> {
    compiling::done();
    let (names, mut simulations): (Vec<&str>, Vec<Simulation>) = runs.into_iter().unzip();
    let side_by_side = SideBySide::new(&mut simulations, names.len());
    let Some(first) = simulations.first_mut() else { return Vec::new() };
    let (atoms, device) = (first.n_atoms(), first.device());
    let way = if side_by_side.is_together() { "made together" } else { "at a time" };
    let on = match side_by_side.devices() {
        1 => device,
        devices => format!("{devices} devices like {device}"),
    };
    let at_a_time = side_by_side.at_a_time();
    say!("{} runs of {} atoms on {on}, {at_a_time} {way}", names.len(), grouped(atoms as u64));
    say!("of {}:", names[0]);
    let mut console = Console::new(first.units(), atoms, first.stages(), None);
    let begun = Instant::now();
    let is_stopped = || stop.load(Ordering::Relaxed);
    let all = |_: &Simulation| Extent::All;
    let outcomes =
        side_by_side.advance(&mut simulations, &all, AfterFailure::GoOn, &mut console, &is_stopped);
    console.end();
    let finished = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Outcome::Finished))).count();
    say!("{finished} of {} runs done in {}", names.len(), duration(begun.elapsed().as_secs_f64()));
    for (name, simulation) in names.iter().zip(&simulations) {
        for warning in simulation.reports().iter().flat_map(|report| &report.warnings) {
            say!("{name}: warning: {}", warning.message);
        }
    }
    let named = outcomes.into_iter().zip(names);
    named.map(|(outcome, name)| outcome.map_err(|e| e.context(name.to_string()))).collect()
}
