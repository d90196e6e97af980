//! Energies, virials and forces against other engines. Every case compiles kernels of its own, so that each
//! is computed in one precision.

use super::gpus::on_gpu;
use super::{ALGORITHMS, PRECISIONS};
use jostle_core::{Algorithm, Settings};
use jostle_fixtures::reference::{self, Case};

fn check(cases: Vec<Case>) {
    for (k, case) in cases.into_iter().enumerate() {
        let precision = PRECISIONS[k % 2];
        // Boxes that are too narrow for tiles.
        for algorithm in ALGORITHMS.into_iter().filter(|algorithm| *algorithm != Algorithm::Tiles) {
            let settings = Settings { algorithm, precision, ..Settings::default() };
            let terms = vec![case.term.clone()];
            let mut cuda = on_gpu(case.system.clone(), terms, settings);
            case.check(&mut *cuda, precision);
        }
    }
}

#[test]
fn pair_forces_equal_those_of_other_engines() {
    check(reference::shared_cases());
}

#[test]
fn pair_styles_and_mixing_rules_equal_those_of_lammps() {
    check(reference::own_cases());
}
