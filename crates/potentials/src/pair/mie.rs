//! G. Mie, "Zur kinetischen Theorie der einatomigen Körper", Ann. Phys. 316 (1903) 657; the prefactor, by which
//! epsilon is the depth of the well for any exponents, as in C. Avendaño, T. Lafitte, A. Galindo, C. S. Adjiman,
//! G. Jackson and E. A. Müller, "SAFT-gamma force field for the simulation of molecular fluids. 1. A single-site
//! coarse grained model of carbon dioxide", J. Phys. Chem. B 115 (2011) 11154.

use super::{Absent, MixesAs, PairFunction, PairPotential, Parameter, Range};
use jostle_core::{Dimension, Real};

/// u(r) = C epsilon [(sigma/r)^n - (sigma/r)^m] with C = n/(n - m) (n/m)^(m/(n - m)): Lennard-Jones with exponents
/// of choice, of which the larger one belongs to the repulsion. The minimum, -epsilon, is at
/// (n/m)^(1/(n - m)) sigma.
#[derive(Debug, Clone, Copy)]
pub struct Mie;

impl PairFunction for Mie {
    const N_COEFFICIENTS: usize = 6;

    /// c = [1 / sigma^2, -m / 2, -(n - m) / 2, C epsilon, n, m]
    ///
    /// Powers follow from the logarithm of (r / sigma)^2, which is small near the well, so that they keep their
    /// digits there, and no coefficient is a high power of a length, which single precision might not hold.
    /// Exponents are never positive, and what is infinite at r = 0 is an inverse: lanes of atoms with themselves
    /// are computed, too, and [`Real::exp`] is for arguments whose exponential is a number.
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let logarithm = (r2 * c[0]).ln();
        let inside = logarithm.lt(zero);
        let size = R::select(inside, -logarithm, logarithm);
        let (attraction, ratio) = ((c[1] * size).exp(), (c[2] * size).exp());
        // Outside of sigma the powers are `attraction` and `attraction * ratio`, inside of it their inverses.
        let scale = c[3] * R::select(inside, (attraction * ratio).recip(), attraction);
        let (upper, lower) = (R::select(inside, one, ratio), R::select(inside, ratio, one));
        let energy = scale * (upper - lower);
        let force_over_r = scale * c[4].mul_add(upper, -(c[5] * lower)) * r2.recip();
        (energy, force_over_r)
    }
}

/// The factor by which the minimum is one epsilon deep. Infinite or not a number where both exponents are equal.
fn prefactor(n: f64, m: f64) -> f64 {
    n / (n - m) * (n / m).powf(m / (n - m))
}

/// Both exponents, the larger one first: the potential is the same the other way round.
fn exponents(p: &[f64]) -> [f64; 2] {
    [p[2].max(p[3]), p[2].min(p[3])]
}

impl PairPotential for Mie {
    const KIND: &'static str = "mie";
    const ABOUT: &'static str = "Mie n-m: Lennard-Jones with other exponents, coarse-grained fluids";
    const FORMULA: &'static str = "epsilon (n/(n - m)) (n/m)^(m/(n - m)) [(sigma/r)^n - (sigma/r)^m]";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "epsilon",
            dimension: Dimension::ENERGY,
            about: "depth of the well",
            absent: Absent::Refused,
            mixes_as: MixesAs::Energy,
            range: Range::NonNegative,
            example: 1.0,
        },
        Parameter {
            name: "sigma",
            dimension: Dimension::LENGTH,
            about: "distance at which the energy is zero",
            absent: Absent::Refused,
            mixes_as: MixesAs::Size,
            range: Range::Positive,
            example: 1.0,
        },
        Parameter {
            name: "n",
            dimension: Dimension::NUMBER,
            about: "exponent of the repulsion",
            absent: Absent::Refused,
            mixes_as: MixesAs::Shared,
            range: Range::Positive,
            example: 14.0,
        },
        Parameter {
            name: "m",
            dimension: Dimension::NUMBER,
            about: "exponent of the attraction",
            absent: Absent::Refused,
            mixes_as: MixesAs::Shared,
            range: Range::Positive,
            example: 7.0,
        },
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        let (epsilon, sigma, [n, m]) = (p[0], p[1], exponents(p));
        vec![1.0 / (sigma * sigma), -0.5 * m, -0.5 * (n - m), prefactor(n, m) * epsilon, n, m]
    }

    fn tail(p: &[f64], cutoff: f64) -> Option<f64> {
        let (epsilon, sigma, [n, m]) = (p[0], p[1], exponents(p));
        // The integral of r^(2 - m) exists for m > 3 only.
        let of_power = |exponent: f64| (sigma / cutoff).powf(exponent) / (exponent - 3.0);
        (m > 3.0).then(|| prefactor(n, m) * epsilon * cutoff.powi(3) * (of_power(n) - of_power(m)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::LennardJones;

    fn at(parameters: [f64; 4], r: f64) -> [f64; 2] {
        let (energy, force_over_r) = Mie::evaluate(r * r, &Mie::coefficients(&parameters));
        [energy, force_over_r * r]
    }

    fn assert_close(found: [f64; 2], expected: [f64; 2]) {
        for (x, y) in found.into_iter().zip(expected) {
            assert!((x - y).abs() < 1e-13 * (1.0 + y.abs()), "{found:?} is not {expected:?}");
        }
    }

    #[test]
    fn exponents_12_and_6_are_lennard_jones() {
        let (epsilon, sigma) = (0.7, 1.3);
        let c = LennardJones::coefficients(&[epsilon, sigma]);
        for r in [1.1, 1.3, 1.46, 2.0, 3.1] {
            let (energy, force_over_r) = LennardJones::evaluate(r * r, &c);
            assert_close(at([epsilon, sigma, 12.0, 6.0], r), [energy, force_over_r * r]);
        }
        let tails =
            [Mie::tail(&[epsilon, sigma, 12.0, 6.0], 3.0), LennardJones::tail(&[epsilon, sigma], 3.0)];
        assert!((tails[0].unwrap() / tails[1].unwrap() - 1.0).abs() < 1e-14, "{tails:?}");
    }

    /// Values by hand at twice sigma. 14-7: C = 2 (2)^1 = 4, energy 4 (2^-14 - 2^-7) = -127/4096, force
    /// 4 (14 2^-14 - 7 2^-7) / 2 = -441/4096. 8-6: C = 4 (4/3)^3 = 256/27, energy 256/27 (2^-8 - 2^-6) = -1/9,
    /// force 256/27 (8 2^-8 - 6 2^-6) / 2 = -8/27.
    #[test]
    fn other_exponents_have_the_values_computed_by_hand() {
        assert_close(at([1.0, 1.0, 14.0, 7.0], 2.0), [-127.0 / 4096.0, -441.0 / 4096.0]);
        assert_close(at([1.0, 1.0, 8.0, 6.0], 2.0), [-1.0 / 9.0, -8.0 / 27.0]);
    }

    #[test]
    fn the_well_is_one_epsilon_deep_whichever_exponent_comes_first() {
        for [n, m] in [[14.0, 7.0], [8.0, 6.0], [35.57, 4.83], [6.0, 12.0]] {
            let minimum = 1.3 * f64::powf(n / m, 1.0 / (n - m));
            assert_close(at([0.7, 1.3, n, m], minimum), [-0.7, 0.0]);
            assert_eq!(at([0.7, 1.3, n, m], 2.0), at([0.7, 1.3, m, n], 2.0));
        }
    }

    #[test]
    fn slow_decay_has_no_tail_and_equal_exponents_no_value() {
        assert_eq!(Mie::tail(&[1.0, 1.0, 12.0, 3.0], 2.5), None);
        assert!(Mie::coefficients(&[1.0, 1.0, 6.0, 6.0]).iter().any(|c| !c.is_finite()));
    }
}
