//! A simulation with what its calls from Python have in common.

use crate::error::NO_FILE;
use crate::exclusive::{Exclusive, Guard};
use crate::lent::{Lent, is_lent};
use crate::listener::Rows;
use crate::text::{self, StageText};
use jostle_core::{Error, Result};
use jostle_engine::{Overrides, SavePoint, Simulation};
use jostle_io::Input;
use pyo3::prelude::*;
use std::path::Path;
use std::thread::{current, sleep};
use std::time::Duration;

/// A simulation and the rows of its thermodynamic quantities.
pub struct Run {
    /// The simulation.
    pub simulation: Simulation,
    /// Arrays that are lent.
    pub lent: Option<Lent>,
    /// Rows since the simulation was made.
    pub rows: Rows,
    /// Number of observers.
    pub observers: usize,
    /// Text of the input.
    pub input: Input,
    /// Settings that take precedence over those of the input.
    overrides: Overrides,
    /// State that was saved last, and the number of rows then.
    saved: Option<(SavePoint, usize)>,
}

impl Run {
    /// A simulation of an input.
    pub fn new(simulation: Simulation, input: Input, overrides: Overrides) -> Self {
        let rows = Rows::default();
        Run { simulation, lent: None, rows, observers: 0, input, overrides, saved: None }
    }

    /// A simulation that was resumed.
    ///
    /// # Errors
    /// If the text in its checkpoint is no input.
    pub fn resumed(simulation: Simulation, overrides: Overrides) -> Result<Self> {
        let input = input_of(&simulation)?;
        Ok(Run::new(simulation, input, overrides))
    }

    /// Refuses a simulation whose arrays are lent.
    ///
    /// # Errors
    /// If they are.
    pub fn check_is_free(&self) -> PyResult<()> {
        if self.lent.is_some() { Err(is_lent()) } else { Ok(()) }
    }

    /// Makes a stage the next one; returns its index.
    ///
    /// # Errors
    /// If something in it is wrong.
    pub fn insert(&mut self, stage: &StageText) -> Result<usize> {
        let index = self.simulation.next_stage_index();
        let text = text::with_stage(&self.input, index, stage);
        let amended = Input::parse(&self.input.source.path, &text)?;
        self.simulation.insert_stage(&amended)?;
        self.input = amended;
        Ok(index)
    }

    /// Writes a checkpoint into the folder, to which [`Run::restore`] goes back.
    ///
    /// # Errors
    /// As for [`Simulation::save_point`].
    pub fn save(&mut self) -> Result<()> {
        self.saved = Some((self.simulation.save_point()?, self.rows.len()));
        Ok(())
    }

    /// Goes back to what was saved last, without observers and forces of Python.
    ///
    /// # Errors
    /// If nothing was saved; as for [`Simulation::restore`].
    pub fn restore(&mut self) -> Result<()> {
        let Some((point, n_rows)) = &self.saved else {
            return Err(Error::input("nothing was saved that the simulation could go back to")
                .hint("call save() where it shall go back to"));
        };
        self.simulation.restore(point, &self.overrides)?;
        self.rows.truncate(*n_rows);
        self.input = input_of(&self.simulation)?;
        self.observers = 0;
        Ok(())
    }
}

/// The input of a simulation that was resumed.
fn input_of(simulation: &Simulation) -> Result<Input> {
    let (path, text) = simulation.input().unwrap_or((Path::new(NO_FILE), ""));
    Input::parse(path, text)
}

/// The simulation for a run: after other calls that wait for it, and when other threads have given its arrays back.
///
/// # Errors
/// If the arrays are lent to this thread; as for [`Exclusive::get`].
pub fn get_to_run<'a>(py: Python, simulation: &'a Exclusive<Run>) -> PyResult<Guard<'a, Run>> {
    loop {
        let run = simulation.get_after_others(py)?;
        if run.lent.as_ref().is_none_or(|lent| lent.borrower == current().id()) {
            run.check_is_free()?;
            return Ok(run);
        }
        drop(run);
        py.detach(|| sleep(Duration::from_millis(1)));
        py.check_signals()?;
    }
}
