//! Reciprocals and roots from a processor's guesses.

use jostle_core::Real;

/// 1 / x from a guess: one Newton step, which doubles its bits.
#[inline(always)]
pub fn recip<R: Real>(x: R, y: R) -> R {
    y.mul_add(-x.mul_add(y, R::lit(-1.0)), y)
}

/// 1 / x by one step of third order, for guesses of few bits: what a Newton step leaves is of one sign, and
/// adds up.
#[inline(always)]
pub fn recip_from_far<R: Real>(x: R, y: R) -> R {
    let rest = -x.mul_add(y, R::lit(-1.0));
    y.mul_add(rest.mul_add(rest, rest), y)
}

/// 1 / sqrt(x) from a guess: one Newton step, which doubles its bits.
#[inline(always)]
pub fn rsqrt<R: Real>(x: R, y: R) -> R {
    (y * R::lit(0.5)).mul_add(-(x * y).mul_add(y, R::lit(-1.0)), y)
}

/// 1 / x and 1 / x^(3/2) from a guess of 1 / sqrt(x), one step each.
#[inline(always)]
pub fn inverse_powers<R: Real>(x: R, y: R) -> [R; 2] {
    let square = y * y;
    let cube = y * square;
    let rest = -x.mul_add(square, R::lit(-1.0));
    [square.mul_add(rest, square), (cube * R::lit(1.5)).mul_add(rest, cube)]
}

/// 1 / sqrt(x) by one Halley step, for guesses of few bits: what a Newton step leaves is of one sign, and
/// adds up.
#[inline(always)]
pub fn rsqrt_from_far<R: Real>(x: R, y: R) -> R {
    let rest = -(x * y).mul_add(y, R::lit(-1.0));
    (y * rest).mul_add(rest.mul_add(R::lit(0.375), R::lit(0.5)), y)
}
