//! H. M. Pak and M. Doyama, "The calculation of a vacancy and divacancies in alpha-iron", J. Fac.
//! Eng. Univ. Tokyo B 30 (1969) 111: iron as pairs.

use super::{Absent, MixesAs, PairFunction, PairPotential, Parameter, Range};
use jostle_core::{Dimension, Real};

/// u(r) = quartic (r - quartic_at)^4 + quadratic (r - quadratic_at)^2 + constant
#[derive(Debug, Clone, Copy)]
pub struct PakDoyama;

impl PairFunction for PakDoyama {
    const N_COEFFICIENTS: usize = 5;

    /// c = [quartic, quartic_at, quadratic, quadratic_at, constant]
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let inverse = r2.rsqrt();
        let r = r2 * inverse;
        let (x, y) = (r - c[1], r - c[3]);
        let (x2, quadratic) = (x * x, c[2] * y);
        let energy = (c[0] * x2).mul_add(x2, quadratic.mul_add(y, c[4]));
        let slope = (R::lit(4.0) * c[0] * x2).mul_add(x, R::lit(2.0) * quadratic);
        (energy, -slope * inverse)
    }
}

const fn parameter(name: &'static str, dimension: Dimension, about: &'static str, example: f64) -> Parameter {
    let (absent, mixes_as, range) = (Absent::Refused, MixesAs::Never, Range::Any);
    Parameter { name, dimension, about, absent, mixes_as, range, example }
}

const fn per_length(power: i8) -> Dimension {
    Dimension { length: -power, ..Dimension::ENERGY }
}

impl PairPotential for PakDoyama {
    const KIND: &'static str = "pak-doyama";
    const ABOUT: &'static str = "Pak and Doyama's polynomial: iron as pairs";
    const FORMULA: &'static str = "quartic (r - quartic_at)^4 + quadratic (r - quadratic_at)^2 + constant";
    const PARAMETERS: &'static [Parameter] = &[
        parameter("quartic", per_length(4), "strength of the fourth power (iron: -0.188917 eV/A^4)", 1.5),
        parameter("quartic_at", Dimension::LENGTH, "where it is zero (iron: 1.82709 A)", 2.4),
        parameter("quadratic", per_length(2), "strength of the square (iron: 1.70192 eV/A^2)", -0.5),
        parameter("quadratic_at", Dimension::LENGTH, "where it is zero (iron: 2.50849 A)", 2.4),
        parameter("constant", Dimension::ENERGY, "what is added (iron: -0.198294 eV)", 0.1),
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        p.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Energy and force of iron end together at 3.44 angstrom, to the last of the printed digits.
    #[test]
    fn iron_ends_smoothly() {
        let c = PakDoyama::coefficients(&[-0.188917, 1.82709, 1.70192, 2.50849, -0.198294]);
        let (energy, force_over_r) = PakDoyama::evaluate(3.44 * 3.44, &c);
        assert!(energy.abs() < 1e-4 && (force_over_r * 3.44).abs() < 1e-4, "{energy} {force_over_r}");
        let (well, force_over_r) = PakDoyama::evaluate(2.61856f64.powi(2), &c);
        assert!(well < -0.2 && force_over_r.abs() < 1e-4, "{well} {force_over_r}");
    }
}
