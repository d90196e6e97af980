//! Integrals that several tails are made of.

/// The integral of r^2 exp(-b (r - cutoff)) from `cutoff` to infinity.
pub fn exponential(b: f64, cutoff: f64) -> f64 {
    let length = 1.0 / b;
    length * (cutoff * cutoff + 2.0 * length * (cutoff + length))
}
