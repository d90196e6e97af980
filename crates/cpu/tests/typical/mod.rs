//! Typical parameters of every pair potential, for tests of both engines, and errors of forces.

use jostle_core::Vec3;
use jostle_potentials::{PairEntry, PairKind, PairTerm, Truncation};

/// The distance of the well of [`typical`] potentials that have one.
const WELL: f64 = 1.12;

/// Sets of parameters for atoms at mean distances of about 1: the examples of the documentation, and for
/// exponential functions the steepness that published ones have, by which they multiply errors of distances.
pub fn typical(kind: PairKind) -> Vec<Vec<f64>> {
    let examples: Vec<f64> = kind.parameters().iter().map(|p| p.example).collect();
    let larger = examples.iter().map(|x| 1.1 * x).collect();
    let more: Vec<Vec<f64>> = match kind {
        // Exp-6 fluids from oxides to noble gases, a unit deep (E. A. Mason, J. Chem. Phys. 22 (1954) 169).
        PairKind::Buckingham => [10.0, 12.0, 13.0, 14.0, 15.0, 16.0]
            .map(|steepness: f64| {
                let a = 6.0 / (steepness - 6.0) * steepness.exp();
                vec![a, WELL / steepness, steepness / (steepness - 6.0) * WELL.powi(6)]
            })
            .into(),
        // Metals to noble gases (L. A. Girifalco and V. G. Weizer, Phys. Rev. 114 (1959) 687).
        PairKind::Morse => [3.5, 4.5, 6.0, 8.0].map(|steepness| vec![1.0, steepness / WELL, WELL]).into(),
        PairKind::Yukawa => [0.15, 0.3, 1.5].map(|length| vec![1.0, length]).into(),
        PairKind::GaussianCore => [0.4, 0.6, 1.5].map(|sigma| vec![1.0, sigma]).into(),
        _ => Vec::new(),
    };
    [examples, larger].into_iter().chain(more).collect()
}

/// The force of a set of parameters, between atoms of one species.
pub fn term_of(kind: PairKind, parameters: &[f64], cutoff: f64) -> PairTerm {
    let mut term = PairTerm::new(kind, Truncation::Plain, 1);
    let cutoff = kind.natural_cutoff(parameters).unwrap_or(cutoff);
    term.set(0, 0, PairEntry { parameters: parameters.to_vec(), cutoff });
    term
}

/// The median and the largest error of forces, each relative to the force itself.
pub fn relative_errors(forces: &[Vec3], exact: &[Vec3]) -> [f64; 2] {
    let norm = |v: Vec3| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let error = |(a, b): (&Vec3, &Vec3)| norm(std::array::from_fn(|k| a[k] - b[k])) / norm(*b);
    let mut errors: Vec<f64> = forces.iter().zip(exact).map(error).collect();
    errors.sort_by(f64::total_cmp);
    [errors[errors.len() / 2], errors[errors.len() - 1]]
}
