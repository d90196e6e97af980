//! Documented precision of `mixed`: half of all forces have errors below 3e-6, for every potential of the
//! registry with typical parameters.

use super::fluid::{LONGEST_CUTOFF, Shape, by_id, system};
use super::gpus::on_gpu;
use jostle_core::{Algorithm, Backend, Evaluate, Precision, Settings};
use jostle_fixtures::typical::{relative_errors, term_of, typical};
use jostle_potentials::PairKind;

#[test]
fn forces_in_mixed_precision_are_as_exact_as_promised() {
    let system = system(Shape::Orthorhombic, Algorithm::List, 1);
    for &kind in PairKind::ALL {
        for parameters in typical(kind) {
            let term = term_of(kind, &parameters, LONGEST_CUTOFF);
            let settings = |precision, algorithm| Settings { precision, algorithm, ..Settings::default() };
            let exactly = settings(Precision::Double, Algorithm::Reference);
            let mixed = settings(Precision::Mixed, Algorithm::List);
            let reference = jostle_cpu::open(system.clone(), vec![term.clone()], exactly).unwrap();
            let gpu = on_gpu(system.clone(), vec![term], mixed);
            let [exact, forces] = [reference, gpu].map(|mut backend: Box<dyn Backend>| {
                backend.update_neighbors().unwrap();
                backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
                by_id(&mut *backend).force
            });
            let [median, largest] = relative_errors(&forces, &exact);
            let what = format!("{} {parameters:?}", kind.name());
            println!("{what}: median {median:.2e}, largest {largest:.1e}");
            assert!(median < 3e-6, "{what}: the median relative error of a force is {median:e}");
        }
    }
}
