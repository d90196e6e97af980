//! Forces written in Python.

use crate::arrays::{filled_rows, read_forces, rows, vectors};
use crate::held_interrupt::HeldInterrupt;
use crate::position_rows::PositionRows;
use jostle_core::{Error, Result, SimBox, SymTensor, Vec3};
use jostle_engine::custom_force::{AtomChoice, AtomForces, Configuration, CustomForce, ForceSums};
use jostle_engine::degrees_of_freedom::Momentum;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Arc, Mutex, PoisonError};

/// The first exception that forces have raised since it was last taken.
#[derive(Debug, Clone, Default)]
pub struct RaisedByForces(Arc<Mutex<Option<PyErr>>>);

impl RaisedByForces {
    /// The exception, if there has been one.
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps an exception, unless there is one.
    pub fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// Arguments that the function of a force takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arguments {
    /// Positions.
    Positions,
    /// Positions and the edges of the box.
    PositionsAndBox,
}

/// A force that a function of Python computes.
pub struct PythonForce {
    /// Name of its energy.
    pub name: String,
    /// Function of positions that returns energy, forces and, if it likes, the virial.
    pub function: Py<PyAny>,
    /// Arguments of the function.
    pub arguments: Arguments,
    /// Ids of the atoms; `None`: all.
    pub ids: Option<Vec<u32>>,
    /// Conservation of momentum.
    pub momentum: Momentum,
    /// Exception that the function has raised.
    pub raised: RaisedByForces,
    /// Ctrl-C during a call.
    pub held: HeldInterrupt,
    /// True until a virial is missing.
    pub has_virial: bool,
    /// Positions of all atoms, where it acts on all.
    pub positions: Option<PositionRows>,
}

impl PythonForce {
    /// Evaluates the force.
    fn call(&mut self, py: Python, now: &Configuration, forces: &mut AtomForces) -> PyResult<ForceSums> {
        let Some(positions) = self.positions.take() else {
            let positions = filled_rows(py, now.positions.len(), |rows| {
                rows.copy_from_slice(now.positions);
                Ok(())
            })?;
            return self.call_with(py, positions, now.simbox, forces);
        };
        let sums = self.call_with(py, positions.array(py), now.simbox, forces)?;
        self.positions = Some(positions.renewed(py)?);
        Ok(sums)
    }

    /// Calls the function, and reads what it returns.
    fn call_with(
        &mut self,
        py: Python,
        positions: Bound<PyAny>,
        simbox: &SimBox,
        forces: &mut AtomForces,
    ) -> PyResult<ForceSums> {
        let returned = match self.arguments {
            Arguments::Positions => self.function.call1(py, (positions,))?,
            Arguments::PositionsAndBox => {
                self.function.call1(py, (positions, rows(py, &simbox.edges().map(<[f64; 3]>::from))?))?
            }
        };
        let returned = returned.bind(py).cast::<PyTuple>().map_err(|_| {
            PyTypeError::new_err("a force must return a tuple: energy, forces and, if it likes, the virial")
        })?;
        let (energy, given, virial) = match returned.len() {
            2 => (returned.get_item(0)?, returned.get_item(1)?, None),
            3 => (returned.get_item(0)?, returned.get_item(1)?, Some(returned.get_item(2)?)),
            n => {
                let message = format!("a force must return two or three values, but these are {n}");
                return Err(PyValueError::new_err(message));
            }
        };
        let energy = energy.extract()?;
        let virial = virial.filter(|virial| !virial.is_none());
        let virial = virial.map(|virial| vectors(&virial, 3, "virial")).transpose()?;
        if given.is_none() {
            // No forces have no virial.
            return Ok(ForceSums { energy, virial: virial.map_or([0.0; 6], |virial| symmetric(&virial)) });
        }
        read_forces(&given, forces)?;
        if virial.is_none() && std::mem::take(&mut self.has_virial) {
            let message = format!("the force '{}' gives no virial: pressures lack its part", self.name);
            py.import("jostle._messages")?.call_method1("warn", (message,))?;
        }
        Ok(ForceSums { energy, virial: virial.map_or([0.0; 6], |virial| symmetric(&virial)) })
    }

    /// Keeps an exception, and says which force has raised it.
    fn failed(&self, error: PyErr) -> Error {
        self.raised.keep(error);
        Error::simulation(format!("the force '{}' has raised an exception", self.name))
    }
}

/// The symmetric part of a tensor.
pub fn symmetric(rows: &[Vec3]) -> SymTensor {
    [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].map(|(i, j)| 0.5 * (rows[i][j] + rows[j][i]))
}

impl CustomForce for PythonForce {
    fn name(&self) -> &str {
        &self.name
    }

    fn atoms(&self) -> AtomChoice<'_> {
        self.ids.as_ref().map_or(AtomChoice::All, |ids| AtomChoice::Ids(ids))
    }

    fn momentum(&self) -> Momentum {
        self.momentum
    }

    fn position_rows(&mut self, n: usize) -> Result<Option<&mut [Vec3]>> {
        if n == 0 {
            return Ok(None);
        }
        if self.positions.as_ref().is_none_or(|rows| rows.len() != n) {
            let made = self.held.in_force(|| Python::attach(|py| PositionRows::new(py, n)));
            self.positions = Some(made.map_err(|error| self.failed(error))?);
        }
        Ok(self.positions.as_mut().map(PositionRows::rows))
    }

    fn evaluate(&mut self, now: &Configuration, forces: &mut AtomForces) -> Result<ForceSums> {
        let held = self.held.clone();
        let called = held.in_force(|| Python::attach(|py| self.call(py, now, forces)));
        called.map_err(|error| self.failed(error))
    }
}
