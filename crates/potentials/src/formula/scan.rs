//! Search for distances at which a formula has no finite value, or jumps.

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

/// Distances around a jump at which energies tell what a small one is, as factors.
const AROUND: [f64; 2] = [0.7, 1.4];
/// Largest difference of energies that is none, as a part of those around it: what rounded numbers of the user make.
const SMALL: f64 = 1e-6;

/// A distance at which the energy jumps, and the energies inside and outside of it. Only a choice makes a jump, where its
/// comparison turns over: between neighbouring numbers there a steep energy changes by no more than rounding does.
pub fn jump(program: &Program, c: &[f64], cutoff: f64) -> Option<(f64, [f64; 2])> {
    let compared: Vec<[usize; 2]> = program.steps.iter().filter_map(|step| comparison(*step)).collect();
    if compared.is_empty() {
        return None;
    }
    let ratio = NEAREST.powf(1.0 / (DISTANCES - 1) as f64);
    let mut distances: Vec<f64> = (0..DISTANCES).map(|k| cutoff * ratio.powi(k as i32)).collect();
    // Where one choice turns over, another one may do so and back again nearby, as those with abs do.
    let first = turns(program, c, &compared, &distances);
    distances.extend(first.into_iter().flatten());
    distances.sort_unstable_by(|a, b| b.total_cmp(a));
    let energy = |r: f64| program.evaluate(r * r, c).0;
    let energies: Vec<f64> = distances.iter().map(|r| energy(*r)).collect();
    let largest = |r: f64| {
        let near = distances
            .iter()
            .zip(&energies)
            .filter(|(d, u)| (AROUND[0] * r..AROUND[1] * r).contains(*d) && u.is_finite());
        near.fold(0.0, |most: f64, (_, u)| most.max(u.abs()))
    };
    let inside_cutoff = |[far, _]: &[f64; 2]| *far < cutoff * (1.0 - 1e-9);
    turns(program, c, &compared, &distances).into_iter().filter(inside_cutoff).find_map(|[far, near]| {
        let [outside, inside] = [far, near].map(energy);
        let height = (outside - inside).abs();
        (height > SMALL * largest(far)).then_some((far, [inside, outside]))
    })
}

/// Operands that a choice compares.
fn comparison(step: Step) -> Option<[usize; 2]> {
    match step {
        Step::Choose([a, b, ..]) => Some([usize::from(a), usize::from(b)]),
        _ => None,
    }
}

/// Neighbouring distances between which a comparison turns over, the farther one first, for distances that go down.
fn turns(program: &Program, c: &[f64], compared: &[[usize; 2]], distances: &[f64]) -> Vec<[f64; 2]> {
    let is_less = |r: f64| -> Vec<bool> {
        let results = program.results(r * r, c);
        compared.iter().map(|[a, b]| results[*a] < results[*b]).collect()
    };
    let at: Vec<Vec<bool>> = distances.iter().map(|r| is_less(*r)).collect();
    let mut found = Vec::new();
    for (r, is) in distances.windows(2).zip(at.windows(2)) {
        for k in (0..compared.len()).filter(|k| is[0][*k] != is[1][*k]) {
            let (mut far, mut near) = (r[0], r[1]);
            for _ in 0..60 {
                let middle = 0.5 * (far + near);
                if is_less(middle)[k] == is[0][k] { far = middle } else { near = middle }
            }
            found.push([far, near]);
        }
    }
    found
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
