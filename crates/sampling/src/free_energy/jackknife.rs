//! Errors of profiles by the jackknife.

/// Standard error of a number from those that are found with one block of the samples after the other left out; NaN
/// without two blocks.
pub fn jackknife_error(left_out: &[f64]) -> f64 {
    if left_out.len() < 2 {
        return f64::NAN;
    }
    let n = left_out.len() as f64;
    let mean = left_out.iter().sum::<f64>() / n;
    let squares: f64 = left_out.iter().map(|x| (x - mean).powi(2)).sum();
    ((n - 1.0) / n * squares).sqrt()
}

/// Standard errors of a profile from those that are found with one block of the samples after the other left out. A
/// free energy has an arbitrary constant: each profile counts from its mean over the points that all of them have.
/// Errors are NaN at other points, and everywhere without two blocks.
pub fn jackknife_errors(left_out: &[Vec<f64>]) -> Vec<f64> {
    let points = left_out.first().map_or(0, Vec::len);
    let known = |point: usize| left_out.iter().all(|profile| profile[point].is_finite());
    let common: Vec<usize> = (0..points).filter(|point| known(*point)).collect();
    let levels: Vec<f64> = left_out
        .iter()
        .map(|profile| common.iter().map(|point| profile[*point]).sum::<f64>() / common.len() as f64)
        .collect();
    let mut errors = vec![f64::NAN; points];
    for point in common {
        let values = left_out.iter().zip(&levels).map(|(profile, level)| profile[point] - level);
        errors[point] = jackknife_error(&values.collect::<Vec<_>>());
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of independent numbers has the standard error of the mean; constants do not count.
    #[test]
    fn errors_are_those_of_means() {
        let numbers = [1.0, 2.5, -0.5, 3.0, 0.0];
        let n = numbers.len() as f64;
        let total: f64 = numbers.iter().sum();
        let left_out: Vec<Vec<f64>> = (0..5)
            .map(|k| {
                let mean = (total - numbers[k]) / (n - 1.0);
                vec![mean + 7.0 * k as f64, -mean + 7.0 * k as f64, f64::NAN]
            })
            .collect();
        let mean = total / n;
        let variance: f64 = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let errors = jackknife_errors(&left_out);
        let expected = (variance / n).sqrt();
        assert!((errors[0] - expected).abs() < 1e-12 && (errors[1] - expected).abs() < 1e-12, "{errors:?}");
        assert!(errors[2].is_nan());
        assert!(jackknife_errors(&left_out[..1]).iter().all(|x| x.is_nan()));
    }
}
