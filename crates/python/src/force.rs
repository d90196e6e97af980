//! Forces written in Python.

use crate::arrays::{filled_rows, read_vectors, rows, vectors};
use jostle_core::{Error, Result, SymTensor, Vec3};
use jostle_engine::custom_force::{AtomChoice, Configuration, CustomForce, ForceSums};
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
    /// What the function is given.
    pub arguments: Arguments,
    /// Ids of the atoms; `None`: all.
    pub ids: Option<Vec<u32>>,
    /// Conservation of momentum.
    pub momentum: Momentum,
    /// What the function has raised.
    pub raised: RaisedByForces,
    /// True until a virial is missing.
    pub has_virial: bool,
}

impl PythonForce {
    /// Calls the function.
    fn call(&mut self, py: Python, now: &Configuration, forces: &mut [Vec3]) -> PyResult<ForceSums> {
        let positions = filled_rows(py, now.positions.len(), |rows| {
            rows.copy_from_slice(now.positions);
            Ok(())
        })?;
        let returned = match self.arguments {
            Arguments::Positions => self.function.call1(py, (positions,))?,
            Arguments::PositionsAndBox => {
                self.function.call1(py, (positions, rows(py, &now.simbox.edges())?))?
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
        read_vectors(&given, forces, "forces")?;
        let energy = py.import("builtins")?.call_method1("float", (energy,))?.extract()?;
        let virial = match virial.filter(|virial| !virial.is_none()) {
            Some(virial) => symmetric(&vectors(&virial, 3, "virial")?),
            None => {
                if std::mem::take(&mut self.has_virial) {
                    let message =
                        format!("the force '{}' gives no virial: pressures lack its part", self.name);
                    py.import("jostle._messages")?.call_method1("warn", (message,))?;
                }
                [0.0; 6]
            }
        };
        Ok(ForceSums { energy, virial })
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

    fn evaluate(&mut self, now: &Configuration, forces: &mut [Vec3]) -> Result<ForceSums> {
        Python::attach(|py| self.call(py, now, forces)).map_err(|error| {
            let failed = Error::simulation(format!("the force '{}' has raised an exception", self.name));
            self.raised.keep(error);
            failed
        })
    }
}
