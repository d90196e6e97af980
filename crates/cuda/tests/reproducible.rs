//! Bits with `reproducible = true`: they depend neither on the order of storage, nor on the algorithm, nor on
//! how often results are read.

use jostle_core::random::{Purpose, Stream};
use jostle_core::thermostat::{Bussi, Langevin, NoseHoover, Target};
use jostle_core::{
    Algorithm, Backend, Bond, Constraint, Evaluate, Precision, RespaSchedule, Settings, SimBox, Species,
    StepBatch, System, Thermostat, Vec3, Vector,
};
use jostle_cuda::driver::Device;
use jostle_cuda::{Cuda, SeveralGpus};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{BondKind, BondTerm, Electrostatics, Forces, PairKind, PairTerm, Truncation};

const TIMESTEP: f64 = 0.004;

/// Liquid of two kinds of atoms in a tilted box: a distorted lattice.
fn liquid() -> System {
    let simbox = SimBox::new([0.0; 3], [7.0, 7.2, 7.4], [1.0, -0.5, 0.7], [true; 3]).unwrap();
    let species = |name: &str, mass| Species { name: name.into(), mass, charge: 0.0 };
    let mut system = System::new(simbox, vec![species("A", 1.0), species("B", 2.5)]);
    for k in 0..6 * 6 * 6 {
        let mut noise = Stream::new(5, Purpose::Placement, k, 0);
        let jitter = noise.normal3();
        let cell = [k % 6, k / 6 % 6, k / 36];
        let s = [0, 1, 2].map(|d| (f64::from(cell[d]) + 0.5 + 0.05 * jitter[d]) / 6.0);
        system.state.push((k % 3 / 2) as u16, simbox.to_cartesian(Vector(s)));
        if let Some(v) = system.state.velocity.last_mut() {
            *v = noise.normal3();
        }
    }
    system
}

/// Atoms of a state in another order.
fn shuffled(mut system: System) -> System {
    let mut order: Vec<u32> = (0..216).collect();
    let mut stream = Stream::new(3, Purpose::Composition, 0, 0);
    for k in (1..order.len()).rev() {
        order.swap(k, stream.below(k + 1));
    }
    system.state.permute(&order);
    system
}

fn terms() -> Vec<PairTerm> {
    let mut term = PairTerm::new(PairKind::LennardJones, Truncation::Shifted, 2);
    for (a, b, sigma) in [(0, 0, 1.0), (0, 1, 1.05), (1, 1, 1.1)] {
        let parameters = vec![1.0, sigma];
        term.set(a, b, jostle_potentials::PairEntry { parameters, cutoff: 2.2 * sigma });
    }
    vec![term]
}

/// A system on so many devices.
fn open(
    system: System,
    forces: Forces,
    algorithm: Algorithm,
    precision: Precision,
    gpus: usize,
) -> Box<dyn Backend> {
    let settings =
        Settings { algorithm, precision, reproducible: true, skin: Some(0.3), ..Settings::default() };
    let mut devices = devices(gpus);
    match gpus {
        1 => Box::new(Cuda::new(devices.remove(0), system, forces, settings).unwrap()),
        _ => Box::new(SeveralGpus::new(devices, system, forces, settings).unwrap()),
    }
}

/// GPUs where the environment has `JOSTLE_TEST_DEVICE=cuda`, else emulated ones.
fn devices(count: usize) -> Vec<Device> {
    match std::env::var("JOSTLE_TEST_DEVICE") {
        Ok(_) => (0..count).map(|k| Device::open(k).unwrap().for_tests()).collect(),
        Err(_) => Device::several_emulated(count).unwrap(),
    }
}

fn thermostats() -> [Thermostat; 3] {
    let target = Target { thermal_energy: 0.9, degrees_of_freedom: 3 * 216 - 3 };
    [
        Thermostat::Langevin(Langevin::new(0.9, 1.0, TIMESTEP)),
        Thermostat::NoseHoover(NoseHoover::new(target, 0.5, 3)),
        Thermostat::Bussi(Bussi::new(target, 0.1, TIMESTEP)),
    ]
}

/// Positions, velocities and forces by id, and the energies of the end.
type Outcome = (Vec<[Vec3; 3]>, Vec<f64>);

fn run(
    (system, forces): (System, Forces),
    algorithm: Algorithm,
    precision: Precision,
    mut thermostat: Thermostat,
    every: u64,
    gpus: usize,
) -> Outcome {
    let mut gpu = open(system, forces, algorithm, precision, gpus);
    gpu.constrain_velocities(None).unwrap();
    gpu.update_neighbors().unwrap();
    gpu.compute_forces(Evaluate::Forces).unwrap();
    let batch = StepBatch {
        first_step: 1,
        steps: 60,
        timestep: TIMESTEP,
        seed: 8,
        sample_every: every,
        evaluate: Evaluate::ForcesAndEnergies,
        long_range: RespaSchedule::ALWAYS,
    };
    gpu.run_steps(&batch, &mut thermostat).unwrap().unwrap();
    assert!(gpu.neighbor_facts().builds > 1, "nothing was rebuilt");
    let mut sums = gpu.energies().terms.clone();
    sums.extend(gpu.energies().virial);
    sums.extend(gpu.kinetic().unwrap().tensor);
    let state = gpu.state().unwrap();
    let atoms =
        state.index_by_id().into_iter().map(|i| [state.position[i], state.velocity[i], state.force[i]]);
    (atoms.collect(), sums)
}

#[test]
fn bits_depend_on_nothing_but_the_physics() {
    let (first, shuffled) = (|| (liquid(), terms().into()), || (shuffled(liquid()), terms().into()));
    for precision in [Precision::Mixed, Precision::Double] {
        for thermostat in thermostats() {
            let alone =
                |system, algorithm, every| run(system, algorithm, precision, thermostat.clone(), every, 1);
            let found = alone(first(), Algorithm::List, 0);
            let what = format!("{precision:?}, {thermostat:?}");
            let others = [
                ("storage", alone(shuffled(), Algorithm::Auto, 0)),
                ("algorithm", alone(shuffled(), Algorithm::Cells, 0)),
                ("sampling", alone(first(), Algorithm::List, 6)),
            ];
            for (difference, other) in others {
                assert!(found == other, "{difference} matters: {what}");
            }
        }
    }
}

/// Charges on a mesh, some of them excluded from each other.
fn charged(mut system: System) -> (System, Forces) {
    system.charges = (0..216).map(|id| if id % 2 == 0 { 1.5 } else { -1.5 }).collect();
    system.topology.excluded = (0..200).step_by(3).map(|id| [id, id + 7]).collect();
    let term = Electrostatics::new(Method::Pme { alpha: 1.2, order: 4, spacing: 0.7 }, 1.0, 2.4);
    (system, Forces { pairs: terms(), ..term.into() })
}

/// Charged atoms in pairs at constant distances, joined by springs to the next pair.
fn molecules(system: System) -> (System, Forces) {
    let (mut system, mut forces) = charged(system);
    system.topology.bond_types = vec!["spring".into()];
    for first in (0..216).step_by(6) {
        for [a, b] in [[0, 1], [2, 3], [4, 5]].map(|pair| pair.map(|k| first + k)) {
            let [x, y] = [a, b].map(|atom| system.state.position[atom as usize]);
            let d = system.simbox.nearest_image(y - x);
            let length = d.iter().map(|x| x * x).sum::<f64>().sqrt();
            system.topology.constraints.push(Constraint { atoms: [a, b], length });
            system.topology.excluded.push([a, b]);
        }
        let springs = [[1, 2], [3, 4]].map(|pair| Bond { kind: 0, atoms: pair.map(|k| first + k) });
        system.topology.bonds.extend(springs);
    }
    forces.bonds = vec![BondTerm::uniform(BondKind::HarmonicBond, &[50.0, 1.2]).unwrap()];
    (system, forces)
}

#[test]
fn bits_do_not_depend_on_the_number_of_gpus() {
    compare_numbers_of_gpus(Precision::Mixed);
}

#[test]
fn bits_in_double_precision_do_not_depend_on_the_number_of_gpus() {
    compare_numbers_of_gpus(Precision::Double);
}

fn compare_numbers_of_gpus(precision: Precision) {
    let [langevin, nose_hoover, bussi] = thermostats();
    let cases = [
        (charged(liquid()), langevin.clone()),
        ((liquid(), terms().into()), nose_hoover),
        ((liquid(), terms().into()), bussi),
        (molecules(liquid()), langevin),
    ];
    for (case, thermostat) in &cases {
        let on = |gpus, every| run(case.clone(), Algorithm::List, precision, thermostat.clone(), every, gpus);
        let alone = on(1, 0);
        for gpus in counts() {
            for every in [0, 6] {
                assert!(alone == on(gpus, every), "{gpus} GPUs: {precision:?}, {thermostat:?}");
            }
        }
    }
}

/// Numbers of GPUs: two of those that are there, and more where `JOSTLE_TEST_GPUS` says that there are.
fn counts() -> Vec<usize> {
    let real = std::env::var("JOSTLE_TEST_DEVICE").is_ok();
    let most = std::env::var("JOSTLE_TEST_GPUS").map_or(2, |number| number.parse().unwrap());
    [2, 3, 4, 8].into_iter().filter(|count| if real { *count <= most } else { *count != 4 }).collect()
}

#[test]
fn bits_of_charges_depend_on_nothing_but_the_physics() {
    for precision in [Precision::Mixed, Precision::Double] {
        let thermostat = || thermostats()[0].clone();
        let alone = |system, every| run(charged(system), Algorithm::List, precision, thermostat(), every, 1);
        let first = alone(liquid(), 0);
        let stored = alone(shuffled(liquid()), 0);
        let looked_at = alone(liquid(), 6);
        assert!(first == stored, "storage matters: {precision:?}");
        assert!(first == looked_at, "sampling matters: {precision:?}");
    }
}

#[test]
fn forces_cancel_to_the_last_bit_that_counts() {
    let mut gpu = open(liquid(), terms().into(), Algorithm::List, Precision::Double, 1);
    gpu.update_neighbors().unwrap();
    gpu.compute_forces(Evaluate::Forces).unwrap();
    let forces = &gpu.state().unwrap().force;
    let largest = forces.iter().flatten().fold(0.0, |m: f64, f| m.max(f.abs()));
    for k in 0..3 {
        let sum: f64 = forces.iter().map(|f| f[k]).sum();
        // Remainder: the rounding of each sum to an f64, and that of this one.
        assert!(sum.abs() < 216.0 * largest * f64::EPSILON, "{sum:e}");
    }
}

#[test]
fn overflow_of_exact_sums_is_an_error() {
    let mut system = liquid();
    let close = system.state.position[0].map(|x| x + 1e-3);
    system.state.position[1] = close;
    let mut gpu = open(system, terms().into(), Algorithm::List, Precision::Double, 1);
    gpu.update_neighbors().unwrap();
    let outcome = gpu.compute_forces(Evaluate::ForcesAndEnergies).and_then(|()| {
        let batch = StepBatch {
            first_step: 1,
            steps: 1,
            timestep: TIMESTEP,
            seed: 0,
            sample_every: 0,
            evaluate: Evaluate::Forces,
            long_range: RespaSchedule::ALWAYS,
        };
        gpu.run_steps(&batch, &mut Thermostat::Isolated).map(drop)
    });
    let error = outcome.unwrap_err();
    assert!(error.message().contains("too large"), "{error}");
}

#[test]
fn algorithms_whose_sums_depend_on_the_order_are_refused() {
    for algorithm in [Algorithm::Tiles, Algorithm::AllPairs] {
        let settings = Settings { algorithm, reproducible: true, ..Settings::default() };
        let error = Cuda::new(Device::emulated().unwrap(), liquid(), terms(), settings).err().unwrap();
        assert!(error.message().contains("reproducible"), "{error}");
    }
}
