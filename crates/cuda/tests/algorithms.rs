//! Every pair algorithm gives the forces, energies and virial of the plain double loop: in all kinds of
//! boxes, also those that are hardly larger than the cut-off, in both precisions.

use jostle_core::random::{Purpose, Stream};
use jostle_core::thermostat::{Rescale, Target};
use jostle_core::{
    Algorithm, Backend, DeviceReport, Energies, Evaluate, ForceEvaluation, Precision, RespaSchedule,
    Settings, SimBox, Species, StepBatch, System, Thermostat, Vec3, Vector,
};
use jostle_cpu::reference;
use jostle_cuda::driver::Device;
use jostle_cuda::{Cuda, PairShape};
use jostle_potentials::{PairEntry, PairKind, PairTerm, Truncation};

const ALGORITHMS: [Algorithm; 4] = [Algorithm::Auto, Algorithm::List, Algorithm::Cells, Algorithm::AllPairs];

struct Case {
    name: &'static str,
    system: System,
    terms: Vec<PairTerm>,
}

fn species(names: &[&str]) -> Vec<Species> {
    let one =
        |(k, name): (usize, &&str)| Species { name: name.to_string(), mass: 1.0 + k as f64, charge: 0.0 };
    names.iter().enumerate().map(one).collect()
}

/// Atoms at random positions, none closer to another one than `apart`.
fn scattered(simbox: SimBox, names: &[&str], n: usize, apart: f64) -> System {
    let mut system = System::new(simbox, species(names));
    let mut stream = Stream::new(11, Purpose::Placement, 0, 0);
    while system.state.len() < n {
        let s = [stream.uniform(), stream.uniform(), stream.uniform()];
        let r = system.simbox.to_cartesian(Vector(s));
        let far = |q: &Vec3| {
            let d = system.simbox.nearest_image(r - *q);
            d.iter().map(|x| x * x).sum::<f64>() > apart * apart
        };
        if system.state.position.iter().all(far) {
            let kind = stream.below(names.len()) as u16;
            system.state.push(kind, r);
            if let Some(v) = system.state.velocity.last_mut() {
                *v = stream.normal3();
            }
        }
    }
    system
}

fn lennard_jones(cutoff: f64) -> Vec<PairTerm> {
    vec![PairTerm::uniform(PairKind::LennardJones, Truncation::Plain, &[1.0, 1.0], cutoff)]
}

fn mixture() -> Vec<PairTerm> {
    let mut attraction = PairTerm::new(PairKind::LennardJones, Truncation::Shifted, 2);
    for (a, b, epsilon, sigma, cutoff) in
        [(0, 0, 1.0, 1.0, 2.5), (0, 1, 1.5, 0.8, 2.0), (1, 1, 0.5, 0.88, 2.2)]
    {
        attraction.set(a, b, PairEntry { parameters: vec![epsilon, sigma], cutoff });
    }
    let mut other = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 2);
    other.set(0, 1, PairEntry { parameters: vec![0.3, 0.9], cutoff: 2.9 });
    vec![attraction, other]
}

fn cases() -> Vec<Case> {
    let boxed = |lengths, tilts, periodic| SimBox::new([-1.0, 2.0, 0.5], lengths, tilts, periodic).unwrap();
    let (all, straight) = ([true; 3], [0.0; 3]);
    vec![
        Case {
            name: "liquid",
            system: scattered(boxed([9.0, 8.0, 10.0], straight, all), &["A"], 400, 0.88),
            terms: lennard_jones(2.5),
        },
        Case {
            name: "cut-off at half the box",
            system: scattered(boxed([5.0, 5.0, 7.0], straight, all), &["A"], 100, 0.88),
            terms: lennard_jones(2.5),
        },
        Case {
            name: "tilted box, cut-off at half its width",
            system: scattered(boxed([6.5, 6.0, 6.3], [2.1, -1.9, 1.7], all), &["A"], 150, 0.85),
            terms: {
                let width = boxed([6.5, 6.0, 6.3], [2.1, -1.9, 1.7], all).largest_cutoff();
                lennard_jones(width)
            },
        },
        Case {
            name: "mixture in a tilted box",
            system: scattered(boxed([11.0, 10.0, 9.0], [3.0, 0.0, -2.0], all), &["A", "B"], 500, 0.8),
            terms: mixture(),
        },
        Case {
            name: "slab",
            system: scattered(boxed([8.0, 9.0, 6.0], straight, [true, true, false]), &["A"], 200, 0.88),
            terms: lennard_jones(3.0),
        },
        Case {
            name: "drop",
            system: scattered(boxed([7.0, 7.0, 7.0], straight, [false; 3]), &["A", "B"], 150, 0.88),
            terms: mixture(),
        },
        Case {
            name: "two atoms",
            system: {
                let mut system = scattered(boxed([20.0, 20.0, 20.0], straight, all), &["A"], 2, 0.9);
                // Atoms on two sides of a face.
                system.state.position = vec![Vector([-0.5, 5.0, 5.0]), Vector([18.7, 5.3, 5.0])];
                system
            },
            terms: lennard_jones(10.0),
        },
    ]
}

fn gpu(case: &Case, algorithm: Algorithm, precision: Precision) -> Cuda {
    let settings = Settings { algorithm, precision, skin: Some(0.4), ..Settings::default() };
    Cuda::new(Device::emulated().unwrap(), case.system.clone(), case.terms.clone(), settings).unwrap()
}

/// Forces and energies of a system by other means.
type Reference = fn(&System, &[PairTerm]) -> (Vec<Vec3>, Energies);

/// The double loop over all atoms.
fn double_loop(system: &System, terms: &[PairTerm]) -> (Vec<Vec3>, Energies) {
    reference::evaluate(system, &terms.to_vec().into()).unwrap()
}

/// The CPU engine with new lists, for systems of which many configurations are compared. It has been compared with the
/// double loop by its own tests.
fn new_lists(system: &System, terms: &[PairTerm]) -> (Vec<Vec3>, Energies) {
    let settings = Settings { precision: Precision::Double, ..Settings::default() };
    let mut cpu = jostle_cpu::open(system.clone(), terms.to_vec(), settings).unwrap();
    cpu.update_neighbors().unwrap();
    cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
    let energies = cpu.energies().clone();
    let state = cpu.state().unwrap();
    let by_id = state.index_by_id();
    let forces = system.state.id.iter().map(|id| state.force[by_id.get(*id).unwrap()]).collect();
    (forces, energies)
}

/// Median and largest deviation from the reference, relative to the typical force, and largest deviation of
/// energies and virial.
fn deviations(backend: &mut dyn Backend, terms: &[PairTerm], reference: Reference) -> [f64; 3] {
    backend.update_neighbors().unwrap();
    backend.compute_forces(Evaluate::Forces).unwrap();
    let state = backend.state().unwrap().clone();
    let mut system = System::new(*backend.simbox(), species(&["A", "B"][..terms[0].n_species()]));
    system.state = state.clone();
    let (forces, energies) = reference(&system, terms);
    let size = |f: &Vec3| f.iter().map(|x| x * x).sum::<f64>();
    let typical = (forces.iter().map(size).sum::<f64>() / forces.len() as f64).sqrt();
    let compare = |found: &[Vec3]| {
        let mut errors: Vec<f64> =
            found.iter().zip(&forces).map(|(a, b)| size(&(*a - *b)).sqrt() / typical).collect();
        errors.sort_by(f64::total_cmp);
        [errors[errors.len() / 2], errors[errors.len() - 1]]
    };
    let alone = compare(&state.force);
    backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
    let together = compare(&backend.state().unwrap().force);
    let found = backend.energies();
    let scale = energies.terms.iter().chain(&energies.virial).fold(0.0, |m: f64, x| m.max(x.abs()));
    let pairs = found.terms.iter().zip(&energies.terms).chain(found.virial.iter().zip(&energies.virial));
    let sums = pairs.map(|(a, b)| (a - b).abs() / scale).fold(0.0, f64::max);
    [alone[0].max(together[0]), alone[1].max(together[1]), sums]
}

#[test]
fn forces_energies_and_virial_are_those_of_the_double_loop() {
    for case in cases() {
        for algorithm in ALGORITHMS {
            for (precision, limit) in [(Precision::Mixed, 3e-6), (Precision::Double, 1e-12)] {
                let mut backend = gpu(&case, algorithm, precision);
                let [median, largest, sums] = deviations(&mut backend, &case.terms, double_loop);
                let what = format!("{}, {algorithm:?}, {precision:?}", case.name);
                assert!(median < limit, "{what}: median {median:e}");
                assert!(largest < 30.0 * limit, "{what}: largest {largest:e}");
                assert!(sums < limit, "{what}: sums {sums:e}");
            }
        }
    }
}

/// Tiles of any shape compute the same pairs, each once.
#[test]
fn every_shape_of_pair_tiles_gives_the_same() {
    for (warps, rows, parts) in [(2, 1, 2), (1, 8, 2), (2, 4, 1)] {
        for case in cases() {
            let mut backend = gpu(&case, Algorithm::AllPairs, Precision::Double);
            backend.set_pair_shape(PairShape { warps, rows, parts }).unwrap();
            let [_, largest, sums] = deviations(&mut backend, &case.terms, double_loop);
            let what = format!("{}, {warps} x {rows} x {parts}", case.name);
            assert!(largest < 3e-11 && sums < 1e-12, "{what}: {largest:e} {sums:e}");
        }
    }
}

/// Fastest tiles of a measurement, which the next run of the same kind finds; forces stay the same.
#[test]
fn the_fastest_pair_tiles_are_remembered() {
    let (case, folder) = (&cases()[5], tempfile::tempdir().unwrap());
    let mut first = gpu(case, Algorithm::AllPairs, Precision::Double);
    assert_eq!(first.remembered_shape(folder.path()), None);
    first.update_neighbors().unwrap();
    let best = first.measure_pair_shapes(folder.path()).unwrap();
    let [_, largest, sums] = deviations(&mut first, &case.terms, double_loop);
    assert!(largest < 3e-11 && sums < 1e-12, "{best}: {largest:e} {sums:e}");
    let second = gpu(case, Algorithm::AllPairs, Precision::Double);
    assert_eq!(second.remembered_shape(folder.path()), Some(best));
    let other = gpu(case, Algorithm::AllPairs, Precision::Mixed);
    assert_eq!(other.remembered_shape(folder.path()), None);
}

/// Fastest pair algorithm of a measurement, which the next run finds, where the settings leave it open.
#[test]
fn the_fastest_pair_algorithm_is_remembered() {
    let (case, folder) = (&cases()[0], tempfile::tempdir().unwrap());
    let mut first = gpu(case, Algorithm::Auto, Precision::Double);
    assert_eq!(first.remembered_algorithm(folder.path()), None);
    first.update_neighbors().unwrap();
    let best = first.measure_algorithms(folder.path()).unwrap();
    assert!(first.describe().contains(best.name()), "{} is not {}", first.describe(), best.name());
    let [_, largest, sums] = deviations(&mut first, &case.terms, double_loop);
    assert!(largest < 3e-11 && sums < 1e-12, "{}: {largest:e} {sums:e}", best.name());
    let second = gpu(case, Algorithm::Auto, Precision::Double);
    assert_eq!(second.remembered_algorithm(folder.path()), Some(best));
    let other = gpu(case, Algorithm::Auto, Precision::Mixed);
    assert_eq!(other.remembered_algorithm(folder.path()), None);
}

/// Lists that are far too small at first grow, and lack no pair.
#[test]
fn lists_grow_by_themselves() {
    let case = &cases()[0];
    let settings = Settings {
        algorithm: Algorithm::List,
        precision: Precision::Double,
        skin: Some(0.4),
        ..Settings::default()
    };
    let device = Device::emulated().unwrap();
    let mut backend =
        Cuda::with_small_capacity(device, case.system.clone(), case.terms.clone(), settings).unwrap();
    let [_, largest, sums] = deviations(&mut backend, &case.terms, double_loop);
    assert!(largest < 1e-11 && sums < 1e-12, "{largest:e} {sums:e}");
}

/// Lists are rebuilt in time, and positions continue: after some steps forces are still those of the double
/// loop.
#[test]
fn no_pair_is_missed_in_a_run() {
    let batch = StepBatch {
        first_step: 1,
        steps: 60,
        timestep: 0.005,
        seed: 1,
        sample_every: 20,
        evaluate: Evaluate::Forces,
        long_range: RespaSchedule::ALWAYS,
    };
    for case in cases() {
        let mut ends = Vec::new();
        for algorithm in ALGORITHMS {
            let mut backend = gpu(&case, algorithm, Precision::Double);
            backend.update_neighbors().unwrap();
            backend.compute_forces(Evaluate::Forces).unwrap();
            let samples = backend.run_steps(&batch, &mut Thermostat::Isolated).unwrap().unwrap();
            let total = |k: usize| samples[k].energies.potential() + samples[k].kinetic.energy();
            ends.push(total(2));
            let [_, largest, sums] = deviations(&mut backend, &case.terms, new_lists);
            let what = format!("{}, {algorithm:?}", case.name);
            assert!(largest < 1e-11, "{what}: largest {largest:e}");
            assert!(sums < 1e-12, "{what}: sums {sums:e}");
        }
        // Trajectories are equal but for rounding.
        assert!(
            ends.iter().all(|e| (e - ends[0]).abs() < 1e-7 * ends[0].abs().max(1.0)),
            "{}: {ends:?}",
            case.name
        );
    }
}

/// Lists of heavy atoms are shorter, because these are slow: no pair is missed as light and heavy atoms move,
/// nor where the heavy ones are the fast ones.
#[test]
fn no_pair_is_missed_among_light_and_heavy_atoms() {
    let batch = StepBatch {
        first_step: 1,
        steps: 3,
        timestep: 0.004,
        seed: 1,
        sample_every: 0,
        evaluate: Evaluate::Forces,
        long_range: RespaSchedule::ALWAYS,
    };
    let simbox = SimBox::new([0.0; 3], [17.0, 16.0, 16.5], [0.0; 3], [true; 3]).unwrap();
    let start = scattered(simbox, &["A", "B"], 2500, 0.8);
    let (single, double) = (Precision::Mixed, Precision::Double);
    let ways = [(Algorithm::Tiles, single), (Algorithm::Tiles, double), (Algorithm::List, double)];
    let systems = [([1.0, 16.0], [2.0, 0.5]), ([50.0, 0.5], [3.0, 0.5])];
    for ((masses, speeds), (algorithm, precision)) in systems.into_iter().flat_map(|s| ways.map(|w| (s, w))) {
        if masses[0] > masses[1] && precision == single {
            // Collisions are so hard that the rounding in single precision is larger than the force of a pair
            // at its cut-off.
            continue;
        }
        let mut system = start.clone();
        for (species, mass) in system.species.iter_mut().zip(masses) {
            species.mass = mass;
        }
        for (velocity, species) in system.state.velocity.iter_mut().zip(&system.state.species) {
            velocity.iter_mut().for_each(|v| *v *= speeds[usize::from(*species)]);
        }
        let case = Case { name: "light and heavy", system, terms: mixture() };
        let mut backend = gpu(&case, algorithm, precision);
        backend.update_neighbors().unwrap();
        backend.compute_forces(Evaluate::Forces).unwrap();
        for batches in 1..=20 {
            backend.run_steps(&batch, &mut Thermostat::Isolated).unwrap().unwrap();
            let [_, largest, _] = deviations(&mut backend, &case.terms, new_lists);
            let limit = if precision == single { 1e-4 } else { 1e-11 };
            assert!(largest < limit, "{masses:?}, {algorithm:?}, {batches} batches: largest {largest:e}");
        }
        assert!(backend.neighbor_facts().builds > 3, "lists were hardly ever built");
    }
}

/// Lists stay valid when atoms are displaced from them, but not without a pair: a few fast atoms among some
/// that are nearly as fast, and most that are slow, light ones and heavy ones, come near atoms that are not
/// in their lists.
#[test]
fn lists_last_until_they_lack_a_pair() {
    let batch = StepBatch {
        first_step: 1,
        steps: 2,
        timestep: 0.004,
        seed: 1,
        sample_every: 0,
        evaluate: Evaluate::Forces,
        long_range: RespaSchedule::ALWAYS,
    };
    let mut term = PairTerm::new(PairKind::LennardJones, Truncation::Plain, 2);
    for (a, b) in [(0, 0), (0, 1), (1, 1)] {
        term.set(a, b, PairEntry { parameters: vec![1.0, 1.0], cutoff: 2.5 });
    }
    let (single, double) = (Precision::Mixed, Precision::Double);
    let ways = [(Algorithm::Tiles, single), (Algorithm::Tiles, double), (Algorithm::List, double)];
    let mut builds = Vec::new();
    for (tilts, (algorithm, precision)) in
        [[0.0; 3], [3.0, -4.0, 2.0]].into_iter().flat_map(|tilts| ways.map(|way| (tilts, way)))
    {
        let simbox = SimBox::new([0.0; 3], [22.0, 21.0, 23.0], tilts, [true; 3]).unwrap();
        let mut system = scattered(simbox, &["A", "B"], 3000, 1.0);
        system.species[1].mass = 8.0;
        let mut stream = Stream::new(7, Purpose::Velocity, 0, 0);
        for (velocity, species) in system.state.velocity.iter_mut().zip(&system.state.species) {
            let speed = match stream.below(200) {
                0..3 => 10.0,
                3..17 => 7.5,
                _ => 1.0,
            };
            let length = velocity.iter().map(|v| v * v).sum::<f64>().sqrt();
            velocity.iter_mut().for_each(|v| *v *= speed / length / f64::from(1 + species));
        }
        let settings = Settings { algorithm, precision, skin: Some(1.0), ..Settings::default() };
        let terms = vec![term.clone()];
        let mut backend = Cuda::new(Device::emulated().unwrap(), system, terms.clone(), settings).unwrap();
        backend.update_neighbors().unwrap();
        backend.compute_forces(Evaluate::Forces).unwrap();
        for batches in 1..=40 {
            backend.run_steps(&batch, &mut Thermostat::Isolated).unwrap().unwrap();
            let [_, largest, _] = deviations(&mut backend, &terms, new_lists);
            // Force of a pair at the cut-off: 1e-3 of the typical force.
            let limit = if precision == single { 5e-4 } else { 1e-11 };
            assert!(
                largest < limit,
                "{tilts:?}, {algorithm:?}, {precision:?}, {batches} batches: largest {largest:e}"
            );
        }
        builds.push(backend.neighbor_facts().builds);
    }
    // Builds would be 4 if lists ended where the fastest atoms have moved by half the skin.
    assert_eq!(builds, [3; 6]);
}

/// Thermostats that act now and then do not change the steps between: results are those of single steps.
#[test]
fn velocities_are_rescaled_when_it_is_due() {
    let case = &cases()[0];
    let target = Target { thermal_energy: 0.7, degrees_of_freedom: 3 * 400 - 3 };
    let batch = StepBatch {
        first_step: 11,
        steps: 40,
        timestep: 0.004,
        seed: 1,
        sample_every: 20,
        evaluate: Evaluate::Forces,
        long_range: RespaSchedule::ALWAYS,
    };
    for every in [10, 7] {
        let mut thermostats = [0, 1].map(|_| Thermostat::Rescale(Rescale::new(target, every, 10)));
        let mut device = gpu(case, Algorithm::List, Precision::Double);
        let settings = Settings { precision: Precision::Double, ..Settings::default() };
        let mut host = jostle_cpu::open(case.system.clone(), case.terms.clone(), settings).unwrap();
        for backend in [&mut device as &mut dyn Backend, &mut *host] {
            backend.update_neighbors().unwrap();
            backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        }
        let samples = device.run_steps(&batch, &mut thermostats[0]).unwrap().unwrap();
        let mut exact = Vec::new();
        for step in batch.first_step..batch.first_step + batch.steps {
            host.kick_drift(batch.timestep).unwrap();
            host.update_neighbors().unwrap();
            host.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
            host.kick(0.5 * batch.timestep).unwrap();
            if let Thermostat::Rescale(rescale) = &mut thermostats[1]
                && Thermostat::Rescale(rescale.clone()).schedule().is_due(step)
            {
                let kinetic = host.kinetic().unwrap().energy();
                host.scale_velocities(rescale.scale(kinetic)).unwrap();
            }
            if (step + 1 - batch.first_step).is_multiple_of(batch.sample_every) {
                let heat = thermostats[1].heat().unwrap();
                exact.push([host.energies().potential(), host.kinetic().unwrap().energy(), heat]);
            }
        }
        let found = samples
            .iter()
            .map(|s| [s.energies.potential(), s.kinetic.energy(), s.thermostat.heat().unwrap()]);
        assert_eq!(samples.len(), exact.len());
        for (found, exact) in found.zip(&exact) {
            for (a, b) in found.iter().zip(exact) {
                assert!((a - b).abs() < 1e-8 * b.abs().max(1.0), "every {every}: {found:?} {exact:?}");
            }
        }
        assert!((thermostats[0].heat().unwrap() - thermostats[1].heat().unwrap()).abs() < 1e-6);
    }
}
