//! Operations on vectors of any type of number.
//!
//! These are functions rather than closures, and arrays are written out rather than mapped: code that is not
//! inlined for certain would be compiled without the instruction set of SIMD registers.

use crate::Real;

/// a - b
#[inline(always)]
pub fn minus<R: Real>(a: [R; 3], b: [R; 3]) -> [R; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// a + b
#[inline(always)]
pub fn plus<R: Real>(a: [R; 3], b: [R; 3]) -> [R; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Scalar product.
#[inline(always)]
pub fn dot<R: Real>(a: [R; 3], b: [R; 3]) -> R {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

/// Vector product.
#[inline(always)]
pub fn cross<R: Real>(a: [R; 3], b: [R; 3]) -> [R; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// r + factor d
#[inline(always)]
pub fn along<R: Real>(r: [R; 3], factor: R, d: [R; 3]) -> [R; 3] {
    [factor.mul_add(d[0], r[0]), factor.mul_add(d[1], r[1]), factor.mul_add(d[2], r[2])]
}
