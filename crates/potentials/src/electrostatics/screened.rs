//! Ewald's sum for charges in a medium that screens them, of exp(-kappa r)/r over all images (G. Salin
//! and J.-M. Caillol, J. Chem. Phys. 113 (2000) 10459).
//!
//! A Gaussian charge of inverse width alpha has the potential s(r) = (exp(-kappa r) erfc(kappa/2 alpha -
//! alpha r) - exp(kappa r) erfc(kappa/2 alpha + alpha r)) / 2r here; without screening that is erf(alpha
//! r)/r. The formula is expensive, so that engines sum a series instead ([`super::chebyshev`]).

use crate::pair::{PairFunction, Yukawa};
use jostle_core::Real;
use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// Largest cut-off in screening lengths: beyond, nothing is left for a sum over images.
pub const LONGEST: f64 = 36.0;

/// Energy and force over distance of a point and a Gaussian charge in units of its width, from z^2 =
/// (alpha r)^2 and b = kappa / 2 alpha.
pub fn gaussian<R: Real>(square: R, b: f64) -> (R, R) {
    // Series where the differences below lose their digits.
    let (mut series, mut slope) = (R::lit(0.0), R::lit(0.0));
    let odd = odd_terms(b);
    for (n, term) in odd.iter().enumerate().rev() {
        series = series.mul_add(square, R::lit(*term));
        if n > 0 {
            slope = slope.mul_add(square, R::lit(-2.0 * n as f64 * term));
        }
    }
    let small = square.lt(R::lit(SMALL));
    let square = R::select(small, R::lit(SMALL), square);
    let (half, z) = (R::lit(0.5), square.sqrt());
    let screened = |sign: f64| (R::lit(-2.0 * b * sign) * z).exp() * (R::lit(b) - R::lit(sign) * z).erfc();
    let (inner, outer) = (screened(1.0), screened(-1.0));
    let inverse = square.recip();
    let energy = half * (inner - outer) * z * inverse;
    let charge = R::lit(FRAC_2_SQRT_PI * (-b * b).exp()) * (-square).exp();
    let force = (energy + R::lit(b) * (inner + outer) - charge) * inverse;
    (R::select(small, series, energy), R::select(small, slope, force))
}

/// Largest z^2 at which [`gaussian`] is its series.
const SMALL: f64 = 0.1;

/// The terms of odd powers in the series of g(z) = exp(-2 b z) erfc(b - z), which follows from
/// g' = -2 b g + 2/sqrt(pi) exp(-b^2 - z^2).
fn odd_terms(b: f64) -> [f64; 24] {
    let (mut term, mut charge) = (libm::erfc(b), FRAC_2_SQRT_PI * (-b * b).exp());
    std::array::from_fn(|m| {
        let n = 2.0 * m as f64;
        let odd = (charge - 2.0 * b * term) / (n + 1.0);
        term = -2.0 * b * odd / (n + 2.0);
        charge /= -(m as f64 + 1.0);
        odd
    })
}

/// Direct interaction of two unit charges, energy and force over distance: their screened force less a smooth
/// function. `one` is 1, or 0 where they are excluded.
#[inline(always)]
pub fn direct<R: Real>(r2: R, one: R, kappa: R, smooth: (R, R)) -> (R, R) {
    let (energy, force) = Yukawa::evaluate(r2, &[one, kappa]);
    (energy - smooth.0, force - smooth.1)
}

/// The energy of all waves that is the same everywhere, for a unit of squared total charge: that of
/// charges spread evenly, less that of a uniform background if there is one.
pub fn uniform(alpha: f64, kappa: f64, volume: f64, background: bool) -> f64 {
    let b = kappa / (2.0 * alpha);
    let waves = if background { (-b * b).exp_m1() } else { (-b * b).exp() };
    2.0 * PI / volume * waves / (kappa * kappa)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::electrostatics::chebyshev::{ChebyshevSeries, chebyshev};
    use jostle_core::{Dual, Precision};

    const WIDTHS: [f64; 6] = [0.0, 0.05, 0.4, 1.0, 2.2, 5.0];

    #[test]
    fn forces_are_exact_derivatives() {
        for b in WIDTHS {
            let size = gaussian(0.0, b).0;
            for z in [0.0, 0.01, 0.2, 0.31, 0.33, 0.8, 1.7, 3.0, 5.0] {
                let (energy, force) = gaussian(Dual::variable(z * z), b);
                let error = (force.value + 2.0 * energy.slope) / size;
                assert!(error.abs() < 1e-12, "{b} {z}: {error:e}");
                let alone = direct(
                    Dual::variable(z * z + 0.1),
                    Dual::constant(1.0),
                    Dual::constant(b),
                    (energy, force),
                );
                let error = alone.1.value + 2.0 * alone.0.slope;
                assert!(error.abs() < 1e-12 * alone.1.value.abs(), "{b} {z}: {error:e}");
            }
        }
    }

    #[test]
    fn without_screening_it_is_an_error_function() {
        for z in [0.0, 0.1, 0.4, 1.0, 2.0, 4.0] {
            let ((e, f), (energy, force)) = (gaussian(z * z, 0.0), super::super::gaussian(z * z));
            assert!((e - energy).abs() < 1e-14 && (f - force).abs() < 1e-13, "{z}: {e} {energy} {f} {force}");
        }
    }

    /// The potential far from a Gaussian is that of a point charge, exp(b^2) times weaker than its waves.
    #[test]
    fn the_two_parts_make_a_screened_charge() {
        for b in WIDTHS {
            let (z, kappa) = (7.0f64, 2.0 * b);
            let (energy, _) = direct(z * z, 1.0, kappa, gaussian(z * z, b));
            let point = (-kappa * z).exp() / z;
            let inner =
                0.5 / z * ((kappa * z).exp() * libm::erfc(z + b) + (-kappa * z).exp() * libm::erfc(z - b));
            assert!((energy - inner).abs() < 1e-15 * point.max(1e-3), "{b}: {energy:e} {inner:e}");
        }
    }

    #[test]
    fn series_are_as_exact_as_numbers() {
        for b in WIDTHS {
            for (precision, cutoff, most) in [(Precision::Mixed, 4.0, 1e-8), (Precision::Double, 6.0, 1e-13)]
            {
                let series = ChebyshevSeries::new(cutoff, precision, |r2| gaussian(r2, b));
                let sizes = gaussian(0.0, b);
                // Differences in the function itself lose this much.
                let most = most * (1.0 + 2.0 * b * b);
                for k in 0..=100 {
                    let r2 = (cutoff * f64::from(k) / 100.0).powi(2);
                    let at = |c: &[f64]| chebyshev(r2 * series.scale - 1.0, c.iter().copied());
                    let (energy, force) = gaussian(r2, b);
                    let errors =
                        [(at(&series.energy) - energy) / sizes.0, (at(&series.force) - force) / sizes.1];
                    assert!(errors.iter().all(|e| e.abs() < most), "{b} {r2}: {errors:?}");
                }
            }
        }
    }
}
