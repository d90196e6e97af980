//! Several GPUs as one: borders anywhere, and the same atoms on all of them.

use super::constraints::{forces, molecules, settings};
use super::device::device;
use super::fluid::{Shape, by_id, system, term};
use super::gpus::{counts, devices};
use jostle_core::random::{Purpose, Stream};
use jostle_core::thermostat::Langevin;
use jostle_core::{
    Algorithm, AtomStorage, Backend, Components, DeviceReport, Energies, Evaluate, ForceEvaluation,
    Precision, RespaSchedule, Settings, SimBox, Species, State, StepBatch, SubSteps, System, Thermostat,
};
use jostle_cuda::{Cuda, SeveralGpus, try_gpus};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{Electrostatics, Forces, PairKind, PairTerm, Truncation};

const TIMESTEP: f64 = 0.001;
const STEPS: u64 = 12;

/// Molecules with charges on a mesh, constraints, virtual sites and bonds.
pub fn charged() -> (System, Forces) {
    let mut system = molecules().replicate([2, 2, 2]).unwrap();
    let n = system.state.len();
    system.charges = (0..n).map(|id| if id % 2 == 0 { 0.3 } else { -0.3 }).collect();
    let term = Electrostatics::new(Method::Pme { alpha: 1.4, order: 4, spacing: 0.5 }, 1.0, 2.2);
    (system, Forces { electrostatics: Some(term), ..forces() })
}

pub fn begin(gpu: &mut dyn Backend) {
    gpu.constrain_velocities(None).unwrap();
    gpu.update_neighbors().unwrap();
    gpu.compute_forces(Evaluate::Forces).unwrap();
}

pub fn batch(number: u64) -> StepBatch {
    StepBatch {
        first_step: 1 + number * STEPS,
        steps: STEPS,
        timestep: TIMESTEP,
        seed: 4,
        sample_every: 0,
        evaluate: Evaluate::ForcesAndEnergies,
        long_range: RespaSchedule::ALWAYS,
    }
}

pub fn thermostat() -> Thermostat {
    Thermostat::Langevin(Langevin::new(1.0, 1.0, TIMESTEP))
}

/// Path on one GPU: atoms and energies after each of some batches.
fn alone(settings: Settings, batches: u64) -> Vec<(State, Energies)> {
    let (system, forces) = charged();
    let mut gpu = Cuda::new(device(), system, forces, settings).unwrap();
    begin(&mut gpu);
    let one = |number| {
        gpu.run_steps(&batch(number), &mut thermostat()).unwrap().unwrap();
        (by_id(&mut gpu), gpu.energies().clone())
    };
    (0..batches).map(one).collect()
}

pub fn largest_difference(a: &State, b: &State) -> f64 {
    let pairs = a.position.as_flattened().iter().zip(b.position.as_flattened());
    pairs.fold(0.0, |largest: f64, (x, y)| largest.max((x - y).abs()))
}

#[test]
fn borders_may_be_anywhere() {
    let mut random = Stream::new(11, Purpose::Placement, 0, 0);
    let counts = counts();
    for (algorithm, count) in [(Algorithm::List, counts[0]), (Algorithm::Tiles, counts[counts.len() - 1])] {
        let settings = settings(algorithm, Precision::Double);
        let path = alone(settings, 6);
        let (system, forces) = charged();
        let mut gpus = SeveralGpus::new(devices(count), system, forces, settings).unwrap();
        begin(&mut gpus);
        for (number, (state, energies)) in path.iter().enumerate() {
            // All on one GPU, hardly any on another, and shares at random.
            let shares: Vec<f64> = match number {
                0 => vec![1.0; count],
                1 => (0..count).map(|rank| if rank == 0 { 1.0 } else { 0.0 }).collect(),
                2 => (0..count).map(|rank| if rank == 0 { 1e-9 } else { 1.0 }).collect(),
                _ => (0..count).map(|_| random.uniform()).collect(),
            };
            gpus.set_shares(&shares).unwrap();
            gpus.run_steps(&batch(number as u64), &mut thermostat()).unwrap().unwrap();
            let what = format!("{algorithm:?}, {count} GPUs, {shares:?}");
            gpus.check_agreement().unwrap();
            let found = by_id(&mut gpus);
            let difference = largest_difference(state, &found);
            assert!(difference < 1e-9, "{what}: {difference:e}");
            let scale = energies.terms.iter().map(|e| e.abs()).sum::<f64>();
            for (a, b) in energies.terms.iter().zip(&gpus.energies().terms) {
                assert!((a - b).abs() < 1e-9 * scale, "{what}: {a} {b}");
            }
        }
    }
}

#[test]
fn lists_grow_on_all_gpus_together() {
    for algorithm in [Algorithm::Tiles, Algorithm::List] {
        let settings = settings(algorithm, Precision::Double);
        let path = alone(settings, 3);
        let (system, forces) = charged();
        let mut gpus = SeveralGpus::new(devices(2), system, forces, settings).unwrap();
        begin(&mut gpus);
        gpus.set_shares(&[0.2, 0.8]).unwrap();
        for (number, (state, _)) in path.iter().enumerate() {
            // Before a batch, so that lists turn out to be too small in the middle of it.
            gpus.shrink_lists().unwrap();
            let too_small = gpus.neighbor_facts().bytes;
            gpus.run_steps(&batch(number as u64), &mut thermostat()).unwrap().unwrap();
            assert!(gpus.neighbor_facts().bytes > too_small, "{algorithm:?}: lists have not grown");
            gpus.check_agreement().unwrap();
            let difference = largest_difference(state, &by_id(&mut gpus));
            assert!(difference < 1e-9, "{algorithm:?}: {difference:e}");
        }
    }
}

/// Charges spread on another GPU's part of a mesh by several at once, lists that a resumed run finds as they were.
#[test]
fn a_resumed_run_on_several_gpus_is_the_same_to_the_last_bit() {
    super::charged::assert_resumed_is_the_same(|system, forces, settings| {
        Box::new(SeveralGpus::new(devices(2), system, forces, settings).unwrap())
    });
}

#[test]
fn every_algorithm_gives_the_same_on_several_gpus() {
    for algorithm in [Algorithm::Tiles, Algorithm::List, Algorithm::Cells, Algorithm::AllPairs] {
        let settings = Settings { skin: Some(0.1), ..settings(algorithm, Precision::Double) };
        let terms = || vec![term(PairKind::LennardJones, Truncation::ForceShifted, 2)];
        let fluid = || system(Shape::Triclinic, algorithm, 2);
        let mut alone = Cuda::new(device(), fluid(), terms(), settings).unwrap();
        for count in counts() {
            let mut gpus = SeveralGpus::new(devices(count), fluid(), terms(), settings).unwrap();
            let what = format!("{algorithm:?} on {count}");
            for gpu in [&mut alone as &mut dyn Backend, &mut gpus] {
                gpu.set_state(fluid().state).unwrap();
                begin(gpu);
                gpu.run_steps(&batch(0), &mut Thermostat::Isolated).unwrap().unwrap();
            }
            gpus.check_agreement().unwrap();
            let difference = largest_difference(&by_id(&mut alone), &by_id(&mut gpus));
            assert!(difference < 1e-11, "{what}: {difference:e}");
            let (a, b) = (alone.energies(), gpus.energies());
            let scale = a.potential().abs() + a.virial.iter().map(|w| w.abs()).sum::<f64>();
            let near = |(x, y): (&f64, &f64)| (x - y).abs() < 1e-11 * scale;
            assert!(a.terms.iter().zip(&b.terms).all(near), "{what}: {:?} {:?}", a.terms, b.terms);
            assert!(a.virial.iter().zip(&b.virial).all(near), "{what}: {:?} {:?}", a.virial, b.virial);
        }
    }
}

/// Hot atoms in one corner of a large box, which leave it in all directions.
fn corner() -> System {
    let simbox = SimBox::new([0.0; 3], [14.0; 3], [0.0; 3], [true; 3]).unwrap();
    let argon = Species { name: "Ar".into(), mass: 1.0, charge: 0.0 };
    let mut system = System::new(simbox, vec![argon]);
    let mut random = Stream::new(9, Purpose::Placement, 0, 0);
    for k in 0..125 {
        system.state.push(0, [k % 5, k / 5 % 5, k / 25].map(|cell| 1.15 * f64::from(cell) + 0.5));
        if let Some(v) = system.state.velocity.last_mut() {
            *v = random.normal3().map(|x| 5.0 * x);
        }
    }
    system
}

fn argon() -> Vec<PairTerm> {
    vec![term(PairKind::LennardJones, Truncation::ForceShifted, 1)]
}

/// Migration, while the skin is tuned by time that each GPU measures for itself.
#[test]
fn atoms_that_wander_are_neither_lost_nor_doubled() {
    let counts = counts();
    for (precision, count) in [(Precision::Mixed, counts[0]), (Precision::Double, counts[counts.len() - 1])] {
        let settings = Settings { skin: None, ..settings(Algorithm::List, precision) };
        let what = format!("{precision:?} on {count} GPUs");
        let mut gpus = SeveralGpus::new(devices(count), corner(), argon(), settings).unwrap();
        begin(&mut gpus);
        gpus.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        let energy = |gpus: &mut SeveralGpus| gpus.energies().potential() + gpus.kinetic().unwrap().energy();
        let (before, guess) = (energy(&mut gpus), gpus.neighbor_facts().skin);
        let mut batches = 0;
        while batches < 20 || gpus.neighbor_facts().skin == guess {
            assert!(batches < 100, "{what}: {} lists", gpus.neighbor_facts().builds);
            let batch = StepBatch { steps: 250, timestep: 0.002, ..batch(batches) };
            gpus.run_steps(&batch, &mut Thermostat::Isolated).unwrap().unwrap();
            gpus.check_agreement().unwrap();
            let mut ids = gpus.state().unwrap().id.clone();
            ids.sort_unstable();
            assert!(ids.into_iter().eq(0..125), "{what}");
            batches += 1;
        }
        assert!(gpus.neighbor_facts().builds > 100, "{what}: {} lists", gpus.neighbor_facts().builds);
        let drift = (energy(&mut gpus) - before).abs() / before.abs();
        assert!(drift < 1e-3, "{what}: {drift:e}");
    }
}

#[test]
fn a_fault_is_named_as_on_one_gpu() {
    let settings = settings(Algorithm::List, Precision::Double);
    // Two atoms at one place, which belong to the first GPU, or to the last.
    for [a, b] in [[0, 1], [123, 124]] {
        let mut system = corner();
        system.state.position[b] = system.state.position[a];
        let error_of = |gpu: &mut dyn Backend| {
            gpu.update_neighbors().unwrap();
            let evaluated = gpu.compute_forces(Evaluate::Forces);
            let run = evaluated.and_then(|()| gpu.run_steps(&batch(0), &mut Thermostat::Isolated));
            run.unwrap_err().to_string()
        };
        let alone = error_of(&mut Cuda::new(device(), system.clone(), argon(), settings).unwrap());
        let several = error_of(&mut SeveralGpus::new(devices(2), system, argon(), settings).unwrap());
        assert!(alone.contains(&format!("{}", a + 1)), "{alone}");
        assert_eq!(alone, several);
    }
}

#[test]
fn gpus_of_a_run_are_one_to_eight() {
    let settings = settings(Algorithm::List, Precision::Double);
    let error = SeveralGpus::new(Vec::new(), corner(), argon(), settings).err().unwrap();
    assert!(error.message().contains("from 1 to 8"), "{error}");
    let mut gpus = SeveralGpus::new(devices(2), corner(), argon(), settings).unwrap();
    for wrong in [&[1.0][..], &[1.0, -1.0], &[0.0, 0.0], &[f64::NAN, 1.0]] {
        assert!(gpus.set_shares(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn gpus_are_tried_before_a_run() {
    let settings = settings(Algorithm::List, Precision::Mixed);
    let trials = try_gpus(&devices(2), &molecules(), &forces(), settings);
    assert!((1..=2).contains(&trials.fastest()));
    let text = trials.to_string();
    assert!(text.contains("on 1, ") && text.contains("on 2; the run takes"), "{text}");
    // A system that has to be minimised first is no reason to refuse a run.
    let mut system = corner();
    system.state.position[1] = system.state.position[0];
    let trials = try_gpus(&devices(2), &system, &argon().into(), settings);
    assert_eq!(trials.fastest(), 1);
    assert!(trials.to_string().contains("tried: none (then: "), "{trials}");
}
