//! Exact derivatives, against which every force formula is tested.

use crate::real::Real;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A value and its derivative with respect to one chosen variable (forward-mode automatic
/// differentiation). `Dual<Dual<f64>>` gives second derivatives.
#[derive(Debug, Clone, Copy)]
pub struct Dual<R> {
    /// The value.
    pub value: R,
    /// Derivative of the value.
    pub slope: R,
}

impl<R: Real> Dual<R> {
    /// The variable itself: derivative one.
    pub fn variable(value: R) -> Self {
        Dual { value, slope: R::lit(1.0) }
    }

    /// A constant: derivative zero.
    pub fn constant(value: R) -> Self {
        Dual { value, slope: R::lit(0.0) }
    }
}

impl<R: Real> Add for Dual<R> {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Dual { value: self.value + o.value, slope: self.slope + o.slope }
    }
}

impl<R: Real> Sub for Dual<R> {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Dual { value: self.value - o.value, slope: self.slope - o.slope }
    }
}

impl<R: Real> Mul for Dual<R> {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Dual { value: self.value * o.value, slope: self.slope * o.value + self.value * o.slope }
    }
}

impl<R: Real> Div for Dual<R> {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let quotient = self.value / o.value;
        Dual { value: quotient, slope: (self.slope - quotient * o.slope) / o.value }
    }
}

impl<R: Real> Neg for Dual<R> {
    type Output = Self;
    fn neg(self) -> Self {
        Dual { value: -self.value, slope: -self.slope }
    }
}

impl<R: Real> Real for Dual<R> {
    type Mask = R::Mask;

    fn lit(value: f64) -> Self {
        Self::constant(R::lit(value))
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        self * b + c
    }
    fn recip(self) -> Self {
        let value = self.value.recip();
        Dual { value, slope: -self.slope * value * value }
    }
    fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        Dual { value, slope: R::lit(0.5) * self.slope / value }
    }
    fn rsqrt(self) -> Self {
        self.sqrt().recip()
    }
    fn exp(self) -> Self {
        let value = self.value.exp();
        Dual { value, slope: self.slope * value }
    }
    fn ln(self) -> Self {
        Dual { value: self.value.ln(), slope: self.slope / self.value }
    }
    fn acos(self) -> Self {
        let sine = (R::lit(1.0) - self.value * self.value).sqrt();
        Dual { value: self.value.acos(), slope: -self.slope / sine }
    }
    fn sin(self) -> Self {
        Dual { value: self.value.sin(), slope: self.slope * self.value.cos() }
    }
    fn cos(self) -> Self {
        Dual { value: self.value.cos(), slope: -self.slope * self.value.sin() }
    }
    fn tanh(self) -> Self {
        let value = self.value.tanh();
        Dual { value, slope: self.slope * (R::lit(1.0) - value * value) }
    }
    fn erf(self) -> Self {
        Dual { value: self.value.erf(), slope: self.slope * bell(self.value) }
    }
    fn erfc(self) -> Self {
        Dual { value: self.value.erfc(), slope: -self.slope * bell(self.value) }
    }
    fn lt(self, other: Self) -> R::Mask {
        self.value.lt(other.value)
    }
    fn select(mask: R::Mask, a: Self, b: Self) -> Self {
        Dual { value: R::select(mask, a.value, b.value), slope: R::select(mask, a.slope, b.slope) }
    }
}

/// The derivative of the error function.
fn bell<R: Real>(x: R) -> R {
    R::lit(std::f64::consts::FRAC_2_SQRT_PI) * (-(x * x)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that uses every operation of `Real`.
    fn everything<R: Real>(x: R) -> R {
        let a = (x * x + R::lit(1.0)).sqrt() / x;
        let b = (-x).exp() - x.rsqrt() * x.recip();
        let c = x.ln() * x.sin() + x.cos() * x.tanh() - (x * a).erf() * x.erfc();
        let d = (x * R::lit(0.2)).acos();
        R::select(x.lt(R::lit(10.0)), a.mul_add(b, d) + c, R::lit(0.0))
    }

    #[test]
    fn derivative_equals_central_difference() {
        for x in [0.3, 0.9, 1.7, 4.2] {
            let h = 1e-5;
            let numeric = (everything(x + h) - everything(x - h)) / (2.0 * h);
            let exact = everything(Dual::variable(x)).slope;
            assert!((numeric - exact).abs() < 1e-8 * exact.abs().max(1.0), "{numeric} {exact}");
            let second = everything(Dual::variable(Dual::variable(x))).slope.slope;
            let slope = |x| everything(Dual::variable(x)).slope;
            let numeric = (slope(x + h) - slope(x - h)) / (2.0 * h);
            assert!((numeric - second).abs() < 1e-8 * second.abs().max(1.0));
        }
    }
}
