//! NumPy arrays from vectors, and vectors from anything that NumPy takes.

use crate::dlpack;
use jostle_core::Vec3;
use jostle_core::vector::vectors_of;
use jostle_engine::custom_force::AtomForces;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict};

/// Numbers that an array can hold.
pub trait Number: Copy {
    /// NumPy's name of the type.
    const DTYPE: &'static str;
    /// Bytes of a number.
    const SIZE: usize;

    /// Writes the number, in the order of this machine.
    fn write(self, bytes: &mut [u8]);
}

macro_rules! number {
    ($($type:ty: $name:literal),*) => {
        $(impl Number for $type {
            const DTYPE: &'static str = $name;
            const SIZE: usize = size_of::<$type>();

            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
        })*
    };
}

number!(f64: "float64", u16: "uint16", u32: "uint32", u64: "uint64");

/// An array of numbers, of its own memory.
///
/// # Errors
/// If NumPy is missing, or memory.
pub fn array<'py, T: Number>(py: Python<'py>, numbers: &[T]) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyByteArray::new_with(py, numbers.len() * T::SIZE, |bytes| {
        for (bytes, number) in bytes.chunks_exact_mut(T::SIZE).zip(numbers) {
            number.write(bytes);
        }
        Ok(())
    })?;
    py.import("numpy")?.call_method1("frombuffer", (bytes, T::DTYPE))
}

/// An array with a row for each element.
///
/// # Errors
/// As for [`array`].
pub fn rows<'py, T: Number, const N: usize>(py: Python<'py>, rows: &[[T; N]]) -> PyResult<Bound<'py, PyAny>> {
    array(py, rows.as_flattened())?.call_method1("reshape", (rows.len(), N))
}

/// An array of shape (n, 3), whose rows `fill` writes.
///
/// # Errors
/// As for [`array`], and those of `fill`.
pub fn filled_rows<'py>(
    py: Python<'py>,
    n: usize,
    fill: impl FnOnce(&mut [Vec3]) -> PyResult<()>,
) -> PyResult<Bound<'py, PyAny>> {
    let array = py.import("numpy")?.call_method1("empty", ((n, 3),))?;
    dlpack::write_rows(&array, fill)?;
    Ok(array)
}

/// Vectors of an array, of which there have to be `n`; `what` is what they are called in messages.
///
/// # Errors
/// If these are no numbers, or the shape is another one.
pub fn vectors(values: &Bound<PyAny>, n: usize, what: &str) -> PyResult<Vec<Vec3>> {
    let py = values.py();
    refuse_masked(values)?;
    let arguments = PyDict::new(py);
    arguments.set_item("dtype", "float64")?;
    let array = py.import("numpy")?.call_method("ascontiguousarray", (values,), Some(&arguments))?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    if shape != [n, 3] {
        let message = format!("{what} have the shape {shape:?}, but it must be [{n}, 3]");
        return Err(PyValueError::new_err(message));
    }
    Ok(vectors_of(&numbers_of(&array)?).to_vec())
}

/// Writes the vectors of an array to `forces`, unless all are zero; otherwise as for [`vectors`].
///
/// # Errors
/// As for [`vectors`].
pub fn read_forces(values: &Bound<PyAny>, forces: &mut AtomForces) -> PyResult<()> {
    refuse_masked(values)?;
    match dlpack::host_rows(values, forces.len()) {
        Some(rows) if rows.are_zero() => {}
        Some(rows) => rows.copy_to(forces),
        None => {
            let vectors = vectors(values, forces.len(), "forces")?;
            forces.copy_from_slice(&vectors);
        }
    }
    Ok(())
}

/// Refuses arrays of NumPy in which numbers are masked: these are none.
fn refuse_masked(values: &Bound<PyAny>) -> PyResult<()> {
    let may_be = values.hasattr("_mask")?;
    if may_be && values.py().import("numpy.ma")?.call_method1("is_masked", (values,))?.is_truthy()? {
        return Err(PyValueError::new_err("some numbers are masked: fill them first"));
    }
    Ok(())
}

/// Numbers of an array of double precision.
fn numbers_of(array: &Bound<PyAny>) -> PyResult<Vec<f64>> {
    let bytes = array.call_method0("tobytes")?;
    let bytes = bytes.cast::<PyBytes>()?.as_bytes().as_chunks::<8>().0;
    Ok(bytes.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect())
}
