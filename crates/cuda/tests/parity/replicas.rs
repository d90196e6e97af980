//! Replicas whose steps a GPU makes together: each goes its own way, as if it were alone.

use super::device::{Size, device, size};
use super::fluid::{self, Shape, by_id, distance, largest};
use super::reflection;
use super::several;
use jostle_core::backend::{Ensemble, Member};
use jostle_core::thermostat::{Bussi, Langevin, Target};
use jostle_core::{
    Algorithm, Backend, Evaluate, ForceEvaluation, RespaSchedule, Sample, Settings, State, StepBatch,
    SubSteps, System, Thermostat,
};
use jostle_cuda::{Cuda, Layout};
use jostle_fixtures::covalent;
use jostle_potentials::{Forces, PairKind, Truncation};
use std::thread;

const TIMESTEP: f64 = 0.001;
const REPLICAS: usize = 3;
const BATCHES: u64 = 4;
/// Agreement of numbers to a part of them, and of positions to a length, where single precision is rounded otherwise.
const ROUNDING: [f64; 2] = [1e-5, 1e-4];

/// Capacity of the first lists of a replica.
#[derive(Clone, Copy)]
enum Lists {
    Estimated,
    /// Far too small, so that they grow in the middle of batches.
    Small,
}

struct Case {
    name: &'static str,
    system: System,
    forces: Forces,
    thermostats: [Thermostat; REPLICAS],
    algorithm: Algorithm,
}

fn cases() -> Vec<Case> {
    let langevin = |thermal_energy| Thermostat::Langevin(Langevin::new(thermal_energy, 1.0, TIMESTEP));
    let bussi = |thermal_energy| {
        let target = Target { thermal_energy, degrees_of_freedom: 300 };
        Thermostat::Bussi(Bussi::new(target, 0.1, TIMESTEP))
    };
    let (system, forces) = several::charged();
    let (slab, walls) = reflection::slab();
    vec![
        Case {
            name: "fluid between walls that reflect",
            system: slab,
            forces: reflection::fluid(&walls),
            thermostats: [1.0, 1.2, 1.4].map(langevin),
            algorithm: Algorithm::List,
        },
        Case {
            name: "fluid",
            system: fluid::system(Shape::Triclinic, Algorithm::Tiles, 2),
            forces: vec![fluid::term(PairKind::LennardJones, Truncation::ForceShifted, 2)].into(),
            thermostats: [1.0, 1.2, 1.4].map(langevin),
            algorithm: Algorithm::Tiles,
        },
        Case {
            name: "charged molecules",
            system,
            forces,
            thermostats: [1.0, 1.2, 1.4].map(bussi),
            algorithm: Algorithm::List,
        },
        Case {
            name: "silicon",
            system: covalent::crystal(3, 5.431, &[("Si", 0.6)], 0.3, false),
            forces: covalent::silicon().into(),
            thermostats: [0.2, 0.25, 0.3].map(langevin),
            algorithm: Algorithm::List,
        },
    ]
}

impl Case {
    /// A replica, whose atoms have velocities of its own.
    fn open(&self, number: usize, lists: Lists) -> Cuda {
        let skin = Some(0.1);
        let settings = Settings { algorithm: self.algorithm, skin, ..Settings::default() };
        let mut system = self.system.clone();
        let factor = 1.0 + 0.1 * number as f64;
        system.state.velocity.iter_mut().flatten().for_each(|v| *v *= factor);
        let (device, forces) = (device(), self.forces.clone());
        // Alone, too, it has the layout of all, so that sums round alike.
        let layout = Layout::of_replicas(&system, &forces, REPLICAS, device.multiprocessors());
        let mut gpu = match lists {
            Lists::Estimated => Cuda::with_layout(device, system, forces, settings, layout),
            Lists::Small => Cuda::with_small_capacity(device, system, forces, settings),
        }
        .unwrap();
        gpu.constrain_velocities(None).unwrap();
        gpu.update_neighbors().unwrap();
        gpu.compute_forces(Evaluate::Forces).unwrap();
        gpu
    }
}

fn batch(replica: usize, number: u64) -> StepBatch {
    // Samples in every other batch, and one replica with longer batches.
    let steps = if replica == 1 { 20 } else { 10 };
    StepBatch {
        first_step: 1 + number * steps,
        steps,
        timestep: TIMESTEP,
        seed: 4 + replica as u64,
        sample_every: 10 * (number % 2),
        evaluate: Evaluate::ForcesAndEnergies,
        long_range: RespaSchedule::ALWAYS,
    }
}

/// Makes batches of a replica; the last one of an ensemble leaves before the others.
fn run(gpu: &mut Cuda, case: &Case, replica: usize) -> (Vec<Sample>, State) {
    let mut thermostat = case.thermostats[replica].clone();
    let batches = if replica + 1 == REPLICAS { BATCHES - 1 } else { BATCHES };
    let one = |number| gpu.run_steps(&batch(replica, number), &mut thermostat).unwrap().unwrap();
    let samples = (0..batches).flat_map(one).collect();
    (samples, by_id(gpu))
}

fn numbers(sample: &Sample) -> Vec<f64> {
    let energies = sample.energies.terms.iter().chain(&sample.energies.virial);
    energies.chain(&sample.kinetic.tensor).copied().collect()
}

/// Replicas together and alone, whose numbers agree to a part of them, and positions to a length.
fn compare(case: &Case, lists: [Lists; REPLICAS], [part, length]: [f64; 2]) {
    let members = Ensemble::of(REPLICAS);
    let mut gpus: Vec<Cuda> = (0..REPLICAS).map(|k| case.open(k, lists[k])).collect();
    assert!(gpus.iter_mut().zip(&members).all(|(gpu, member)| gpu.join(member)));
    let presences: Vec<_> = members.iter().map(Member::enter).collect();
    let together: Vec<(Vec<Sample>, State)> = thread::scope(|scope| {
        let threads: Vec<_> = gpus
            .iter_mut()
            .zip(presences)
            .enumerate()
            .map(|(replica, (gpu, presence))| {
                scope.spawn(move || {
                    let _presence = presence;
                    run(gpu, case, replica)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (replica, (samples, state)) in together.iter().enumerate() {
        let (right, alone) = run(&mut case.open(replica, lists[replica]), case, replica);
        let what = format!("{}, replica {replica}", case.name);
        assert_eq!(samples.len(), right.len(), "{what}");
        for (a, b) in samples.iter().zip(&right) {
            let (a, b) = (numbers(a), numbers(b));
            let scale = b.iter().map(|x| x.abs()).sum::<f64>();
            let error = largest(a.iter().zip(&b).map(|(a, b)| a - b));
            assert!(error <= part * scale, "{what}: {error:e} of {scale:e}");
        }
        let error = largest(state.position.iter().zip(&alone.position).map(|(a, b)| distance(*a, *b)));
        assert!(error <= length, "{what}: {error:e} apart");
    }
}

#[test]
fn replicas_go_their_own_ways() {
    // Compilers of GPUs may add products in another way in kernels for one replica.
    let exact = if size() == Size::Small { [0.0; 2] } else { ROUNDING };
    cases().iter().for_each(|case| compare(case, [Lists::Estimated; REPLICAS], exact));
}

#[test]
fn lists_of_one_replica_grow_while_others_go_on() {
    // All take longer lists, and build them anew.
    compare(&cases()[0], [Lists::Estimated, Lists::Small, Lists::Estimated], ROUNDING);
}

#[test]
fn exact_sums_are_made_alone() {
    let (system, forces) = (cases()[0].system.clone(), cases()[0].forces.clone());
    let settings = Settings { reproducible: true, ..Settings::default() };
    let mut gpu = Cuda::new(device(), system, forces, settings).unwrap();
    assert!(!gpu.join(&Ensemble::of(2)[0]));
}
