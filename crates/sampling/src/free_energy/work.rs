//! Free energies from the work of steered runs.

use super::{Estimate, bennett, log_sum_exp};
use jostle_core::{Error, Result};

/// -ln of the mean of exp(-work) (Jarzynski, Phys. Rev. Lett. 78, 2690 (1997)), with the error of the mean by
/// leaving out one run after the other.
///
/// # Errors
/// If there are fewer than two runs.
pub fn jarzynski(works: &[f64]) -> Result<Estimate> {
    if works.len() < 2 {
        return Err(Error::input("a mean over works needs two steered runs or more"));
    }
    let n = works.len();
    let value = (n as f64).ln() - log_sum_exp(works.iter().map(|w| -w));
    let without = |k: usize| {
        let rest = works.iter().enumerate().filter(move |(j, _)| *j != k).map(|(_, w)| -w);
        (n as f64 - 1.0).ln() - log_sum_exp(rest)
    };
    let all: Vec<f64> = (0..n).map(without).collect();
    let mean = all.iter().sum::<f64>() / n as f64;
    let square: f64 = all.iter().map(|x| (x - mean).powi(2)).sum();
    Ok(Estimate { value, error: ((n as f64 - 1.0) / n as f64 * square).sqrt() })
}

/// Free energy from the work of runs forth and back, whose distributions cross there (Crooks, Phys. Rev. E 60, 2721
/// (1999)), by Bennett's method, which is the most probable value for both.
///
/// # Errors
/// Errors of [`bennett`].
pub fn crooks(forward: &[f64], backward: &[f64]) -> Result<Estimate> {
    bennett(forward, backward)
}
