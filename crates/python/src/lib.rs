//! Jostle as a module of Python. Thin over `jostle-engine`: arrays, errors, locks and the text of inputs are
//! here, the package around it is in `python/jostle`.

mod analysis;
mod arrays;
mod device_array;
mod device_force;
mod dlpack;
mod error;
mod exclusive;
mod facts;
mod force;
mod held_interrupt;
mod lending;
mod lent;
mod listener;
mod observer;
mod position_rows;
mod run;
mod simulation;
mod text;
mod units;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// The compiled part of the package `jostle`. It needs no global lock: a simulation is used by one thread at a time
/// ([`exclusive`]), what threads share beside it is atomic or behind a mutex, and arrays are read by pointers.
#[pymodule(gil_used = false)]
fn _jostle(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Classes of exceptions are kept for the whole process.
    static IS_LOADED: AtomicBool = AtomicBool::new(false);
    if IS_LOADED.swap(true, Ordering::Relaxed) {
        let message = "jostle is loaded already: it serves one interpreter of a process, and is loaded once";
        return Err(PyImportError::new_err(message));
    }
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(simulation::input_text, module)?)?;
    module.add_function(wrap_pyfunction!(cores, module)?)?;
    module.add_function(wrap_pyfunction!(units::si, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analysis_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::compile_kernels_by, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::run_program, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::viewer, module)?)?;
    module.add_function(wrap_pyfunction!(lending::lend, module)?)?;
    module.add_function(wrap_pyfunction!(lending::take_back, module)?)?;
    module.add_class::<device_array::DeviceArray>()?;
    module.add_class::<simulation::Core>()
}

/// Number of cores that this process may use.
#[pyfunction]
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
