//! Boxes of rigid water: degrees of freedom, temperatures, energy.

use crate::fixtures::column;
use jostle_core::constraints::put_on_constraints;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Components, Precision, Settings, Species, System, Topology, UnitSystem, Vec3, WaterShape};
use jostle_engine::model::{
    DensityInput, DeviceInput, Distribution, RegionInput, StageInput, ThermostatInput,
};
use jostle_engine::report::{Convergence, WarningKind};
use jostle_engine::{Existing, Mixture, Simulation, SimulationBuilder, assign_velocities, single_point};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{Electrostatics, PairEntry, PairKind, PairTerm, Truncation};

const UNITS: UnitSystem = UnitSystem::Nano;
const MOLECULES: usize = 216;

/// SPC/E at the density of water.
fn water() -> System {
    let species = |name: &str, mass: f64, charge: f64| Species {
        name: name.into(),
        mass: UNITS.mass_from_user(mass),
        charge,
    };
    let region = RegionInput::Density(DensityInput::Number(100.0));
    let mut system = Mixture::new(UNITS)
        .with(species("O", 15.9994, -0.8476), None)
        .with(species("H", 1.008, 0.4238), None)
        .water(MOLECULES, region, &WaterShape::new(0.1, 109.47), 7)
        .unwrap();
    system.topology = Topology::rigid_water(MOLECULES, &WaterShape::new(0.1, 109.47));
    assign_velocities(&mut system, UNITS.boltzmann() * 300.0, Distribution::Maxwell, 7);
    system
}

fn builder() -> SimulationBuilder {
    let settle = ThermostatInput::langevin(300.0, 20.0);
    builder_from(StageInput::dynamics("settle", 1000, 0.0005).thermostat(settle))
}

fn builder_from(first: StageInput) -> SimulationBuilder {
    builder_of(water(), first)
}

fn builder_of(system: System, first: StageInput) -> SimulationBuilder {
    let mut core = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 2);
    core.set(0, 0, PairEntry { parameters: vec![0.65, 0.3166], cutoff: 0.9 });
    Simulation::builder(UNITS, system)
        .force(core)
        .electrostatics(Electrostatics::new(Method::pme(0.9, 5e-4, 5), UNITS.coulomb(), 0.9))
        .stage(first)
        .settings(Settings { threads: Some(1), precision: Precision::Mixed, ..Settings::default() })
        .device(DeviceInput::Cpu)
}

/// Velocities along constraints are removed in a single configuration as at the beginning of a run, and the
/// temperature is that of the input.
#[test]
fn a_single_point_has_the_temperature_of_a_run() {
    let system = water();
    let mut core = PairTerm::new(PairKind::LennardJones, Truncation::Plain, 2);
    core.set(0, 0, PairEntry { parameters: vec![0.65, 0.3166], cutoff: 0.9 });
    let settings = Settings { threads: Some(1), precision: Precision::Double, ..Settings::default() };
    let point = single_point(UNITS, system.clone(), vec![core.clone()], DeviceInput::Cpu, settings).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut simulation = Simulation::builder(UNITS, system)
        .force(core)
        .stage(StageInput::dynamics("go", 1, 0.0001).thermo(1))
        .settings(settings)
        .device(DeviceInput::Cpu)
        .build()
        .unwrap();
    simulation.write_to(&folder.path().join("run"), Existing::Refuse).unwrap();
    simulation.run().unwrap();
    let first = column(&folder.path().join("run"), "temperature")[0];
    let found = point.thermo.temperature;
    assert!((found / first - 1.0).abs() < 1e-9, "{found} {first}");
    // The tolerance is four standard deviations of the mean of so many squares.
    let spread = (2.0 / (6 * MOLECULES - 3) as f64).sqrt();
    assert!((found / 300.0 - 1.0).abs() < 4.0 * spread, "{found}");
}

/// Each rigid molecule has six degrees of freedom, less three for the common centre of mass, unless noise
/// moves it. Thermostats hold the temperature by this number.
#[test]
fn constraints_remove_degrees_of_freedom_of_thermostats() {
    let bussi = ThermostatInput::bussi(300.0, 0.05);
    let langevin = ThermostatInput::langevin(300.0, 20.0);
    let mut simulation = builder()
        .stage(StageInput::dynamics("bussi", 1000, 0.002).thermostat(bussi).thermo(5))
        .stage(StageInput::dynamics("langevin", 1000, 0.002).thermostat(langevin).thermo(5))
        .stage(StageInput::dynamics("alone", 1000, 0.002).thermo(5))
        .build()
        .unwrap();
    simulation.run().unwrap();
    let reports = simulation.reports();
    let freedom: Vec<usize> = reports.iter().map(|r| r.degrees_of_freedom).collect();
    assert_eq!(freedom, [6 * MOLECULES, 6 * MOLECULES - 3, 6 * MOLECULES, 6 * MOLECULES - 3]);
    for report in &reports[1..3] {
        let temperature = report.averages.iter().find(|a| a.quantity == "temperature").unwrap();
        let mean = temperature.estimate.unwrap().mean;
        // The standard deviation of one sample is 12 K, and there are some 20 independent samples.
        assert!((mean - 300.0).abs() < 10.0, "{}: {mean} K", report.name);
    }
    let total = reports[3].averages.iter().find(|a| a.quantity == "total").unwrap().estimate.unwrap();
    let drift = reports[3].drift.as_ref().unwrap();
    println!("total {} drift {:?}", total.mean, drift);
    assert!(drift.of_kinetic.abs() < 5e-3, "{drift:?}");
}

/// The virial of constraints is known from the first step on; before, no pressure is printed.
#[test]
fn pressure_with_constraints_begins_at_the_first_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("first");
    let mut simulation = builder_from(StageInput::dynamics("first", 1, 1e-7).thermo(1)).build().unwrap();
    simulation.write_to(&path, Existing::Refuse).unwrap();
    simulation.run().unwrap();
    let pressures = column(&path, "pressure");
    assert!(pressures.len() == 2 && pressures[0].is_nan() && pressures[1].is_finite(), "{pressures:?}");
}

/// The pressure after a step from the same start.
fn pressure_after_one_step(thermostat: Option<ThermostatInput>) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one");
    let stage = StageInput::dynamics("one", 1, 0.002).thermo(1);
    let stage = match thermostat {
        Some(thermostat) => stage.thermostat(thermostat),
        None => stage,
    };
    // The first stage brings the centre of mass to rest.
    let settle = ThermostatInput::bussi(300.0, 0.02);
    let before = StageInput::dynamics("settle", 1000, 0.0005).thermostat(settle);
    let mut simulation = builder_from(before).stage(stage).build().unwrap();
    simulation.write_to(&path, Existing::Refuse).unwrap();
    simulation.run().unwrap();
    *column(&path, "pressure").last().unwrap()
}

/// Negligible friction and noise do not change the pressure, though they divide the drift into two parts.
/// Half of the constraint virial of rotations, which would be missing if the last part were taken for the
/// whole, is 600 bar.
#[test]
fn a_drift_in_two_parts_has_the_pressure_of_one() {
    let langevin = ThermostatInput::langevin(300.0, 1e-9);
    let [one, two] = [None, Some(langevin)].map(pressure_after_one_step);
    assert!((one - two).abs() < 30.0, "{one} and {two} bar");
}

#[test]
fn thermostats_without_constraints_are_refused() {
    let refused = |stage: StageInput| builder().stage(stage).build().map(|_| ()).unwrap_err();
    let pairs = ThermostatInput::dpd(300.0, 1.0, 0.5);
    let error = refused(StageInput::dynamics("pairs", 10, 0.001).thermostat(pairs));
    assert!(error.message().contains("do not keep constraints"), "{error}");
}

/// At a minimum no small displacement or rotation of a rigid molecule lowers the energy, though forces on its
/// atoms, which constraints balance, are large.
#[test]
fn a_minimum_of_rigid_molecules() {
    let (molecules, tolerance) = (64, 1.0);
    let region = RegionInput::Density(DensityInput::Number(90.0));
    let species = |name: &str, mass, charge| Species { name: name.into(), mass, charge };
    let mut system = Mixture::new(UNITS)
        .with(species("O", 15.9994, -0.8476), None)
        .with(species("H", 1.008, 0.4238), None)
        .water(molecules, region, &WaterShape::new(0.1, 109.47), 5)
        .unwrap();
    system.topology = Topology::rigid_water(molecules, &WaterShape::new(0.1, 109.47));
    let settings = Settings { threads: Some(1), precision: Precision::Double, ..Settings::default() };
    let mut core = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 2);
    core.set(0, 0, PairEntry { parameters: vec![0.65, 0.3166], cutoff: 0.6 });
    // The force of this reaction field is zero at the cut-off.
    let field = Method::ReactionField { dielectric: f64::INFINITY };
    let charges = Electrostatics::new(field, UNITS.coulomb(), 0.6);
    let mut simulation = Simulation::builder(UNITS, system.clone())
        .force(core.clone())
        .electrostatics(charges)
        .stage(StageInput::minimize("down", 3000, tolerance, 0.001).thermo(1))
        .settings(settings)
        .device(DeviceInput::Cpu)
        .build()
        .unwrap();
    simulation.run().unwrap();
    let minimum = simulation.reports()[0].minimum.unwrap();
    println!("{minimum:?} after {} iterations", simulation.reports()[0].steps);
    assert_eq!(minimum.outcome, Convergence::Converged);
    let positions = simulation.unwrapped_positions().unwrap();
    let forces = || jostle_potentials::Forces {
        electrostatics: Some(charges),
        ..jostle_potentials::Forces::from(vec![core.clone()])
    };
    let at = |r: Vec<Vec3>| {
        let mut moved = system.clone();
        moved.state.position = r;
        single_point(UNITS, moved, forces(), DeviceInput::Cpu, settings).unwrap()
    };
    let lowest = at(positions.clone());
    let largest = lowest.forces.as_flattened().iter().fold(0.0, |most: f64, f| most.max(f.abs()));
    assert!(largest > 100.0 * tolerance, "{largest}");
    let step = 2e-4;
    for molecule in (0..molecules).step_by(7) {
        let mut random = Stream::new(1, Purpose::Placement, molecule as u32, 0);
        let (push, axis) = (random.direction(), random.direction());
        let mut r = positions.clone();
        let center = r[3 * molecule];
        for at in &mut r[3 * molecule..3 * molecule + 3] {
            // A displacement, and a rotation about the first atom to the second order.
            let angle = 10.0 * step;
            let once = axis.cross(*at - center);
            let twice = axis.cross(once);
            *at += step * push + angle * once + 0.5 * angle * angle * twice;
        }
        // The remaining forces may lower the energy by that much; curvature raises it.
        let most = 3.0 * tolerance * (step + 10.0 * step * 0.1);
        let gained = at(r).thermo.potential - lowest.thermo.potential;
        assert!(gained > -most, "molecule {molecule}: {gained} under {most}");
    }
}

/// Coordinates with few digits: the first row of a run is that of atoms on the constraints, whose energy the next rows
/// conserve; before, the atoms are where they were given.
#[test]
fn runs_begin_on_the_constraints() {
    let run = |off: f64| {
        let mut system = water();
        let mut random = Stream::new(5, Purpose::Placement, 1, 0);
        system.state.position.iter_mut().for_each(|r| *r = r.along(off, random.normal3()));
        let folder = tempfile::tempdir().unwrap();
        let mut simulation =
            builder_of(system.clone(), StageInput::dynamics("go", 3, 1e-5).thermo(1)).build().unwrap();
        let given = simulation.evaluate().unwrap().thermo.potential;
        simulation.write_to(&folder.path().join("run"), Existing::Refuse).unwrap();
        simulation.run().unwrap();
        let rows = |name: &str| column(&folder.path().join("run"), name);
        let (conserved, potential, kinetic) = (rows("conserved"), rows("potential"), rows("kinetic")[0]);
        for later in &conserved[1..] {
            assert!((later - conserved[0]).abs() < 1e-3 * kinetic, "{off}: {conserved:?} {kinetic}");
        }
        put_on_constraints(&mut system).unwrap().unwrap();
        let first = builder_of(system, StageInput::dynamics("go", 3, 1e-5)).build().unwrap();
        let first = { first }.evaluate().unwrap().thermo.potential;
        assert!((potential[0] - first).abs() < 1e-6 * kinetic, "{off}: {} {first}", potential[0]);
        assert!((given - first).abs() > 1e-3 * kinetic, "{off}: {given} {first} {kinetic}");
        let warnings = &simulation.reports()[0].warnings;
        warnings.iter().filter(|warning| warning.kind == WarningKind::Constraints).count()
    };
    assert_eq!(run(0.0005), 0, "digits of a gro file");
    assert_eq!(run(0.005), 1);
}
