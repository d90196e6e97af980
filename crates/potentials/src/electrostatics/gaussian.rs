//! A point and a Gaussian charge: the smooth part of Coulomb's forces in Ewald's sum.

use jostle_core::Real;
use std::array;
use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// erf(z)/z and minus twice its derivative with respect to z^2, from z^2: energy and force over
/// distance of a point and a Gaussian charge, in units of its width.
#[inline(always)]
pub fn gaussian<R: Real>(square: R) -> (R, R) {
    // Smaller squares give the limits.
    let square = R::select(square.lt(R::lit(1e-30)), R::lit(1e-30), square);
    let inverse = square.rsqrt();
    let energy = (square * inverse).erf() * inverse;
    let force = (energy - R::lit(FRAC_2_SQRT_PI) * (-square).exp()) * inverse * inverse;
    // Series where the difference above has lost its digits.
    let mut series = R::lit(0.0);
    for c in SMALL {
        series = series.mul_add(square, R::lit(c));
    }
    (energy, R::select(square.lt(R::lit(0.05)), series, force))
}

/// Energy and force over distance of a Gaussian of inverse width `alpha` at a squared distance, from a formula for
/// these in units of the width.
#[inline(always)]
pub fn of_width<R: Real>(alpha: f64, r2: R, formula: impl Fn(R) -> (R, R)) -> (R, R) {
    let (energy, force) = formula(R::lit(alpha * alpha) * r2);
    (R::lit(alpha) * energy, R::lit(alpha.powi(3)) * force)
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

/// Weight of a wave of squared length k2, without a mesh, for squared amplitudes of charges; and the part of
/// its virial along it, relative to its energy.
#[inline(always)]
pub fn weight<R: Real>(k2: R, alpha: R, volume: R) -> [R; 2] {
    let width = k2 / (R::lit(4.0) * alpha * alpha);
    let inverse = k2.recip();
    let along = R::lit(2.0) * (R::lit(1.0) + width) * inverse;
    [R::lit(4.0 * PI) / volume * (-width).exp() * inverse, along]
}

/// Largest distance in units of the width for [`gaussian_single`].
pub const WIDEST_SINGLE: f64 = 4.0;

/// Energy and force of [`gaussian`] to the digits of single precision, in fewer operations: up to
/// [`WIDEST_SINGLE`].
#[inline(always)]
pub fn gaussian_single<R: Real>(square: R) -> (R, R) {
    const { assert!(WIDEST_SINGLE * WIDEST_SINGLE < HIGHEST) };
    (WIDE[0].at(square, R::lit), WIDE[1].at(square, R::lit))
}

/// Energy and force at a squared distance, of a Gaussian of inverse width `alpha`, not in units of it.
#[inline(always)]
pub fn gaussian_single_of<R: Real>(alpha: f64, r2: R) -> (R, R) {
    match Wide::new(alpha) {
        Some(wide) => wide.at(r2, R::lit),
        None => of_width(alpha, r2, gaussian_single),
    }
}

/// [`gaussian_single`] for one inverse width: its powers are in the coefficients, of energy and force.
#[derive(Debug, Clone, Copy)]
pub struct Wide<T>([Ratio<T>; 2]);

impl Wide<f64> {
    /// Formulas for an inverse width, if its powers are in the range of single precision.
    pub fn new(alpha: f64) -> Option<Self> {
        let scaled = |ratio: Ratio<f64>, power: i32| Ratio {
            above: array::from_fn(|k| ratio.above[k] * alpha.powi(power + 2 * (ABOVE - 1 - k) as i32)),
            below: array::from_fn(|k| ratio.below[k] * alpha.powi(2 * (BELOW - 1 - k) as i32)),
        };
        (0.015..50.0).contains(&alpha).then(|| Wide([scaled(WIDE[0], 1), scaled(WIDE[1], 3)]))
    }
}

impl<T: Copy> Wide<T> {
    /// Formulas with coefficients of another type of number.
    pub fn map<U>(self, number: impl Fn(T) -> U + Copy) -> Wide<U> {
        Wide(
            self.0.map(|Ratio { above, below }| Ratio { above: above.map(number), below: below.map(number) }),
        )
    }

    /// Energy and force over distance at a squared distance; `number` is one of the coefficients.
    #[inline(always)]
    pub fn at<R: Real>(&self, r2: R, number: impl Fn(T) -> R + Copy) -> (R, R) {
        (self.0[0].at(r2, number), self.0[1].at(r2, number))
    }
}

/// Energy and force at any distance: beyond [`HIGHEST`] the Gaussian charge is as good as a point.
#[inline(always)]
pub fn gaussian_single_anywhere<R: Real>(square: R) -> (R, R) {
    let inverse = square.rsqrt();
    let near = square.lt(R::lit(HIGHEST));
    let (energy, force) = gaussian_single(R::select(near, square, R::lit(HIGHEST)));
    (R::select(near, energy, inverse), R::select(near, force, inverse * inverse * inverse))
}

/// Numbers of coefficients of the two polynomials of a [`Ratio`].
const ABOVE: usize = 7;
const BELOW: usize = 6;

/// A ratio of polynomials by their coefficients, those of the highest powers first.
#[derive(Debug, Clone, Copy)]
struct Ratio<T> {
    above: [T; ABOVE],
    below: [T; BELOW],
}

impl<T: Copy> Ratio<T> {
    #[inline(always)]
    fn at<R: Real>(&self, x: R, number: impl Fn(T) -> R + Copy) -> R {
        let series = |coefficients: &[T]| {
            let (first, rest) = (number(coefficients[0]), &coefficients[1..]);
            rest.iter().fold(first, |sum, c| sum.mul_add(x, number(*c)))
        };
        series(&self.above) * series(&self.below).recip()
    }
}

/// The largest square that the formulas of single precision were fitted to.
pub const HIGHEST: f64 = 16.5;

/// Numerators and denominators, the highest power of z^2 first, of erf(z)/z and of minus twice its
/// derivative by z^2: rational functions fitted to z^2 from 0 to [`HIGHEST`], with relative errors of
/// 2e-9 and 8e-8.
const WIDE: [Ratio<f64>; 2] = [
    Ratio {
        above: [
            -1.342_235_276_352_561_6e-8,
            4.726_846_378_186_327e-6,
            0.000_381_192_413_189_079_3,
            0.003_854_920_071_746_149,
            0.054_354_941_578_052_62,
            0.185_218_943_341_944_53,
            1.128_379_169_525_981_7,
        ],
        below: [
            6.350_860_232_516_657e-5,
            0.001_310_776_956_990_785_7,
            0.015_478_239_570_605_708,
            0.113_996_737_119_484_42,
            0.497_479_433_316_932_7,
            1.0,
        ],
    },
    Ratio {
        above: [
            1.012_779_144_154_773_6e-8,
            -9.820_368_177_669_62e-7,
            4.957_291_641_289_952_4e-5,
            -0.000_146_844_566_700_893_52,
            0.017_970_767_757_551_288,
            -0.033_498_995_731_054_37,
            0.752_252_835_137_334_8,
        ],
        below: [
            0.000_137_409_761_390_752_87,
            0.002_161_734_742_759_472,
            0.022_084_057_636_571_827,
            0.142_872_566_941_596_67,
            0.555_470_908_830_546_1,
            1.0,
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases with and without powers of the inverse width in range.
    #[test]
    fn coefficients_include_powers_of_the_width() {
        for alpha in [1e-3_f64, 0.03, 0.3, 1.0, 3.2, 29.0, 60.0, 1e4] {
            let unit = [alpha, alpha.powi(3)];
            for k in 1..40 {
                let square = 0.4 * f64::from(k);
                let r2 = square / (alpha * alpha);
                let (energy, force) = gaussian_single_of(alpha, r2);
                let wide = gaussian_single(square);
                for (k, (value, wide)) in [(energy, wide.0), (force, wide.1)].into_iter().enumerate() {
                    let error = value / (unit[k] * wide) - 1.0;
                    assert!(error.abs() < 1e-13, "{alpha} {square} {k}: {error}");
                }
            }
        }
        assert!(Wide::new(1.0).is_some() && Wide::new(1e3).is_none());
    }

    /// Arithmetic in f64 shows the error of the fit alone.
    #[test]
    fn single_precision_follows_double() {
        for k in 1..600 {
            let square = (0.01 * f64::from(k)).powi(2);
            let (energy, force) = gaussian(square);
            let (single, pull) = gaussian_single_anywhere(square);
            // Error of the point charge that stands for the Gaussian.
            let limit = if square < HIGHEST { [3e-9, 1e-7] } else { [1e-8, 4e-7] };
            assert!((single / energy - 1.0).abs() < limit[0], "{square}: {single} {energy}");
            assert!((pull / force - 1.0).abs() < limit[1], "{square}: {pull} {force}");
        }
    }
}
