//! Three-body forces: the GPU engine against the plain reference and the CPU engine.

use crate::device::device;
use crate::gpus::on_gpu;
use jostle_core::{
    Algorithm, Backend, Evaluate, Precision, RespaSchedule, Settings, SimBox, StepBatch, System, Thermostat,
};
use jostle_cpu::reference;
use jostle_cuda::Cuda;
use jostle_fixtures::covalent::{
    TERSOFF_SILICON, compound_with_triplet_cutoffs, crystal, silicon, silicon_carbide, two_sizes,
};
use jostle_potentials::{Forces, PairEntry, PairKind, PairTerm, SuttonChen, ThreeBody, Truncation};

fn cases() -> [(System, Forces); 5] {
    let silicon_atoms = |edge, tilted| crystal(3, edge, &[("Si", 2.8)], 0.8, tilted);
    let compound = |edge| crystal(3, edge, &[("Si", 2.8), ("C", 1.2)], 0.7, true);
    let mut other = PairTerm::new(PairKind::LennardJones, Truncation::Plain, 2);
    other.set(0, 1, PairEntry { parameters: vec![0.01, 2.5], cutoff: 4.0 });
    [
        (silicon_atoms(5.0, false), silicon().into()),
        (silicon_atoms(5.2, true), ThreeBody::tersoff(1, &[TERSOFF_SILICON]).into()),
        (compound(5.0), two_sizes().into()),
        (compound(4.4), Forces { pairs: vec![other], ..silicon_carbide().into() }),
        (compound(4.5), compound_with_triplet_cutoffs().into()),
    ]
}

fn open(system: &System, forces: &Forces, precision: Precision) -> Box<dyn Backend> {
    on_gpu(system.clone(), forces.clone(), Settings { precision, ..Settings::default() })
}

#[test]
fn forces_energies_and_virial_are_those_of_the_reference() {
    for (case, (system, forces)) in cases().into_iter().enumerate() {
        let (exact, energies) = reference::evaluate(&system, &forces).unwrap();
        let rms = (exact.iter().flatten().map(|f| f * f).sum::<f64>() / exact.len() as f64).sqrt();
        for (precision, tolerance) in [(Precision::Double, 1e-10), (Precision::Mixed, 1e-5)] {
            let mut gpu = open(&system, &forces, precision);
            gpu.update_neighbors().unwrap();
            let what = format!("{case}, {}", gpu.describe());
            for evaluate in [Evaluate::Forces, Evaluate::ForcesAndEnergies] {
                gpu.compute_forces(evaluate).unwrap();
                let state = gpu.state().unwrap();
                for (force, id) in state.force.iter().zip(&state.id) {
                    for k in 0..3 {
                        let off = (force[k] - exact[*id as usize][k]).abs() / rms;
                        assert!(off < tolerance, "{what}: force on {id} off by {off:e}");
                    }
                }
            }
            let found = gpu.energies().clone();
            assert_eq!(found.terms.len(), forces.n_terms());
            for (a, b) in found.terms.iter().zip(&energies.terms) {
                let off = (a - b).abs() / energies.potential().abs();
                assert!(off < 0.1 * tolerance, "{what}: energy {a} {b}");
            }
            let scale: f64 = energies.virial[..3].iter().map(|w| w.abs()).sum();
            for (a, b) in found.virial.iter().zip(energies.virial) {
                assert!((a - b).abs() < tolerance * scale, "{what}: virial {a} {b}");
            }
        }
    }
}

/// Steps of the device's own loop are those of the CPU.
#[test]
fn a_batch_is_the_same_path() {
    let (steps, timestep) = (12, 0.002);
    for (system, forces) in cases() {
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
        let mut gpu = open(&system, &forces, Precision::Double);
        gpu.update_neighbors().unwrap();
        gpu.compute_forces(Evaluate::Forces).unwrap();
        let batch = StepBatch {
            first_step: 0,
            steps,
            timestep,
            seed: 1,
            sample_every: 4,
            evaluate: Evaluate::ForcesAndEnergies,
            long_range: RespaSchedule::ALWAYS,
        };
        let samples = gpu.run_steps(&batch, &mut Thermostat::Isolated).unwrap().unwrap();
        assert_eq!(samples.len(), 3);
        let state = gpu.state().unwrap();
        for (index, other) in state.index_by_id().into_iter().zip(expected.index_by_id()) {
            let (a, b) = (state.velocity[index], expected.velocity[other]);
            for k in 0..3 {
                assert!((a[k] - b[k]).abs() < 1e-8 * a[k].abs().max(1.0), "{a:?} {b:?}");
            }
        }
    }
}

/// A GPU has space for some neighbours of each atom; where there are more the run ends and says so.
#[test]
fn crowded_atoms_end_the_run() {
    let simbox = SimBox::new([0.0; 3], [20.0; 3], [0.0; 3], [true; 3]).unwrap();
    let mut system = System::new(simbox, crystal(1, 5.4, &[("Si", 28.0)], 0.0, false).species);
    for k in 0..40 {
        system.state.push(0, [k % 4, k / 4 % 4, k / 16].map(|x| 5.0 + 0.9 * f64::from(x)));
    }
    let mut gpu = open(&system, &silicon().into(), Precision::Double);
    let result = gpu.update_neighbors().and_then(|()| gpu.compute_forces(Evaluate::Forces));
    let batch = StepBatch {
        first_step: 0,
        steps: 2,
        timestep: 1e-6,
        seed: 1,
        sample_every: 2,
        evaluate: Evaluate::Forces,
        long_range: RespaSchedule::ALWAYS,
    };
    let result = result.and_then(|()| gpu.run_steps(&batch, &mut Thermostat::Isolated).map(drop));
    let error = result.unwrap_err();
    assert!(error.message().contains("neighbours within the cut-off of 'stillinger-weber'"), "{error}");
}

#[test]
fn unsupported_settings_are_refused() {
    let (system, forces) = cases().into_iter().next().unwrap();
    let refused =
        |settings: Settings| Cuda::new(device(), system.clone(), forces.clone(), settings).err().unwrap();
    for algorithm in [Algorithm::Tiles, Algorithm::Cells, Algorithm::AllPairs] {
        let error = refused(Settings { algorithm, ..Settings::default() });
        assert!(error.message().contains("three-body forces"), "{error}");
    }
    let error = refused(Settings { reproducible: true, ..Settings::default() });
    assert!(error.help().unwrap().contains("cpu"), "{error}");
    let metal = SuttonChen::embedded(&[SuttonChen::metal("Cu").unwrap()], 5.2, 1.0, 1.0).unwrap();
    let both = Forces { embedded: Some(metal), ..forces.clone() };
    let error = jostle_cuda::open(device(), system.clone(), both, Settings::default()).err().unwrap();
    assert!(error.message().contains("three-body forces of embedded atoms"), "{error}");
}
