//! Analyses of trajectories and runs, and the program itself.

use crate::error::OrRaise;
use crate::units::unit_system;
use jostle_analysis::kinds;
use jostle_core::Error;
use jostle_engine::device::compiler_processes;
use jostle_program::{AnalyzeOptions, OTHER_ANALYSES, analysis, program, set_own_command};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// Frames of a trajectory that are taken, and what is known besides.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Reading {
    atoms: Option<String>,
    stage: Option<String>,
    input: Option<PathBuf>,
    units: Option<String>,
    names: Option<PathBuf>,
    timestep: Option<f64>,
    first: u64,
    last: Option<u64>,
    every: u64,
}

/// Results of an analysis of this kind, as JSON, and notes about the trajectory.
///
/// # Errors
/// If the trajectory cannot be read or does not have what is measured.
#[pyfunction]
pub fn analyze(
    py: Python,
    kind: String,
    trajectory: PathBuf,
    settings: Vec<String>,
    reading: Reading,
) -> PyResult<(String, Vec<String>)> {
    let Reading { atoms, stage, input, units, names, timestep, first, last, every } = reading;
    let mut options =
        AnalyzeOptions { settings, atoms, stage, input, ..AnalyzeOptions::new(kind, trajectory) };
    options.reading.units = units.as_deref().map(unit_system).transpose().or_raise(py)?;
    (options.reading.names, options.reading.timestep) = (names, timestep);
    (options.reading.first, options.reading.last) = (first, last);
    options.reading.every =
        NonZeroU64::new(every).ok_or_else(|| PyValueError::new_err("every = 0 takes no frame"))?;
    let stop = Arc::new(AtomicBool::new(false));
    options.reading.stop = Some(stop.clone());
    let work = spawn(move || {
        let mut notes = Vec::new();
        // Threads that are shared by all analyses would be absent in a process forked after the first one.
        let threads = ThreadPoolBuilder::new().build();
        let threads = threads.map_err(|e| Error::device(format!("no threads to analyse with: {e}")))?;
        let record = threads.install(|| analysis(&options, &mut |note| notes.push(note.to_string())))?;
        Ok((record, notes))
    });
    let (record, notes) = finished(py, work, &stop)?.or_raise(py)?;
    let text = serde_json::to_string(&record).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok((text, notes))
}

/// Result of a thread, for which this one waits as long as no signal comes whose handler raises an exception, as Ctrl-C;
/// the work is told to stop then, and left to itself.
fn finished<T>(py: Python, work: JoinHandle<T>, stop: &AtomicBool) -> PyResult<T> {
    let mut pause = Duration::from_micros(100);
    while !work.is_finished() {
        py.detach(|| sleep(pause));
        pause = LONGEST_PAUSE.min(2 * pause);
        py.check_signals().inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
    }
    Ok(work.join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Longest time between two looks at signals.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// A setting of an analysis: name, explanation, default.
type Setting = (&'static str, &'static str, Option<String>);

/// Kinds of analysis: name, explanation, settings.
#[pyfunction]
pub fn analysis_kinds() -> Vec<(&'static str, &'static str, Vec<Setting>)> {
    let settings = |kind: &jostle_analysis::Kind| {
        kind.settings.iter().map(|s| (s.name, s.about, s.default.map(|d| d.to_string()))).collect()
    };
    let measures = kinds::ALL.iter().map(|kind| (kind.name, kind.about, settings(kind)));
    measures.chain(OTHER_ANALYSES.iter().map(|(name, about)| (*name, *about, Vec::new()))).collect()
}

/// Address at which browsers and notebooks of this machine see a run or a trajectory, until Python ends.
///
/// # Errors
/// If there is nothing to show, or no port is free.
#[pyfunction]
pub fn viewer(py: Python, path: PathBuf, units: &str) -> PyResult<String> {
    let units = unit_system(units).or_raise(py)?;
    py.detach(|| jostle_program::viewer(&path, Some(units))).or_raise(py)
}

/// Sets the command of processes that compile kernels for a GPU: it runs the program with the arguments behind it.
#[pyfunction]
pub fn compile_kernels_by(command: Vec<OsString>) {
    compiler_processes::compile_by(command);
}

/// Does what a command line of the program `jostle` asks for, which starts itself again by `own_command`; returns the exit
/// code.
#[pyfunction]
#[pyo3(name = "program")]
pub fn run_program(py: Python, arguments: Vec<OsString>, own_command: Vec<OsString>) -> u8 {
    set_own_command(own_command);
    py.detach(|| program(arguments))
}
