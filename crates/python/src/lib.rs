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
mod lending;
mod lent;
mod listener;
mod observer;
mod simulation;
mod text;
mod units;

use pyo3::prelude::*;

/// The compiled part of the package `jostle`.
#[pymodule]
fn _jostle(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(simulation::input_text, module)?)?;
    module.add_function(wrap_pyfunction!(cores, module)?)?;
    module.add_function(wrap_pyfunction!(units::si, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analysis_kinds, module)?)?;
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
