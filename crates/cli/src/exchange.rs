//! `jostle sweep --exchange`: runs side by side that exchange their atoms.

use crate::arguments::SweepOptions;
use crate::compiling;
use crate::error_report::SUCCESS;
use crate::grid::Point;
use crate::interrupt;
use crate::numbers::grouped;
use crate::sweep_runs::{self, Seeds};
use jostle_core::{Error, Result};
use jostle_engine::Outcome;
use jostle_engine::replicas::Replicas;
use jostle_io::Input;
use jostle_transport::mpi;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two lines about the course of the exchange.
const REPORT_INTERVAL: Duration = Duration::from_secs(2);
/// Acceptance below which neighbours hardly exchange, after so many exchanges tried.
const POOR_ACCEPTANCE: f64 = 0.05;
const ENOUGH_TRIED: u64 = 20;

/// Runs the points of a sweep as replicas, and prints the results as a table.
///
/// # Errors
/// If the input is wrong with one of the values, the runs cannot exchange atoms, one of them fails, or a file or stdout
/// cannot be written.
pub fn run(options: &SweepOptions, points: &[Point], every: u64, folder: &Path) -> Result<u8> {
    if options.over.len() != 1 {
        return Err(Error::input("--exchange takes one --over: neighbours along it exchange their atoms"));
    }
    if mpi::Launch::of_environment().is_some() || options.settings.compute.ranks.is_some() {
        return Err(Error::input("--exchange runs in one process, whose cores the runs share")
            .hint("leave out mpirun and --ranks"));
    }
    let inputs = sweep_runs::inputs(options, points, Seeds::OneEach)?;
    let inputs: Vec<(String, Input)> = points.iter().map(|point| point.folder.clone()).zip(inputs).collect();
    let stop = interrupt::listen()?;
    let mut replicas = Replicas::open(folder, &inputs, every, &options.settings.overrides())?;
    compiling::done();
    let described = replicas.simulations().first().map(|s| (s.n_atoms() as u64, s.device()));
    if let Some((atoms, device)) = described {
        say!("{} runs of {} atoms on {device}", points.len(), grouped(atoms));
    }
    let mut reported = Instant::now();
    let mut observe = |replicas: &Replicas| {
        if reported.elapsed() > REPORT_INTERVAL {
            reported = Instant::now();
            report(replicas);
        }
    };
    let outcome = replicas.run(&mut observe, &stop)?;
    report_pairs(&replicas);
    if outcome != Outcome::Finished {
        say!("interrupted; checkpoints are written, and the same command again goes on here");
        return Ok(interrupt::EXIT_CODE);
    }
    report_warnings(&replicas, points);
    sweep_runs::print_table(options, points, inputs.iter().map(|(_, input)| input), folder)?;
    Ok(SUCCESS)
}

/// Says how far the exchange is.
fn report(replicas: &Replicas) {
    let (tried, accepted) = replicas
        .pairs()
        .fold((0, 0), |(tried, accepted), pair| (tried + pair.tried, accepted + pair.accepted));
    if let Some(stage) = replicas.stage() {
        say!(
            "stage '{}': {} steps, {:.0}% of {} exchanges accepted",
            stage.name,
            grouped(replicas.exchanged_at()),
            100.0 * accepted as f64 / tried.max(1) as f64,
            grouped(tried)
        );
    }
}

/// Says how often neighbours have exchanged their atoms.
fn report_pairs(replicas: &Replicas) {
    for pair in replicas.pairs() {
        let [a, b] = pair.folders;
        say!("{a} - {b}: {:.1}% of {} exchanges accepted", 100.0 * pair.acceptance(), grouped(pair.tried));
        if pair.tried >= ENOUGH_TRIED && pair.acceptance() < POOR_ACCEPTANCE {
            say!("warning: these two hardly exchange; values between them would help");
        }
        if pair.tried >= ENOUGH_TRIED && pair.acceptance() == 1.0 {
            say!(
                "warning: these two exchange whenever they are asked: if both hold the same temperature and have the same \
                 biases, exchanges change nothing"
            );
        }
    }
}

fn report_warnings(replicas: &Replicas, points: &[Point]) {
    for (simulation, point) in replicas.simulations().iter().zip(points) {
        for warning in simulation.reports().iter().flat_map(|report| &report.warnings) {
            say!("{}: warning: {}", point.folder, warning.message);
        }
    }
}
