//! Several GPUs, each of which moves its own atoms, or the groups that these lead: paths and samples as on one.

use super::constraints;
use super::device::device;
use super::embedded;
use super::fluid::{self, Shape, by_id, distance, largest};
use super::gpus::{counts, devices};
use super::reflection;
use super::rigid;
use super::several;
use jostle_core::random::{Purpose, Stream};
use jostle_core::thermostat::{Langevin, Rescale, Target};
use jostle_core::{
    Algorithm, Backend, DeviceReport, Evaluate, Exclude, Precision, RespaSchedule, Sample, Settings,
    StepBatch, System, Thermostat, WholeGroups,
};
use jostle_cuda::{Cuda, SeveralGpus};
use jostle_fixtures::{chains, covalent};
use jostle_potentials::restraint::{Center, Distance, Restraints, Spring};
use jostle_potentials::{Forces, PairKind, Truncation};

const TIMESTEP: f64 = 0.001;
const BATCHES: u64 = 5;

/// System whose motion is divided, and how.
struct Case {
    name: &'static str,
    system: System,
    forces: Forces,
    thermostat: Thermostat,
    algorithm: Algorithm,
}

fn cases() -> Vec<Case> {
    let fluid = |algorithm, thermostat| Case {
        name: "fluid",
        system: fluid::system(Shape::Triclinic, algorithm, 2),
        forces: vec![fluid::term(PairKind::LennardJones, Truncation::ForceShifted, 2)].into(),
        thermostat,
        algorithm,
    };
    let langevin = || Thermostat::Langevin(Langevin::new(1.0, 1.0, TIMESTEP));
    let target = Target { thermal_energy: 1.1, degrees_of_freedom: 300 };
    let rescale = Thermostat::Rescale(Rescale::new(target, 4, 0));
    let (system, forces) = several::charged();
    let (slab, walls) = reflection::slab();
    vec![
        Case {
            name: "fluid between walls that reflect",
            system: slab,
            forces: reflection::fluid(&walls),
            thermostat: langevin(),
            algorithm: Algorithm::List,
        },
        fluid(Algorithm::Tiles, Thermostat::Isolated),
        fluid(Algorithm::Tiles, langevin()),
        fluid(Algorithm::List, Thermostat::Isolated),
        fluid(Algorithm::List, rescale),
        restrained(fluid(Algorithm::List, langevin())),
        Case {
            name: "chains",
            system: chains::chains([true; 3]),
            forces: chains::forces(Exclude::None),
            thermostat: langevin(),
            algorithm: Algorithm::List,
        },
        Case {
            name: "molecules",
            system: constraints::molecules().replicate([2, 2, 2]).unwrap(),
            forces: constraints::forces(),
            thermostat: Thermostat::Isolated,
            algorithm: Algorithm::List,
        },
        Case {
            name: "rigid bodies",
            system: rigid::bodies().replicate([2, 1, 1]).unwrap(),
            forces: constraints::forces(),
            thermostat: langevin(),
            algorithm: Algorithm::List,
        },
        Case {
            name: "charged molecules",
            system,
            forces,
            thermostat: langevin(),
            algorithm: Algorithm::Tiles,
        },
        Case {
            name: "copper",
            system: embedded::system(7, 3.61, &["Cu"], 0.5),
            forces: embedded::copper(),
            thermostat: Thermostat::Isolated,
            algorithm: Algorithm::Tiles,
        },
        Case {
            name: "silicon",
            system: covalent::crystal(4, 5.431, &[("Si", 0.6)], 0.5, false),
            forces: covalent::silicon().into(),
            thermostat: Thermostat::Isolated,
            algorithm: Algorithm::List,
        },
    ]
}

/// A case with a spring between the centres of two halves of the atoms, each of which all GPUs have a part of.
fn restrained(mut case: Case) -> Case {
    let system = &case.system;
    let start = WholeGroups::of_start(system);
    let half = system.state.len() as u32 / 2;
    let centers = [(0..half).collect::<Vec<_>>(), (half..2 * half).collect()]
        .map(|atoms| Center::new(system, &start, &atoms));
    case.forces.restraints = Restraints {
        springs: vec![Spring::new(1e3)],
        distances: vec![Distance { centers, range: [1.0, 1.0], spring: 0 }],
        ..Restraints::default()
    };
    Case { name: "fluid with a restraint", ..case }
}

fn batch(number: u64) -> StepBatch {
    let steps = 12;
    StepBatch {
        first_step: 1 + number * steps,
        steps,
        timestep: TIMESTEP,
        seed: 4,
        // Samples in every other batch.
        sample_every: 4 * (number % 2),
        evaluate: Evaluate::ForcesAndEnergies,
        long_range: RespaSchedule::ALWAYS,
    }
}

fn begin(gpu: &mut dyn Backend) {
    gpu.constrain_velocities(None).unwrap();
    gpu.update_neighbors().unwrap();
    gpu.compute_forces(Evaluate::Forces).unwrap();
}

/// Numbers of a sample.
fn numbers(sample: &Sample) -> Vec<f64> {
    let energies = sample.energies.terms.iter().chain(&sample.energies.virial);
    energies.chain(&sample.kinetic.tensor).copied().collect()
}

/// Shares of the GPUs in a batch: even, all on one, hardly any on another, or at random.
fn shares(number: u64, count: usize, random: &mut Stream) -> Vec<f64> {
    match number {
        0 => vec![1.0; count],
        1 => (0..count).map(|rank| if rank == 0 { 1.0 } else { 0.0 }).collect(),
        2 => (0..count).map(|rank| if rank == 0 { 1e-9 } else { 1.0 }).collect(),
        _ => (0..count).map(|_| random.uniform()).collect(),
    }
}

/// Paths of a case on one GPU and on several, whose numbers agree to a part of them, and positions to a length.
fn compare(case: &Case, precision: Precision, count: usize, [part, length]: [f64; 2]) {
    let Case { name, system, forces, thermostat, algorithm } = case;
    let settings = Settings { algorithm: *algorithm, precision, skin: Some(0.1), ..Settings::default() };
    let mut random = Stream::new(12, Purpose::Placement, 0, 0);
    let mut alone = Cuda::new(device(), system.clone(), forces.clone(), settings).unwrap();
    let mut gpus = SeveralGpus::new(devices(count), system.clone(), forces.clone(), settings).unwrap();
    let (mut of_one, mut of_several) = (thermostat.clone(), thermostat.clone());
    begin(&mut alone);
    begin(&mut gpus);
    for number in 0..BATCHES {
        let what =
            format!("{name}, {precision:?}, {thermostat:?}, {algorithm:?}, {count} GPUs, batch {number}");
        gpus.set_shares(&shares(number, count, &mut random)).unwrap();
        let right = alone.run_steps(&batch(number), &mut of_one).unwrap().unwrap();
        let found = gpus.run_steps(&batch(number), &mut of_several).unwrap().unwrap();
        gpus.check_agreement().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(found.len(), right.len(), "{what}");
        for (a, b) in found.iter().zip(&right) {
            let (a, b) = (numbers(a), numbers(b));
            let scale = b.iter().map(|x| x.abs()).sum::<f64>();
            let error = largest(a.iter().zip(&b).map(|(a, b)| a - b));
            assert!(error < part * scale, "{what}: {error:e} of {scale:e}");
        }
        let (a, b) = (by_id(&mut gpus), by_id(&mut alone));
        let error = largest(a.position.iter().zip(&b.position).map(|(a, b)| distance(*a, *b)));
        assert!(error < length, "{what}: {error:e} apart");
    }
    assert!(gpus.neighbor_facts().builds > 5, "{name}: hardly an atom has changed its place");
    assert!(gpus.timings().bytes_sent > 0.0, "{name}: nothing was sent");
}

#[test]
fn paths_and_samples_are_those_of_one_gpu() {
    for case in cases() {
        compare(&case, Precision::Double, counts()[counts().len() - 1], [1e-10, 1e-9]);
    }
}

/// Bonds need positions of other GPUs' atoms that are more exact than those by which pairs are found; embedded atoms
/// send densities. Fluids and silicon have nothing that these have not.
#[test]
fn paths_in_mixed_precision_are_those_of_one_gpu() {
    let names = ["chains", "molecules", "rigid bodies", "charged molecules", "copper"];
    for case in cases().into_iter().filter(|case| names.contains(&case.name)) {
        compare(&case, Precision::Mixed, counts()[0], [1e-5, 1e-4]);
    }
}
