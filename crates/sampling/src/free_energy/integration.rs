//! Integration of mean forces.

use super::Estimate;
use crate::linear::{Matrix, solve};
use jostle_core::{Error, Result};

/// Integral of a mean derivative over its parameter by trapezoids (thermodynamic integration), with its error.
///
/// # Errors
/// If there are fewer than two values, or the parameter does not increase.
pub fn mean_force_integral(parameter: &[f64], mean: &[Estimate]) -> Result<Estimate> {
    if parameter.len() < 2 || parameter.len() != mean.len() {
        return Err(Error::input("thermodynamic integration needs two states or more"));
    }
    if !parameter.is_sorted_by(|a, b| a < b) {
        return Err(Error::input("the parameter of thermodynamic integration does not increase")
            .hint("give the states in the order of their parameter"));
    }
    let n = parameter.len();
    let weight = |k: usize| {
        let before = if k > 0 { parameter[k] - parameter[k - 1] } else { 0.0 };
        let after = if k + 1 < n { parameter[k + 1] - parameter[k] } else { 0.0 };
        0.5 * (before + after)
    };
    let value = (0..n).map(|k| weight(k) * mean[k].value).sum();
    let variance: f64 = (0..n).map(|k| (weight(k) * mean[k].error).powi(2)).sum();
    Ok(Estimate { value, error: variance.sqrt() })
}

/// A profile whose derivatives between neighbouring bins are the means of gradients in them, by least squares: on
/// one axis the sum of trapezoids, on two the solution of Poisson's equation. `gradients` has the derivative along
/// each axis for each bin, the first axis counting fastest, NaN where it is unknown; the smallest value is zero.
///
/// # Errors
/// If numbers do not fit together.
pub fn gradient_profile(
    bins: &[usize],
    spacing: &[f64],
    periodic: &[bool],
    gradients: &[Vec<f64>],
) -> Result<Vec<f64>> {
    let total: usize = bins.iter().product();
    if gradients.len() != total || bins.len() != spacing.len() || bins.len() != periodic.len() {
        return Err(Error::input("gradients and bins do not fit together"));
    }
    let known = |bin: usize| gradients[bin].iter().all(|g| g.is_finite());
    // Links between neighbours, each with the difference that gradients give.
    let mut links: Vec<(usize, usize, f64)> = Vec::new();
    for bin in (0..total).filter(|bin| known(*bin)) {
        let mut stride = 1;
        for d in 0..bins.len() {
            let index = bin / stride % bins[d];
            let next = match (index + 1 < bins[d], periodic[d]) {
                (true, _) => Some(bin + stride),
                (false, true) if bins[d] > 2 => Some(bin - index * stride),
                (false, _) => None,
            };
            if let Some(next) = next.filter(|next| known(*next)) {
                links.push((bin, next, 0.5 * spacing[d] * (gradients[bin][d] + gradients[next][d])));
            }
            stride *= bins[d];
        }
    }
    let values = match bins.len() {
        // Fewer than a few hundred bins are solved at once, more by conjugate gradients.
        _ if total <= 300 => dense(total, &links),
        _ => conjugate_gradients(total, &links),
    };
    let lowest = (0..total).filter(|bin| known(*bin)).map(|bin| values[bin]).fold(f64::INFINITY, f64::min);
    Ok((0..total).map(|bin| if known(bin) { values[bin] - lowest } else { f64::NAN }).collect())
}

/// Right sides of the normal equations.
fn sources(total: usize, links: &[(usize, usize, f64)]) -> Vec<f64> {
    let mut right = vec![0.0; total];
    for (a, b, difference) in links {
        right[*a] -= difference;
        right[*b] += difference;
    }
    right
}

fn dense(total: usize, links: &[(usize, usize, f64)]) -> Vec<f64> {
    let mut matrix = Matrix::zero(total);
    // A weak spring to zero fixes the constant of each connected part.
    (0..total).for_each(|k| matrix.set(k, k, 1e-10));
    for (a, b, _) in links {
        matrix.set(*a, *a, matrix.get(*a, *a) + 1.0);
        matrix.set(*b, *b, matrix.get(*b, *b) + 1.0);
        matrix.set(*a, *b, matrix.get(*a, *b) - 1.0);
        matrix.set(*b, *a, matrix.get(*b, *a) - 1.0);
    }
    solve(matrix, sources(total, links)).unwrap_or_else(|| vec![f64::NAN; total])
}

fn conjugate_gradients(total: usize, links: &[(usize, usize, f64)]) -> Vec<f64> {
    let apply = |x: &[f64]| {
        let mut y = vec![0.0; total];
        for (a, b, _) in links {
            y[*a] += x[*a] - x[*b];
            y[*b] += x[*b] - x[*a];
        }
        y
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (mut x, mut r) = (vec![0.0; total], sources(total, links));
    let (mut p, mut rr) = (r.clone(), dot(&r, &r));
    let end = 1e-24 * rr;
    for _ in 0..20 * total {
        if rr <= end || rr == 0.0 {
            break;
        }
        let ap = apply(&p);
        let alpha = rr / dot(&p, &ap);
        (0..total).for_each(|k| {
            x[k] += alpha * p[k];
            r[k] -= alpha * ap[k];
        });
        let next = dot(&r, &r);
        (0..total).for_each(|k| p[k] = r[k] + next / rr * p[k]);
        rr = next;
    }
    x
}
