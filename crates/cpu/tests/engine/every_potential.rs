//! Every potential of the registry under every truncation, built in and as the formula of its documentation:
//! cluster lists with every instruction set, in both precisions, against the plain reference of the built-in
//! potential. A new potential is tested here by the line that registers it.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{
    Algorithm, Energies, Evaluate, Precision, Settings, SimBox, Species, System, Vec3, Vector,
};
use jostle_cpu::{Level, open_at};
use jostle_potentials::{PairEntry, PairKind, PairTerm, Truncation};

/// All truncations.
pub const TRUNCATIONS: [Truncation; 5] = [
    Truncation::Plain,
    Truncation::Shifted,
    Truncation::ForceShifted,
    Truncation::Switched { from: 0.8 },
    Truncation::CharmmSwitched { from: 0.8 },
];

/// A shaken lattice of up to two species in a sheared box.
pub fn system(n_species: usize) -> System {
    shaken([6, 7, 8], n_species)
}

/// Such a lattice of so many cells along each edge.
pub fn shaken(cells: [u32; 3], n_species: usize) -> System {
    let (spacing, shake) = (1.08, 0.12);
    let lengths = cells.map(|n| f64::from(n) * spacing);
    let simbox = SimBox::new([-1.0, 2.0, 0.5], lengths, [0.8, -0.5, 1.1], [true; 3]).unwrap();
    let species = ["A", "B"].map(|name| Species { name: name.into(), mass: 1.0, charge: 0.0 });
    let mut system = System::new(simbox, species[..n_species].to_vec());
    let mut random = Stream::new(5, Purpose::Placement, 0, 0);
    for i in 0..cells[0] {
        for j in 0..cells[1] {
            for k in 0..cells[2] {
                let site = [(i, cells[0]), (j, cells[1]), (k, cells[2])].map(|(i, n)| {
                    (f64::from(i) + 0.5 + 2.0 * shake * (random.uniform() - 0.5)) / f64::from(n)
                });
                system.state.push(random.below(n_species) as u16, system.simbox.to_cartesian(Vector(site)));
            }
        }
    }
    system
}

/// The example parameters, a little different for each pair of species.
pub fn term(kind: PairKind, truncation: Truncation, n_species: usize) -> PairTerm {
    let mut term = PairTerm::new(kind, truncation, n_species);
    for (a, b, factor) in [(0, 0, 1.0), (0, 1, 1.05), (1, 1, 1.1)] {
        if b >= n_species {
            continue;
        }
        let parameters: Vec<f64> = kind.parameters().iter().map(|p| p.example * factor).collect();
        let cutoff = kind.natural_cutoff(&parameters).unwrap_or(2.4 * factor);
        term.set(a, b, PairEntry { parameters, cutoff });
    }
    term
}

/// Forces in the order of ids, with energies if they were asked for.
pub fn compute(
    system: &System,
    term: &PairTerm,
    (algorithm, precision, level): (Algorithm, Precision, Level),
    evaluate: Evaluate,
) -> (Vec<Vec3>, Energies) {
    let settings = Settings { threads: Some(2), precision, algorithm, ..Settings::default() };
    let mut cpu = open_at(system.clone(), vec![term.clone()], settings, level).unwrap();
    cpu.update_neighbors().unwrap();
    cpu.compute_forces(evaluate).unwrap();
    let energies = cpu.energies().clone();
    let state = cpu.state().unwrap();
    (state.index_by_id().into_iter().map(|index| state.force[index]).collect(), energies)
}

fn norm(v: Vec3) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn difference(a: Vec3, b: Vec3) -> f64 {
    norm(a - b)
}

/// Compares the kernels of a term with the reference of another term that should be equal.
fn compare(system: &System, term: &PairTerm, expected: &PairTerm, what: &str) {
    let n = system.state.len() as f64;
    let plain = (Algorithm::Reference, Precision::Double, Level::Portable);
    let (exact, reference) = compute(system, expected, plain, Evaluate::ForcesAndEnergies);
    // Rounded distances change an energy by their share of the virial.
    let virial: f64 = reference.virial[..3].iter().sum();
    let scale = reference.potential().abs() + virial.abs();
    let rms = (exact.iter().map(|f| norm(*f).powi(2)).sum::<f64>() / n).sqrt();
    for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
        for precision in [Precision::Double, Precision::Mixed] {
            let what = format!("{what} {level} {precision:?}");
            let way = (Algorithm::Clusters, precision, level);
            let (forces, energies) = compute(system, term, way, Evaluate::ForcesAndEnergies);
            let errors = forces.iter().zip(&exact).map(|(a, b)| difference(*a, *b));
            let energy_error = (energies.potential() - reference.potential()).abs() / scale;
            match precision {
                Precision::Double => {
                    let worst = errors.fold(0.0, f64::max);
                    assert!(worst < 1e-12 * rms, "{what}: forces differ by {worst:e} of {rms}");
                    assert!(energy_error < 1e-12, "{what}: energy differs by {energy_error:e}");
                }
                Precision::Mixed => {
                    let mut relative: Vec<f64> =
                        errors.zip(&exact).map(|(error, f)| error / norm(*f)).collect();
                    relative.sort_by(f64::total_cmp);
                    let median = relative[relative.len() / 2];
                    assert!(median < 3e-6, "{what}: median relative force error {median:e}");
                    assert!(energy_error < 1e-6, "{what}: energy differs by {energy_error:e}");
                }
            }
            // The quick path of nearly every step gives the same forces.
            let (quick, _) = compute(system, term, way, Evaluate::Forces);
            let apart = quick.iter().zip(&forces).map(|(a, b)| difference(*a, *b)).fold(0.0, f64::max);
            let rounding = if precision == Precision::Double { 1e-13 } else { 1e-5 };
            assert!(apart < rounding * rms, "{what}: without energies forces differ by {apart:e}");
        }
    }
}

/// Compares the kernels of every potential with the reference of that potential.
fn check(n_species: usize, made: impl Fn(&PairTerm) -> PairTerm) {
    let system = system(n_species);
    for &kind in PairKind::ALL {
        for truncation in TRUNCATIONS {
            let expected = term(kind, truncation, n_species);
            let what = format!("{} {truncation:?}", kind.name());
            compare(&system, &made(&expected), &expected, &what);
        }
    }
}

#[test]
fn cluster_kernels_equal_the_reference() {
    check(2, PairTerm::clone);
}

#[test]
fn formulas_equal_the_built_in_potentials() {
    for n_species in [1, 2] {
        check(n_species, |term| term.as_formula().unwrap());
    }
}

#[test]
fn tables_equal_their_reference_and_what_they_were_made_of() {
    // Where the straight line of Gapsys' force ends, its curvature jumps, and a table begins.
    let smooth = |(_, kind): &(usize, &PairKind)| **kind != PairKind::SoftCoreGapsys;
    for (k, &kind) in PairKind::ALL.iter().enumerate().filter(smooth) {
        let (n_species, truncation) = (1 + k % 2, [Truncation::Plain, Truncation::ForceShifted][k % 2]);
        let (system, built_in) = (system(n_species), term(kind, truncation, n_species));
        let tables = built_in.tabulated().unwrap();
        compare(&system, &tables, &tables, &format!("table of {}", kind.name()));
        let plain = (Algorithm::Reference, Precision::Double, Level::Portable);
        let (exact, expected) = compute(&system, &built_in, plain, Evaluate::ForcesAndEnergies);
        let (forces, found) = compute(&system, &tables, plain, Evaluate::ForcesAndEnergies);
        let rms = (exact.iter().map(|f| norm(*f).powi(2)).sum::<f64>() / exact.len() as f64).sqrt();
        let worst = forces.iter().zip(&exact).map(|(a, b)| difference(*a, *b)).fold(0.0, f64::max);
        assert!(worst < 1e-6 * rms, "{}: {worst:e} of {rms}", kind.name());
        let virial: f64 = expected.virial[..3].iter().sum();
        let scale = expected.potential().abs() + virial.abs();
        assert!((found.potential() - expected.potential()).abs() < 1e-6 * scale, "{}", kind.name());
    }
}
