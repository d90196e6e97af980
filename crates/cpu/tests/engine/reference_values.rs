//! Energies, virials and forces of all kernels against other programs.

use jostle_core::{Algorithm, Precision, Settings};
use jostle_cpu::{Level, open_at};

/// Settings with which a case is computed.
struct Way {
    algorithm: Algorithm,
    precision: Precision,
    level: Level,
}

/// The plain reference, and cluster lists in either precision with every instruction set that this
/// processor has.
fn ways() -> Vec<Way> {
    let reference =
        Way { algorithm: Algorithm::Reference, precision: Precision::Double, level: Level::Portable };
    let levels = Level::ALL.into_iter().filter(|level| level.is_available());
    let clusters = levels.flat_map(|level| {
        [Precision::Double, Precision::Mixed].map(|precision| Way {
            algorithm: Algorithm::Clusters,
            precision,
            level,
        })
    });
    std::iter::once(reference).chain(clusters).collect()
}

fn check(cases: Vec<jostle_fixtures::reference::Case>) {
    for case in cases {
        for Way { algorithm, precision, level } in ways() {
            let settings = Settings { threads: Some(2), precision, algorithm, ..Settings::default() };
            let mut cpu = open_at(case.system.clone(), vec![case.term.clone()], settings, level).unwrap();
            case.check(&mut *cpu, precision);
        }
    }
}

#[test]
fn pair_forces_equal_those_of_other_engines() {
    check(jostle_fixtures::reference::shared_cases());
}

#[test]
fn pair_styles_and_mixing_rules_equal_those_of_lammps() {
    check(jostle_fixtures::reference::own_cases());
}
