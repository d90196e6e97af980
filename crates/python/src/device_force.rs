//! Forces written in Python that stay in the memory of the device.

use crate::arrays::{rows, vectors};
use crate::device_array::{DeviceArray, Lease};
use crate::dlpack::{self, Access};
use crate::error::OrRaise;
use crate::force::{Arguments, RaisedByForces, symmetric};
use crate::held_interrupt::HeldInterrupt;
use jostle_core::backend::{DeviceForce, MemorySpace, NumberType, SharedArray};
use jostle_core::{Error, Result, SimBox, SymTensor};
use jostle_engine::custom_force::{AtomChoice, AtomForces, Configuration, CustomForce, ForceSums};
use jostle_engine::degrees_of_freedom::Momentum;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::any::Any;
use std::sync::Arc;

/// A force whose function gets positions and returns forces in the memory of the device.
pub struct PythonDeviceForce {
    name: String,
    function: Py<PyAny>,
    arguments: Arguments,
    ids: Option<Vec<u32>>,
    momentum: Momentum,
    raised: RaisedByForces,
    held: HeldInterrupt,
    /// Energy and virial of the last call, of whatever types they are.
    last: Option<(Py<PyAny>, Option<Py<PyAny>>)>,
    /// True until a virial is missing.
    has_virial: bool,
    /// True until a producer of arrays does not know versions of DLPack.
    asks_for_version: bool,
}

impl PythonDeviceForce {
    /// A force by a function of positions that returns energy, forces and, if it likes, the virial; see
    /// [`crate::force::PythonForce`].
    pub fn new(
        name: String,
        function: Py<PyAny>,
        arguments: Arguments,
        ids: Option<Vec<u32>>,
        momentum: Momentum,
        (raised, held): (RaisedByForces, HeldInterrupt),
    ) -> Self {
        let (last, has_virial, asks_for_version) = (None, true, true);
        PythonDeviceForce {
            name,
            function,
            arguments,
            ids,
            momentum,
            raised,
            held,
            last,
            has_virial,
            asks_for_version,
        }
    }

    /// Calls the function.
    fn call(&mut self, py: Python, positions: &SharedArray, simbox: &SimBox) -> PyResult<SharedArray> {
        let lease = Lease::default();
        // The rows are gathered anew for each call: what is written there harms nothing.
        let view = Bound::new(py, DeviceArray::new(positions.clone(), Access::Write, &lease))?;
        let returned = match self.arguments {
            Arguments::Positions => self.function.call1(py, (view,)),
            Arguments::PositionsAndBox => {
                self.function.call1(py, (view, rows(py, &simbox.edges().map(<[f64; 3]>::from))?))
            }
        };
        lease.end();
        let returned = returned?;
        let returned = returned.bind(py).cast::<PyTuple>().map_err(|_| {
            PyTypeError::new_err("a force must return a tuple: energy, forces and, if it likes, the virial")
        })?;
        let virial = match returned.len() {
            2 => None,
            3 => Some(returned.get_item(2)?).filter(|virial| !virial.is_none()),
            n => {
                let message = format!("a force must return two or three values, but these are {n}");
                return Err(PyValueError::new_err(message));
            }
        };
        self.last = Some((returned.get_item(0)?.unbind(), virial.map(Bound::unbind)));
        self.forces(py, &returned.get_item(1)?, positions)
    }

    /// The array of forces, complete for later work on the engine's stream.
    fn forces(&mut self, py: Python, given: &Bound<PyAny>, positions: &SharedArray) -> PyResult<SharedArray> {
        let stream = positions.stream.as_ref();
        if given.hasattr("__dlpack__")? {
            let arguments = PyDict::new(py);
            if let Some(stream) = stream {
                arguments.set_item("stream", stream.handle())?;
            }
            if self.asks_for_version {
                arguments.set_item("max_version", (1, 0))?;
                match given.call_method("__dlpack__", (), Some(&arguments)) {
                    Err(error) if error.is_instance_of::<PyTypeError>(py) => self.asks_for_version = false,
                    capsule => return dlpack::array(&capsule?),
                }
                arguments.del_item("max_version")?;
            }
            return dlpack::array(&given.call_method("__dlpack__", (), Some(&arguments))?);
        }
        if let (MemorySpace::Cuda(_), true) = (positions.space, given.hasattr("__cuda_array_interface__")?) {
            return self.of_interface(py, given, positions);
        }
        if positions.space == MemorySpace::Host {
            let copy = PyDict::new(py);
            copy.set_item("dtype", "float64")?;
            let array = py.import("numpy")?.call_method("array", (given,), Some(&copy))?;
            return dlpack::array(&array.call_method0("__dlpack__")?);
        }
        let class = given.get_type().name()?;
        let message =
            format!("forces must be an array on the GPU, of PyTorch, CuPy or JAX, but they are a {class}");
        Err(PyTypeError::new_err(message))
    }

    /// The array of CUDA's array interface.
    fn of_interface(
        &self,
        py: Python,
        given: &Bound<PyAny>,
        positions: &SharedArray,
    ) -> PyResult<SharedArray> {
        let all = given.getattr("__cuda_array_interface__")?;
        let all = all.cast::<PyDict>()?;
        let item = |name: &str| all.get_item(name).map(|item| item.filter(|item| !item.is_none()));
        let missing = || PyTypeError::new_err("forces have an array interface without shape, type or data");
        let shape: Vec<usize> = item("shape")?.ok_or_else(missing)?.extract()?;
        let kind: String = item("typestr")?.ok_or_else(missing)?.extract()?;
        let (address, _): (u64, bool) = item("data")?.ok_or_else(missing)?.extract()?;
        let number = match kind.as_str() {
            "<f4" => NumberType::Single,
            "<f8" => NumberType::Double,
            _ => return Err(PyTypeError::new_err("forces must be numbers of single or double precision")),
        };
        let [n, columns] = shape[..] else {
            return Err(PyValueError::new_err(format!("forces have the shape {shape:?}")));
        };
        let bytes = number.bytes() as i64;
        let strides = match item("strides")? {
            Some(strides) => strides.extract::<(i64, i64)>().map(|(a, b)| [a / bytes, b / bytes])?,
            None => [columns as i64, 1],
        };
        if let (Some(own), Some(other)) = (&positions.stream, item("stream")?) {
            own.follows(other.extract()?).or_raise(py)?;
        }
        let owner: Arc<dyn Any + Send + Sync> = Arc::new(given.clone().unbind());
        let (shape, space) = ([n, columns], positions.space);
        dlpack::checked(SharedArray { address, space, number, shape, strides, stream: None, owner })
    }

    /// Energy and virial of the last call, as numbers.
    fn numbers(&mut self, py: Python) -> PyResult<(f64, SymTensor)> {
        let Some((energy, virial)) = &self.last else { return Ok((0.0, [0.0; 6])) };
        let energy = energy.bind(py).extract()?;
        let virial = match virial {
            Some(virial) => {
                let virial = virial.bind(py);
                let on_host =
                    if virial.hasattr("tolist")? { &virial.call_method0("tolist")? } else { virial };
                symmetric(&vectors(on_host, 3, "virial")?)
            }
            None => {
                if std::mem::take(&mut self.has_virial) {
                    let message =
                        format!("the force '{}' gives no virial: pressures lack its part", self.name);
                    py.import("jostle._messages")?.call_method1("warn", (message,))?;
                }
                [0.0; 6]
            }
        };
        Ok((energy, virial))
    }

    fn failed(&self, error: PyErr) -> Error {
        self.raised.keep(error);
        Error::simulation(format!("the force '{}' has raised an exception", self.name))
    }
}

impl DeviceForce for PythonDeviceForce {
    fn name(&self) -> &str {
        &self.name
    }

    fn ids(&self) -> Option<&[u32]> {
        self.ids.as_deref()
    }

    fn queue(&mut self, positions: &SharedArray, simbox: &SimBox) -> Result<SharedArray> {
        let held = self.held.clone();
        let called = held.in_force(|| Python::attach(|py| self.call(py, positions, simbox)));
        called.map_err(|error| self.failed(error))
    }

    fn sums(&mut self) -> Result<(f64, SymTensor)> {
        let held = self.held.clone();
        let sums = held.in_force(|| Python::attach(|py| self.numbers(py)));
        let sums = sums.map_err(|error| self.failed(error))?;
        if !sums.0.is_finite() || sums.1.iter().any(|w| !w.is_finite()) {
            let message = format!("the energy or the virial of the force '{}' is not finite", self.name);
            return Err(Error::simulation(message));
        }
        Ok(sums)
    }
}

impl CustomForce for PythonDeviceForce {
    fn name(&self) -> &str {
        &self.name
    }

    fn atoms(&self) -> AtomChoice<'_> {
        AtomChoice::Ids(&[])
    }

    fn momentum(&self) -> Momentum {
        self.momentum
    }

    fn evaluate(&mut self, _now: &Configuration, _forces: &mut AtomForces) -> Result<ForceSums> {
        Err(Error::simulation(format!("the force '{}' needs the memory of a GPU", self.name)))
    }

    fn on_device(&mut self) -> Option<&mut dyn DeviceForce> {
        Some(self)
    }
}
