//! The exponential function on lanes, the same on every instruction set but for single precision
//! with AVX-512, which has instructions for it.

use super::Floating;

/// The logarithm ln 2 in two parts: the first has so few bits that its product with a small whole number is
/// exact.
const LN2: [f64; 2] = [0.693_145_751_953_125, 1.428_606_820_309_417_2e-6];

/// Exponential function by x = n ln 2 + r, |r| <= ln(2)/2, and the Taylor series of e^r up to r^`degree`.
/// Below `lowest`, where 2^n leaves the range of exponents, the result is 0.
#[inline(always)]
pub fn exp<L: Floating>(x: L, lowest: f64, inverse_factorials: &[f64]) -> L {
    let inside = L::lit(lowest).lt(x);
    let (n, r) = reduce(x.max(L::lit(lowest)));
    let mut series = L::lit(inverse_factorials[0]);
    for &c in &inverse_factorials[1..] {
        series = series.mul_add(r, L::lit(c));
    }
    L::select(inside, series.times_power_of_two(n), L::lit(0.0))
}

/// The binary logarithm of e in single precision, and its rounding error.
#[cfg(target_arch = "x86_64")]
const LOG2_E: [f64; 2] = [1.442_695_021_629_333_5, 1.925_962_991_126_617_5e-8];

/// Registers with instructions for powers of two.
#[cfg(target_arch = "x86_64")]
pub trait Scaling: Floating {
    /// Difference from the next lower whole number.
    fn fraction(self) -> Self;
    /// Product of `self` and 2^floor(n) for any n; 0 where the mask is not set.
    fn scaled_where(self, n: Self, mask: Self::Mask) -> Self;
}

/// Exponential function in single precision by 2^x = 2^floor(x) 2^(x - floor(x)), both parts by single
/// instructions.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn exp_by_scaling<L: Scaling>(x: L) -> L {
    let y = x * L::lit(LOG2_E[0]);
    let inside = L::lit(LOWEST_SINGLE * LOG2_E[0]).lt(y);
    // The rounding error of the product counts where the product is large.
    let lost = x.mul_add(L::lit(LOG2_E[0]), -y);
    let lost = x.mul_add(L::lit(LOG2_E[1]), lost);
    let part = y.fraction() + lost;
    let mut series = L::lit(POWER_OF_TWO[0]);
    for &c in &POWER_OF_TWO[1..] {
        series = series.mul_add(part, L::lit(c));
    }
    series.scaled_where(y, inside)
}

/// Whole n and small r with x = n ln 2 + r.
#[inline(always)]
pub fn reduce<L: Floating>(x: L) -> (L, L) {
    let n = (x * L::lit(std::f64::consts::LOG2_E)).round();
    let r = n.mul_add(L::lit(-LN2[0]), x);
    (n, n.mul_add(L::lit(-LN2[1]), r))
}

/// Coefficients 1/7! to 1/0!; the error of the series is 5e-9.
pub const SINGLE: [f64; 8] = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];

/// The polynomial of degree 6 that is 2^x at the Chebyshev nodes of 0 to 1, highest power first: its
/// error is 2.6e-9 there.
#[cfg(target_arch = "x86_64")]
pub const POWER_OF_TWO: [f64; 7] = [
    2.186_578_478_659_805_3e-4,
    1.239_133_183_441_148e-3,
    9.684_186_310_342_369e-3,
    5.548_063_019_670_533e-2,
    2.402_304_544_123_056_7e-1,
    6.931_469_327_588_669e-1,
    1.000_000_002_530_745_2,
];

/// Coefficients 1/13! to 1/0!; the error of the series is 5e-18.
pub const DOUBLE: [f64; 14] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// Argument at which single-precision results become denormal.
pub const LOWEST_SINGLE: f64 = -87.0;

/// Argument at which double-precision results become denormal.
pub const LOWEST_DOUBLE: f64 = -708.0;
