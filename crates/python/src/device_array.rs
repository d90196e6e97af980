//! Arrays in the memory of a device, lent to Python without a copy.

use crate::dlpack::{self, Access, Form};
use crate::error::OrRaise;
use jostle_core::backend::{MemorySpace, NumberType, SharedArray};
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Period for which arrays are lent.
#[derive(Debug, Clone, Default)]
pub struct Lease(Arc<AtomicBool>);

impl Lease {
    /// Ends the period: nothing can be made of the arrays any more.
    pub fn end(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An array in the memory of a device, for `from_dlpack` and `asarray` of PyTorch, CuPy, JAX and NumPy. What these
/// make of it later keeps the memory, but not its meaning.
#[pyclass(frozen, module = "jostle")]
pub struct DeviceArray {
    array: SharedArray,
    /// 1 where rows have one number each.
    dimensions: usize,
    access: Access,
    lease: Lease,
}

impl DeviceArray {
    /// An array that is lent for a period.
    pub fn new(array: SharedArray, access: Access, lease: &Lease) -> Self {
        let dimensions = if array.shape[1] == 1 { 1 } else { 2 };
        DeviceArray { array, dimensions, access, lease: lease.clone() }
    }

    fn check(&self) -> PyResult<()> {
        match self.lease.0.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(PyRuntimeError::new_err(
                "the array was lent for a time that is over; make a copy in time",
            )),
        }
    }

    /// Dictionary of the array interfaces of NumPy and CUDA.
    fn interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.check()?;
        let kind = match self.array.number {
            NumberType::Single => "<f4",
            NumberType::Double => "<f8",
            NumberType::Unsigned => "<u4",
            NumberType::Integer => "<i4",
        };
        let all = PyDict::new(py);
        all.set_item("shape", self.shape(py)?)?;
        all.set_item("typestr", kind)?;
        all.set_item("data", (self.array.address, self.access == Access::Read))?;
        all.set_item("version", 3)?;
        Ok(all)
    }
}

#[pymethods]
impl DeviceArray {
    /// The array as a capsule of DLPack.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.check()?;
        if copy == Some(true) || dl_device.is_some_and(|device| device != dlpack::device(self.array.space)) {
            return Err(PyBufferError::new_err("the array is lent where it is, without a copy"));
        }
        if let Some(own) = &self.array.stream {
            match stream.unwrap_or(1) {
                -1 => {}
                0 => return Err(PyValueError::new_err("stream = 0 is ambiguous: 1 is the default stream")),
                other => own.precedes(other as u64).or_raise(py)?,
            }
        }
        let form = match max_version {
            Some((1.., _)) => Form::Versioned(self.access),
            _ => Form::Plain,
        };
        dlpack::capsule(py, &self.array, self.dimensions as i32, form)
    }

    /// Type and number of the device, as DLPack has them.
    fn __dlpack_device__(&self) -> (i32, i32) {
        dlpack::device(self.array.space)
    }

    /// CUDA's array interface, version 3, with the engine's stream.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.array.space == MemorySpace::Host {
            return Err(PyAttributeError::new_err("the array is in the memory of the host"));
        }
        let all = self.interface(py)?;
        all.set_item("stream", self.stream())?;
        Ok(all)
    }

    /// NumPy's array interface, of an emulated GPU.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match self.array.space {
            MemorySpace::Host => self.interface(py),
            MemorySpace::Cuda(_) => Err(PyAttributeError::new_err("the array is in the memory of a GPU")),
        }
    }

    /// Handle of the engine's stream; None on an emulated GPU.
    #[getter]
    fn stream(&self) -> Option<u64> {
        self.array.stream.as_ref().map(|stream| stream.handle())
    }

    /// "cuda:0", or "cpu" for an emulated GPU.
    #[getter]
    fn device(&self) -> String {
        match self.array.space {
            MemorySpace::Host => "cpu".into(),
            MemorySpace::Cuda(number) => format!("cuda:{number}"),
        }
    }

    /// Rows and columns.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.array.shape[..self.dimensions])
    }

    /// Type of the numbers, in NumPy's words.
    #[getter]
    fn dtype(&self) -> &'static str {
        match self.array.number {
            NumberType::Single => "float32",
            NumberType::Double => "float64",
            NumberType::Unsigned => "uint32",
            NumberType::Integer => "int32",
        }
    }

    /// True where the array must not be written.
    #[getter]
    fn readonly(&self) -> bool {
        self.access == Access::Read
    }

    fn __len__(&self) -> usize {
        self.array.shape[0]
    }

    fn __repr__(&self) -> String {
        let shape: Vec<String> = self.array.shape[..self.dimensions].iter().map(usize::to_string).collect();
        format!("<DeviceArray ({}) {} on {}>", shape.join(", "), self.dtype(), self.device())
    }
}
