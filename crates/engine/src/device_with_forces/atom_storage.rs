//! Atoms, which are those of the device.

use super::DeviceWithForces;
use jostle_core::backend::{ArraysChanged, DeviceArrays};
use jostle_core::{AtomStorage, AtomVector, Result, SimBox, Snapshot, State, Vec3};

impl AtomStorage for DeviceWithForces {
    fn simbox(&self) -> &SimBox {
        self.device.simbox()
    }

    fn n_atoms(&self) -> usize {
        self.device.n_atoms()
    }

    fn state(&mut self) -> Result<&State> {
        self.device.state()
    }

    fn write_by_id(&mut self, vector: AtomVector, rows: &mut [Vec3]) -> Result<()> {
        self.device.write_by_id(vector, rows)
    }

    fn snapshot(&mut self, vectors: &[AtomVector]) -> Result<Snapshot> {
        self.device.snapshot(vectors)
    }

    fn set_state(&mut self, state: State) -> Result<()> {
        self.device.set_state(state)
    }

    fn set_velocities(&mut self, velocities: &[Vec3]) -> Result<()> {
        self.device.set_velocities(velocities)
    }

    fn list_positions(&mut self) -> Result<&[Vec3]> {
        self.device.list_positions()
    }

    fn restore(&mut self, state: State, list_positions: Vec<Vec3>, skin: f64) -> Result<()> {
        self.device.restore(state, list_positions, skin)
    }

    fn set_box(&mut self, simbox: SimBox, state: State) -> Result<()> {
        self.device.set_box(simbox, state)
    }

    fn device_arrays(&mut self) -> Result<DeviceArrays> {
        self.device.device_arrays()
    }

    fn take_back_arrays(&mut self, changed: ArraysChanged) -> Result<()> {
        self.device.take_back_arrays(changed)
    }

    fn deform(&mut self, simbox: SimBox) -> Result<()> {
        self.device.deform(simbox)
    }
}
