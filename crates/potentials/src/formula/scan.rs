//! Search for distances at which a formula has no finite value.

use super::program::{Program, Step};

/// Number of distances that are tried.
const DISTANCES: usize = 4000;
/// The nearest of them, as a fraction of the cut-off.
const NEAREST: f64 = 0.01;

/// A distance at which energy or force is not finite: one of many, or between two of them where
/// something that is divided by passes through zero.
pub fn not_finite(program: &Program, c: &[f64], cutoff: f64) -> Option<f64> {
    let ratio = NEAREST.powf(1.0 / (DISTANCES - 1) as f64);
    let finite = |r: f64| {
        let (energy, force_over_r) = program.evaluate(r * r, c);
        energy.is_finite() && (force_over_r * r).is_finite()
    };
    let divisors: Vec<usize> = program.steps.iter().filter_map(|step| divisor(*step)).collect();
    let mut before: Option<(f64, Vec<f64>)> = None;
    for k in 0..DISTANCES {
        let r = cutoff * ratio.powi(k as i32);
        if !finite(r) {
            return Some(r);
        }
        let results = program.results(r * r, c);
        let now: Vec<f64> = divisors.iter().map(|index| results[*index]).collect();
        if let Some((far, then)) = &before {
            for (k, index) in divisors.iter().enumerate().filter(|(k, _)| then[*k] * now[*k] < 0.0) {
                let (a, b) = zero(program, c, *index, [*far, r], then[k]);
                let size = |r: f64| program.evaluate(r * r, c).1.abs();
                // A divisor that passes through zero where it is not chosen does no harm.
                if !finite(a) || !finite(b) || size(a).max(size(b)) > 1e6 * size(*far).max(size(r)) {
                    return Some(0.5 * (a + b));
                }
            }
        }
        before = Some((r, now));
    }
    None
}

fn divisor(step: Step) -> Option<usize> {
    match step {
        Step::Recip(a) | Step::Rsqrt(a) => Some(usize::from(a)),
        _ => None,
    }
}

/// Neighbouring distances between which a result changes its sign.
fn zero(program: &Program, c: &[f64], index: usize, [far, near]: [f64; 2], then: f64) -> (f64, f64) {
    let (mut far, mut near) = (far, near);
    for _ in 0..60 {
        let middle = 0.5 * (far + near);
        let value = program.results(middle * middle, c)[index];
        if value * then > 0.0 { far = middle } else { near = middle }
    }
    (far, near)
}
