//! Reciprocals and roots from a processor's estimates.

use jostle_core::Real;

/// Reciprocal from an estimate by one Newton step, which doubles its bits.
#[inline(always)]
pub fn recip<R: Real>(x: R, y: R) -> R {
    y.mul_add(-x.mul_add(y, R::lit(-1.0)), y)
}

/// Reciprocal by one step of third order, for estimates of few bits: errors of a Newton step have one sign
/// and add up.
#[inline(always)]
pub fn recip_from_far<R: Real>(x: R, y: R) -> R {
    let rest = -x.mul_add(y, R::lit(-1.0));
    y.mul_add(rest.mul_add(rest, rest), y)
}

/// Reciprocal root from an estimate by one Newton step, which doubles its bits.
#[inline(always)]
pub fn rsqrt<R: Real>(x: R, y: R) -> R {
    (y * R::lit(0.5)).mul_add(-(x * y).mul_add(y, R::lit(-1.0)), y)
}

/// Powers 1 / x and 1 / x^(3/2) from an estimate of 1 / sqrt(x), one step each.
#[inline(always)]
pub fn inverse_powers<R: Real>(x: R, y: R) -> [R; 2] {
    let square = y * y;
    let cube = y * square;
    let rest = -x.mul_add(square, R::lit(-1.0));
    [square.mul_add(rest, square), (cube * R::lit(1.5)).mul_add(rest, cube)]
}

/// Reciprocal root by one Halley step, for estimates of few bits: errors of a Newton step have one sign and
/// add up.
#[inline(always)]
pub fn rsqrt_from_far<R: Real>(x: R, y: R) -> R {
    let rest = -(x * y).mul_add(y, R::lit(-1.0));
    (y * rest).mul_add(rest.mul_add(R::lit(0.375), R::lit(0.5)), y)
}
