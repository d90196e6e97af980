//! Long-range corrections of pair forces under every truncation that has one, in boxes of two volumes.

use super::fluid::{Shape, system, term};
use super::gpus::on_gpu;
use jostle_core::{Algorithm, Backend, Evaluate, Precision, Settings, Vector};
use jostle_potentials::{PairKind, Truncation};

#[test]
fn energies_and_virials_have_their_tails() {
    let mut system = system(Shape::Triclinic, Algorithm::List, 2);
    for truncation in [Truncation::Plain, Truncation::Shifted, Truncation::Switched { from: 0.8 }] {
        let plain = term(PairKind::LennardJones, truncation, 2);
        let corrected = plain.clone().with_tail_correction().unwrap();
        for _ in 0..2 {
            let settings =
                |algorithm| Settings { precision: Precision::Double, algorithm, ..Settings::default() };
            let energies = |backend: &mut dyn Backend| {
                backend.update_neighbors().unwrap();
                backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
                backend.energies().clone()
            };
            let mut cpu =
                jostle_cpu::open(system.clone(), vec![corrected.clone()], settings(Algorithm::Clusters))
                    .unwrap();
            let mut gpu = on_gpu(system.clone(), vec![corrected.clone()], settings(Algorithm::List));
            let mut bare =
                jostle_cpu::open(system.clone(), vec![plain.clone()], settings(Algorithm::Clusters)).unwrap();
            let [cpu, gpu, bare] = [energies(&mut *cpu), energies(&mut *gpu), energies(&mut *bare)];
            let [energy, virial] = corrected.tail(&system.counts()).at(system.simbox.volume());
            let scale = bare.potential().abs();
            for found in [cpu, gpu] {
                let error = found.potential() - bare.potential() - energy;
                assert!(error.abs() < 1e-12 * scale, "{truncation:?}: energy {error:e}");
                for k in 0..3 {
                    let error = found.virial[k] - bare.virial[k] - virial;
                    assert!(error.abs() < 1e-11 * scale, "{truncation:?}: virial {error:e}");
                }
            }
            system.deform(
                system
                    .simbox
                    .mapped([Vector([1.1, 0.0, 0.0]), Vector([0.0, 1.1, 0.0]), Vector([0.0, 0.0, 1.1])])
                    .unwrap(),
            );
        }
    }
}
