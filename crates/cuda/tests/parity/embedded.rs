//! Embedded atoms: the GPU engine against the plain reference and the CPU engine.

use crate::device::device;
use crate::gpus::on_gpu;
use jostle_core::{
    Algorithm, Backend, Evaluate, Precision, RespaSchedule, Settings, SimBox, Species, StepBatch, System,
    Thermostat, Vec3,
};
use jostle_cpu::reference;
use jostle_cuda::Cuda;
use jostle_potentials::embedded::Spline;
use jostle_potentials::{
    Embedded, EmbeddedKind, Forces, PairEntry, PairKind, PairTerm, SuttonChen, Truncation,
};

pub fn system(cells: usize, edge: f64, species: &[&str], amplitude: f64) -> System {
    let box_edge = cells as f64 * edge;
    let species = species.iter().map(|name| Species { name: (*name).into(), mass: 0.6, charge: 0.0 });
    let mut system = System::new(SimBox::orthorhombic([box_edge; 3]).unwrap(), species.collect());
    let mut seed = 1u64;
    let mut shift = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        amplitude * ((seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
    };
    let basis = [[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]];
    for cell in 0..cells.pow(3) {
        let corner = [cell / cells / cells, cell / cells % cells, cell % cells];
        for (k, site) in basis.iter().enumerate() {
            let place = Vec3::from_fn(|a| edge * (corner[a] as f64 + site[a]) + 0.1 + shift());
            system.state.push(((cell + k) % system.species.len()) as u16, place);
        }
    }
    system
}

pub fn copper() -> Forces {
    SuttonChen::embedded(&[SuttonChen::metal("Cu").unwrap()], 5.2, 1.0, 1.0).unwrap().into()
}

/// Densities that depend on both species, and a pair force besides.
fn alloy() -> Forces {
    let table = |f: &dyn Fn(f64) -> f64| Spline::tabulate(0.8, 5.0, 400, f).unwrap();
    let smooth = |r: f64| (1.0 - (r / 5.0).powi(2)).max(0.0).powi(3);
    let density = [1.0, 0.7, 1.4, 0.9].map(|c| table(&move |r| c * smooth(r) / r));
    let pair = [1.0, 1.3, 1.3, 0.8].map(|c| table(&move |r| c * smooth(r) * (-1.2 * r).exp() * 40.0));
    let embedding =
        [0.9, 1.2].map(|c| Spline::tabulate(0.0, 40.0, 4000, |rho| -c * (rho + 0.01).sqrt()).unwrap());
    let kind = EmbeddedKind::EmbeddedAtom;
    let metal = Embedded::new(kind, 5.0, embedding.into(), density.into(), pair.into()).unwrap();
    let mut other = PairTerm::new(PairKind::LennardJones, Truncation::Plain, 2);
    other.set(0, 1, PairEntry { parameters: vec![0.01, 2.5], cutoff: 4.0 });
    Forces { pairs: vec![other], ..metal.into() }
}

fn cases() -> [(System, Forces); 2] {
    [(system(7, 3.61, &["Cu"], 0.5), copper()), (system(7, 3.8, &["A", "B"], 0.5), alloy())]
}

fn open(system: &System, forces: &Forces, algorithm: Algorithm, precision: Precision) -> Box<dyn Backend> {
    let settings = Settings { algorithm, precision, ..Settings::default() };
    on_gpu(system.clone(), forces.clone(), settings)
}

#[test]
fn forces_energies_and_virial_are_those_of_the_reference() {
    for (system, forces) in cases() {
        let (exact, energies) = reference::evaluate(&system, &forces).unwrap();
        let rms = (exact.iter().flatten().map(|f| f * f).sum::<f64>() / exact.len() as f64).sqrt();
        for algorithm in [Algorithm::List, Algorithm::Tiles] {
            for (precision, tolerance) in [(Precision::Double, 1e-10), (Precision::Mixed, 1e-5)] {
                let mut gpu = open(&system, &forces, algorithm, precision);
                gpu.update_neighbors().unwrap();
                for evaluate in [Evaluate::Forces, Evaluate::ForcesAndEnergies] {
                    gpu.compute_forces(evaluate).unwrap();
                    let what = gpu.describe();
                    let state = gpu.state().unwrap();
                    for (force, id) in state.force.iter().zip(&state.id) {
                        for k in 0..3 {
                            let off = (force[k] - exact[*id as usize][k]).abs() / rms;
                            assert!(off < tolerance, "{what}: force on {id} off by {off:e}");
                        }
                    }
                }
                let (what, found) = (gpu.describe(), gpu.energies().clone());
                assert_eq!(found.terms.len(), forces.n_terms());
                for (a, b) in found.terms.iter().zip(&energies.terms) {
                    assert!((a / b - 1.0).abs() < tolerance, "{what}: energy {a} {b}");
                }
                for (a, b) in found.virial.iter().zip(energies.virial) {
                    let scale = energies.virial[0].abs();
                    assert!((a - b).abs() < tolerance * scale, "{what}: virial {a} {b}");
                }
            }
        }
    }
}

/// Steps of the device's own loop are those of the CPU.
#[test]
fn a_batch_is_the_same_path() {
    let (steps, timestep) = (12, 0.002);
    let algorithms = [Algorithm::Tiles, Algorithm::List];
    for ((system, forces), algorithm) in cases().into_iter().zip(algorithms) {
        let settings = Settings { precision: Precision::Double, threads: Some(1), ..Settings::default() };
        let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), settings).unwrap();
        cpu.compute_forces(Evaluate::Forces).unwrap();
        for _ in 0..steps {
            cpu.kick_drift(timestep).unwrap();
            cpu.update_neighbors().unwrap();
            cpu.compute_forces(Evaluate::Forces).unwrap();
            cpu.kick(0.5 * timestep).unwrap();
        }
        let expected = cpu.state().unwrap().clone();
        let mut gpu = open(&system, &forces, algorithm, Precision::Double);
        gpu.update_neighbors().unwrap();
        gpu.compute_forces(Evaluate::Forces).unwrap();
        let evaluate = Evaluate::ForcesAndEnergies;
        let batch = StepBatch {
            first_step: 0,
            steps,
            timestep,
            seed: 1,
            sample_every: 4,
            evaluate,
            long_range: RespaSchedule::ALWAYS,
        };
        let samples = gpu.run_steps(&batch, &mut Thermostat::Isolated).unwrap().unwrap();
        assert_eq!(samples.len(), 3);
        let state = gpu.state().unwrap();
        for (index, other) in state.index_by_id().into_iter().zip(expected.index_by_id()) {
            let (a, b) = (state.velocity[index], expected.velocity[other]);
            for k in 0..3 {
                assert!((a[k] - b[k]).abs() < 1e-8, "{a:?} {b:?}");
            }
        }
    }
}

#[test]
fn unsupported_settings_are_refused() {
    let (system, forces) = cases().into_iter().next().unwrap();
    let refused =
        |settings: Settings| Cuda::new(device(), system.clone(), forces.clone(), settings).err().unwrap();
    for algorithm in [Algorithm::Cells, Algorithm::AllPairs] {
        let error = refused(Settings { algorithm, ..Settings::default() });
        assert!(error.message().contains("embedded atoms"), "{error}");
    }
    let error = refused(Settings { reproducible: true, ..Settings::default() });
    assert!(error.help().unwrap().contains("cpu"), "{error}");
}
