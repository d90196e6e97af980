//! Free energy between two states from the work of going forth and back, or from differences of energies
//! (Bennett, J. Comput. Phys. 22, 245 (1976)).

use super::Estimate;
use jostle_core::{Error, Result};

fn fermi(x: f64) -> f64 {
    1.0 / (1.0 + x.exp())
}

/// Difference of the free energies of two states: `forward` are energies in the second less those in the first
/// state, of samples of the first; `backward` energies in the first less those in the second, of samples of the
/// second; or the work of switching forth and back. All in units of k_B T.
///
/// # Errors
/// If there are no samples, or they have nothing in common.
pub fn bennett(forward: &[f64], backward: &[f64]) -> Result<Estimate> {
    if forward.is_empty() || backward.is_empty() {
        return Err(Error::input("Bennett's method needs samples of both states"));
    }
    let (nf, nb) = (forward.len() as f64, backward.len() as f64);
    let shift = (nf / nb).ln();
    let excess = |df: f64| -> f64 {
        let first: f64 = forward.iter().map(|w| fermi(shift + w - df)).sum();
        let second: f64 = backward.iter().map(|w| fermi(-shift + w + df)).sum();
        first - second
    };
    let (mut low, mut high) = (-1.0f64, 1.0f64);
    let all = || forward.iter().map(|w| w.abs()).chain(backward.iter().map(|w| w.abs()));
    let most = all().fold(1.0, f64::max) + shift.abs() + 50.0;
    if !most.is_finite() {
        return Err(Error::input("an energy or a work is not a finite number"));
    }
    while excess(low) > 0.0 && low > -most {
        low *= 2.0;
    }
    while excess(high) < 0.0 && high < most {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if excess(middle) < 0.0 { low = middle } else { high = middle }
    }
    let value = 0.5 * (low + high);
    let moments = |works: &[f64], sign: f64| {
        let terms: Vec<f64> = works.iter().map(|w| fermi(sign * (shift - value) + w)).collect();
        let n = terms.len() as f64;
        let mean = terms.iter().sum::<f64>() / n;
        (terms.iter().map(|x| x * x).sum::<f64>() / n / (mean * mean) - 1.0) / n
    };
    let variance = moments(forward, 1.0) + moments(backward, -1.0);
    Ok(Estimate { value, error: variance.max(0.0).sqrt() })
}
