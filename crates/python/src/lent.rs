//! Arrays of the atoms that a simulation has lent.

use crate::device_array::Lease;
use jostle_core::{ArraysChanged, State};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::thread::ThreadId;

/// Arrays that are lent.
pub struct Lent {
    /// Period for which they are lent.
    pub lease: Lease,
    /// Changes that are allowed.
    pub changed: ArraysChanged,
    /// The atoms before, where they may be changed.
    pub before: Option<State>,
    /// Thread that has borrowed them.
    pub borrower: ThreadId,
}

/// The exception for a use that lent arrays forbid.
pub fn is_lent() -> PyErr {
    PyRuntimeError::new_err(
        "the arrays of the simulation are lent: end the block `with sim.on_device()` before",
    )
}
