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

/// Energy and force at a squared distance within a cut-off, of a Gaussian of inverse width `alpha`, not in
/// units of it.
#[inline(always)]
pub fn gaussian_single_of<R: Real>(alpha: f64, cutoff: f64, r2: R) -> (R, R) {
    if let Some(narrow) = Narrow::new(alpha, cutoff) {
        return narrow.at(r2, R::lit);
    }
    if let Some(wide) = Wide::new(alpha) {
        return wide.at(r2, R::lit);
    }
    let (energy, force) = gaussian_single(R::lit(alpha * alpha) * r2);
    (R::lit(alpha) * energy, R::lit(alpha.powi(3)) * force)
}

/// [`gaussian_single`] for one inverse width: its powers are in the coefficients, of energy and force.
#[derive(Debug, Clone, Copy)]
pub struct Single<T, const ABOVE: usize, const BELOW: usize>([Ratio<T, ABOVE, BELOW>; 2]);

/// Formulas for the whole range of [`gaussian_single`].
pub type Wide<T> = Single<T, 7, 6>;

/// Formulas for cut-offs of few widths, with fewer operations.
pub type Narrow<T> = Single<T, 6, 5>;

impl Wide<f64> {
    /// Formulas for an inverse width, if its powers are in the range of single precision.
    pub fn new(alpha: f64) -> Option<Self> {
        Single::scaled(WIDE, alpha)
    }
}

impl Narrow<f64> {
    /// Formulas for an inverse width, if its powers are in the range of single precision and the cut-off is
    /// short enough.
    pub fn new(alpha: f64, cutoff: f64) -> Option<Self> {
        Single::scaled(NARROW, alpha).filter(|_| (alpha * cutoff).powi(2) <= HIGHEST_NARROW)
    }
}

impl<const ABOVE: usize, const BELOW: usize> Single<f64, ABOVE, BELOW> {
    fn scaled(ratios: [Ratio<f64, ABOVE, BELOW>; 2], alpha: f64) -> Option<Self> {
        let scaled = |ratio: Ratio<f64, ABOVE, BELOW>, power: i32| Ratio {
            above: array::from_fn(|k| ratio.above[k] * alpha.powi(power + 2 * (ABOVE - 1 - k) as i32)),
            below: array::from_fn(|k| ratio.below[k] * alpha.powi(2 * (BELOW - 1 - k) as i32)),
        };
        (0.015..50.0).contains(&alpha).then(|| Single([scaled(ratios[0], 1), scaled(ratios[1], 3)]))
    }
}

impl<T: Copy, const ABOVE: usize, const BELOW: usize> Single<T, ABOVE, BELOW> {
    /// Formulas with coefficients of another type of number.
    pub fn map<U>(self, number: impl Fn(T) -> U + Copy) -> Single<U, ABOVE, BELOW> {
        Single(
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

/// A ratio of polynomials by their coefficients, those of the highest powers first.
#[derive(Debug, Clone, Copy)]
struct Ratio<T, const ABOVE: usize, const BELOW: usize> {
    above: [T; ABOVE],
    below: [T; BELOW],
}

impl<T: Copy, const ABOVE: usize, const BELOW: usize> Ratio<T, ABOVE, BELOW> {
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
const WIDE: [Ratio<f64, 7, 6>; 2] = [
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

/// The largest square that [`Narrow`] was fitted to.
const HIGHEST_NARROW: f64 = 9.0;

/// Rational functions up to [`HIGHEST_NARROW`], with relative errors of 1.4e-8 and 9.2e-8.
const NARROW: [Ratio<f64, 6, 5>; 2] = [
    Ratio {
        above: [
            -1.041_215_887_305_476_7e-6,
            0.000_117_019_097_481_248_62,
            0.003_620_067_742_015_709,
            0.049_881_122_656_959_986,
            0.202_888_012_831_983_07,
            1.128_379_151_049_968_6,
        ],
        below: [
            0.000_880_558_989_652_961_4,
            0.014_114_664_849_347_4,
            0.115_255_089_771_411_51,
            0.513_137_623_451_687_7,
            1.0,
        ],
    },
    Ratio {
        above: [
            -8.736_716_144_746_166e-7,
            4.690_581_513_087_376e-5,
            -0.001_029_841_196_945_995_2,
            0.018_970_600_808_046_325,
            -0.075_494_345_059_034_95,
            0.752_252_709_236_891_6,
        ],
        below: [
            0.000_881_911_603_170_792_5,
            0.013_527_230_663_433_388,
            0.110_731_689_572_858_31,
            0.499_639_426_917_792_84,
            1.0,
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases with and without powers of the inverse width in range, and cut-offs of any width.
    #[test]
    fn coefficients_include_powers_of_the_width() {
        for alpha in [1e-3_f64, 0.03, 0.3, 1.0, 3.2, 29.0, 60.0, 1e4] {
            let unit = [alpha, alpha.powi(3)];
            for k in 1..40 {
                let square = 0.4 * f64::from(k);
                let r2 = square / (alpha * alpha);
                for (cutoff, limit) in [(4.0, [1e-13; 2]), (3.0, [2e-8, 2e-7])] {
                    if square > cutoff * cutoff {
                        continue;
                    }
                    let (energy, force) = gaussian_single_of(alpha, cutoff / alpha, r2);
                    let wide = gaussian_single(square);
                    for (k, (value, wide)) in [(energy, wide.0), (force, wide.1)].into_iter().enumerate() {
                        let error = value / (unit[k] * wide) - 1.0;
                        assert!(error.abs() < limit[k], "{alpha} {cutoff} {square} {k}: {error}");
                    }
                }
            }
        }
        assert!(Narrow::new(1.0, 3.0).is_some() && Narrow::new(1.0, 3.01).is_none());
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
            if square < HIGHEST_NARROW {
                let (narrow, gentle) = gaussian_single_of(1.0, 3.0, square);
                assert!((narrow / energy - 1.0).abs() < 2e-8, "{square}: {narrow} {energy}");
                assert!((gentle / force - 1.0).abs() < 1e-7, "{square}: {gentle} {force}");
            }
            assert!((single / energy - 1.0).abs() < limit[0], "{square}: {single} {energy}");
            assert!((pull / force - 1.0).abs() < limit[1], "{square}: {pull} {force}");
        }
    }
}
