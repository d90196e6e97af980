//! Integrators: order of the error, reversibility, and conserved quantities.

use jostle_core::{Backend, Evaluate, Precision, Settings, Species, System, Thermostat, UnitSystem};
use jostle_engine::model::{
    Amount, DensityInput, DeviceInput, Distribution, Lattice, LatticeExtent, StageInput, ThermostatInput,
    ThermostatKind,
};
use jostle_engine::step::{StepContext, step};
use jostle_engine::{Mixture, Simulation, Thermo, assign_velocities, device};
use jostle_potentials::{PairKind, PairTerm, Truncation};

/// A liquid of 256 atoms of two masses with a continuous force, so that energy is conserved to the order of
/// the integrator.
fn liquid() -> (System, PairTerm) {
    let species = |name: &str, mass| Species { name: name.into(), mass, charge: 0.0 };
    let extent = LatticeExtent::Atoms(256);
    let mut system = Mixture::new(UnitSystem::Lj)
        .with(species("A", 1.0), Some(Amount::Fraction(0.75)))
        .with(species("B", 3.0), None)
        .lattice(Lattice::Fcc, extent, DensityInput::Number(0.75), 4)
        .unwrap();
    assign_velocities(&mut system, 1.5, Distribution::Maxwell, 4);
    let mut term = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 2);
    for (a, b) in [(0, 0), (0, 1), (1, 1)] {
        term.set(a, b, jostle_potentials::PairEntry { parameters: vec![1.0, 1.0], cutoff: 2.5 });
    }
    (system, term)
}

fn settings() -> Settings {
    Settings { precision: Precision::Double, threads: Some(1), reproducible: true, ..Settings::default() }
}

/// Measurements along a run of the liquid.
fn rows(steps: u64, timestep: f64) -> Vec<Thermo> {
    let (system, term) = liquid();
    let (sender, rows) = std::sync::mpsc::channel();
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .force(term)
        .settings(settings())
        .stage(StageInput::dynamics("melt", 500, 0.004))
        .stage(StageInput::dynamics("run", steps, timestep))
        .observer(Rows(sender))
        .build()
        .unwrap();
    simulation.run().unwrap();
    drop(simulation);
    rows.iter().collect()
}

struct Rows(std::sync::mpsc::Sender<Thermo>);

impl jostle_engine::Observer for Rows {
    fn every(&self) -> u64 {
        5
    }
    fn observe(&mut self, context: &mut jostle_engine::Context) -> jostle_core::Result<()> {
        if context.stage() == "run"
            && let Some(thermo) = context.thermo()
        {
            let _ = self.0.send(thermo.clone());
        }
        Ok(())
    }
}

fn spread(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// The energy error of velocity Verlet is of second order: half the step gives a quarter of the error at the
/// same times from the same start.
#[test]
fn energy_error_is_of_second_order() {
    let errors = |steps, timestep| -> Vec<f64> {
        let rows = rows(steps, timestep);
        rows[1..].iter().map(|t| t.total - rows[0].total).collect()
    };
    let (coarse, fine) = (errors(250, 0.004), errors(500, 0.002));
    let fine: Vec<f64> = fine.into_iter().skip(1).step_by(2).collect();
    assert_eq!(coarse.len(), fine.len());
    let ratio = spread(&coarse) / spread(&fine);
    assert!((3.8..4.2).contains(&ratio), "{ratio}");
}

/// Velocity Verlet is reversible; the run is too short for chaos to amplify rounding.
#[test]
fn time_can_be_reversed() {
    let (system, term) = liquid();
    let start = system.clone();
    let mut backend = device::open(DeviceInput::Cpu, system, vec![term], settings()).unwrap().backend;
    let backend: &mut dyn Backend = &mut *backend;
    backend.update_neighbors().unwrap();
    backend.compute_forces(Evaluate::Forces).unwrap();
    let mut thermostat = Thermostat::Isolated;
    for direction in 0..2 {
        for k in 1..=150 {
            let context = StepContext { seed: 0, step: k, timestep: 0.004, long_range_weight: 1.0 };
            step(backend, &mut thermostat, &context, Evaluate::Forces).unwrap();
        }
        if direction == 0 {
            backend.scale_velocities(-1.0).unwrap();
        }
    }
    let state = backend.state().unwrap();
    for (index, id) in state.id.iter().enumerate() {
        let (now, then) = (state.position[index], start.state.position[*id as usize]);
        let d = start.simbox.nearest_image(now - then);
        assert!(d.iter().all(|x| x.abs() < 1e-9), "atom {id} is {d:?} away");
    }
}

/// The heat of thermostats is the energy that the atoms gain: to second order in the time step, or, with factors that
/// follow from the kinetic energy gently, to what [`jostle_core::thermostat::heat_of_scaling`] leaves out. With twelve
/// seeds of "bussi" the drift has a standard deviation of 7e-5.
#[test]
fn conserved_quantities_of_thermostats_stay() {
    for kind in ThermostatKind::ALL.iter().filter(|kind| kind.scales_velocities()) {
        let thermostat = ThermostatInput::example(*kind, 1.0);
        let (system, term) = liquid();
        let mut simulation = Simulation::builder(UnitSystem::Lj, system)
            .force(term)
            .settings(settings())
            .stage(StageInput::dynamics("melt", 400, 0.0015).thermostat(thermostat))
            .stage(StageInput::dynamics("run", 2000, 0.0015).thermostat(thermostat).thermo(5))
            .build()
            .unwrap();
        simulation.run().unwrap();
        let report = &simulation.reports()[1];
        let error = |name: &str| {
            let average = report.averages.iter().find(|a| a.quantity == name).unwrap();
            average.estimate.unwrap()
        };
        let (total, conserved) = (error("total"), error("conserved"));
        let kinetic = error("kinetic").mean;
        assert!(conserved.error < 1e-4 * kinetic, "{thermostat:?}: {conserved:?}");
        assert!(total.error > 20.0 * conserved.error, "{thermostat:?}: {total:?} {conserved:?}");
        let drift = report.drift.unwrap();
        let most = match kind {
            ThermostatKind::Bussi | ThermostatKind::Berendsen => 3e-4,
            _ => 5e-6,
        };
        assert!(drift.of_kinetic.abs() < most, "{thermostat:?}: {drift:?}");
    }
}
