//! Cardinal B-splines, by which charges are spread on a mesh (Essmann et al. 1995, equation 4.1).

use crate::simd::Scalar;

/// Rows of weights are as long as this, whatever the order: a register's worth.
pub const WIDTH: usize = 8;

/// The weights of the `ORDER` mesh points from the one below on, for an atom that is so far beyond
/// it, and their derivatives.
#[inline(always)]
pub fn weights<S: Scalar, const ORDER: usize>(beyond: S) -> [[S; WIDTH]; 2] {
    let (one, mut w) = (S::from_f64(1.0), [S::default(); WIDTH]);
    (w[0], w[1]) = (one - beyond, beyond);
    for k in 3..ORDER {
        raise(&mut w, k, beyond);
    }
    let mut slope = [S::default(); WIDTH];
    slope[0] = -w[0];
    for k in 1..ORDER {
        slope[k] = w[k - 1] - w[k];
    }
    raise(&mut w, ORDER, beyond);
    [w, slope]
}

/// From the weights of the order below to those of order `k`.
#[inline(always)]
fn raise<S: Scalar>(w: &mut [S; WIDTH], k: usize, beyond: S) {
    let part = S::from_f64(1.0 / (k - 1) as f64);
    w[k - 1] = part * beyond * w[k - 2];
    for l in 1..k - 1 {
        let (up, down) = (S::from_f64(l as f64) + beyond, S::from_f64((k - l) as f64) - beyond);
        w[k - l - 1] = part * (up * w[k - l - 2] + down * w[k - l - 1]);
    }
    w[0] = part * (S::from_f64(1.0) - beyond) * w[0];
}

/// The squared moduli of the factors by which a spline's Fourier transform differs from a wave, for
/// `n` mesh points (Essmann et al. 1995, equation 4.4), inverted; zero where there is no inverse.
pub fn moduli(order: usize, n: usize) -> Vec<f64> {
    let at_points = match order {
        4 => weights::<f64, 4>(0.0)[0],
        5 => weights::<f64, 5>(0.0)[0],
        _ => weights::<f64, 6>(0.0)[0],
    };
    let modulus = |m: usize| {
        let mut sum = [0.0; 2];
        for (k, w) in at_points.iter().enumerate() {
            let (sin, cos) = (2.0 * std::f64::consts::PI * (m * k) as f64 / n as f64).sin_cos();
            sum[0] += w * cos;
            sum[1] += w * sin;
        }
        let square = sum[0] * sum[0] + sum[1] * sum[1];
        if square < 1e-7 { 0.0 } else { 1.0 / square }
    };
    (0..n).map(modulus).collect()
}
