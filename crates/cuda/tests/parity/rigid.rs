//! Rigid bodies: the GPU engine against the CPU engine in double precision, and against itself.

use super::constraints::{forces, settings};
use super::fluid::{advance, by_id, distance, largest, norm, run};
use super::gpus::on_gpu;
use jostle_core::random::{Purpose, Stream};
use jostle_core::thermostat::{Bussi, Langevin, Target};
use jostle_core::{
    Algorithm, Backend, Constraint, Evaluate, Precision, RespaSchedule, RigidBody, Sample, Settings, SimBox,
    Species, State, StepBatch, System, Thermostat, Vec3, Vector,
};

const TIMESTEP: f64 = 0.002;
const EDGE: usize = 4;
const SPACING: f64 = 1.6;

/// Places and species of the atoms of a body: a pair, a row, a triangle, a pyramid, and a block of more atoms than a warp
/// has lanes, with one in the middle.
fn kinds() -> [Vec<(u16, Vec3)>; 5] {
    let block = (0..4).flat_map(|i| (0..3).flat_map(move |j| (0..3).map(move |k| [i, j, k])));
    let block = block.map(|cell| (1, Vector::from_fn(|k| 0.25 * f64::from(cell[k]) - 0.3 + 0.01 * k as f64)));
    [
        vec![(0, Vec3::ZERO), (1, Vector([0.3, 0.1, 0.2]))],
        vec![(2, Vec3::ZERO), (0, Vector([0.3, 0.1, 0.0])), (0, Vector([-0.3, -0.1, 0.0]))],
        vec![(0, Vec3::ZERO), (1, Vector([0.25, 0.2, 0.0])), (1, Vector([-0.25, 0.2, 0.0]))],
        vec![
            (2, Vec3::ZERO),
            (1, Vector([0.3, 0.0, 0.0])),
            (1, Vector([-0.1, 0.3, 0.0])),
            (1, Vector([-0.1, -0.1, 0.3])),
        ],
        block.collect(),
    ]
}

/// Rigid bodies in a tilted box, beside molecules of constraints and single atoms.
pub fn bodies() -> System {
    let length = SPACING * EDGE as f64;
    let simbox = SimBox::new([-1.0, 0.5, 0.0], [length; 3], [1.2, -0.8, 1.0], [true; 3]).unwrap();
    let species = |name: &str, mass| Species { name: name.into(), mass, charge: 0.0 };
    let kinds_of_atoms = vec![species("O", 16.0), species("H", 1.0), species("C", 12.0), species("X", 5.0)];
    let mut system = System::new(simbox, kinds_of_atoms);
    // The forces have springs, of molecules that are not here.
    system.topology.bond_types = vec!["spring".into()];
    let kinds = kinds();
    let mut random = Stream::new(11, Purpose::Placement, 0, 0);
    let mut joined = Vec::new();
    for number in 0..EDGE.pow(3) {
        // Bodies, and two kinds of something else.
        let kind = match number % 13 {
            k if k < 12 => k % 6,
            _ => 6,
        };
        let atoms = match kind {
            5 => vec![(2, Vec3::ZERO)],
            6 => kinds[4].clone(),
            4 => kinds[2].clone(),
            kind => kinds[kind].clone(),
        };
        let cell = [number / EDGE / EDGE, number / EDGE % EDGE, number % EDGE];
        let center = simbox.to_cartesian(Vector(cell.map(|c| (c as f64 + 0.5) / EDGE as f64)));
        let (first, turn) = (system.state.len() as u32, number / 3 % 3);
        for (species, place) in &atoms {
            system.state.push(*species, [0, 1, 2].map(|k| center[k] + place[(k + turn) % 3]));
            let mass = system.species[usize::from(*species)].mass;
            if let Some(v) = system.state.velocity.last_mut() {
                *v = random.normal3().map(|x| (1.0 / mass).sqrt() * x);
            }
        }
        let ids: Vec<u32> = (first..system.state.len() as u32).collect();
        match kind {
            // A triangle by SETTLE.
            4 => {
                for [a, b] in [[0, 1], [0, 2], [1, 2]] {
                    let length = distance(atoms[a].1, atoms[b].1);
                    let pair = [a, b].map(|k| first + k as u32);
                    system.topology.constraints.push(Constraint { atoms: pair, length });
                    system.topology.excluded.push(pair);
                }
            }
            5 => {}
            _ => joined.push(ids),
        }
    }
    system.topology.rigid_bodies = joined
        .iter()
        .map(|ids| RigidBody::new(&system, &system.state.index_by_id(), ids, f64::INFINITY).unwrap())
        .collect();
    system
}

fn batch(first_step: u64, steps: u64, sample_every: u64) -> StepBatch {
    StepBatch {
        first_step,
        steps,
        timestep: TIMESTEP,
        seed: 5,
        sample_every,
        evaluate: Evaluate::Forces,
        long_range: RespaSchedule::ALWAYS,
    }
}

fn begin(backend: &mut dyn Backend) {
    backend.constrain_velocities(None).unwrap();
    backend.update_neighbors().unwrap();
    backend.compute_forces(Evaluate::Forces).unwrap();
}

fn thermostats() -> [Thermostat; 3] {
    let target = Target { thermal_energy: 1.0, degrees_of_freedom: 400 };
    [
        Thermostat::Isolated,
        Thermostat::Langevin(Langevin::new(1.0, 2.0, TIMESTEP)),
        Thermostat::Bussi(Bussi::new(target, 0.1, TIMESTEP)),
    ]
}

/// Largest error of a distance in a body, and of a speed along one.
fn errors(backend: &mut dyn Backend) -> [f64; 2] {
    let (simbox, state) = (*backend.simbox(), by_id(backend));
    let mut worst = [0.0f64; 2];
    for body in bodies().topology.rigid_bodies {
        for (k, a) in body.atoms.iter().enumerate() {
            for (other, b) in body.atoms[..k].iter().enumerate() {
                let [a, b] = [*a, *b].map(|id| id as usize);
                let arm = simbox.nearest_image(state.position[a] - state.position[b]);
                let length = distance(body.places[k], body.places[other]);
                let closing = state.velocity[a] - state.velocity[b];
                let along: f64 = (0..3).map(|k| arm[k] * closing[k]).sum();
                worst[0] = worst[0].max((norm(arm) - length).abs());
                worst[1] = worst[1].max((along / length).abs());
            }
        }
    }
    worst
}

/// Paths, energies, virials and thermostats are those of the CPU engine.
#[test]
fn bodies_agree() {
    for (algorithm, precision) in [(Algorithm::Auto, Precision::Mixed), (Algorithm::List, Precision::Double)]
    {
        for thermostat in thermostats() {
            let what = format!("{algorithm:?} {precision:?} {thermostat:?}");
            let exact = settings(Algorithm::Auto, Precision::Double);
            let mut cpu = jostle_cpu::open(bodies(), forces(), exact).unwrap();
            // Exact sums have a share for each atom.
            let reproducible = precision == Precision::Double;
            let of_gpu = Settings { reproducible, ..settings(algorithm, precision) };
            let mut gpu = on_gpu(bodies(), forces(), of_gpu);
            let batch = batch(1, 40, 10);
            let [right, found]: [(Vec<Sample>, State); 2] =
                [&mut *cpu as &mut dyn Backend, &mut *gpu].map(|backend| {
                    begin(backend);
                    (run(backend, &batch, &mut thermostat.clone()), by_id(backend))
                });
            let tolerance = if precision == Precision::Double { 1e-9 } else { 2e-4 };
            for (a, b) in found.0.iter().zip(&right.0) {
                let scale = b.kinetic.energy();
                let apart = |a: &[f64], b: &[f64]| largest(a.iter().zip(b).map(|(a, b)| a - b));
                let kinetic = apart(&a.kinetic.tensor, &b.kinetic.tensor);
                assert!(kinetic < tolerance * scale, "{what}: kinetic {kinetic:e} of {scale}");
                let virial = apart(&a.energies.virial, &b.energies.virial);
                let scale = largest(b.energies.virial.iter().copied()).max(scale);
                assert!(virial < 10.0 * tolerance * scale, "{what}: virial {virial:e} of {scale}");
            }
            let error =
                largest(found.1.position.iter().zip(&right.1.position).map(|(a, b)| distance(*a, *b)));
            assert!(error < tolerance, "{what}: {error:e} apart");
            let [length, speed] = errors(&mut *gpu);
            assert!(length < 1e-12 && speed < 1e-11, "{what}: {length:e} {speed:e}");
        }
    }
}

/// Single methods of the backend move bodies as a batch does, and give the same virials.
#[test]
fn a_batch_of_bodies_is_its_steps() {
    for thermostat in thermostats() {
        let what = format!("{thermostat:?}");
        let [one, other] = [run, advance].map(|way| {
            let mut gpu = on_gpu(bodies(), forces(), settings(Algorithm::List, Precision::Double));
            begin(&mut *gpu);
            (way(&mut *gpu, &batch(1, 20, 5), &mut thermostat.clone()), by_id(&mut *gpu))
        });
        for (a, b) in one.0.iter().zip(&other.0) {
            for (a, b) in a.energies.virial.iter().zip(b.energies.virial) {
                assert!((a - b).abs() < 1e-6 * b.abs().max(1.0), "{what}: {a} is not {b}");
            }
        }
        let error = largest(one.1.position.iter().zip(&other.1.position).map(|(a, b)| distance(*a, *b)));
        assert!(error < 1e-6, "{what}: {error:e} apart");
    }
}

/// A ball of more atoms than a warp moves, in a solid of the same atoms.
#[test]
fn a_large_body_agrees() {
    let species = Species { name: "C".into(), mass: 12.0, charge: 0.0 };
    let mut system = System::new(SimBox::orthorhombic([9.0; 3]).unwrap(), vec![species; 4]);
    system.topology.bond_types = vec!["spring".into()];
    let (mut random, mut ball) = (Stream::new(12, Purpose::Placement, 0, 0), Vec::new());
    for id in 0..9 * 9 * 9u32 {
        let place = [id % 9, id / 9 % 9, id / 81].map(f64::from);
        system.state.push(2, place);
        if let Some(v) = system.state.velocity.last_mut() {
            *v = random.normal3().map(|x| 0.3 * x);
        }
        if distance(Vector(place), Vector([4.0; 3])) < 4.01 {
            ball.push(id);
        }
    }
    assert!(ball.len() > 256);
    let body = RigidBody::new(&system, &system.state.index_by_id(), &ball, 2.3).unwrap();
    system.topology.rigid_bodies.push(body);
    let [on_cpu, of_gpu] = [Algorithm::Auto, Algorithm::List].map(|a| settings(a, Precision::Double));
    let mut cpu = jostle_cpu::open(system.clone(), forces(), on_cpu).unwrap();
    let mut gpu = on_gpu(system, forces(), of_gpu);
    let [right, found]: [(Vec<Sample>, State); 2] =
        [&mut *cpu as &mut dyn Backend, &mut *gpu].map(|backend| {
            begin(backend);
            (run(backend, &batch(1, 10, 5), &mut Thermostat::Isolated), by_id(backend))
        });
    let error = largest(found.1.position.iter().zip(&right.1.position).map(|(a, b)| distance(*a, *b)));
    assert!(error < 1e-9, "{error:e} apart");
    for (a, b) in found.0.iter().zip(&right.0) {
        let apart = largest(a.energies.virial.iter().zip(&b.energies.virial).map(|(a, b)| a - b));
        assert!(apart < 1e-8 * largest(b.energies.virial.iter().copied()), "{apart:e}");
    }
}

#[test]
fn a_resumed_run_of_bodies_is_the_same_to_the_last_bit() {
    for thermostat in thermostats() {
        let what = format!("{thermostat:?}");
        let mut settings = settings(Algorithm::List, Precision::Mixed);
        settings.reproducible = true;
        let open = || on_gpu(bodies(), forces(), settings);
        let (mut whole, mut thermostat) = (open(), thermostat);
        begin(&mut *whole);
        run(&mut *whole, &batch(1, 17, 0), &mut thermostat);
        let list_positions = whole.list_positions().unwrap().to_vec();
        let skin = whole.neighbor_facts().skin;
        let (state, mut resumed_thermostat) = (whole.state().unwrap().clone(), thermostat.clone());
        run(&mut *whole, &batch(18, 20, 0), &mut thermostat);
        let mut resumed = open();
        resumed.restore(state, list_positions, skin).unwrap();
        resumed.update_neighbors().unwrap();
        resumed.compute_forces(Evaluate::Forces).unwrap();
        run(&mut *resumed, &batch(18, 20, 0), &mut resumed_thermostat);
        let (a, b) = (whole.state().unwrap(), resumed.state().unwrap());
        assert!(a.id == b.id && a.position == b.position && a.velocity == b.velocity, "{what}");
    }
}
