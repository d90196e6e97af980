//! Independence of results from when a run is cut, resumed or read, and from how large lists were.

use super::device::device;
use super::fluid::{SKIN, Shape, advance, by_id, distance, largest, norm, run, system, term};
use super::gpus::on_gpu;
use super::{ALGORITHMS, PRECISIONS};
use jostle_core::thermostat::{Bussi, Langevin, NoseHoover, Target};
use jostle_core::{
    Algorithm, AtomVector, Backend, DeviceReport, Evaluate, Precision, RespaSchedule, Settings, State,
    StepBatch, System, Thermostat, Vec3,
};
use jostle_cuda::Cuda;
use jostle_potentials::{PairKind, PairTerm, Truncation};

const TIMESTEP: f64 = 0.002;

fn terms() -> Vec<PairTerm> {
    vec![term(PairKind::LennardJones, Truncation::ForceShifted, 2)]
}

fn settings(algorithm: Algorithm, precision: Precision) -> Settings {
    Settings { algorithm, precision, skin: Some(SKIN), ..Settings::default() }
}

fn fluid(algorithm: Algorithm) -> System {
    system(Shape::Triclinic, algorithm, 2)
}

fn open(settings: Settings) -> Box<dyn Backend> {
    on_gpu(fluid(settings.algorithm), terms(), settings)
}

/// Thermostats at a thermal energy of one.
fn thermostats(n_atoms: usize) -> [Thermostat; 4] {
    let target = Target { thermal_energy: 1.0, degrees_of_freedom: 3 * n_atoms - 3 };
    [
        Thermostat::Isolated,
        Thermostat::Langevin(Langevin::new(1.0, 2.0, TIMESTEP)),
        Thermostat::NoseHoover(NoseHoover::new(target, 1.0, 3)),
        Thermostat::Bussi(Bussi::new(target, 0.1, TIMESTEP)),
    ]
}

/// Every algorithm in every precision.
fn algorithms_and_precisions() -> impl Iterator<Item = (Algorithm, Precision)> {
    let algorithms = ALGORITHMS.into_iter().filter(|algorithm| *algorithm != Algorithm::Auto);
    algorithms.flat_map(|algorithm| PRECISIONS.map(|precision| (algorithm, precision)))
}

fn begin(backend: &mut dyn Backend) {
    backend.update_neighbors().unwrap();
    backend.compute_forces(Evaluate::Forces).unwrap();
}

fn batch(first_step: u64, steps: u64, sample_every: u64) -> StepBatch {
    StepBatch {
        first_step,
        steps,
        timestep: TIMESTEP,
        seed: 3,
        sample_every,
        evaluate: Evaluate::Forces,
        long_range: RespaSchedule::ALWAYS,
    }
}

/// Steps after `from`, in batches of these lengths.
fn batches(backend: &mut dyn Backend, thermostat: &mut Thermostat, from: u64, lengths: &[u64]) {
    let mut first_step = from + 1;
    for &steps in lengths {
        run(backend, &batch(first_step, steps, 0), thermostat);
        first_step += steps;
    }
}

/// Storage order, ids, positions, images and velocities, bit for bit; forces are not kept.
fn assert_same(a: &State, b: &State, what: &str) {
    assert!(a.id == b.id, "{what}: atoms are stored in another order");
    assert!(a.position == b.position, "{what}: positions differ");
    assert!(a.image == b.image, "{what}: images differ");
    assert!(a.velocity == b.velocity, "{what}: velocities differ");
}

/// In open boxes where it is to be reproducible: else atoms decide how long the range of coordinates is.
#[test]
fn a_resumed_run_is_the_same_to_the_last_bit() {
    for (algorithm, precision) in algorithms_and_precisions() {
        for (shape, n_thermostats) in [(Shape::Triclinic, 4), (Shape::Slab, 1), (Shape::Droplet, 1)] {
            let reproducible = shape != Shape::Triclinic;
            if reproducible && !matches!(algorithm, Algorithm::List | Algorithm::Cells) {
                continue;
            }
            let settings = Settings { reproducible, ..settings(algorithm, precision) };
            let fluid = system(shape, algorithm, 2);
            let open = || on_gpu(fluid.clone(), terms(), settings);
            for thermostat in thermostats(fluid.state.len()).into_iter().take(n_thermostats) {
                let what = format!("{shape:?} {algorithm:?} {precision:?} {thermostat:?}");
                let (mut whole, mut thermostat) = (open(), thermostat);
                begin(&mut *whole);
                batches(&mut *whole, &mut thermostat, 0, &[15]);
                let list_positions = whole.list_positions().unwrap().to_vec();
                let skin = whole.neighbor_facts().skin;
                let (state, mut resumed_thermostat) = (whole.state().unwrap().clone(), thermostat.clone());
                batches(&mut *whole, &mut thermostat, 15, &[20]);

                let mut resumed = open();
                resumed.restore(state, list_positions, skin).unwrap();
                begin(&mut *resumed);
                batches(&mut *resumed, &mut resumed_thermostat, 15, &[20]);
                assert_same(whole.state().unwrap(), resumed.state().unwrap(), &what);
                assert_eq!(thermostat, resumed_thermostat, "{what}");
            }
        }
    }
}

#[test]
fn a_run_is_the_same_however_it_is_cut_into_batches() {
    for (algorithm, precision) in algorithms_and_precisions() {
        let settings = settings(algorithm, precision);
        for thermostat in thermostats(fluid(algorithm).state.len()) {
            let what = format!("{algorithm:?} {precision:?} {thermostat:?}");
            let [one, many] = [&[32][..], &[1, 7, 16, 8]].map(|lengths| {
                let (mut cuda, mut thermostat) = (open(settings), thermostat.clone());
                begin(&mut *cuda);
                batches(&mut *cuda, &mut thermostat, 0, lengths);
                (cuda.state().unwrap().clone(), thermostat)
            });
            assert_same(&one.0, &many.0, &what);
            assert_eq!(one.1, many.1, "{what}");
        }
    }
}

/// Lists of too small a capacity are built again until everything fits.
#[test]
fn too_small_a_capacity_changes_nothing() {
    for (algorithm, precision) in algorithms_and_precisions() {
        let settings = settings(algorithm, precision);
        let roomy = open(settings);
        let narrow = Cuda::with_small_capacity(device(), fluid(algorithm), terms(), settings);
        let narrow: Box<dyn Backend> = Box::new(narrow.unwrap());
        let [a, b] = [roomy, narrow].map(|mut cuda| {
            begin(&mut *cuda);
            batches(&mut *cuda, &mut Thermostat::Isolated, 0, &[30]);
            cuda.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
            (by_id(&mut *cuda), cuda.energies().clone(), cuda.neighbor_facts().builds)
        });
        let what = format!("{algorithm:?} {precision:?}");
        // Sums over pairs may have another order.
        let tolerance = if precision == Precision::Double { 1e-11 } else { 1e-5 };
        let worst = largest(a.0.position.iter().zip(&b.0.position).map(|(a, b)| distance(*a, *b)));
        assert!(worst < tolerance, "{what}: an atom is off by {worst:e}");
        let [x, y] = [a.1.potential(), b.1.potential()];
        assert!((x - y).abs() < tolerance * x.abs(), "{what}: energy {y} is not {x}");
        assert_eq!(a.2, b.2, "{what}: number of lists");
    }
}

/// Lists that end before they are stale, of which some do not fit: parts of these are in place of the one before.
#[test]
fn lists_that_end_soon_and_do_not_fit_are_built_again() {
    let settings = settings(Algorithm::Tiles, Precision::Double);
    let paths = [false, true].map(|without_room| {
        let mut cuda = Cuda::new(device(), fluid(Algorithm::Tiles), terms(), settings).unwrap();
        begin(&mut cuda);
        let mut grown = 0;
        for number in 0..60 {
            let before = cuda.neighbor_facts();
            // In short steps lists outlive the slots that are recorded for long ones.
            let timestep = if number % 2 == 0 { TIMESTEP } else { 0.6 * TIMESTEP };
            let batch = StepBatch { timestep, ..batch(20 * number + 1, 20, 0) };
            run(&mut cuda, &batch, &mut Thermostat::Isolated);
            let after = cuda.neighbor_facts();
            grown += u32::from(after.bytes != before.bytes);
            if without_room && after.builds > before.builds {
                cuda.leave_no_room();
            }
        }
        (by_id(&mut cuda).position, grown)
    });
    let worst = largest(paths[0].0.iter().zip(&paths[1].0).map(|(a, b)| distance(*a, *b)));
    assert!(worst < 1e-8, "an atom is off by {worst:e}");
    assert!(paths[1].1 > paths[0].1 + 10, "lists have grown {} times", paths[1].1);
}

/// Storage order of the atoms, as a structure file may have it, changes nothing.
#[test]
fn storage_order_changes_nothing() {
    for (algorithm, precision) in algorithms_and_precisions() {
        let mut cuda = open(settings(algorithm, precision));
        begin(&mut *cuda);
        let before = by_id(&mut *cuda);
        let mut turned = cuda.state().unwrap().clone();
        let order: Vec<u32> = (0..turned.len() as u32).rev().collect();
        turned.permute(&order);
        cuda.set_state(turned).unwrap();
        begin(&mut *cuda);
        let after = by_id(&mut *cuda);
        let what = format!("{algorithm:?} {precision:?}");
        assert_eq!((&before.id, &before.species), (&after.id, &after.species), "{what}");
        assert!(before.velocity == after.velocity, "{what}: velocities differ");
        let rms = (before.force.iter().map(|f| norm(*f).powi(2)).sum::<f64>() / before.len() as f64).sqrt();
        let worst = largest(before.force.iter().zip(&after.force).map(|(a, b)| distance(*a, *b)));
        let tolerance = if precision == Precision::Double { 1e-12 } else { 1e-5 };
        assert!(worst < tolerance * rms, "{what}: a force is off by {worst:e}");
    }
}

#[test]
fn energy_and_momentum_are_conserved() {
    for (algorithm, precision) in algorithms_and_precisions() {
        let mut cuda = open(settings(algorithm, precision));
        begin(&mut *cuda);
        // Equilibration of kinetic and potential energy.
        advance(&mut *cuda, &batch(1, 20, 0), &mut Thermostat::Isolated);
        let samples = run(&mut *cuda, &batch(21, 60, 5), &mut Thermostat::Isolated);
        let totals: Vec<f64> = samples.iter().map(|s| s.energies.potential() + s.kinetic.energy()).collect();
        let mean = totals.iter().sum::<f64>() / totals.len() as f64;
        let kinetic = samples[0].kinetic.energy();
        let spread = largest(totals.iter().map(|e| e - mean));
        let what = format!("{algorithm:?} {precision:?}");
        // Limit from velocity Verlet's own error, of second order in the time step.
        assert!(spread < 1e-3 * kinetic, "{what}: energy wanders by {spread} of {kinetic}");
        let tolerance = if precision == Precision::Double { 1e-10 } else { 1e-3 };
        for sample in &samples {
            let momentum = norm(sample.kinetic.momentum);
            assert!(momentum < tolerance, "{what}: the momentum is {momentum:e}");
        }
    }
}

/// More snapshots than are on their way at once, read after further steps, some of them by other threads.
#[test]
fn snapshots_are_of_their_moments() {
    let vectors =
        [AtomVector::Position, AtomVector::Velocity, AtomVector::Force, AtomVector::UnwrappedPosition];
    for precision in PRECISIONS {
        let mut backend = open(settings(Algorithm::Tiles, precision));
        begin(&mut *backend);
        let n = backend.n_atoms();
        let (mut expected, mut snapshots) = (Vec::new(), Vec::new());
        for k in 0..7 {
            batches(&mut *backend, &mut Thermostat::Isolated, 30 * k, &[30]);
            snapshots.push(backend.snapshot(&vectors).unwrap());
            let mut rows = vec![Vec3::ZERO; n];
            expected.push(vectors.map(|vector| {
                backend.write_by_id(vector, &mut rows).unwrap();
                rows.clone()
            }));
            if k == 3 {
                drop(snapshots.remove(0));
                expected.remove(0);
            }
        }
        let threads = snapshots.into_iter().map(|snapshot| std::thread::spawn(|| snapshot.wait()));
        for (thread, expected) in threads.collect::<Vec<_>>().into_iter().zip(expected) {
            let mut rows = thread.join().unwrap().unwrap();
            assert!(vectors.map(|vector| rows.take(vector)) == expected, "{precision:?}");
            assert!(rows.take(AtomVector::AngularVelocity).is_empty(), "it was not asked for");
        }
    }
}
