//! Free energy along a variable from histograms of biased runs (Kumar et al., J. Comput. Chem. 13, 1011 (1992)).

use super::log_sum_exp;
use jostle_core::{Error, Result};

/// Blocks of the samples of a window, of which the jackknife leaves out one after the other.
pub const BLOCKS: usize = 8;

/// Iterations at most.
const MOST_ITERATIONS: usize = 200_000;

/// -ln of the unbiased probability of each bin, from the counts of each window in the bins and the reduced energy of
/// its bias there; NaN in bins without samples.
///
/// # Errors
/// If numbers do not fit together or the equations do not converge.
pub fn wham(counts: &[Vec<f64>], bias: &[Vec<f64>]) -> Result<Vec<f64>> {
    let bins = counts.first().map_or(0, Vec::len);
    if counts.len() != bias.len() || counts.iter().chain(bias).any(|row| row.len() != bins) || bins == 0 {
        return Err(Error::input("histograms and biases do not fit together"));
    }
    let totals: Vec<f64> = counts.iter().map(|row| row.iter().sum()).collect();
    let sums: Vec<f64> = (0..bins).map(|bin| counts.iter().map(|row| row[bin]).sum()).collect();
    let mut free = vec![0.0; counts.len()];
    let ln_density = |free: &[f64], bin: usize| {
        let term = |k: usize| totals[k].ln() + free[k] - bias[k][bin];
        sums[bin].ln() - log_sum_exp((0..counts.len()).map(term))
    };
    for _ in 0..MOST_ITERATIONS {
        let densities: Vec<f64> = (0..bins).map(|bin| ln_density(&free, bin)).collect();
        let one = |row: &Vec<f64>| -log_sum_exp(row.iter().zip(&densities).map(|(u, ln)| ln - u));
        let mut next: Vec<f64> = bias.iter().map(one).collect();
        let first = next[0];
        next.iter_mut().for_each(|f| *f -= first);
        let change = next.iter().zip(&free).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
        free = next;
        if change < 1e-10 {
            let values =
                (0..bins).map(|bin| if sums[bin] > 0.0 { -ln_density(&free, bin) } else { f64::NAN });
            return Ok(values.collect());
        }
    }
    Err(Error::input("the equations of the windows do not converge")
        .hint("neighbouring windows have hardly any samples in common: add windows between them"))
}

/// Values of [`wham`] and their standard errors, counted from the lowest of them, by the jackknife: `blocks` are parts
/// of the samples, each with the counts of all windows. Errors are NaN in bins that have samples of one block alone.
///
/// # Errors
/// As for [`wham`].
pub fn wham_of_blocks(blocks: &[Vec<Vec<f64>>], bias: &[Vec<f64>]) -> Result<[Vec<f64>; 2]> {
    let bins = bias.first().map_or(0, Vec::len);
    let sum_of = |left_out: usize| -> Vec<Vec<f64>> {
        let mut sum = vec![vec![0.0; bins]; bias.len()];
        for (_, block) in blocks.iter().enumerate().filter(|(number, _)| *number != left_out) {
            for (sum, row) in sum.iter_mut().zip(block) {
                sum.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
            }
        }
        sum
    };
    let all = wham(&sum_of(blocks.len()), bias)?;
    let filled = (0..bins).filter(|bin| all[*bin].is_finite());
    let Some(lowest) = filled.min_by(|a, b| all[*a].total_cmp(&all[*b])) else {
        return Ok([all.clone(), all]);
    };
    let without = (0..blocks.len()).map(|block| {
        let values = wham(&sum_of(block), bias)?;
        Ok(values.iter().map(|x| x - values[lowest]).collect())
    });
    let without = without.collect::<Result<Vec<Vec<f64>>>>()?;
    let n = blocks.len() as f64;
    let error = |bin: usize| {
        let mean = without.iter().map(|values| values[bin]).sum::<f64>() / n;
        let squares = without.iter().map(|values| (values[bin] - mean).powi(2)).sum::<f64>();
        ((n - 1.0) / n * squares).sqrt()
    };
    let errors = (0..bins).map(error).collect();
    Ok([all, errors])
}
