//! Bonds and angles: the GPU engine against the CPU engine in double precision, for every pair algorithm.

use super::fluid::{advance, by_id, distance, largest, norm, run};
use super::gpus::on_gpu;
use jostle_core::thermostat::Dissipative;
use jostle_core::{
    Algorithm, Backend, Evaluate, Exclude, Precision, RespaSchedule, Settings, SimBox, StepBatch, System,
    Thermostat, Topology, Vector,
};
use jostle_fixtures::chains::{bead, boxes_of_long_bonds, chain_of_long_bonds, chains, forces};
use jostle_potentials::{BondKind, BondTerm, Forces, PairKind, PairTerm, Truncation};

fn settings(algorithm: Algorithm, precision: Precision) -> Settings {
    Settings { algorithm, precision, skin: Some(0.1), ..Settings::default() }
}

#[test]
fn bonds_and_angles_agree() {
    // Pair algorithms are tested elsewhere.
    for (algorithm, exclude, precision) in [
        (Algorithm::Auto, Exclude::None, Precision::Mixed),
        (Algorithm::List, Exclude::None, Precision::Double),
        (Algorithm::Auto, Exclude::SecondBonded, Precision::Mixed),
    ] {
        let what = format!("{algorithm:?} {exclude:?} {precision:?}");
        let (system, forces) = (chains([true; 3]), forces(exclude));
        let exact = settings(Algorithm::Auto, Precision::Double);
        let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), exact).unwrap();
        let mut gpu: Box<dyn Backend> = on_gpu(system, forces, settings(algorithm, precision));
        for backend in [&mut cpu, &mut gpu] {
            backend.update_neighbors().unwrap();
            backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        }
        let (force, path) = if precision == Precision::Double { (1e-12, 1e-10) } else { (3e-6, 3e-5) };
        let (found, right) = (gpu.energies().clone(), cpu.energies().clone());
        assert_eq!(found.terms.len(), right.terms.len());
        for (a, b) in found.terms.iter().zip(&right.terms) {
            assert!((a - b).abs() < 3.0 * force * b.abs(), "{what}: {:?} {:?}", found.terms, right.terms);
        }
        let scale = largest(right.virial.iter().copied());
        let error = largest(found.virial.iter().zip(right.virial).map(|(a, b)| a - b));
        assert!(error < 3.0 * force * scale, "{what}: virial {error:e}");
        let forces = |backend: &mut dyn Backend| by_id(backend).force;
        let with = forces(&mut *gpu);
        let scale = largest(forces(&mut *cpu).iter().map(|f| norm(*f)));
        let error = largest(with.iter().zip(forces(&mut *cpu)).map(|(a, b)| distance(*a, b)));
        assert!(error < 3.0 * force * scale, "{what}: forces {error:e} of {scale}");
        gpu.compute_forces(Evaluate::Forces).unwrap();
        assert!(with == forces(&mut *gpu), "{what}: without energies a force differs");

        let batch = StepBatch {
            first_step: 1,
            steps: 40,
            timestep: 0.001,
            seed: 7,
            sample_every: 20,
            evaluate: Evaluate::ForcesAndEnergies,
            long_range: RespaSchedule::ALWAYS,
        };
        let exact = advance(&mut *cpu, &batch, &mut Thermostat::Isolated);
        let samples = run(&mut *gpu, &batch, &mut Thermostat::Isolated);
        for (a, b) in samples.iter().zip(&exact) {
            let (a, b) = (a.energies.potential(), b.energies.potential());
            assert!((a - b).abs() < path * b.abs(), "{what}: {a} {b}");
        }
        let places = |backend: &mut dyn Backend| by_id(backend).position;
        let error = largest(places(&mut *gpu).iter().zip(places(&mut *cpu)).map(|(a, b)| distance(*a, b)));
        assert!(error < path, "{what}: {error:e} apart");
        assert!(gpu.neighbor_facts().builds > 1, "{what}: nothing was sorted");
    }
}

/// Bonds lead to the nearest image of the next atom, wherever the others of an angle, a dihedral or a map are: in a small
/// box as in a large one.
#[test]
fn long_bonds_in_a_small_box_are_those_in_a_large_one() {
    for (simbox, precision) in boxes_of_long_bonds().into_iter().zip([Precision::Mixed, Precision::Double]) {
        let start = Vector([0.9, 0.6, 2.0]);
        let (small, forces) = chain_of_long_bonds(simbox, start);
        let (large, _) = chain_of_long_bonds(SimBox::orthorhombic([40.0; 3]).unwrap(), start);
        let exact = settings(Algorithm::Auto, Precision::Double);
        let mut cpu = jostle_cpu::open(large, forces.clone(), exact).unwrap();
        let mut gpu: Box<dyn Backend> = on_gpu(small, forces, settings(Algorithm::Auto, precision));
        for backend in [&mut cpu, &mut gpu] {
            backend.update_neighbors().unwrap();
            backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        }
        let tolerance = if precision == Precision::Double { 1e-11 } else { 1e-5 };
        let (found, right) = (gpu.energies().clone(), cpu.energies().clone());
        let sums = found.terms.iter().zip(&right.terms).chain(found.virial.iter().zip(&right.virial));
        let [with, expected] = [&mut gpu, &mut cpu].map(|backend| by_id(&mut **backend).force);
        let scale = largest(expected.iter().map(|f| norm(*f)));
        let error = largest(sums.map(|(a, b)| a - b));
        assert!(error < tolerance * scale, "{precision:?}: {found:?}, not {right:?}");
        let error = largest(with.iter().zip(expected).map(|(a, b)| distance(*a, b)));
        assert!(error < tolerance * scale, "{precision:?}: forces {error:e} of {scale}");
    }
}

#[test]
fn a_broken_bond_is_named() {
    let mut system = System::new(SimBox::orthorhombic([10.0; 3]).unwrap(), vec![bead("A")]);
    for x in [0.2, 9.3, 7.85] {
        system.state.push(0, [x, 5.0, 5.0]);
    }
    system.state.velocity[2] = Vector([-2.0, 0.0, 0.0]);
    system.topology = Topology::chains(1, 3, "chain");
    (system.topology.angles, system.topology.angle_types) = Default::default();
    let bond = BondTerm::uniform(BondKind::Fene, &[0.1, 1.5]).unwrap();
    let soft = PairTerm::uniform(PairKind::SoftRepulsion, Truncation::Plain, &[1.0, 1.0], 1.0);
    let forces = Forces { pairs: vec![soft], bonds: vec![bond], ..Forces::default() };
    let settings = settings(Algorithm::List, Precision::Mixed);
    let mut gpu = on_gpu(system, forces, settings);
    gpu.update_neighbors().unwrap();
    gpu.compute_forces(Evaluate::Forces).unwrap();
    let batch = StepBatch {
        first_step: 1,
        steps: 100,
        timestep: 0.005,
        seed: 7,
        sample_every: 0,
        evaluate: Evaluate::Forces,
        long_range: RespaSchedule::ALWAYS,
    };
    let error = gpu.run_steps(&batch, &mut Thermostat::Isolated).unwrap_err();
    assert!(error.message().contains("between atoms 2 and 3 is broken"), "{error}");
    assert!(error.message().starts_with("step "), "{error}");
}

/// Steps whose only forces are those of pairs, with friction and noise in their middle, by every algorithm.
#[test]
fn friction_and_noise_of_unbound_pairs_agree() {
    let (mut system, forces) = (chains([true; 3]), forces(Exclude::None));
    system.topology = Topology::default();
    let forces: Forces = forces.pairs.into();
    let positions = |backend: &mut dyn Backend| {
        backend.update_neighbors().unwrap();
        backend.compute_forces(Evaluate::Forces).unwrap();
        let batch = StepBatch {
            first_step: 1,
            steps: 6,
            timestep: 0.004,
            seed: 7,
            sample_every: 0,
            evaluate: Evaluate::Forces,
            long_range: RespaSchedule::ALWAYS,
        };
        run(backend, &batch, &mut Thermostat::Dissipative(Dissipative::new(1.5, 4.5, 1.2, batch.timestep)));
        by_id(backend).position
    };
    let exact = settings(Algorithm::Auto, Precision::Double);
    let right = positions(&mut *jostle_cpu::open(system.clone(), forces.clone(), exact).unwrap());
    for algorithm in [Algorithm::List, Algorithm::Tiles, Algorithm::Cells, Algorithm::AllPairs] {
        let mut gpu = on_gpu(system.clone(), forces.clone(), settings(algorithm, Precision::Double));
        let error = largest(positions(&mut *gpu).iter().zip(&right).map(|(a, b)| distance(*a, *b)));
        assert!(error < 1e-11, "{algorithm:?}: {error:e} apart");
    }
}

/// Friction and noise between pairs: the same impulses on both devices, and momentum is conserved.
#[test]
fn friction_and_noise_of_pairs_agree() {
    for (algorithm, precision) in [(Algorithm::Auto, Precision::Mixed), (Algorithm::List, Precision::Double)]
    {
        let what = format!("{algorithm:?} {precision:?}");
        let (system, forces) = (chains([true; 3]), forces(Exclude::None));
        let exact = settings(Algorithm::Auto, Precision::Double);
        let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), exact).unwrap();
        let mut gpu: Box<dyn Backend> = on_gpu(system, forces, settings(algorithm, precision));
        let before = gpu.kinetic().unwrap().momentum;
        let batch = StepBatch {
            first_step: 1,
            steps: 25,
            timestep: 0.002,
            seed: 7,
            sample_every: 5,
            evaluate: Evaluate::Forces,
            long_range: RespaSchedule::ALWAYS,
        };
        let samples = [&mut cpu, &mut gpu].map(|backend| {
            backend.update_neighbors().unwrap();
            backend.compute_forces(Evaluate::Forces).unwrap();
            let mut thermostat = Thermostat::Dissipative(Dissipative::new(1.5, 4.5, 1.2, batch.timestep));
            let samples = run(&mut **backend, &batch, &mut thermostat);
            // Single methods of the backend first, then a batch.
            advance(&mut **backend, &StepBatch { first_step: 26, steps: 3, ..batch }, &mut thermostat);
            run(
                &mut **backend,
                &StepBatch { first_step: 29, steps: 7, sample_every: 0, ..batch },
                &mut thermostat,
            );
            samples.iter().map(|s| [s.energies.potential(), s.kinetic.energy()]).collect::<Vec<_>>()
        });
        assert!(gpu.neighbor_facts().builds > 2, "{what}: there is nothing but the first list");
        let [exact, found] = samples;
        assert_eq!((exact.len(), found.len()), (5, 5), "{what}");
        for (a, b) in exact.iter().flatten().zip(found.iter().flatten()) {
            assert!((a - b).abs() < 1e-5 * a.abs(), "{what}: an energy is {b}, not {a}");
        }
        let velocities = |backend: &mut dyn Backend| by_id(backend).velocity;
        let error =
            largest(velocities(&mut *gpu).iter().zip(velocities(&mut *cpu)).map(|(a, b)| distance(*a, b)));
        let tolerance = if precision == Precision::Double { 1e-9 } else { 3e-4 };
        assert!(error < tolerance, "{what}: {error:e} apart");
        let after = gpu.kinetic().unwrap().momentum;
        let drift = largest(after.iter().zip(before).map(|(a, b)| a - b));
        assert!(drift < 1e-3, "{what}: the momentum changes by {drift:e}");
    }
}
