//! Correlated samples.

/// Number of values that count as one independent value: 1 plus twice the sum of the normalised correlation, up to
/// where it first is not positive (Chodera et al., J. Chem. Theory Comput. 3, 26 (2007)).
pub fn inefficiency(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 3 {
        return 1.0;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let off: Vec<f64> = values.iter().map(|x| x - mean).collect();
    let variance = off.iter().map(|x| x * x).sum::<f64>() / n as f64;
    if variance <= 0.0 {
        return 1.0;
    }
    let mut sum = 1.0;
    for t in 1..n - 1 {
        let correlation = (0..n - t).map(|k| off[k] * off[k + t]).sum::<f64>() / (variance * (n - t) as f64);
        if correlation <= 0.0 && t > 3 {
            break;
        }
        sum += 2.0 * correlation * (1.0 - t as f64 / n as f64);
    }
    sum.max(1.0)
}

/// Indices of samples as far apart as makes them independent, for this inefficiency.
pub fn independent(count: usize, inefficiency: f64) -> Vec<usize> {
    let mut indices = Vec::new();
    while let Some(index) =
        Some((indices.len() as f64 * inefficiency).round() as usize).filter(|k| *k < count)
    {
        indices.push(index);
    }
    indices
}
