//! Cardinal B-splines, by which charges are spread on a mesh (Essmann et al. 1995, equation 4.1).

use std::ops::{Add, Mul, Sub};

/// Length of rows of weights for any order: a register's worth.
pub const WIDTH: usize = 8;

/// The weights of the `ORDER` mesh points from the one below on, for an atom that is so far beyond
/// it, and their derivatives. `number` makes a number of the kind out of a constant.
#[inline(always)]
pub fn weights<T, const ORDER: usize>(beyond: T, number: impl Fn(f64) -> T) -> [[T; WIDTH]; 2]
where
    T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    let (zero, one) = (number(0.0), number(1.0));
    let mut w = [zero; WIDTH];
    (w[0], w[1]) = (one - beyond, beyond);
    for k in 3..ORDER {
        raise(&mut w, k, beyond, &number);
    }
    let mut slope = [zero; WIDTH];
    slope[0] = zero - w[0];
    for k in 1..ORDER {
        slope[k] = w[k - 1] - w[k];
    }
    raise(&mut w, ORDER, beyond, &number);
    [w, slope]
}

/// Raises the weights of the order below to those of order `k`.
#[inline(always)]
fn raise<T>(w: &mut [T; WIDTH], k: usize, beyond: T, number: impl Fn(f64) -> T)
where
    T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    let part = number(1.0 / (k - 1) as f64);
    w[k - 1] = part * beyond * w[k - 2];
    for l in 1..k - 1 {
        let (up, down) = (number(l as f64) + beyond, number((k - l) as f64) - beyond);
        w[k - l - 1] = part * (up * w[k - l - 2] + down * w[k - l - 1]);
    }
    w[0] = part * (number(1.0) - beyond) * w[0];
}

/// Weights and derivatives for an order that is a variable, one of [`Method::ORDERS`](super::Method::ORDERS).
pub fn weights_of_order<T>(order: usize, beyond: T, number: impl Fn(f64) -> T) -> [[T; WIDTH]; 2]
where
    T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    match order {
        4 => weights::<T, 4>(beyond, number),
        5 => weights::<T, 5>(beyond, number),
        _ => weights::<T, 6>(beyond, number),
    }
}

/// The squared moduli of the factors by which a spline's Fourier transform differs from a wave, for
/// `n` mesh points (Essmann et al. 1995, equation 4.4), inverted; zero where there is no inverse.
pub fn moduli(order: usize, n: usize) -> Vec<f64> {
    let [at_points, _] = weights_of_order(order, 0.0, |x| x);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::electrostatics::Method;
    use jostle_core::{Dual, Real};

    /// Weights add up to one, and slopes are their derivatives.
    #[test]
    fn slopes_are_exact_derivatives() {
        for order in Method::ORDERS {
            for beyond in [0.0, 0.2, 0.5, 0.93] {
                let [weights, slopes] = weights_of_order(order, Dual::variable(beyond), Dual::lit);
                let sum: f64 = weights.iter().map(|w| w.value).sum();
                assert!((sum - 1.0).abs() < 1e-14, "order {order}: {sum}");
                for (weight, slope) in weights.iter().zip(slopes) {
                    assert!((weight.slope - slope.value).abs() < 1e-14, "order {order}");
                }
            }
        }
    }
}
