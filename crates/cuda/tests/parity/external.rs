//! Fields and walls: the derivative of their energy, and both engines against the plain reference.

use crate::gpus::on_gpu;
use jostle_core::backend::StageTime;
use jostle_core::random::{Purpose, Stream};
use jostle_core::thermostat::{Bussi, Langevin, Target};
use jostle_core::{
    Algorithm, Backend, Driven, Evaluate, NoiseKey, Precision, RespaSchedule, Settings, SimBox, Species,
    StepBatch, System, Thermostat, Vec3, Vector, WholeGroups,
};
use jostle_cpu::reference;
use jostle_potentials::external::{Field, FormulaField, Positions, Side, Wall, WallMotion, on_atom};
use jostle_potentials::restraint::{Anchor, Center, Distance, Restraints, Spring};
use jostle_potentials::{Forces, Formula, PairEntry, PairKind, PairTerm, Truncation};
use std::collections::HashMap;

/// Slab of two species between two walls, some of the atoms in other images.
fn system() -> System {
    let (cells, spacing) = ([18, 17, 9], 1.15);
    let lengths = cells.map(|n| f64::from(n) * spacing);
    let simbox = SimBox::new([0.3, -1.0, 2.0], lengths, [0.9, 0.0, 0.0], [true, true, false]).unwrap();
    let species =
        [("A", 1.0), ("B", 1.7)].map(|(name, mass)| Species { name: name.into(), mass, charge: 0.0 });
    let mut system = System::new(simbox, species.to_vec());
    let mut random = Stream::new(11, Purpose::Placement, 0, 0);
    for k in 0..cells[0] * cells[1] * cells[2] {
        let site = [k % cells[0], k / cells[0] % cells[1], k / cells[0] / cells[1]];
        let site = Vec3::from_fn(|a| {
            (f64::from(site[a]) + 0.5 + 0.2 * (random.uniform() - 0.5)) / f64::from(cells[a])
        });
        system.state.push(random.below(2) as u16, system.simbox.to_cartesian(site));
    }
    for (velocity, image) in system.state.velocity.iter_mut().zip(&mut system.state.image) {
        *velocity = random.normal3();
        *image = [random.below(3) as i32 - 1, random.below(2) as i32, 0];
    }
    system
}

/// Restraints of some atoms near their positions, in whatever image; of two groups at a distance, one of them
/// across an edge; and of two atoms, of three, within a range.
fn restraints() -> Restraints {
    let system = system();
    let index_by_id = system.state.index_by_id();
    let places: Vec<Vec3> = index_by_id.iter().map(|index| system.state.position[index]).collect();
    let anchor = |atom: u32| {
        let Vector([x, y, z]) = places[atom as usize];
        Anchor { atom, place: Vector([x + 0.1, y - 0.2 + 0.01 * f64::from(atom), z + 0.05]), spring: 0 }
    };
    let start = WholeGroups::of_start(&system);
    let center = |atoms: &[u32]| Center::new(&system, &start, atoms);
    let near = [center(&(0..25).collect::<Vec<_>>()), center(&[300, 301, 9, 453])];
    let distance = |centers: [Center; 2], range| Distance { centers, range, spring: 1 };
    // Other anchors have a centre that follows the box.
    let fraction = [0.2, 0.7, 0.4];
    let from = system.simbox.to_cartesian(Vector(fraction));
    let scaled = |atom: u32| {
        let Vector([x, y, z]) = places[atom as usize];
        let place = [x - from[0] - 0.1, y - from[1] + 0.15, z - from[2] - 0.01 * f64::from(atom % 7)];
        Anchor { atom, place: Vector(place), spring: 2 }
    };
    Restraints {
        springs: vec![
            Spring::new(3.0),
            Spring::new(12.0),
            Spring { stiffness: 5.0, center: Some(Vector(fraction)) },
        ],
        anchors: (100..140).map(anchor).chain((120..180).map(scaled)).collect(),
        distances: vec![
            distance(near.clone(), [1.5, 1.5]),
            distance([center(&[9]), near[1].clone()], [0.2, 30.0]),
            distance([center(&[1000]), center(&[1001])], [0.2, 0.5]),
            distance([center(&[1100]), center(&[1101])], [4.0, 5.0]),
        ],
    }
}

/// Forces and virial of restraints by the reference: minus the slopes of the energy, along positions and
/// along edges of the box.
#[test]
fn restraints_are_the_slopes_of_their_energy() {
    let system = system();
    let springs = Forces { restraints: restraints(), ..Forces::default() };
    let energy = |system: &System| reference::evaluate(system, &springs).unwrap().1.potential();
    let (forces, energies) = reference::evaluate(&system, &springs).unwrap();
    let h = 1e-5;
    for (place, axis) in
        [3, 9, 100, 139, 160, 300, 1000, 1101, 2000].into_iter().zip([0, 1, 2].into_iter().cycle())
    {
        let at = |x: f64| {
            let mut moved = system.clone();
            moved.state.position[place][axis] += x;
            energy(&moved)
        };
        let slope = (at(h) - at(-h)) / (2.0 * h);
        let force = forces[place][axis];
        assert!((slope + force).abs() < 1e-6, "atom {place}: {slope} {force}");
        assert_eq!(force == 0.0, place == 2000, "atom {place}: {force}");
    }
    // Fixed places have no part in the virial.
    let mut following = restraints();
    following.anchors.retain(|anchor| anchor.spring == 2);
    let springs = Forces { restraints: following, ..Forces::default() };
    let energy = |system: &System| reference::evaluate(system, &springs).unwrap().1.potential();
    let of_all = energies.virial;
    let energies = reference::evaluate(&system, &springs).unwrap().1;
    assert!((0..6).all(|k| (of_all[k] - energies.virial[k]).abs() < 1e-9 * of_all[0].abs()));
    for axis in 0..2 {
        let at = |x: f64| {
            let mut columns = [Vector([1.0, 0.0, 0.0]), Vector([0.0, 1.0, 0.0]), Vector([0.0, 0.0, 1.0])];
            columns[axis][axis] += x;
            let mut stretched = system.clone();
            stretched.deform(system.simbox.mapped(columns).unwrap());
            energy(&stretched)
        };
        let slope = (at(h) - at(-h)) / (2.0 * h);
        let virial = energies.virial[axis];
        assert!(virial.abs() > 1.0 && (slope + virial).abs() < 1e-5, "{axis}: {slope} {virial}");
    }
}

/// Springs become softer and stiffer, and the box another one, between two evaluations.
#[test]
fn springs_and_their_centers_follow() {
    for mut device in open(Algorithm::Tiles, Precision::Double) {
        device.update_neighbors().unwrap();
        device.compute_forces(Evaluate::Forces).unwrap();
        let mut expected = forces();
        let mut system = system();
        for (stiffness, long) in [([3.0, 12.0, 5.0], 1.0), ([0.0, 30.0, 2.0], 1.0), ([7.0, 0.5, 90.0], 1.01)]
        {
            expected.restraints.set_stiffness(&stiffness).unwrap();
            device.set_stiffness(&stiffness).unwrap();
            let columns = [Vector([long, 0.0, 0.0]), Vector([0.0, 1.0 / long, 0.0]), Vector([0.0, 0.0, 1.0])];
            let simbox = system.simbox.mapped(columns).unwrap();
            system.deform(simbox);
            device.deform(simbox).unwrap();
            device.update_neighbors().unwrap();
            device.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
            let (what, found) = (device.describe(), device.energies().clone());
            let (exact, energies) = reference::evaluate(&system, &expected).unwrap();
            let index_by_id = system.state.index_by_id();
            let state = device.state().unwrap();
            for (force, id) in state.force.iter().zip(&state.id) {
                let exact = exact[index_by_id.of(*id)];
                assert!((0..3).all(|k| (force[k] - exact[k]).abs() < 1e-8), "{what}: {force:?} {exact:?}");
            }
            for (a, b) in found.terms.iter().zip(&energies.terms) {
                assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{what}: energy {a} {b}");
            }
            for (a, b) in found.virial.iter().zip(&energies.virial) {
                assert!((a - b).abs() < 1e-9 * energies.virial[0].abs(), "{what}: virial {a} {b}");
            }
        }
        assert!(device.set_stiffness(&[1.0]).is_err());
    }
}

/// Energy with the periods of the box.
const PERIODIC: &str =
    "0.4 cos(2 pi (x - 0.9 y / 19.55) / 20.7) + 0.3 mass sin(2 pi y / 19.55) + 0.02 (z - 7)^2";

fn formula_field(text: &str) -> FormulaField {
    let field = FormulaField::new(text, &HashMap::new(), &system(), 1.0, &|_, _| None).unwrap();
    if text == PERIODIC {
        field.check(&system().simbox).unwrap();
    }
    field
}

fn forces() -> Forces {
    let mut pairs = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 2);
    for (a, b, sigma) in [(0, 0, 1.0), (0, 1, 0.95), (1, 1, 0.9)] {
        pairs.set(a, b, PairEntry { parameters: vec![1.0, sigma], cutoff: 2.5 * sigma });
    }
    // Walls: one for both species, one for the second only.
    let mut soft = PairTerm::new(PairKind::LennardJones, Truncation::Shifted, 3);
    soft.set(0, 2, PairEntry { parameters: vec![1.2, 0.9], cutoff: 2.2 });
    soft.set(1, 2, PairEntry { parameters: vec![0.7, 0.8], cutoff: 1.9 });
    let plane = Formula::new("2.0943951 (0.13333333 (s / r)^9 - (s / r)^3)").unwrap();
    let mut other = PairTerm::new(plane, Truncation::Shifted, 3);
    other.set(1, 2, PairEntry { parameters: vec![0.9], cutoff: 2.5 });
    let (low, high) = (1.8, 2.0 + 9.0 * 1.15 + 0.4);
    // Field on some of the atoms only.
    let mut partial = Field::new(vec![Vector([0.0, 0.7, 0.0]), Vector([0.2, 0.0, 0.3])]);
    partial.only(&(40..90).collect::<Vec<_>>(), 18 * 17 * 9);
    let mut unwrapped = formula_field("0.05 x + 0.2 sin(0.3 y) exp(-0.1 z)");
    unwrapped.positions = Positions::Unwrapped;
    unwrapped.only(20..60, 18 * 17 * 9);
    Forces {
        formula_fields: vec![formula_field(PERIODIC), unwrapped],
        fields: vec![Field::new(vec![Vector([0.3, 0.0, -0.2]), Vector([0.0, -0.4, 0.1])]), partial],
        walls: vec![Wall::new(2, low, Side::Above, soft), Wall::new(2, high, Side::Below, other)],
        restraints: restraints(),
        ..pairs.into()
    }
}

#[test]
fn the_force_is_minus_the_slope_of_the_energy() {
    let (forces, simbox) = (forces(), system().simbox);
    let acting = (&forces.fields[..], &forces.walls[..]);
    let energy = |species: usize, r: Vec3| {
        let mut sum = 0.0;
        on_atom(acting, &simbox, (species, 50), (r, [1, -1, 0]), |_, energy| sum += energy);
        sum
    };
    for species in 0..2 {
        for z in [2.6, 2.9, 3.5, 6.0, 10.0, 11.0, 11.7] {
            let r = [1.0, 2.0, z];
            let force = on_atom(acting, &simbox, (species, 50), (Vector(r), [1, -1, 0]), |_, _| {});
            for k in 0..3 {
                let h = 1e-5;
                let at = |x: f64| energy(species, Vector::from_fn(|a| if a == k { r[a] + x } else { r[a] }));
                let slope = (at(h) - at(-h)) / (2.0 * h);
                assert!((slope + force[k]).abs() < 1e-6 * (1.0 + force[k].abs()), "{r:?}: {slope} {force:?}");
            }
        }
    }
}

fn open(algorithm: Algorithm, precision: Precision) -> [Box<dyn Backend>; 2] {
    let settings = |algorithm| Settings { algorithm, precision, threads: Some(2), ..Settings::default() };
    let cpu = jostle_cpu::open(system(), forces(), settings(Algorithm::Clusters)).unwrap();
    [cpu, on_gpu(system(), forces(), settings(algorithm))]
}

#[test]
fn forces_and_energies_are_those_of_the_reference() {
    let (exact, energies) = reference::evaluate(&system(), &forces()).unwrap();
    let rms = (exact.iter().flatten().map(|f| f * f).sum::<f64>() / exact.len() as f64).sqrt();
    for algorithm in [Algorithm::Tiles, Algorithm::List, Algorithm::Cells, Algorithm::AllPairs] {
        for (precision, tolerance) in [(Precision::Double, 1e-11), (Precision::Mixed, 1e-5)] {
            for mut device in open(algorithm, precision) {
                device.update_neighbors().unwrap();
                for evaluate in [Evaluate::Forces, Evaluate::ForcesAndEnergies] {
                    device.compute_forces(evaluate).unwrap();
                    let what = device.describe();
                    let state = device.state().unwrap();
                    for (force, id) in state.force.iter().zip(&state.id) {
                        for k in 0..3 {
                            let off = (force[k] - exact[*id as usize][k]).abs() / rms;
                            assert!(off < tolerance, "{what}: force on {id} off by {off:e}");
                        }
                    }
                }
                let (what, found) = (device.describe(), device.energies());
                assert_eq!(found.terms.len(), forces().n_terms());
                for (a, b) in found.terms.iter().zip(&energies.terms) {
                    assert!((a / b - 1.0).abs() < tolerance, "{what}: energy {a} {b}");
                }
                for (a, b) in found.virial.iter().zip(&energies.virial) {
                    assert!((a - b).abs() < tolerance * energies.virial[0].abs(), "{what}: virial {a} {b}");
                }
            }
        }
    }
}

/// Energy is conserved, that of the field included, though atoms cross the periodic boundaries; and steps of
/// the device's own loop are those of the CPU.
#[test]
fn a_batch_is_the_same_path_and_conserves_energy() {
    let (steps, timestep) = (400, 0.0005);
    let [mut cpu, mut gpu] = open(Algorithm::Tiles, Precision::Double);
    let mut totals = Vec::new();
    for device in [&mut cpu, &mut gpu] {
        device.update_neighbors().unwrap();
        device.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        totals.push(device.energies().potential() + device.kinetic().unwrap().energy());
    }
    for _ in 0..steps {
        cpu.kick_drift(timestep).unwrap();
        cpu.update_neighbors().unwrap();
        cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        cpu.kick(0.5 * timestep).unwrap();
    }
    totals.push(cpu.energies().potential() + cpu.kinetic().unwrap().energy());
    let evaluate = Evaluate::ForcesAndEnergies;
    let batch = StepBatch {
        first_step: 0,
        steps,
        timestep,
        seed: 1,
        sample_every: 40,
        evaluate,
        long_range: RespaSchedule::ALWAYS,
    };
    let samples = gpu.run_steps(&batch, &mut Thermostat::Isolated).unwrap().unwrap();
    totals.extend(samples.iter().map(|s| s.energies.potential() + s.kinetic.energy()));
    let scale = cpu.kinetic().unwrap().energy();
    for total in &totals {
        assert!((total - totals[0]).abs() < 2e-4 * scale, "{totals:?}");
    }
    let (a, b) = (cpu.state().unwrap(), gpu.state().unwrap());
    for (i, j) in a.index_by_id().into_iter().zip(b.index_by_id()) {
        for k in 0..3 {
            let (v, w) = (a.velocity[i][k], b.velocity[j][k]);
            assert!((v - w).abs() < 1e-6, "{v} {w}");
        }
    }
}

/// Fields that depend on time are those of the time of each step, in batches as in single steps.
#[test]
fn fields_follow_time_in_batches() {
    let mut field = formula_field("(0.5 x + 0.1 mass y) sin(3 time)");
    field.positions = Positions::Unwrapped;
    follow_time(Forces { formula_fields: vec![field], ..forces().pairs[0].clone().into() });
}

/// Walls that move are where they are at the time of each step.
#[test]
fn walls_move_in_batches() {
    let mut wall = forces().walls.swap_remove(0);
    wall = wall.moving(WallMotion { velocity: 0.7, amplitude: 0.03, period: 0.02, from: 0.253, to: 0.28 });
    follow_time(Forces { walls: vec![wall], ..forces().pairs[0].clone().into() });
}

/// Compares steps in a batch on a GPU with single steps on the CPU, under forces of which the second term is that of a
/// field or a wall that changes with time.
fn follow_time(forces: Forces) {
    let settings = Settings { precision: Precision::Double, ..Settings::default() };
    let mut cpu = jostle_cpu::open(system(), forces.clone(), settings).unwrap();
    let mut gpu = on_gpu(system(), forces, settings);
    let (steps, timestep) = (30, 0.001);
    let at = |steps| StageTime { start: 0.25, timestep, steps };
    for device in [&mut cpu, &mut gpu] {
        device.set_time(at(10)).unwrap();
        device.update_neighbors().unwrap();
        device.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
    }
    for step in 11..=10 + steps {
        cpu.kick_drift(timestep).unwrap();
        cpu.update_neighbors().unwrap();
        cpu.set_time(at(step)).unwrap();
        cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        cpu.kick(0.5 * timestep).unwrap();
    }
    let batch = StepBatch {
        first_step: 11,
        steps,
        timestep,
        seed: 1,
        sample_every: 10,
        evaluate: Evaluate::ForcesAndEnergies,
        long_range: RespaSchedule::ALWAYS,
    };
    let samples = gpu.run_steps(&batch, &mut Thermostat::Isolated).unwrap().unwrap();
    let exact = cpu.energies().terms[1];
    assert!((samples[2].energies.terms[1] - exact).abs() < 1e-8 * exact.abs(), "{exact}");
    gpu.update_neighbors().unwrap();
    gpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
    let found = gpu.energies().terms[1];
    assert!((found - exact).abs() < 1e-8 * exact.abs(), "{found} {exact}");
    let (a, b) = (cpu.state().unwrap(), gpu.state().unwrap());
    for (i, j) in a.index_by_id().into_iter().zip(b.index_by_id()) {
        assert!((0..3).all(|k| (a.velocity[i][k] - b.velocity[j][k]).abs() < 1e-8));
    }
}

/// A formula that is not defined where an atom is.
#[test]
fn the_error_names_the_atom_where_a_field_is_not_defined() {
    let (mut system, forces) = (system(), forces());
    system.state.position[17][2] = 6.5;
    let field = formula_field("if(abs(z - 6.5) < 0.001, sqrt(z - 7), 0)");
    let forces = Forces { formula_fields: vec![field], ..forces };
    for device in [0, 1] {
        let settings = Settings::default();
        let mut backend: Box<dyn Backend> = match device {
            0 => jostle_cpu::open(system.clone(), forces.clone(), settings).unwrap(),
            _ => on_gpu(system.clone(), forces.clone(), settings),
        };
        let error = backend
            .update_neighbors()
            .and_then(|()| backend.compute_forces(Evaluate::ForcesAndEnergies))
            .and_then(|()| {
                backend.kick_drift(1e-6).unwrap();
                backend.update_neighbors()
            })
            .unwrap_err();
        assert!(error.message().contains("sqrt(z - 7), 0)\" is not defined at atom 18, at ["), "{error}");
    }
}

#[test]
fn the_error_names_an_atom_behind_a_wall() {
    for device in [0, 1] {
        let mut system = system();
        system.state.position[17][2] = 1.7;
        let settings = Settings { algorithm: Algorithm::Auto, ..Settings::default() };
        let mut backend: Box<dyn Backend> = match device {
            0 => jostle_cpu::open(system, forces(), settings).unwrap(),
            _ => on_gpu(system, forces(), settings),
        };
        let error = backend
            .update_neighbors()
            .and_then(|()| backend.compute_forces(Evaluate::ForcesAndEnergies))
            .and_then(|()| {
                backend.kick_drift(1e-6).unwrap();
                backend.update_neighbors()
            })
            .unwrap_err();
        assert!(error.message().contains("atom 18 is behind the wall at z = 1.8"), "{error}");
    }
}

const DRIVEN: Vec3 = Vector([0.25, -0.5, 0.125]);

/// Driven atoms keep their velocity under all forces and thermostats.
#[test]
fn driven_species_keep_their_velocity() {
    keep_their_velocity(Driven::BySpecies(vec![None, Some(DRIVEN)]), &forces());
}

/// Single driven atoms keep their velocity, also where a step is one kernel, as it is with pair forces alone.
#[test]
fn driven_atoms_keep_their_velocity() {
    let third: Vec<u32> = (0..system().state.len() as u32).filter(|id| id % 3 == 0).collect();
    let driven = Driven::default().with(&system().state, &third, DRIVEN);
    keep_their_velocity(driven.clone(), &forces());
    keep_their_velocity(driven, &forces().pairs.into());
}

fn keep_their_velocity(driven: Driven, forces: &Forces) {
    let mut system = system();
    system.driven = driven;
    for place in 0..system.state.len() {
        system.state.velocity[place] = system.driven(place).unwrap_or(system.state.velocity[place]);
    }
    let start = system.state.clone();
    let langevin = Langevin::new(1.0, 0.5, 0.002);
    let bussi =
        Bussi::new(Target { thermal_energy: 1.0, degrees_of_freedom: 3 * system.n_free() }, 0.1, 0.002);
    for device in [0, 1] {
        let settings = Settings::default();
        let mut backend: Box<dyn Backend> = match device {
            0 => jostle_cpu::open(system.clone(), forces.clone(), settings).unwrap(),
            _ => on_gpu(system.clone(), forces.clone(), settings),
        };
        let what = backend.describe();
        backend.update_neighbors().unwrap();
        backend.compute_forces(Evaluate::Forces).unwrap();
        backend.scale_velocities(0.9).unwrap();
        backend.shift_velocities(Vector([0.1, 0.2, 0.3])).unwrap();
        backend.mix_velocities(0.8, 0.001).unwrap();
        backend.ornstein_uhlenbeck(0.5, 1.0, NoiseKey { seed: 3, step: 1 }).unwrap();
        // Other atoms serve as well.
        let velocities = backend.state().unwrap().velocity.clone();
        backend.scale_velocities(0.0).unwrap();
        backend.set_velocities(&velocities).unwrap();
        assert_eq!(backend.state().unwrap().velocity, velocities, "{what}");
        let mut time = 0.0;
        for mut thermostat in
            [Thermostat::Isolated, Thermostat::Langevin(langevin.clone()), Thermostat::Bussi(bussi.clone())]
        {
            let batch = StepBatch {
                first_step: 0,
                steps: 6,
                timestep: 0.002,
                seed: 1,
                sample_every: 3,
                evaluate: Evaluate::ForcesAndEnergies,
                long_range: RespaSchedule::ALWAYS,
            };
            if backend.run_steps(&batch, &mut thermostat).unwrap().is_none() {
                for _ in 0..batch.steps {
                    backend.kick_drift(batch.timestep).unwrap();
                    backend.update_neighbors().unwrap();
                    backend.compute_forces(Evaluate::Forces).unwrap();
                    backend.kick(0.5 * batch.timestep).unwrap();
                }
            }
            time += batch.steps as f64 * batch.timestep;
        }
        let kinetic = backend.kinetic().unwrap().energy();
        let simbox = *backend.simbox();
        let state = backend.state().unwrap();
        let (mut energy, mut moved) = (0.0, 0);
        for (place, first) in state.index_by_id().into_iter().zip(start.index_by_id()) {
            let v = state.velocity[place];
            if system.driven.of(state.species[place], state.id[place]).is_none() {
                energy += 0.5 * system.mass(first) * v.iter().map(|x| x * x).sum::<f64>();
                moved += usize::from(v != start.velocity[first]);
                continue;
            }
            assert_eq!(v, DRIVEN, "{what}");
            let [from, to] = [(&start, first), (state, place)].map(|(s, k)| {
                let shift = simbox.shift(s.image[k]);
                s.position[k] + shift
            });
            for k in 0..3 {
                assert!((to[k] - from[k] - DRIVEN[k] * time).abs() < 1e-9, "{what}: {from:?} {to:?}");
            }
        }
        assert_eq!(moved, system.n_free(), "{what}");
        assert!((kinetic - energy).abs() < 1e-9 * energy, "{what}: {kinetic} {energy}");
    }
}
