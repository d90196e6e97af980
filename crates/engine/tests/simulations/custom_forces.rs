//! Forces that the host computes: they act as built-in ones do, on every device, and belong to checkpoints.

use crate::fixtures::{Open, Rows, Steps, argon, column, emulated, thermo_csv};
use jostle_core::{Error, Precision, Result, Settings, SymTensor, UnitSystem, Vec3, Vector, WholeGroups};
use jostle_engine::custom_force::{AtomChoice, AtomForces, Configuration, ForceSums};
use jostle_engine::degrees_of_freedom::Momentum;
use jostle_engine::model::{StageInput, ThermostatInput};
use jostle_engine::{
    CustomForce, Existing, Extent, Outcome, Quantity, Simulation, SimulationBuilder, Thermo,
};
use jostle_potentials::restraint::{Center, Distance, Restraints, Spring};
use jostle_potentials::{PairKind, PairTerm, Truncation};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const ATOMS: [u32; 2] = [7, 201];
const STIFFNESS: f64 = 30.0;

/// A spring whose length at rest grows with time; it counts steps.
struct GrowingSpring {
    rest: f64,
    rate: f64,
    steps: u64,
    work: f64,
    last: [f64; 2],
}

impl GrowingSpring {
    fn new(rest: f64, rate: f64) -> Self {
        GrowingSpring { rest, rate, steps: 0, work: 0.0, last: [f64::NAN; 2] }
    }

    fn distance(now: &Configuration) -> Vec3 {
        let [a, b] = [now.positions[0], now.positions[1]];
        now.simbox.nearest_image(b - a)
    }

    fn energy(&self, r: f64, time: f64) -> f64 {
        0.5 * STIFFNESS * (r - self.rest - self.rate * time).powi(2)
    }
}

impl CustomForce for GrowingSpring {
    fn name(&self) -> &str {
        "growing_spring"
    }

    fn atoms(&self) -> AtomChoice<'_> {
        AtomChoice::Ids(&ATOMS)
    }

    fn momentum(&self) -> Momentum {
        Momentum::Conserved
    }

    fn evaluate(&mut self, now: &Configuration, forces: &mut AtomForces) -> Result<ForceSums> {
        let d = Self::distance(now);
        let r = d.iter().map(|d| d * d).sum::<f64>().sqrt();
        let force_over_r = -STIFFNESS * (r - self.rest - self.rate * now.time) / r;
        forces[0] = d.map(|d| -force_over_r * d);
        forces[1] = d.map(|d| force_over_r * d);
        let virial: SymTensor =
            [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].map(|(a, b)| force_over_r * d[a] * d[b]);
        self.last = [r, now.time];
        Ok(ForceSums { energy: self.energy(r, now.time), virial })
    }

    /// Work of the change of the length at rest, at the positions of the step that is over.
    fn end_step(&mut self, now: &Configuration) -> Result<()> {
        let r = Self::distance(now).iter().map(|d| d * d).sum::<f64>().sqrt();
        self.steps += 1;
        self.work += self.energy(r, now.time + TIMESTEP) - self.energy(r, now.time);
        Ok(())
    }

    fn work(&self) -> f64 {
        // That of the step that comes is not in the energy yet.
        let [r, time] = self.last;
        self.work - if self.steps > 0 { self.energy(r, time + TIMESTEP) - self.energy(r, time) } else { 0.0 }
    }

    fn columns(&self) -> Vec<Quantity> {
        vec![Quantity::new("spring_length", "")]
    }

    fn values(&self) -> Vec<Option<f64>> {
        vec![Some(self.last[0])]
    }

    fn save(&self) -> Result<Vec<u8>> {
        Ok([self.steps.to_le_bytes(), self.work.to_le_bytes()].concat())
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let ([steps, work], []) = saved.as_chunks::<8>() else {
            return Err(Error::input("not the state of a spring"));
        };
        (self.steps, self.work) = (u64::from_le_bytes(*steps), f64::from_le_bytes(*work));
        Ok(())
    }
}

const TIMESTEP: f64 = 0.002;

fn liquid(open: Open) -> SimulationBuilder {
    let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::ForceShifted, &[1.0, 1.0], 2.0);
    let precision = Precision::Double;
    let settings = Settings { threads: Some(1), reproducible: true, precision, ..Settings::default() };
    Simulation::builder(UnitSystem::Lj, argon(256, 0.8, 1.2, 1))
        .force(lj)
        .seed(3)
        .settings(settings)
        .open_with(open)
}

fn cpu() -> Open {
    |system, forces, settings| jostle_cpu::open(system, forces, settings)
}

/// A spring computed by the host gives the rows of the restraint with the same spring, on both devices.
#[test]
fn a_custom_spring_is_a_restraint_at_a_distance() {
    let folder = tempfile::tempdir().unwrap();
    let run = |builder: SimulationBuilder, name: &str| {
        let stage =
            StageInput::dynamics("run", 60, TIMESTEP).thermostat(ThermostatInput::bussi(1.2, 0.5)).thermo(6);
        let mut simulation = builder.stage(stage).build().unwrap();
        simulation.write_to(&folder.path().join(name), Existing::Refuse).unwrap();
        simulation.run().unwrap();
        folder.path().join(name)
    };
    let system = argon(256, 0.8, 1.2, 1);
    let start = WholeGroups::of_start(&system);
    let center = |atom: u32| Center::new(&system, &start, &[atom]);
    let restraints = Restraints {
        springs: vec![Spring::new(STIFFNESS)],
        anchors: Vec::new(),
        distances: vec![Distance { centers: ATOMS.map(center), range: [2.0; 2], spring: 0 }],
    };
    let built_in = run(liquid(cpu()).restraints(restraints), "restraint");
    for (open, name) in [(cpu(), "cpu"), (emulated as Open, "gpu")] {
        let rows = run(liquid(open).custom_force(GrowingSpring::new(2.0, 0.0)), name);
        for (quantity, mine) in
            [("restraint", "growing_spring"), ("pressure", "pressure"), ("pxy", "pxy"), ("total", "total")]
        {
            let (expected, found) = (column(&built_in, quantity), column(&rows, mine));
            assert_eq!(found.len(), 11);
            for (a, b) in expected.iter().zip(&found) {
                assert!((a - b).abs() < 1e-7 * (1.0 + a.abs()), "{name} {quantity}: {expected:?} {found:?}");
            }
        }
        let lengths = column(&rows, "spring_length");
        let energies = column(&rows, "growing_spring");
        for (length, energy) in lengths.iter().zip(&energies) {
            assert!((0.5 * STIFFNESS * (length - 2.0).powi(2) - energy).abs() < 1e-5 * (1.0 + energy));
        }
    }
}

/// A spring that is moved does work, which the conserved quantity accounts for; a run that stops in the middle
/// goes on with the state of the spring, to the same bits.
#[test]
fn a_moving_spring_does_work_and_is_part_of_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let build = || {
        let stage = StageInput::dynamics("pull", 400, TIMESTEP).thermo(10);
        liquid(cpu()).stage(stage).custom_force(GrowingSpring::new(2.0, 1.5))
    };
    let whole = folder.path().join("whole");
    let mut simulation = build().build().unwrap();
    simulation.write_to(&whole, Existing::Refuse).unwrap();
    simulation.run().unwrap();
    let spread = |values: Vec<f64>| {
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        most - values.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let (total, conserved) = (spread(column(&whole, "total")), spread(column(&whole, "conserved")));
    assert!(total > 1.0 && conserved < 0.02 * total, "{total} {conserved}");

    let parts = folder.path().join("parts");
    let mut first = build().build().unwrap();
    first.write_to(&parts, Existing::Refuse).unwrap();
    let step = Cell::new(0);
    assert_eq!(first.run_with(&mut Steps(&step), &|| step.get() == 170).unwrap(), Outcome::Interrupted);
    drop(first);
    let without = liquid(cpu()).stage(StageInput::dynamics("pull", 400, TIMESTEP).thermo(10));
    let error = without.resume(&parts).unwrap().run().unwrap_err();
    assert!(error.message().contains("growing_spring"), "{error}");
    build().resume(&parts).unwrap().run().unwrap();
    assert_eq!(thermo_csv(&parts), thermo_csv(&whole));
}

/// A spring that grows pulls an atom which is driven at a velocity: what the spring's growth puts in is in its work,
/// and the conserved quantity changes by the work of the drive alone, against the force on the atom.
#[test]
fn work_on_a_driven_atom_is_that_of_its_drive() {
    let velocity = [0.8, -0.3, 0.5];
    let driven = ATOMS[0];
    for open in [cpu(), emulated as Open] {
        let mut system = argon(256, 0.8, 1.2, 1);
        system.driven = system.driven.with(&system.state, &[driven], Vector(velocity));
        system.state.velocity[driven as usize] = Vector(velocity);
        let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::ForceShifted, &[1.0, 1.0], 2.0);
        let settings = Settings { threads: Some(1), precision: Precision::Double, ..Settings::default() };
        let mut simulation = Simulation::builder(UnitSystem::Lj, system)
            .force(lj)
            .settings(settings)
            .open_with(open)
            .stage(StageInput::dynamics("drag", 300, TIMESTEP).thermo(1))
            .custom_force(GrowingSpring::new(2.0, 1.5))
            .build()
            .unwrap();
        let power = |simulation: &mut Simulation| {
            let force = simulation.forces().unwrap()[driven as usize];
            -(0..3).map(|k| force[k] * velocity[k]).sum::<f64>()
        };
        let mut rows = Rows::default();
        let (mut work, mut powers) = (0.0, Vec::new());
        for _ in 0..300 {
            simulation.advance_with(&mut Extent::Steps(1), &mut rows, &|| false).unwrap();
            powers.push(power(&mut simulation));
            if let [.., before, now] = powers[..] {
                work += 0.5 * (before + now) * TIMESTEP;
            }
        }
        let conserved = |row: &Thermo| row.conserved.unwrap();
        let gained = conserved(rows.0.last().unwrap()) - conserved(&rows.0[1]);
        assert!(work.abs() > 5.0, "the drive does work: {work}");
        assert!((gained - work).abs() < 0.01 * work.abs(), "{gained} {work}");
        let moved = simulation.velocities().unwrap()[driven as usize];
        assert_eq!(moved, velocity);
    }
}

/// A force that names atoms that do not exist, or is not finite, ends the run with its name.
#[test]
fn faults_of_custom_forces_are_named() {
    struct Bad(Vec<u32>, f64);
    impl CustomForce for Bad {
        fn name(&self) -> &str {
            "bad"
        }
        fn atoms(&self) -> AtomChoice<'_> {
            AtomChoice::Ids(&self.0)
        }
        fn momentum(&self) -> Momentum {
            Momentum::Thermal
        }
        fn evaluate(&mut self, _now: &Configuration, forces: &mut AtomForces) -> Result<ForceSums> {
            forces[0][1] = self.1;
            Ok(ForceSums::default())
        }
    }
    let run = |force: Bad| {
        let stage = StageInput::dynamics("run", 3, TIMESTEP);
        liquid(cpu()).stage(stage).custom_force(force).build().unwrap().run().unwrap_err()
    };
    let missing = run(Bad(vec![256], 0.0));
    assert!(missing.message().contains("'bad' acts on atom 256, which does not exist"), "{missing}");
    let infinite = run(Bad(vec![255], f64::INFINITY));
    assert!(infinite.message().contains("'bad' on atom 255 is not finite"), "{infinite}");
    // A column of that name is there already; a run that has begun takes no more forces.
    let mut simulation =
        liquid(cpu()).stage(StageInput::dynamics("run", 3, TIMESTEP)).custom_force(Bad(vec![0], 0.0));
    simulation = simulation.custom_force(Bad(vec![1], 0.0));
    assert!(simulation.build().is_err());
    let mut simulation = liquid(cpu()).stage(StageInput::dynamics("run", 3, TIMESTEP)).build().unwrap();
    simulation.run().unwrap();
    assert!(simulation.add_custom_force(Bad(vec![1], 0.0)).unwrap_err().message().contains("too late"));
}

/// A pull at every atom along x at even steps, with memory of its own for positions.
struct EvenPull {
    rows: Vec<Vec3>,
}

impl CustomForce for EvenPull {
    fn name(&self) -> &str {
        "even_pull"
    }

    fn atoms(&self) -> AtomChoice<'_> {
        AtomChoice::All
    }

    fn momentum(&self) -> Momentum {
        Momentum::Thermal
    }

    fn position_rows(&mut self, n: usize) -> Result<Option<&mut [Vec3]>> {
        self.rows.resize(n, Vector([f64::NAN; 3]));
        Ok(Some(&mut self.rows))
    }

    fn evaluate(&mut self, now: &Configuration, forces: &mut AtomForces) -> Result<ForceSums> {
        assert!(now.positions.is_empty() && forces.iter().all(|force| *force == [0.0; 3]));
        if now.step.is_multiple_of(2) {
            forces.fill(Vector([1.0, 0.0, 0.0]));
        }
        let energy = -self.rows.iter().map(|r| r[0]).sum::<f64>();
        Ok(ForceSums { energy, virial: [0.0; 6] })
    }
}

/// Forces that write at some steps only add nothing at the others, alone and beside a force on some atoms; positions in
/// memory of a force are those of all atoms by id.
#[test]
fn forces_that_are_not_written_are_zero() {
    for (open, is_alone) in [(cpu(), true), (cpu(), false), (emulated as Open, true)] {
        let stage = StageInput::dynamics("run", 10, TIMESTEP).thermo(1);
        let mut builder = liquid(open).stage(stage).custom_force(EvenPull { rows: Vec::new() });
        if !is_alone {
            builder = builder.custom_force(GrowingSpring::new(2.0, 0.0));
        }
        let mut simulation = builder.build().unwrap();
        let momentum = |simulation: &mut Simulation| {
            simulation.velocities().unwrap().iter().map(|v| v[0]).sum::<f64>() / 256.0
        };
        let before = momentum(&mut simulation);
        let mut rows = Rows::default();
        simulation.run_with(&mut rows, &|| false).unwrap();
        let gained = momentum(&mut simulation) - before;
        // Half kicks by the first and the last of these forces, whole ones by the four between.
        assert!((gained - 5.0 * TIMESTEP).abs() < 1e-9, "{gained}");
        let unwrapped = simulation.unwrapped_positions().unwrap();
        let expected = -unwrapped.iter().map(|r| r[0]).sum::<f64>();
        let energy = rows.0.last().unwrap().terms[1];
        assert!((energy - expected).abs() < 1e-9 * expected.abs(), "{energy} {expected}");
    }
}

/// A column of a distance, without a force; it counts evaluations.
struct Onlooker {
    evaluations: Arc<AtomicU64>,
    distance: f64,
}

impl CustomForce for Onlooker {
    fn name(&self) -> &str {
        "onlooker"
    }

    fn atoms(&self) -> AtomChoice<'_> {
        AtomChoice::Ids(&ATOMS)
    }

    fn momentum(&self) -> Momentum {
        Momentum::Conserved
    }

    fn acts(&self) -> bool {
        false
    }

    fn evaluate(&mut self, now: &Configuration, _forces: &mut AtomForces) -> Result<ForceSums> {
        self.evaluations.fetch_add(1, Ordering::Relaxed);
        self.distance = GrowingSpring::distance(now).norm();
        Ok(ForceSums::default())
    }

    fn columns(&self) -> Vec<Quantity> {
        vec![Quantity::new("distance", "")]
    }

    fn values(&self) -> Vec<Option<f64>> {
        vec![Some(self.distance)]
    }
}

/// Forces that do not act are evaluated where a row is due, and there alone.
#[test]
fn forces_that_do_not_act_wait_for_rows() {
    let evaluations = Arc::new(AtomicU64::new(0));
    let force = Onlooker { evaluations: evaluations.clone(), distance: f64::NAN };
    let stage = StageInput::dynamics("go", 100, TIMESTEP).thermo(50);
    let mut simulation = liquid(cpu()).stage(stage).custom_force(force).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    simulation.write_to(&folder.path().join("run"), Existing::Refuse).unwrap();
    simulation.run().unwrap();
    let distances = column(&folder.path().join("run"), "distance");
    let positions = simulation.positions().unwrap();
    let [a, b] = ATOMS.map(|id| positions[id as usize]);
    let last = simulation.simbox().nearest_image(b - a).norm();
    assert!((distances.last().unwrap() - last).abs() < 1e-12, "{distances:?} {last}");
    let found = evaluations.load(Ordering::Relaxed);
    assert!((3..8).contains(&found), "{found} evaluations for 3 rows");
}
