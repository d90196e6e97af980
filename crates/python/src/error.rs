//! Errors of Jostle as exceptions of Python.

use jostle_core::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Name that the text of an input made from Python's values has in place of a file.
pub const NO_FILE: &str = "<python>";

/// The exception for an error, with message, hint and place.
pub fn exception(py: Python, error: &Error) -> PyErr {
    let made = class(py, error.kind()).and_then(|class| {
        let place = error.place();
        let file = place.map(|place| &place.file).filter(|file| !file.ends_with(NO_FILE));
        let line = place.and_then(|place| place.line);
        let text = place.zip(line).and_then(|(place, line)| place.text.as_ref()?.lines().nth(line - 1));
        class.call1((error.message(), error.help(), file, line, text))
    });
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// Exceptions in place of errors.
pub trait OrRaise<T> {
    /// The value, or the exception for the error.
    ///
    /// # Errors
    /// That exception.
    fn or_raise(self, py: Python) -> PyResult<T>;
}

impl<T> OrRaise<T> for jostle_core::Result<T> {
    fn or_raise(self, py: Python) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}

fn class(py: Python<'_>, kind: ErrorKind) -> PyResult<&Bound<'_, PyType>> {
    static CLASSES: [PyOnceLock<Py<PyType>>; 4] = [const { PyOnceLock::new() }; 4];
    let (index, name) = match kind {
        ErrorKind::Input => (0, "InputError"),
        ErrorKind::File => (1, "FileError"),
        ErrorKind::Simulation => (2, "SimulationError"),
        ErrorKind::Device => (3, "DeviceError"),
    };
    CLASSES[index].import(py, "jostle._errors", name)
}
