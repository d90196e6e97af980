//! Damping and friction of grains, with each other and with walls: the GPU engine against the CPU engine.

use crate::device::{self, Size};
use crate::fluid::{advance, by_id, distance, largest, norm, run};
use crate::gpus::on_gpu;
use jostle_core::random::{Purpose, Stream};
use jostle_core::thermostat::{Bussi, NoseHoover, Target};
use jostle_core::{
    Algorithm, Backend, Driven, Evaluate, Precision, RespaSchedule, Sample, Settings, SimBox, Species, State,
    StepBatch, System, Thermostat, Vec3, Vector,
};
use jostle_potentials::external::{Field, Side, Surface, Wall, WallMotion};
use jostle_potentials::grains::Rolling;
use jostle_potentials::{Forces, Grains};

const HEIGHT: u32 = 6;

/// Two sizes of grains between a floor and a lid, most of them in contact, moving and turning; and some that
/// are driven, and do not turn. Contacts remember with this stiffness of their springs.
fn packing(spring: f64) -> (System, Forces) {
    let across = if device::size() == Size::Large { 40 } else { 6 };
    let cells = [across, across, HEIGHT];
    let simbox = SimBox::new([0.0; 3], cells.map(f64::from), [0.4, 0.0, 0.0], [true, true, false]).unwrap();
    let species = [("large", 1.0), ("small", 0.6), ("stirrer", 1.0)];
    let species = species.map(|(name, mass)| Species { name: name.into(), mass, charge: 0.0 });
    let mut system = System::new(simbox, species.to_vec());
    system.driven = Driven::BySpecies(vec![None, None, Some(Vector([0.5, 0.0, 0.0]))]);
    let mut random = Stream::new(17, Purpose::Placement, 0, 0);
    for k in 0..cells.iter().product() {
        let site = [k % cells[0], k / cells[0] % cells[1], k / cells[0] / cells[1]];
        let site: [f64; 3] = std::array::from_fn(|a| {
            (f64::from(site[a]) + 0.5 + 0.06 * (random.uniform() - 0.5)) / f64::from(cells[a])
        });
        let kind = if k % 11 == 0 { 2 } else { random.below(2) as u16 };
        system.state.push(kind, system.simbox.to_cartesian(Vector(site)));
        if let Some(v) = system.state.velocity.last_mut() {
            *v = if kind == 2 { Vector([0.5, 0.0, 0.0]) } else { random.normal3() };
        }
        let turning = if kind == 2 { Vec3::ZERO } else { 3.0 * random.normal3() };
        system.state.angular_velocity.push(turning);
    }
    let grains = Grains {
        stiffness: 2000.0,
        normal_damping: 20.0,
        tangential_damping: 15.0,
        friction: 0.4,
        tangential_stiffness: spring,
        rolling: Rolling { stiffness: 0.5 * spring, damping: 10.0, friction: 0.2 },
        radius: vec![0.53, 0.49, 0.5],
    };
    let wall = |at: f64, side| {
        let mut wall = Wall::new(2, at, side, grains.springs_of_wall());
        wall.surface = Surface::Grains;
        wall
    };
    let forces = Forces {
        fields: vec![Field::new(vec![Vector([0.0, 0.0, -1.0]), Vector([0.0, 0.0, -0.6]), Vec3::ZERO])],
        walls: vec![wall(0.05, Side::Above), wall(f64::from(HEIGHT) - 0.05, Side::Below)],
        grains: Some(grains.clone()),
        ..grains.springs().into()
    };
    (system, forces)
}

fn settings(algorithm: Algorithm, precision: Precision) -> Settings {
    Settings { algorithm, precision, skin: Some(0.1), ..Settings::default() }
}

/// Positions after twenty steps, and samples in between.
fn go(
    backend: &mut dyn Backend,
    go: fn(&mut dyn Backend, &StepBatch, &mut Thermostat) -> Vec<Sample>,
    thermostat: &Thermostat,
) -> (State, Vec<Sample>) {
    let evaluate = Evaluate::ForcesAndEnergies;
    let batch = StepBatch {
        first_step: 1,
        steps: 20,
        timestep: 2e-3,
        seed: 1,
        sample_every: 5,
        evaluate,
        long_range: RespaSchedule::ALWAYS,
    };
    backend.update_neighbors().unwrap();
    backend.compute_forces(evaluate).unwrap();
    let samples = go(backend, &batch, &mut thermostat.clone());
    (by_id(backend), samples)
}

#[test]
fn grains_agree() {
    agree(packing(0.0));
}

#[test]
fn grains_that_remember_agree() {
    agree(packing(700.0));
}

/// A floor that shakes and a lid that comes down drag grains along by their velocities in the middle of each step.
#[test]
fn grains_between_moving_walls_agree() {
    let (system, mut forces) = packing(700.0);
    let still = forces.clone();
    let shaking = WallMotion { velocity: 0.0, amplitude: 0.03, period: 0.02, from: 0.0, to: 1.0 };
    let sinking = WallMotion { velocity: -1.5, from: 0.01, to: 0.034, ..WallMotion::REST };
    for (wall, motion) in forces.walls.iter_mut().zip([shaking, sinking]) {
        *wall = wall.clone().moving(motion);
    }
    let exact = settings(Algorithm::Auto, Precision::Double);
    let [moved, rested] = [&forces, &still].map(|forces| {
        let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), exact).unwrap();
        go(&mut *cpu, advance, &Thermostat::Isolated).0
    });
    let apart = largest(moved.velocity.iter().zip(&rested.velocity).map(|(a, b)| distance(*a, *b)));
    assert!(apart > 0.1, "walls hardly move grains: {apart}");
    agree((system, forces));
}

fn agree((system, forces): (System, Forces)) {
    let exact = settings(Algorithm::Auto, Precision::Double);
    let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), exact).unwrap();
    let (right, expected) = go(&mut *cpu, advance, &Thermostat::Isolated);
    let before = &system.state;
    let turned =
        largest(before.angular_velocity.iter().zip(&right.angular_velocity).map(|(a, b)| distance(*a, *b)));
    assert!(turned > 1.0, "hardly any grain has been turned: {turned}");
    for (number, (algorithm, precision, way, tolerance)) in [
        (
            Algorithm::Auto,
            Precision::Double,
            run as fn(&mut dyn Backend, &StepBatch, &mut Thermostat) -> Vec<Sample>,
            1e-11,
        ),
        (Algorithm::Auto, Precision::Double, advance, 1e-11),
        (Algorithm::Cells, Precision::Mixed, run, 2e-4),
        (Algorithm::AllPairs, Precision::Double, run, 1e-11),
    ]
    .into_iter()
    .enumerate()
    {
        let what = format!("{algorithm:?} {precision:?}");
        let mut system = system.clone();
        if number == 1 {
            // Driven atoms given one by one.
            system.driven = system.driven.with(&system.state, &[], Vec3::ZERO);
        }
        let mut gpu = on_gpu(system, forces.clone(), settings(algorithm, precision));
        let (found, samples) = go(&mut *gpu, way, &Thermostat::Isolated);
        for (name, a, b) in [
            ("position", &found.position, &right.position),
            ("velocity", &found.velocity, &right.velocity),
            ("angular velocity", &found.angular_velocity, &right.angular_velocity),
        ] {
            let error = largest(a.iter().zip(b).map(|(a, b)| distance(*a, *b)));
            let scale = largest(b.iter().map(|b| norm(*b)));
            assert!(error < tolerance * scale, "{what}: {name} {error:e}");
        }
        assert_eq!(found.contacts.len(), right.contacts.len(), "{what}");
        for (a, b) in found.contacts.iter().zip(&right.contacts) {
            let apart = distance(a.slide, b.slide).max(distance(a.roll, b.roll));
            assert!(a.atoms == b.atoms && apart < tolerance, "{what}: {a:?} {b:?}");
        }
        assert_eq!(samples.len(), expected.len());
        for (a, b) in samples.iter().zip(&expected) {
            let pairs = [
                (a.kinetic.rotation.unwrap(), b.kinetic.rotation.unwrap()),
                (a.kinetic.energy(), b.kinetic.energy()),
                (a.energies.potential(), b.energies.potential()),
            ];
            for (a, b) in pairs {
                assert!((a - b).abs() < 10.0 * tolerance * b.abs(), "{what}: {a} {b}");
            }
        }
    }
}

/// Steps of grains take two slots of a batch, in one of which a thermostat that scales velocities acts.
#[test]
fn grains_with_thermostats_agree() {
    let (system, forces) = packing(0.0);
    let settings = settings(Algorithm::Auto, Precision::Double);
    let target = Target { thermal_energy: 1.0, degrees_of_freedom: 3 * system.n_free() };
    for thermostat in [
        Thermostat::Bussi(Bussi::new(target, 0.02, 2e-3)),
        Thermostat::NoseHoover(NoseHoover::new(target, 0.1, 2)),
    ] {
        let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), settings).unwrap();
        let mut gpu = on_gpu(system.clone(), forces.clone(), settings);
        let (free, _) = go(&mut *cpu, advance, &Thermostat::Isolated);
        cpu.set_state(system.state.clone()).unwrap();
        let (right, expected) = go(&mut *cpu, advance, &thermostat);
        let (found, samples) = go(&mut *gpu, run, &thermostat);
        let apart =
            |a: &State, b: &State| largest(a.velocity.iter().zip(&b.velocity).map(|(a, b)| distance(*a, *b)));
        let scale = largest(right.velocity.iter().map(|v| norm(*v)));
        assert!(apart(&free, &right) > 1e-3 * scale, "{thermostat:?} does nothing");
        assert!(apart(&found, &right) < 1e-10 * scale, "{thermostat:?}: {:e}", apart(&found, &right) / scale);
        for (a, b) in samples.iter().zip(&expected) {
            let (a, b) = (a.thermostat.heat().unwrap(), b.thermostat.heat().unwrap());
            assert!((a - b).abs() < 1e-9 * b.abs(), "{thermostat:?}: heat {a} {b}");
        }
    }
}

/// Grains that overlap so far that each touches more of them than fit around it end a run, and one of them is named.
#[test]
fn crowds_are_an_error() {
    let (packed, forces) = packing(700.0);
    let mut system = System::new(packed.simbox, packed.species);
    let mut random = Stream::new(5, Purpose::Placement, 0, 0);
    for _ in 0..60 {
        let place = Vec3::from_fn(|_| 3.0 + 0.3 * random.uniform());
        system.state.push(0, place);
        system.state.angular_velocity.push(Vec3::ZERO);
    }
    let mut gpu = on_gpu(system, forces, settings(Algorithm::Auto, Precision::Double));
    gpu.update_neighbors().unwrap();
    gpu.compute_forces(Evaluate::Forces).unwrap();
    let batch = StepBatch {
        first_step: 1,
        steps: 3,
        timestep: 1e-5,
        seed: 1,
        sample_every: 0,
        evaluate: Evaluate::Forces,
        long_range: RespaSchedule::ALWAYS,
    };
    let error = gpu.run_steps(&batch, &mut Thermostat::Isolated).map(drop).unwrap_err().to_string();
    assert!(error.contains("touches more others than have room around it"), "{error}");
}

/// A state that is restored goes on to the last bit, contacts that remember and the open axis included.
#[test]
fn contacts_are_restored() {
    let evaluate = Evaluate::ForcesAndEnergies;
    let (system, forces) = packing(700.0);
    let settings = Settings { reproducible: true, ..settings(Algorithm::Auto, Precision::Mixed) };
    let mut gpu = on_gpu(system, forces, settings);
    go(&mut *gpu, run, &Thermostat::Isolated);
    let (state, positions) = (gpu.state().unwrap().clone(), gpu.list_positions().unwrap().to_vec());
    assert!(state.contacts.iter().filter(|contact| norm(contact.slide) > 1e-4).count() > 20);
    let further = |gpu: &mut dyn Backend| {
        let batch = StepBatch {
            first_step: 21,
            steps: 20,
            timestep: 2e-3,
            seed: 1,
            sample_every: 0,
            evaluate,
            long_range: RespaSchedule::ALWAYS,
        };
        run(gpu, &batch, &mut Thermostat::Isolated);
        by_id(gpu)
    };
    let whole = further(&mut *gpu);
    gpu.restore(state, positions, 0.1).unwrap();
    gpu.update_neighbors().unwrap();
    gpu.compute_forces(evaluate).unwrap();
    let again = further(&mut *gpu);
    assert!(whole.position == again.position && whole.velocity == again.velocity);
    assert!(whole.angular_velocity == again.angular_velocity && whole.contacts == again.contacts);
}
