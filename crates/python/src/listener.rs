//! Progress of a run on its way to Python: rows, bars, warnings, and Ctrl-C on its way back.

use crate::held_interrupt::HeldInterrupt;
use jostle_engine::{Progress, StageReport, StageStart, Thermo, Warning};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval at which Ctrl-C is looked for.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Rows of `thermo.csv`, or samples where these are means of some; one array a column.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Index of the stage of each row.
    pub stage: Vec<u64>,
    /// Step of each row.
    pub step: Vec<u64>,
    /// Simulated time of each row.
    pub time: Vec<f64>,
    /// Columns of quantities; NaN where one has no meaning.
    pub columns: Vec<Vec<f64>>,
}

impl Rows {
    fn add(&mut self, stage: usize, thermo: &Thermo) {
        self.stage.push(stage as u64);
        self.step.push(thermo.step);
        self.time.push(thermo.time);
        for (k, value) in thermo.values().enumerate() {
            if k == self.columns.len() {
                self.columns.push(Vec::new());
            }
            self.columns[k].push(value.unwrap_or(f64::NAN));
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.step.len()
    }

    /// Drops all rows but so many.
    pub fn truncate(&mut self, n: usize) {
        self.stage.truncate(n);
        self.step.truncate(n);
        self.time.truncate(n);
        self.columns.iter_mut().for_each(|column| column.truncate(n));
    }
}

/// The first exception that Python has raised, which ends the run.
#[derive(Debug, Default)]
pub struct Raised(RefCell<Option<PyErr>>);

impl Raised {
    /// Keeps the exception of a call, if it is the first.
    fn keep(&self, called: PyResult<()>) {
        if let Err(error) = called {
            self.0.borrow_mut().get_or_insert(error);
        }
    }

    /// True if there has been one.
    fn is_some(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// The exception, if there has been one.
    pub fn take(&self) -> Option<PyErr> {
        self.0.borrow_mut().take()
    }
}

/// Listener to the progress of a run.
pub struct Listener<'a> {
    /// The rows so far.
    pub rows: &'a mut Rows,
    /// Function of the stage's name, its steps, and those of them that are done; called a few times a second.
    pub progress: Option<Py<PyAny>>,
    /// Exceptions of functions called.
    pub raised: &'a Raised,
    /// Name, index and steps of the stage under way.
    pub stage: (String, usize, u64),
}

impl Listener<'_> {
    fn report(&self, done: u64) {
        let Some(progress) = &self.progress else { return };
        let (name, _, steps) = &self.stage;
        Python::attach(|py| self.raised.keep(progress.call1(py, (name, *steps, done)).map(drop)));
    }

    fn tell(&self, function: &str, message: &str) {
        let told = |py: Python| py.import("jostle._messages")?.call_method1(function, (message,)).map(drop);
        Python::attach(|py| self.raised.keep(told(py)));
    }
}

impl Progress for Listener<'_> {
    fn stage_begins(&mut self, start: &StageStart) {
        if self.stage.0 != start.name || self.stage.1 != start.index {
            self.stage.0 = start.name.to_string();
        }
        (self.stage.1, self.stage.2) = (start.index, start.steps);
        self.report(start.done);
    }

    fn advanced(&mut self, stage_step: u64) {
        self.report(stage_step);
    }

    fn measured(&mut self, thermo: &Thermo) {
        self.rows.add(self.stage.1, thermo);
    }

    fn stage_ends(&mut self, report: &StageReport) {
        self.report(report.steps);
    }

    fn warned(&mut self, warning: &Warning) {
        self.tell("warn", &warning.message);
    }

    fn note(&mut self, message: &str) {
        self.tell("note", message);
    }
}

/// Wish of another thread that runs end.
#[derive(Debug, Default)]
pub struct Interruption(AtomicBool);

impl Interruption {
    /// Expresses the wish, or takes it back.
    pub fn set(&self, ends: bool) {
        self.0.store(ends, Ordering::Relaxed);
    }

    /// The wish as the exception that Ctrl-C raises.
    fn raise(&self) -> PyResult<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(PyKeyboardInterrupt::new_err("")),
            false => Ok(()),
        }
    }
}

/// Wish to stop a run: Ctrl-C, another thread's, or an exception in a function called.
pub struct Stop<'a> {
    raised: &'a Raised,
    interruption: &'a Interruption,
    held: &'a HeldInterrupt,
    looked: Cell<Instant>,
}

impl<'a> Stop<'a> {
    /// No wish so far.
    pub fn new(raised: &'a Raised, interruption: &'a Interruption, held: &'a HeldInterrupt) -> Self {
        Stop { raised, interruption, held, looked: Cell::new(Instant::now()) }
    }

    /// True if the run should stop.
    pub fn is_wished(&self) -> bool {
        self.raised.keep(self.interruption.raise());
        self.raised.keep(self.held.release());
        let now = Instant::now();
        if now - self.looked.get() > SIGNAL_INTERVAL {
            self.looked.set(now);
            Python::attach(|py| self.raised.keep(py.check_signals()));
        }
        self.raised.is_some()
    }
}
