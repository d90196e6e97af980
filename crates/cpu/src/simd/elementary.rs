//! Elementary functions on lanes, the same on every instruction set. Errors are a few units in the last
//! place of the result, for sine and cosine in that of the angle if it is larger.

use super::{Floating, exp};
use jostle_potentials::electrostatics;
use jostle_potentials::electrostatics::gaussian::{HIGHEST, gaussian_single};
use std::f64::consts::{FRAC_1_PI, FRAC_2_SQRT_PI, LN_2, PI, SQRT_2};

/// Coefficients, the highest power first: all of them in double precision, the last `single` of
/// them in single.
#[inline(always)]
fn series<L: Floating>(x: L, coefficients: &[f64], single: usize) -> L {
    let n = coefficients.len();
    let start = if L::is_double() { 0 } else { n - single };
    let mut sum = L::lit(coefficients[start]);
    for &c in &coefficients[start + 1..] {
        sum = sum.mul_add(x, L::lit(c));
    }
    sum
}

/// The inverse factorials (2n + `first`)!, ..., (2 + `first`)!, `first`!, with alternating signs.
const fn alternating<const N: usize>(first: usize) -> [f64; N] {
    let mut coefficients = [0.0; N];
    let mut value = 1.0;
    let mut k = 0;
    while k < N {
        coefficients[N - 1 - k] = value;
        let n = 2 * k + first;
        value /= -(((n + 1) * (n + 2)) as f64);
        k += 1;
    }
    coefficients
}

/// Exponential function e^x for any x, unlike that of [`jostle_core::Real`], which is for finite results.
#[inline(always)]
pub fn exp<L: Floating>(x: L) -> L {
    let highest = L::lit(if L::is_double() { 709.0 } else { 88.0 });
    let y = x.min(highest).exp();
    L::select(highest.lt(x), L::lit(f64::INFINITY), y)
}

/// Coefficients 2 / (2n + 1), ..., 2/3, 2 of the logarithm of (1 + s) / (1 - s) over s, in powers of s^2.
const AREA_TANGENT: [f64; 11] = {
    let mut coefficients = [0.0; 11];
    let mut k = 0;
    while k < 11 {
        coefficients[10 - k] = 2.0 / (2 * k + 1) as f64;
        k += 1;
    }
    coefficients
};

/// Natural logarithm by x = 2^n m, 1/sqrt(2) < m < sqrt(2).
#[inline(always)]
pub fn ln<L: Floating>(x: L) -> L {
    let (mantissa, exponent) = x.split();
    let (one, zero) = (L::lit(1.0), L::lit(0.0));
    let upper = L::lit(SQRT_2).lt(mantissa);
    let m = L::select(upper, mantissa * L::lit(0.5), mantissa);
    let n = L::select(upper, exponent + one, exponent);
    let s = (m - one) / (m + one);
    let y = n.mul_add(L::lit(LN_2), s * series(s * s, &AREA_TANGENT, 5));
    let below = L::select(x.lt(zero), L::lit(f64::NAN), L::lit(f64::NEG_INFINITY));
    L::select(zero.lt(x), y, below)
}

/// Pi in three parts, of which the first two have so few bits that products with whole numbers are
/// exact.
const PI_PARTS: [f64; 3] = [3.140625, 9.675_025_939_941_406e-4, PI - 3.140625 - 9.675_025_939_941_406e-4];

const SINE: [f64; 12] = alternating(1);

/// Reduced sine (-1)^n sin(x - n pi) for whole or half n with |x - n pi| <= pi / 2; the sign is that of
/// `whole`.
#[inline(always)]
fn sine_of_rest<L: Floating>(x: L, n: L, whole: L) -> L {
    let mut rest = x;
    for part in PI_PARTS {
        rest = n.mul_add(L::lit(-part), rest);
    }
    let half = whole * L::lit(0.5);
    let odd = whole - L::lit(2.0) * half.round();
    let sign = L::lit(1.0) - L::lit(2.0) * odd * odd;
    sign * rest * series(rest * rest, &SINE, 7)
}

/// Sine.
#[inline(always)]
pub fn sin<L: Floating>(x: L) -> L {
    let n = (x * L::lit(FRAC_1_PI)).round();
    sine_of_rest(x, n, n)
}

/// Cosine, -sin(x - pi / 2).
#[inline(always)]
pub fn cos<L: Floating>(x: L) -> L {
    let below = x.mul_add(L::lit(FRAC_1_PI), L::lit(-0.5)).round();
    -sine_of_rest(x, below + L::lit(0.5), below)
}

/// Hyperbolic tangent y / (y + 2) with y = e^2x - 1.
#[inline(always)]
pub fn tanh<L: Floating>(x: L) -> L {
    let most = L::lit(22.0);
    let x = -((-x.max(-most)).max(-most));
    let (n, r) = exp::reduce(x + x);
    // Series of e^r - 1 without its leading one, so that nothing cancels near zero.
    let factorials = if L::is_double() { &exp::DOUBLE[..13] } else { &exp::SINGLE[..7] };
    let mut rest = L::lit(factorials[0]);
    for &c in &factorials[1..] {
        rest = rest.mul_add(r, L::lit(c));
    }
    let power = L::lit(1.0).times_power_of_two(n);
    let y = power.mul_add(r * rest, power - L::lit(1.0));
    y / (y + L::lit(2.0))
}

/// Chebyshev expansion on z >= 0 of erfc(z) e^(z^2) / t in powers of 2 t - 1, t = 4 / (4 + z), to 7e-17 of
/// its value.
const TAIL: [f64; 23] = [
    3.018_454_148_516_381e-10,
    -6.636_136_270_870_042e-11,
    -3.818_822_224_976_62e-9,
    -2.059_560_214_036_900_3e-10,
    3.063_220_517_661_313e-8,
    1.899_224_832_167_375_6e-8,
    -2.109_129_030_140_448_4e-7,
    -3.562_366_043_321_765_3e-7,
    1.173_095_978_438_66e-6,
    4.715_368_344_745_338e-6,
    -9.085_509_537_367_429e-7,
    -4.420_327_016_401_017e-5,
    -1.137_632_429_142_32e-4,
    7.023_973_398_478_003e-5,
    1.528_013_927_096_598e-3,
    6.592_513_332_295_255e-3,
    1.909_537_872_592_77e-2,
    4.350_273_431_022_310_6e-2,
    8.271_289_696_957_896e-2,
    1.352_134_578_282_994e-1,
    1.933_021_755_663_077e-1,
    2.441_371_822_702_206e-1,
    2.739_989_152_501_228e-1,
];
/// Chebyshev expansion of the function of [`TAIL`] to 1e-8.
const TAIL_SINGLE: [f64; 13] = [
    1.941_487_117_353_891_8e-6,
    -3.101_877_016_165_519e-5,
    -0.000_117_173_031_993_723_45,
    5.461_051_072_301_692_5e-5,
    0.001_530_177_827_479_963,
    0.006_601_642_637_787_862,
    0.019_094_653_500_638_374,
    0.043_500_114_205_047_86,
    0.082_713_014_395_522_31,
    0.135_213_781_839_791_5,
    0.193_302_168_376_896_5,
    0.244_137_170_786_776_21,
    0.273_998_915_322_362_04,
];

/// Complementary error function for x >= 0.
#[inline(always)]
fn tail<L: Floating>(x: L) -> L {
    let t = L::lit(4.0) / (L::lit(4.0) + x);
    let y = t.mul_add(L::lit(2.0), L::lit(-1.0));
    let scaled =
        if L::is_double() { series(y, &TAIL, 23) } else { series(y, &TAIL_SINGLE, TAIL_SINGLE.len()) };
    // The rounding error of the square counts, as it stands in an exponent.
    let square = x * x;
    let left = x.mul_add(x, -square);
    t * scaled * (-square).exp() * (L::lit(1.0) - left)
}

/// The series of erf(x) / x in powers of x^2.
const ERF: [f64; 16] = {
    let mut coefficients = alternating_powers::<16>();
    let mut k = 0;
    while k < 16 {
        coefficients[15 - k] *= FRAC_2_SQRT_PI / (2 * k + 1) as f64;
        k += 1;
    }
    coefficients
};

/// Coefficients (-1)^n / n!, ..., -1, 1.
const fn alternating_powers<const N: usize>() -> [f64; N] {
    let mut coefficients = [0.0; N];
    let mut value = 1.0;
    let mut k = 0;
    while k < N {
        coefficients[N - 1 - k] = value;
        value /= -((k + 1) as f64);
        k += 1;
    }
    coefficients
}

#[inline(always)]
fn magnitude<L: Floating>(x: L) -> L {
    x.max(-x)
}

/// Error function.
#[inline(always)]
pub fn erf<L: Floating>(x: L) -> L {
    let size = magnitude(x);
    let rest = L::lit(1.0) - tail(size);
    let signed = L::select(x.lt(L::lit(0.0)), -rest, rest);
    L::select(size.lt(L::lit(0.75)), x * series(x * x, &ERF, 9), signed)
}

/// Complementary error function.
#[inline(always)]
pub fn erfc<L: Floating>(x: L) -> L {
    let value = tail(magnitude(x));
    L::select(x.lt(L::lit(0.0)), L::lit(2.0) - value, value)
}

/// Energy and force of a Gaussian charge, see [`electrostatics::gaussian`]. Single precision takes fewer
/// operations, up to [`electrostatics::WIDEST_SINGLE`].
#[inline(always)]
pub fn gaussian<L: Floating>(square: L) -> (L, L) {
    if L::is_double() {
        return electrostatics::gaussian(square);
    }
    // Lanes further than that are beyond the cut-off, but must be finite.
    gaussian_single(-(-square).max(L::lit(-HIGHEST)))
}
