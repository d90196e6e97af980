//! Reciprocals and roots from a processor's guesses.

use jostle_core::Real;

/// 1 / x from a guess: one Newton step, which doubles its bits.
#[inline(always)]
pub fn recip<R: Real>(x: R, y: R) -> R {
    y.mul_add(-x.mul_add(y, R::lit(-1.0)), y)
}

/// 1 / sqrt(x) from a guess: one Newton step, which doubles its bits.
#[inline(always)]
pub fn rsqrt<R: Real>(x: R, y: R) -> R {
    (y * R::lit(0.5)).mul_add(-(x * y).mul_add(y, R::lit(-1.0)), y)
}

/// The same by one Halley step, for guesses of few bits: what a Newton step leaves is of one sign, and
/// adds up.
#[inline(always)]
pub fn rsqrt_from_far<R: Real>(x: R, y: R) -> R {
    let rest = -(x * y).mul_add(y, R::lit(-1.0));
    (y * rest).mul_add(rest.mul_add(R::lit(0.375), R::lit(0.5)), y)
}
