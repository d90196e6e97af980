//! Systems, devices, listeners and runs that several tests share.

use jostle_core::{Backend, Result, Settings, Species, System, UnitSystem};
use jostle_cuda::driver::Device;
use jostle_engine::model::{DensityInput, Distribution, Lattice, LatticeExtent};
use jostle_engine::{Existing, Mixture, Outcome, Overrides, Progress, Simulation, Thermo, assign_velocities};
use jostle_io::Input;
use jostle_potentials::Forces;
use std::cell::Cell;
use std::path::Path;

/// Function that puts a system on a device.
pub type Open = fn(System, Forces, Settings) -> Result<Box<dyn Backend>>;

/// Puts a system on the emulated GPU.
pub fn emulated(system: System, forces: Forces, settings: Settings) -> Result<Box<dyn Backend>> {
    jostle_cuda::open(Device::emulated()?, system, forces, settings)
}

/// Atoms of mass 1 on an fcc lattice in reduced units, with velocities of the Maxwell distribution.
pub fn argon(atoms: usize, density: f64, temperature: f64, seed: u64) -> System {
    let argon = Species { name: "Ar".into(), mass: 1.0, charge: 0.0 };
    let (extent, density) = (LatticeExtent::Atoms(atoms), DensityInput::Number(density));
    let mixture = Mixture::new(UnitSystem::Lj).with(argon, None);
    let mut system = mixture.lattice(Lattice::Fcc, extent, density, seed).unwrap();
    assign_velocities(&mut system, temperature, Distribution::Maxwell, seed);
    system
}

/// Listener that collects rows of `thermo.csv`.
#[derive(Default)]
pub struct Rows(pub Vec<Thermo>);

impl Progress for Rows {
    fn measured(&mut self, thermo: &Thermo) {
        self.0.push(thermo.clone());
    }
}

/// Listener that collects messages.
#[derive(Default)]
pub struct Notes(pub Vec<String>);

impl Progress for Notes {
    fn note(&mut self, message: &str) {
        self.0.push(message.to_string());
    }
}

/// Listener that records the step of the stage.
pub struct Steps<'a>(pub &'a Cell<u64>);

impl Progress for Steps<'_> {
    fn stepped(&mut self, stage_step: u64) {
        self.0.set(stage_step);
    }
}

/// Function for [`Simulation::run_with`] that interrupts a run at every `interval`-th call.
pub fn stop_every(interval: u64) -> impl Fn() -> bool {
    let asked = Cell::new(0_u64);
    move || {
        asked.set(asked.get() + 1);
        asked.get().is_multiple_of(interval)
    }
}

/// Runs an input into a folder, with an interruption after every `interval` steps; `u64::MAX`: none.
pub fn run_in_parts(input: &Input, folder: &Path, interval: u64) -> Simulation {
    let mut simulation = Simulation::from_input(input, &Overrides::default()).unwrap();
    simulation.write_to(folder, Existing::Refuse).unwrap();
    while simulation.run_with(&mut (), &stop_every(interval)).unwrap() == Outcome::Interrupted {
        drop(simulation);
        simulation = Simulation::resume(folder, &Overrides::default()).unwrap();
    }
    simulation
}

/// Content of `thermo.csv`.
pub fn thermo_csv(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("thermo.csv")).unwrap()
}

/// Values of a column of `thermo.csv`, whatever its unit; NaN where a row has none.
pub fn column(folder: &Path, name: &str) -> Vec<f64> {
    let rows = thermo_csv(folder);
    let mut lines = rows.lines();
    let is_named = |column: &str| column == name || column.starts_with(&format!("{name} ("));
    let index = lines.next().unwrap().split(',').position(is_named).unwrap();
    lines.map(|line| line.split(',').nth(index).unwrap().parse().unwrap_or(f64::NAN)).collect()
}
