//! Memory of NumPy for the positions that a force is given.

use crate::dlpack::{self, HostRows};
use jostle_core::Vec3;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// An array of shape (n, 3), which is given to a function again and again while nothing else keeps it.
///
/// New memory for each call would cost more than the positions that are written there.
pub struct PositionRows {
    array: Py<PyAny>,
    rows: HostRows,
    /// Number of references to the array that are this structure's own.
    own_references: isize,
}

impl PositionRows {
    /// An array for `n` positions, at least one.
    ///
    /// # Errors
    /// If NumPy is missing, or memory.
    pub fn new(py: Python, n: usize) -> PyResult<Self> {
        let array = py.import("numpy")?.call_method1("empty", ((n, 3),))?;
        let rows = dlpack::host_rows(&array, n)
            .ok_or_else(|| PyBufferError::new_err("NumPy has made another array"))?;
        let array = array.unbind();
        let own_references = references(&array);
        Ok(PositionRows { array, rows, own_references })
    }

    /// Number of positions.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The array.
    pub fn array<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.array.bind(py).clone()
    }

    /// The rows of the array, which nothing else refers to.
    pub fn rows(&mut self) -> &mut [Vec3] {
        // SAFETY: arrays that others may refer to are replaced (`renewed`) before the engine goes on.
        unsafe { self.rows.as_mut_slice() }
    }

    /// These rows after they were given away, or others if something keeps the array, has changed its shape or its
    /// memory.
    ///
    /// # Errors
    /// As for [`PositionRows::new`].
    pub fn renewed(self, py: Python) -> PyResult<Self> {
        let n = self.len();
        // References are counted exactly under the global lock only.
        if lacks_global_lock(py)? || references(&self.array) != self.own_references {
            return PositionRows::new(py, n);
        }
        // A weak reference could become another one while the engine writes.
        static WEAK_REFERENCES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let weak = WEAK_REFERENCES.import(py, "weakref", "getweakrefcount")?;
        if weak.call1((&self.array,))?.is_truthy()? {
            return PositionRows::new(py, n);
        }
        match dlpack::host_rows(self.array.bind(py), n) {
            Some(rows) => Ok(PositionRows { rows, ..self }),
            None => PositionRows::new(py, n),
        }
    }
}

/// Number of references to an object.
fn references(object: &Py<PyAny>) -> isize {
    // SAFETY: the object is alive; a thread that is attached to the interpreter asks.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) }
}

/// Returns true where threads of Python run side by side.
fn lacks_global_lock(py: Python) -> PyResult<bool> {
    // The lock may come and go with modules that are imported; what tells is looked up once.
    static IS_ENABLED: PyOnceLock<Option<Py<PyAny>>> = PyOnceLock::new();
    let look_up = || PyResult::Ok(py.import("sys")?.getattr_opt("_is_gil_enabled")?.map(Bound::unbind));
    match IS_ENABLED.get_or_try_init(py, look_up)? {
        Some(is_enabled) => Ok(!is_enabled.call0(py)?.is_truthy(py)?),
        None => Ok(false),
    }
}
