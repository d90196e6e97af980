//! Compiled formulas against interpreted ones, bit by bit: energies, virials and the force on every atom, for
//! random formulas under every truncation.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{Evaluate, Masses, PositionPrediction, Settings, SimBox, Species, State, System, Vector};
use jostle_cpu::blocks::{ListPass, ListedPairs, Sums, TaskForces};
use jostle_cpu::cells::Clusters;
use jostle_cpu::formula::{compile, interpret};
use jostle_cpu::interaction::PairKernel;
use jostle_cpu::neighbors::{Exclusions, ListBuild, PairList};
use jostle_cpu::simd::Scalar;
use jostle_cpu::threads::Team;
use jostle_cpu::{Level, open_at};
use jostle_potentials::{Formula, PairEntry, PairTerm, Truncation};
use proptest::prelude::*;

const TRUNCATIONS: [Truncation; 4] =
    [Truncation::Plain, Truncation::Shifted, Truncation::ForceShifted, Truncation::Switched { from: 0.8 }];

/// The longest cut-off.
const CUTOFF: f64 = 2.2;

/// Two hundred atoms at random in a sheared box, of so many species.
fn system(n_species: usize) -> System {
    let simbox = SimBox::new([0.5, -1.0, 0.0], [6.0, 5.5, 6.5], [0.7, 0.0, -0.6], [true; 3]).unwrap();
    let species = |k| Species { name: format!("A{k}"), mass: 1.0, charge: 0.0 };
    let mut system = System::new(simbox, (0..n_species).map(species).collect());
    let mut random = Stream::new(11, Purpose::Placement, 0, 0);
    for _ in 0..200 {
        let site = [0; 3].map(|_| random.uniform());
        system.state.push(random.below(n_species) as u16, system.simbox.to_cartesian(Vector(site)));
    }
    system
}

/// Atoms in clusters with their list; every third atom excludes the next one.
struct Listed<S> {
    clusters: Clusters<S>,
    list: PairList<S>,
}

impl<S: Scalar> Listed<S> {
    fn new(n_species: usize, level: Level) -> Self {
        let System { simbox, mut state, .. } = system(n_species);
        let mut clusters = Clusters::<S>::new(level.width::<S>());
        let inverse_mass = Masses::BySpecies(vec![1.0; n_species]);
        let prediction = PositionPrediction { time: 0.0, most: 0.0, inverse_mass: &inverse_mass };
        clusters.build(&Team::new(1), &simbox, &mut state, (prediction, &mut Vec::new()), 1e3).unwrap();
        let State { id, .. } = &state;
        let mut excluded = vec![Vec::new(); id.len()];
        for k in (0..id.len() as u32 - 1).step_by(3) {
            excluded[k as usize].push(k + 1);
            excluded[k as usize + 1].push(k);
        }
        let index_by_id = state.index_by_id();
        let exclusions = Exclusions::new(&clusters, id, &index_by_id, &excluded);
        let mut list = PairList { clusters: 0..clusters.count(), ..PairList::default() };
        let exclusions = Some(&exclusions);
        level.run(ListBuild {
            clusters: &clusters,
            simbox: &simbox,
            reach: CUTOFF,
            exclusions,
            frozen: &[],
            list: &mut list,
        });
        Listed { clusters, list }
    }

    /// Forces as bits, and sums.
    fn evaluate(&self, kernel: &dyn PairKernel<S>, level: Level, evaluate: Evaluate) -> (Vec<u64>, Sums) {
        let mut forces = TaskForces::default();
        forces.clear(&self.list, self.clusters.width);
        let Listed { clusters, list } = self;
        let sums = kernel.add_forces(ListPass {
            level,
            clusters,
            list,
            accumulated: &mut forces,
            evaluate,
            pairs: ListedPairs::All,
        });
        (forces.own.iter().map(|x| bits(x.to_f64())).collect(), sums)
    }
}

/// Bits of a number, the same for all NaN.
fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

/// A term with parameters a and b, if the formula has them, a little different for each pair of species;
/// the last two species have no force on each other.
fn term(formula: &Formula, truncation: Truncation, n_species: usize) -> PairTerm {
    let mut term = PairTerm::new(formula.clone(), truncation, n_species);
    for (a, b) in (0..n_species).flat_map(|a| (a..n_species).map(move |b| (a, b))) {
        if n_species == 1 || a + 1 < n_species {
            let factor = 1.0 + 0.01 * (a + 3 * b) as f64;
            let value = |name: &String| if name == "a" { 1.3 * factor } else { 0.7 / factor };
            let parameters = formula.parameters().iter().map(value).collect();
            term.set(a, b, PairEntry { parameters, cutoff: CUTOFF - 0.01 * (a + b) as f64 });
        }
    }
    term
}

/// Compares compiled and interpreted formulas in one precision; returns the number of forces other than zero.
fn compare<S: Scalar>(formula: &Formula, truncation: Truncation, n_species: usize, level: Level) -> usize {
    let term = term(formula, truncation, n_species);
    let listed = Listed::<S>::new(n_species, level);
    let compiled = compile::<S>(formula, &term, level).expect("the formula is compiled");
    let interpreted = interpret::<S>(formula, &term);
    let mut count = 0;
    for way in [Evaluate::Forces, Evaluate::ForcesAndEnergies] {
        let what = || format!("{} {truncation:?} {n_species} {level} {way:?}", formula.text());
        let (expected, sums) = listed.evaluate(&*interpreted, level, way);
        let (found, found_sums) = listed.evaluate(&*compiled, level, way);
        let first = found.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!(
            first,
            None,
            "{}: {:?}",
            what(),
            first.map(|k| (f64::from_bits(found[k]), f64::from_bits(expected[k])))
        );
        let numbers = |sums: Sums| [vec![sums.energy], sums.virial.to_vec()].concat();
        let as_bits = |sums: Sums| numbers(sums).into_iter().map(bits).collect::<Vec<_>>();
        assert_eq!(as_bits(found_sums), as_bits(sums), "{}: {found_sums:?} and {sums:?}", what());
        count += expected.iter().filter(|x| **x != 0).count();
    }
    count
}

/// Compares compiled and interpreted formulas with all instruction sets of this processor; returns the number
/// of forces other than zero.
fn compare_all(formula: &Formula, truncation: Truncation, n_species: usize) -> usize {
    let levels = [Level::Avx2, Level::Avx512].into_iter().filter(|level| level.is_available());
    let both = |level| {
        compare::<f32>(formula, truncation, n_species, level)
            + compare::<f64>(formula, truncation, n_species, level)
    };
    levels.map(both).sum()
}

#[test]
fn every_function_gives_the_same_bits() {
    let texts = [
        "r",
        "1/r",
        "sqrt(r)",
        "1/sqrt(r)",
        "exp(-r)",
        "exp(100 r)",
        "exp(-90 r)",
        "ln(r)",
        "ln(r-1)",
        "sin(9 r)",
        "cos(9 r)",
        "tanh(r-1)",
        "erf(r)",
        "erfc(2 r - 2)",
        "a exp(-b r)/r",
        "4 a ((b/r)^12 - (b/r)^6)",
        "a (r-b)^2, r < b",
        "-a/r^3 + b r^2",
        "2.5",
    ];
    for text in texts {
        let formula = Formula::new(text).unwrap_or_else(|_| panic!("{text} is a formula"));
        for truncation in TRUNCATIONS {
            for n_species in [1, 3] {
                compare_all(&formula, truncation, n_species);
            }
        }
    }
}

/// Numbers of species that one register holds, that two hold, and more.
#[test]
fn any_number_of_species_is_looked_up() {
    let formula = Formula::new("4 a ((b/r)^12 - (b/r)^6) + a/r").unwrap();
    for n_species in [2, 4, 5, 8, 9, 16, 17, 40] {
        let count = compare_all(&formula, Truncation::ForceShifted, n_species);
        assert!(count > 1000 || !Level::Avx2.is_available());
    }
}

/// Formulas with 37 to 53 numbers at once, more than there are registers.
#[test]
fn numbers_without_a_register_are_kept_in_memory() {
    let each = |text: fn(u32) -> String| (1..15).map(text).collect::<Vec<_>>();
    let bends = each(|k| format!("tanh(r - 0.{k})"));
    let texts = [
        each(|k| format!("sin({k}.5 r) cos({k} r)"))[..9].join(" + "),
        (1..15).fold("r".into(), |inner, k| format!("exp(-{k} r)/({inner} + {k})")),
        format!("({})/({})", bends.join(" + "), each(|k| format!("(2 + tanh(r - 0.{k}))")).join(" ")),
    ];
    for text in texts {
        let formula = Formula::new(&text).expect("it is a formula");
        let count = compare_all(&formula, Truncation::Switched { from: 0.5 }, 2);
        assert!(count > 1000 || !Level::Avx2.is_available());
    }
}

#[test]
fn without_code_formulas_are_interpreted() {
    let formula = Formula::new("a exp(-r/b)/r").unwrap();
    let term = term(&formula, Truncation::Plain, 1);
    assert!(compile::<f32>(&formula, &term, Level::Portable).is_none());
    for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
        let cpu = open_at(system(1), vec![term.clone()], Settings::default(), level).unwrap();
        assert_eq!(cpu.describe().ends_with("formulas interpreted"), level == Level::Portable);
    }
}

fn texts() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => Just("r".to_string()),
        1 => Just("a".to_string()),
        1 => Just("b".to_string()),
        1 => (1u32..40).prop_map(|n| format!("{:.1}", f64::from(n) * 0.1)),
    ];
    leaf.prop_recursive(5, 24, 2, |inner| {
        let functions = prop::sample::select(vec!["exp", "ln", "sqrt", "sin", "cos", "tanh", "erf", "erfc"]);
        let operators = prop::sample::select(vec!["+", "-", "*", "/"]);
        prop_oneof![
            3 => (inner.clone(), operators, inner.clone()).prop_map(|(a, o, b)| format!("({a} {o} {b})")),
            1 => (functions, inner.clone()).prop_map(|(f, a)| format!("{f}({a})")),
            1 => (inner, -6i32..13).prop_map(|(a, n)| format!("({a})^({n})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_written_gives_the_same_bits(text in texts(), truncation in 0usize..4, n_species in 1usize..4) {
        let Ok(formula) = Formula::new(&text) else { return Ok(()) };
        compare_all(&formula, TRUNCATIONS[truncation], n_species);
    }
}
