//! A point and a Gaussian charge: the smooth part of Coulomb's forces in Ewald's sum.

use jostle_core::Real;
use std::f64::consts::FRAC_2_SQRT_PI;

/// erf(z)/z and minus twice its derivative with respect to z^2, from z^2: energy and force over
/// distance of a point and a Gaussian charge, in units of its width.
#[inline(always)]
pub fn gaussian<R: Real>(square: R) -> (R, R) {
    // Nearer than this the two no longer differ from their limits.
    let square = R::select(square.lt(R::lit(1e-30)), R::lit(1e-30), square);
    let inverse = square.rsqrt();
    let energy = (square * inverse).erf() * inverse;
    let force = (energy - R::lit(FRAC_2_SQRT_PI) * (-square).exp()) * inverse * inverse;
    // Where the difference above has lost its digits, its series.
    let mut series = R::lit(0.0);
    for c in SMALL {
        series = series.mul_add(square, R::lit(c));
    }
    (energy, R::select(square.lt(R::lit(0.05)), series, force))
}

/// The series of the force, the highest power first: 4/sqrt(pi) (-1)^n / (n! (2n + 3)).
const SMALL: [f64; 9] = {
    let mut terms = [0.0; 9];
    let (mut factorial, mut sign, mut n) = (1.0, 1.0, 0);
    while n < 9 {
        terms[8 - n] = 2.0 * FRAC_2_SQRT_PI * sign / (factorial * (2 * n + 3) as f64);
        sign = -sign;
        n += 1;
        factorial *= n as f64;
    }
    terms
};

/// How far apart the two may be in units of the width for [`gaussian_single`].
pub const WIDEST_SINGLE: f64 = 4.0;

/// The same as [`gaussian`] to the digits of single precision, in fewer operations: up to
/// [`WIDEST_SINGLE`].
#[inline(always)]
pub fn gaussian_single<R: Real>(square: R) -> (R, R) {
    const { assert!(WIDEST_SINGLE * WIDEST_SINGLE < HIGHEST) };
    (ratio(square, SINGLE[0]), ratio(square, SINGLE[1]))
}

/// The same at a squared distance, of a Gaussian of inverse width `alpha`, and not in units of it. Powers
/// of `alpha` are in the coefficients, where single precision has room for them.
#[inline(always)]
pub fn gaussian_single_of<R: Real>(alpha: f64, r2: R) -> (R, R) {
    if !(0.03..30.0).contains(&alpha) {
        let (energy, force) = gaussian_single(R::lit(alpha * alpha) * r2);
        return (R::lit(alpha) * energy, R::lit(alpha.powi(3)) * force);
    }
    let scaled = |power: i32, [above, below]: [&[f64]; 2]| {
        let of = |coefficients: &[f64], power: i32| {
            let highest = coefficients.len() as i32 - 1;
            let lower = |k: usize| alpha.powi(power + 2 * (highest - k as i32));
            polynomial(r2, coefficients.iter().enumerate().map(|(k, c)| c * lower(k)))
        };
        of(above, power) * of(below, 0).recip()
    };
    (scaled(1, SINGLE[0]), scaled(3, SINGLE[1]))
}

/// The same at any distance: further than that the Gaussian charge is as good as a point.
#[inline(always)]
pub fn gaussian_single_anywhere<R: Real>(square: R) -> (R, R) {
    let inverse = square.rsqrt();
    let near = square.lt(R::lit(HIGHEST));
    let (energy, force) = gaussian_single(R::select(near, square, R::lit(HIGHEST)));
    (R::select(near, energy, inverse), R::select(near, force, inverse * inverse * inverse))
}

#[inline(always)]
fn ratio<R: Real>(x: R, [above, below]: [&[f64]; 2]) -> R {
    polynomial(x, above.iter().copied()) * polynomial(x, below.iter().copied()).recip()
}

/// A polynomial by its coefficients, that of the highest power first.
#[inline(always)]
fn polynomial<R: Real>(x: R, mut coefficients: impl Iterator<Item = f64>) -> R {
    let first = R::lit(coefficients.next().unwrap_or(0.0));
    coefficients.fold(first, |sum, c| sum.mul_add(x, R::lit(c)))
}

/// The largest square that the formulas of single precision were fitted to.
pub const HIGHEST: f64 = 16.5;

/// Numerators and denominators, the highest power of z^2 first, of erf(z)/z and of minus twice its
/// derivative by z^2: rational functions fitted to z^2 from 0 to [`HIGHEST`], with relative errors of
/// 2e-9 and 8e-8.
const SINGLE: [[&[f64]; 2]; 2] = [
    [
        &[
            -1.342_235_276_352_561_6e-8,
            4.726_846_378_186_327e-6,
            0.000_381_192_413_189_079_3,
            0.003_854_920_071_746_149,
            0.054_354_941_578_052_62,
            0.185_218_943_341_944_53,
            1.128_379_169_525_981_7,
        ],
        &[
            6.350_860_232_516_657e-5,
            0.001_310_776_956_990_785_7,
            0.015_478_239_570_605_708,
            0.113_996_737_119_484_42,
            0.497_479_433_316_932_7,
            1.0,
        ],
    ],
    [
        &[
            1.012_779_144_154_773_6e-8,
            -9.820_368_177_669_62e-7,
            4.957_291_641_289_952_4e-5,
            -0.000_146_844_566_700_893_52,
            0.017_970_767_757_551_288,
            -0.033_498_995_731_054_37,
            0.752_252_835_137_334_8,
        ],
        &[
            0.000_137_409_761_390_752_87,
            0.002_161_734_742_759_472,
            0.022_084_057_636_571_827,
            0.142_872_566_941_596_67,
            0.555_470_908_830_546_1,
            1.0,
        ],
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether or not there is room for powers of the inverse width.
    #[test]
    fn coefficients_take_widths_in() {
        for alpha in [1e-3, 0.03, 0.3, 1.0, 3.2, 29.0, 40.0, 1e4] {
            for k in 1..40 {
                let square = 0.4 * f64::from(k);
                let (energy, force) = gaussian_single(square);
                let of_width = gaussian_single_of(alpha, square / (alpha * alpha));
                assert!((of_width.0 / (alpha * energy) - 1.0).abs() < 1e-13, "{alpha} {square}");
                assert!((of_width.1 / (alpha.powi(3) * force) - 1.0).abs() < 1e-13, "{alpha} {square}");
            }
        }
    }

    /// In f64, so that what is seen is how well the ratios were fitted.
    #[test]
    fn single_precision_has_what_double_has() {
        for k in 1..600 {
            let square = (0.01 * f64::from(k)).powi(2);
            let (energy, force) = gaussian(square);
            let (single, pull) = gaussian_single_anywhere(square);
            // What is left of the difference to a point charge, where it is taken for one.
            let limit = if square < HIGHEST { [3e-9, 1e-7] } else { [1e-8, 4e-7] };
            assert!((single / energy - 1.0).abs() < limit[0], "{square}: {single} {energy}");
            assert!((pull / force - 1.0).abs() < limit[1], "{square}: {pull} {force}");
        }
    }
}
