//! Walls that reflect atoms: the GPU engine against the CPU engine, in batches and by single sub-steps.

use super::fluid::{advance, by_id, distance, largest, run};
use super::gpus::{counts, devices, on_gpu};
use jostle_core::backend::StageTime;
use jostle_core::random::{Purpose, Stream};
use jostle_core::thermostat::{Conditions, MOST_PARAMETERS, Target, ThermostatInput, ThermostatKind};
use jostle_core::{
    Algorithm, Backend, Driven, Evaluate, Precision, RespaSchedule, Sample, Settings, SimBox, Species, State,
    StepBatch, System, Thermostat, Vec3, Vector,
};
use jostle_cuda::SeveralGpus;
use jostle_engine::step::{StepContext, step};
use jostle_potentials::external::{ReflectingWall, Side, WallMotion};
use jostle_potentials::grains::Rolling;
use jostle_potentials::{Forces, Grains, PairEntry, PairKind, PairTerm, Truncation};

const STEPS: u64 = 60;
const TIMESTEP: f64 = 0.001;
const CELLS: [u32; 3] = [9, 9, 5];
const SPACING: f64 = 1.15;
/// Velocity of the driven atoms, which pass walls.
const DRIVEN: Vec3 = Vector([0.0, 0.0, 4.0]);

/// Slab of hot atoms of two species, and of some that are driven, right beside a floor that shakes, a lid that comes down,
/// and a wall across another axis that stays.
pub fn slab() -> (System, Vec<ReflectingWall>) {
    let lengths = CELLS.map(|n| f64::from(n) * SPACING);
    let simbox = SimBox::new([0.0; 3], lengths, [0.0; 3], [true, false, false]).unwrap();
    let species = [("A", 1.0), ("B", 1.7), ("C", 1.0)];
    let species = species.map(|(name, mass)| Species { name: name.into(), mass, charge: 0.0 });
    let mut system = System::new(simbox, species.to_vec());
    system.driven = Driven::BySpecies(vec![None, None, Some(DRIVEN)]);
    let mut random = Stream::new(23, Purpose::Placement, 0, 0);
    for k in 0..CELLS.iter().product() {
        let site = [k % CELLS[0], k / CELLS[0] % CELLS[1], k / CELLS[0] / CELLS[1]];
        let place = Vec3::from_fn(|a| SPACING * (f64::from(site[a]) + 0.5 + 0.1 * (random.uniform() - 0.5)));
        let species = if k % 13 == 0 { 2 } else { random.below(2) as u16 };
        system.state.push(species, place);
        if let Some(v) = system.state.velocity.last_mut() {
            *v = if species == 2 { DRIVEN } else { 3.0 * random.normal3() };
        }
    }
    let shaking = WallMotion { velocity: 0.0, amplitude: 0.05, period: 0.04, from: 0.005, to: 0.055 };
    let sinking = WallMotion { velocity: -2.0, from: 0.01, to: 0.05, ..WallMotion::REST };
    let wall = |axis, begin, side, motion| ReflectingWall { axis, begin, motion, side };
    let walls = vec![
        wall(2, 0.45, Side::Above, shaking),
        wall(2, lengths[2] - 0.45, Side::Below, sinking),
        wall(1, lengths[1] - 0.5, Side::Below, WallMotion::REST),
    ];
    (system, walls)
}

pub fn fluid(walls: &[ReflectingWall]) -> Forces {
    let mut pairs = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 3);
    for (a, b) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)] {
        pairs.set(a, b, PairEntry { parameters: vec![1.0, 0.95], cutoff: 2.2 });
    }
    Forces { reflecting_walls: walls.to_vec(), ..pairs.into() }
}

fn thermostat(kind: Option<ThermostatKind>) -> Thermostat {
    let target = Target { thermal_energy: 2.0, degrees_of_freedom: 1100 };
    let Some(kind) = kind else { return Thermostat::Isolated };
    let mut parameters = [0.0; MOST_PARAMETERS];
    for (value, parameter) in parameters.iter_mut().zip(kind.parameters()) {
        *value = parameter.example;
    }
    let stage = Conditions { target, timestep: TIMESTEP, start: 100 };
    ThermostatInput::new(kind, target.thermal_energy, parameters).begin(&stage)
}

/// No thermostat, and every one.
fn thermostats() -> Vec<Thermostat> {
    let kinds = ThermostatKind::ALL.iter().map(|kind| Some(*kind));
    std::iter::once(None).chain(kinds).map(thermostat).collect()
}

fn settings(algorithm: Algorithm, precision: Precision) -> Settings {
    Settings { algorithm, precision, skin: Some(0.2), ..Settings::default() }
}

/// Steps of a batch on a device.
type Path = fn(&mut dyn Backend, &StepBatch, &mut Thermostat) -> Vec<Sample>;

/// Atoms after all steps.
fn end_of(backend: &mut dyn Backend, path: Path, thermostat: &Thermostat) -> State {
    let batch = StepBatch {
        first_step: 101,
        steps: STEPS,
        timestep: TIMESTEP,
        seed: 9,
        sample_every: 0,
        evaluate: Evaluate::Forces,
        long_range: RespaSchedule::ALWAYS,
    };
    backend.update_neighbors().unwrap();
    backend.compute_forces(Evaluate::Forces).unwrap();
    path(backend, &batch, &mut thermostat.clone());
    by_id(backend)
}

fn on_cpu((system, forces): (&System, &Forces), thermostat: &Thermostat) -> State {
    let exact = settings(Algorithm::Auto, Precision::Double);
    let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), exact).unwrap();
    end_of(&mut *cpu, advance, thermostat)
}

/// Atoms of one path and another, to this agreement of positions and velocities.
fn assert_same(found: &State, right: &State, tolerance: f64, what: &str) {
    for (name, a, b) in
        [("position", &found.position, &right.position), ("velocity", &found.velocity, &right.velocity)]
    {
        let apart = largest(a.iter().zip(b).map(|(a, b)| distance(*a, *b)));
        assert!(apart < tolerance, "{what}: {name} off by {apart:e}");
    }
}

/// Every thermostat, in batches, by single sub-steps, and in mixed precision.
#[test]
fn atoms_between_walls_that_reflect_agree() {
    let (system, walls) = slab();
    let forces = fluid(&walls);
    for thermostat in thermostats() {
        let right = on_cpu((&system, &forces), &thermostat);
        let cases: [(Precision, Path, f64); 3] = [
            (Precision::Double, run, 1e-9),
            (Precision::Double, advance, 1e-9),
            (Precision::Mixed, run, 5e-3),
        ];
        for (precision, path, tolerance) in cases {
            let mut gpu = on_gpu(system.clone(), forces.clone(), settings(Algorithm::Auto, precision));
            let what = format!("{:?}, {precision:?}", thermostat.kind());
            assert_same(&end_of(&mut *gpu, path, &thermostat), &right, tolerance, &what);
        }
        // Moving walls have turned many atoms round, and driven ones none.
        let free = on_cpu((&system, &fluid(&[])), &thermostat);
        let turned = right.velocity.iter().zip(&free.velocity).filter(|(a, b)| distance(**a, **b) > 1.0);
        assert!(turned.count() > 50);
        let driven = (0..system.state.len()).filter(|k| system.state.species[*k] == 2);
        let driven: Vec<usize> = driven.collect();
        assert!(
            driven.iter().all(|k| right.velocity[*k] == DRIVEN && right.position[*k] == free.position[*k])
        );
        assert!(driven.iter().any(|k| right.position[*k][2] > f64::from(CELLS[2]) * SPACING - 0.45));
    }
}

/// Every algorithm, of which some move atoms in the kernel of forces and others in one of its own, and several GPUs, each
/// of which moves its own atoms.
#[test]
fn all_kernels_that_move_atoms_know_of_walls_that_reflect() {
    let (system, walls) = slab();
    let forces = fluid(&walls);
    let langevin = thermostat(Some(ThermostatKind::Langevin));
    let right = on_cpu((&system, &forces), &langevin);
    for algorithm in [Algorithm::Tiles, Algorithm::List, Algorithm::Cells, Algorithm::AllPairs] {
        let mut gpu = on_gpu(system.clone(), forces.clone(), settings(algorithm, Precision::Double));
        let what = format!("{algorithm:?}");
        assert_same(&end_of(&mut *gpu, run, &langevin), &right, 1e-9, &what);
    }
    for algorithm in [Algorithm::Tiles, Algorithm::List] {
        for count in counts() {
            let settings = settings(algorithm, Precision::Double);
            let mut gpus =
                SeveralGpus::new(devices(count), system.clone(), forces.clone(), settings).unwrap();
            let what = format!("{algorithm:?}, {count} GPUs");
            for path in [run as Path, advance] {
                assert_same(&end_of(&mut gpus, path, &langevin), &right, 1e-9, &what);
                gpus.check_agreement().unwrap();
                gpus = SeveralGpus::new(devices(count), system.clone(), forces.clone(), settings).unwrap();
            }
        }
    }
}

/// Driven atoms given one by one, and grains, whose friction is in the middle of a drift.
#[test]
fn single_driven_atoms_and_grains_between_walls_that_reflect_agree() {
    let (mut system, walls) = slab();
    let grains = Grains {
        stiffness: 2000.0,
        normal_damping: 20.0,
        tangential_damping: 15.0,
        friction: 0.4,
        tangential_stiffness: 500.0,
        rolling: Rolling { stiffness: 200.0, damping: 10.0, friction: 0.2 },
        radius: vec![0.6, 0.55, 0.58],
    };
    let heap =
        Forces { reflecting_walls: walls.clone(), grains: Some(grains.clone()), ..grains.springs().into() };
    system.driven = system.driven.with(&system.state, &[], Vec3::ZERO);
    for (what, forces) in [("fluid", fluid(&walls)), ("grains", heap)] {
        let right = on_cpu((&system, &forces), &Thermostat::Isolated);
        for path in [run as Path, advance] {
            let settings = settings(Algorithm::Auto, Precision::Double);
            let mut gpu = on_gpu(system.clone(), forces.clone(), settings);
            assert!(gpu.has_reflecting_walls());
            assert_same(&end_of(&mut *gpu, path, &Thermostat::Isolated), &right, 1e-9, what);
        }
    }
}

/// Atoms without forces between a floor and a lid, so fast that each step takes them from wall to wall several times.
fn bullets(lid: f64) -> (System, Forces) {
    let (mut system, _) = slab();
    system.driven = Driven::BySpecies(Vec::new());
    for (k, velocity) in system.state.velocity.iter_mut().enumerate() {
        *velocity = Vector([0.0, 0.0, 40.0 / TIMESTEP * ((k as f64 * 0.618).fract() - 0.5)]);
    }
    let mut pairs = PairTerm::new(PairKind::GaussianCore, Truncation::Plain, 3);
    for (a, b) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)] {
        pairs.set(a, b, PairEntry { parameters: vec![0.0, 0.3], cutoff: 1.0 });
    }
    let height = f64::from(CELLS[2]) * SPACING;
    let wall = |begin, side, motion| ReflectingWall { axis: 2, begin, motion, side };
    let sinking = WallMotion { velocity: lid, ..WallMotion::REST };
    let walls = vec![wall(0.0, Side::Above, WallMotion::REST), wall(height, Side::Below, sinking)];
    (system, Forces { reflecting_walls: walls, ..pairs.into() })
}

/// Mirror images that lie behind the other wall are reflected there, too.
#[test]
fn atoms_that_pass_several_walls_in_a_step_agree() {
    for lid in [0.0, -20.0] {
        let (system, forces) = bullets(lid);
        let right = on_cpu((&system, &forces), &Thermostat::Isolated);
        let height = f64::from(CELLS[2]) * SPACING;
        assert!(right.position.iter().all(|r| (0.0..=height).contains(&r[2])));
        for path in [run as Path, advance] {
            let settings = settings(Algorithm::Auto, Precision::Double);
            let mut gpu = on_gpu(system.clone(), forces.clone(), settings);
            let found = end_of(&mut *gpu, path, &Thermostat::Isolated);
            // Velocities of 20,000 that a moving wall changes hundreds of times.
            let apart = largest(found.position.iter().zip(&right.position).map(|(a, b)| distance(*a, *b)));
            assert!(apart < 1e-6, "{lid}: {apart:e}");
            let apart = largest(found.velocity.iter().zip(&right.velocity).map(|(a, b)| distance(*a, *b)));
            assert!(apart < 1e-4, "{lid}: {apart:e}");
        }
    }
}

/// Walls that have passed each other leave nothing between them: an error that names an atom and the walls.
#[test]
fn walls_that_pass_each_other_end_a_run() {
    let height = f64::from(CELLS[2]) * SPACING;
    // After 30.5 steps.
    let (system, forces) = bullets(-height / (30.5 * TIMESTEP));
    let exact = settings(Algorithm::Auto, Precision::Double);
    let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), exact).unwrap();
    let mut gpu = on_gpu(system, forces, exact);
    for device in [&mut *cpu, &mut *gpu] {
        device.update_neighbors().unwrap();
        device.compute_forces(Evaluate::Forces).unwrap();
    }
    let ends = (1..=STEPS).find_map(|k| {
        cpu.set_time(StageTime { start: 0.0, timestep: TIMESTEP, steps: k }).unwrap();
        let context = StepContext { seed: 9, step: 100 + k, timestep: TIMESTEP, long_range_weight: 1.0 };
        Some((100 + k, step(&mut *cpu, &mut Thermostat::Isolated, &context, Evaluate::Forces).err()?))
    });
    let (last, error) = ends.unwrap();
    let batch = StepBatch {
        first_step: 101,
        steps: STEPS,
        timestep: TIMESTEP,
        seed: 9,
        sample_every: 0,
        evaluate: Evaluate::Forces,
        long_range: RespaSchedule::ALWAYS,
    };
    gpu.set_time(StageTime { start: 0.0, timestep: TIMESTEP, steps: 0 }).unwrap();
    let of_gpu = gpu.run_steps(&batch, &mut Thermostat::Isolated).map(drop).unwrap_err();
    assert_eq!(of_gpu.message(), format!("step {last}: {}", error.message()));
    let said = error.message();
    assert!(said.contains("atom 1 is not between walls after 100 reflections in one step"), "{said}");
    assert!(said.contains("z = 0 and z = 5.75") && error.help().is_some(), "{said}");
}
