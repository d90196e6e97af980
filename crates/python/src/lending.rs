//! Arrays of the atoms that are lent to Python in the memory of the device.

use crate::device_array::{DeviceArray, Lease};
use crate::dlpack::Access;
use crate::error::OrRaise;
use crate::lent::Lent;
use crate::simulation::Core;
use jostle_core::ArraysChanged;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::thread::current;

/// Arrays of the atoms on the device, by name, lent until [`take_back`].
///
/// # Errors
/// If they are lent already, or the device has no memory that others could use.
#[pyfunction]
pub fn lend<'py>(py: Python<'py>, core: &Core, write: bool) -> PyResult<Bound<'py, PyDict>> {
    let mut run = core.get_free(py)?;
    let simulation = &mut run.simulation;
    let arrays = core.or_raise(py, py.detach(|| simulation.device_arrays()))?;
    let changed = match write {
        false => ArraysChanged::Nothing,
        true if simulation.atoms_may_be_moved() => ArraysChanged::Positions,
        true => ArraysChanged::Velocities,
    };
    let before = if write { Some(py.detach(|| simulation.state()).or_raise(py)?) } else { None };
    let of = |is_writable: bool| if is_writable { Access::Write } else { Access::Read };
    let positions = of(changed == ArraysChanged::Positions);
    let velocities = of(changed != ArraysChanged::Nothing);
    let lease = Lease::default();
    let all = PyDict::new(py);
    for (name, array, access) in [
        ("positions", arrays.positions, positions),
        ("velocities", arrays.velocities, velocities),
        ("forces", arrays.forces, Access::Read),
        ("ids", arrays.ids, Access::Read),
        ("images", arrays.images, Access::Read),
    ] {
        all.set_item(name, Bound::new(py, DeviceArray::new(array, access, &lease))?)?;
    }
    run.lent = Some(Lent { lease, changed, before, borrower: current().id() });
    Ok(all)
}

/// Takes lent arrays back, with what was written there.
///
/// # Errors
/// If a position or a velocity is not finite any more, or the device failed.
#[pyfunction]
pub fn take_back(py: Python, core: &Core) -> PyResult<()> {
    let mut run = core.get(py)?;
    let Some(Lent { lease, changed, before, .. }) = run.lent.take() else { return Ok(()) };
    lease.end();
    let simulation = &mut run.simulation;
    core.or_raise(py, py.detach(|| simulation.take_back_arrays(changed, before)))
}
