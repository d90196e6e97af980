//! Integrals that several tails are made of.

/// The integral of r^2 exp(-b (r - cutoff)) from `cutoff` to infinity.
pub fn exponential(b: f64, cutoff: f64) -> f64 {
    let length = 1.0 / b;
    length * (cutoff * cutoff + 2.0 * length * (cutoff + length))
}

/// The integral of r^2 exp(-(r / sigma)^2) from `cutoff` to infinity.
pub fn gaussian(sigma: f64, cutoff: f64) -> f64 {
    let x = cutoff / sigma;
    0.5 * sigma.powi(3) * (x * (-x * x).exp() + 0.5 * std::f64::consts::PI.sqrt() * libm::erfc(x))
}
