//! The promise of `mixed`: half of all forces are right to 3e-6, for every potential of the registry with
//! typical parameters, built in and as the formula of its documentation.

use crate::every_potential::{compute, system};
use jostle_core::{Algorithm, Evaluate, Precision};
use jostle_cpu::Level;
use jostle_fixtures::typical::{relative_errors, term_of, typical};
use jostle_potentials::PairKind;

#[test]
fn forces_in_mixed_precision_are_as_exact_as_promised() {
    let system = system(1);
    for &kind in PairKind::ALL {
        for parameters in typical(kind) {
            let term = term_of(kind, &parameters, 2.4);
            let plain = (Algorithm::Reference, Precision::Double, Level::Portable);
            let (exact, _) = compute(&system, &term, plain, Evaluate::ForcesAndEnergies);
            for (made, term) in [("built in", term.clone()), ("formula", term.as_formula().unwrap())] {
                for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
                    let way = (Algorithm::Clusters, Precision::Mixed, level);
                    let (forces, _) = compute(&system, &term, way, Evaluate::Forces);
                    let [median, largest] = relative_errors(&forces, &exact);
                    let what = format!("{} {parameters:?}, {made}, {level}", kind.name());
                    println!("{what}: median {median:.2e}, largest {largest:.1e}");
                    assert!(median < 3e-6, "{what}: the median relative error of a force is {median:e}");
                }
            }
        }
    }
}
