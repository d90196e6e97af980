//! Free energies from samples of several states, from work and from mean forces. Energies are in units of k_B T
//! throughout: functions of numbers alone, without files or units.

mod acceptance;
mod integration;
mod jackknife;
mod mbar;
mod samples;
mod wham;
mod work;

pub use acceptance::bennett;
pub use integration::{gradient_profile, mean_force_integral};
pub use jackknife::{jackknife_error, jackknife_errors};
pub use mbar::{Mbar, Profile};
pub use samples::{independent, inefficiency};
pub use wham::{BLOCKS, wham, wham_of_blocks};
pub use work::{crooks, jarzynski};

/// A number with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

/// ln of a sum of exponentials, without overflow.
pub(crate) fn log_sum_exp(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return largest;
    }
    largest + terms.map(|x| (x - largest).exp()).sum::<f64>().ln()
}
