//! The type of numbers that formulas are generic over.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number that a formula can be evaluated on: a plain `f64`, a SIMD register full of atoms
/// (`jostle-cpu`), a value with its derivative ([`crate::Dual`]), or a recorder that writes the
/// formula down as source code for a GPU.
///
/// A potential, a truncation or a thermostat's update is one function generic over `Real`; there
/// is no second copy of any formula. There are no branches on values: write `R::select(a.lt(b),
/// x, y)`, where both sides are evaluated.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The outcome of a comparison.
    type Mask: Copy;

    /// A constant.
    fn lit(value: f64) -> Self;
    /// `self * b + c`, rounded once where the hardware can.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `1 / self`, to within a few units in the last place; may be faster than a division.
    fn recip(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// `1 / sqrt(self)`, to within a few units in the last place.
    fn rsqrt(self) -> Self;
    /// `1 / self` and `1 / self^(3/2)` by one root, to within some units in the last place.
    #[inline(always)]
    fn inverse_powers(self) -> [Self; 2] {
        let inverse = self.rsqrt();
        let square = inverse * inverse;
        [square, inverse * square]
    }
    /// The exponential function of arguments whose exponential is a number (up to 88 in single precision); 0 far below
    /// the smallest number.
    fn exp(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// The angle from 0 to pi with this cosine. Too slow for formulas of pairs: lanes compute it one by one.
    fn acos(self) -> Self;
    /// The sine of an angle in radians; its error grows with the angle's rounding.
    fn sin(self) -> Self;
    /// The cosine of an angle in radians; its error grows with the angle's rounding.
    fn cos(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The error function.
    fn erf(self) -> Self;
    /// 1 - erf, accurate where that is small.
    fn erfc(self) -> Self;
    /// `self < other`.
    fn lt(self, other: Self) -> Self::Mask;
    /// `a` where the mask is set, `b` elsewhere.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
}

impl Real for f64 {
    type Mask = bool;

    #[inline(always)]
    fn lit(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn mul_add(self, b: f64, c: f64) -> f64 {
        // A product and a sum, as `f64::mul_add` is a call into libm without hardware FMA.
        self * b + c
    }
    #[inline(always)]
    fn recip(self) -> f64 {
        1.0 / self
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn rsqrt(self) -> f64 {
        1.0 / f64::sqrt(self)
    }
    #[inline(always)]
    fn exp(self) -> f64 {
        f64::exp(self)
    }
    #[inline(always)]
    fn ln(self) -> f64 {
        f64::ln(self)
    }
    #[inline(always)]
    fn acos(self) -> f64 {
        f64::acos(self)
    }
    #[inline(always)]
    fn sin(self) -> f64 {
        f64::sin(self)
    }
    #[inline(always)]
    fn cos(self) -> f64 {
        f64::cos(self)
    }
    #[inline(always)]
    fn tanh(self) -> f64 {
        f64::tanh(self)
    }
    #[inline(always)]
    fn erf(self) -> f64 {
        libm::erf(self)
    }
    #[inline(always)]
    fn erfc(self) -> f64 {
        libm::erfc(self)
    }
    #[inline(always)]
    fn lt(self, other: f64) -> bool {
        self < other
    }
    #[inline(always)]
    fn select(mask: bool, a: f64, b: f64) -> f64 {
        if mask { a } else { b }
    }
}
