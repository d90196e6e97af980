//! Charges in the CPU engine.

use jostle_core::{Backend, Evaluate, Precision, Settings, System, Vec3};
use jostle_cpu::{Level, open_at};
use jostle_potentials::Forces;

/// CPU engine with forces evaluated.
pub fn open(system: &System, forces: &Forces, precision: Precision, threads: usize) -> Box<dyn Backend> {
    let settings = Settings { threads: Some(threads), precision, ..Settings::default() };
    let mut cpu = open_at(system.clone(), forces.clone(), settings, Level::best()).unwrap();
    cpu.update_neighbors().unwrap();
    cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
    cpu
}

/// Forces, by id.
pub fn by_id(cpu: &mut dyn Backend) -> Vec<Vec3> {
    let state = cpu.state().unwrap();
    state.index_by_id().into_iter().map(|index| state.force[index]).collect()
}
