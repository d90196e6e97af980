//! Vectors of any type of number.
//!
//! Components are written out rather than mapped, and all is inlined for certain: what is not would be compiled
//! without the instruction set of SIMD registers.

use crate::Real;
use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug, Formatter};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Deref, DerefMut, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A vector in space: of plain numbers ([`Vec3`]), or of any type that formulas are generic over. Its components are
/// those of the array that it is; in memory, in files and on devices it is nothing else.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Zeroable, Pod)]
#[repr(transparent)]
#[serde(transparent)]
pub struct Vector<R>(pub [R; 3]);

/// A vector of double-precision numbers.
pub type Vec3 = Vector<f64>;

impl Vec3 {
    /// The vector whose components are zero.
    pub const ZERO: Self = Vector([0.0; 3]);
}

impl<R> Vector<R> {
    /// The vector with these components.
    #[inline(always)]
    pub const fn new(x: R, y: R, z: R) -> Self {
        Vector([x, y, z])
    }

    /// The vector whose components are a function of their axes.
    #[inline(always)]
    pub fn from_fn(mut component: impl FnMut(usize) -> R) -> Self {
        Vector([component(0), component(1), component(2)])
    }

    /// The vector of a function of each component.
    #[inline(always)]
    pub fn map<S>(self, mut function: impl FnMut(R) -> S) -> Vector<S> {
        let [x, y, z] = self.0;
        Vector([function(x), function(y), function(z)])
    }
}

impl<R: Real> Vector<R> {
    /// Scalar product.
    #[inline(always)]
    pub fn dot(self, b: Self) -> R {
        self[0].mul_add(b[0], self[1].mul_add(b[1], self[2] * b[2]))
    }

    /// Vector product.
    #[inline(always)]
    pub fn cross(self, b: Self) -> Self {
        let a = self;
        Vector([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
    }

    /// `self + factor d`, each component rounded once where the hardware can.
    #[inline(always)]
    pub fn along(self, factor: R, d: Self) -> Self {
        Vector([factor.mul_add(d[0], self[0]), factor.mul_add(d[1], self[1]), factor.mul_add(d[2], self[2])])
    }

    /// Square of the length.
    #[inline(always)]
    pub fn norm_squared(self) -> R {
        self.dot(self)
    }

    /// Length.
    #[inline(always)]
    pub fn norm(self) -> R {
        self.norm_squared().sqrt()
    }
}

impl<R> Deref for Vector<R> {
    type Target = [R; 3];

    #[inline(always)]
    fn deref(&self) -> &[R; 3] {
        &self.0
    }
}

impl<R> DerefMut for Vector<R> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [R; 3] {
        &mut self.0
    }
}

impl<R> From<[R; 3]> for Vector<R> {
    #[inline(always)]
    fn from(components: [R; 3]) -> Self {
        Vector(components)
    }
}

impl<R> From<Vector<R>> for [R; 3] {
    #[inline(always)]
    fn from(vector: Vector<R>) -> Self {
        vector.0
    }
}

impl<R: PartialEq> PartialEq<[R; 3]> for Vector<R> {
    #[inline(always)]
    fn eq(&self, other: &[R; 3]) -> bool {
        self.0 == *other
    }
}

impl<R> IntoIterator for Vector<R> {
    type Item = R;
    type IntoIter = std::array::IntoIter<R, 3>;

    #[inline(always)]
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, R> IntoIterator for &'a Vector<R> {
    type Item = &'a R;
    type IntoIter = std::slice::Iter<'a, R>;

    #[inline(always)]
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, R> IntoIterator for &'a mut Vector<R> {
    type Item = &'a mut R;
    type IntoIter = std::slice::IterMut<'a, R>;

    #[inline(always)]
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

/// Printed as the array of its components.
impl<R: Debug> Debug for Vector<R> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<R: Real> Add for Vector<R> {
    type Output = Self;

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Vector([self[0] + b[0], self[1] + b[1], self[2] + b[2]])
    }
}

impl<R: Real> Sub for Vector<R> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Vector([self[0] - b[0], self[1] - b[1], self[2] - b[2]])
    }
}

impl<R: Real> Neg for Vector<R> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Vector([-self[0], -self[1], -self[2]])
    }
}

impl<R: Real> Mul<R> for Vector<R> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: R) -> Self {
        Vector([self[0] * factor, self[1] * factor, self[2] * factor])
    }
}

impl Mul<Vec3> for f64 {
    type Output = Vec3;

    #[inline(always)]
    fn mul(self, vector: Vec3) -> Vec3 {
        vector * self
    }
}

impl<R: Real> Div<R> for Vector<R> {
    type Output = Self;

    #[inline(always)]
    fn div(self, divisor: R) -> Self {
        Vector([self[0] / divisor, self[1] / divisor, self[2] / divisor])
    }
}

impl<R: Real> AddAssign for Vector<R> {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl<R: Real> SubAssign for Vector<R> {
    #[inline(always)]
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}

impl<R: Real> MulAssign<R> for Vector<R> {
    #[inline(always)]
    fn mul_assign(&mut self, factor: R) {
        *self = *self * factor;
    }
}

impl<R: Real> DivAssign<R> for Vector<R> {
    #[inline(always)]
    fn div_assign(&mut self, divisor: R) {
        *self = *self / divisor;
    }
}

impl<R: Real> Sum for Vector<R> {
    #[inline(always)]
    fn sum<I: Iterator<Item = Self>>(vectors: I) -> Self {
        let zero = R::lit(0.0);
        vectors.fold(Vector([zero, zero, zero]), |sum, vector| sum + vector)
    }
}

/// Components of many vectors as one list.
pub trait Components<R> {
    /// Components of the first vector, then those of the second, and so on.
    fn as_flattened(&self) -> &[R];

    /// Components of the first vector, then those of the second, and so on, to be changed.
    fn as_flattened_mut(&mut self) -> &mut [R];
}

impl<R: Pod> Components<R> for [Vector<R>] {
    fn as_flattened(&self) -> &[R] {
        bytemuck::cast_slice(self)
    }

    fn as_flattened_mut(&mut self) -> &mut [R] {
        bytemuck::cast_slice_mut(self)
    }
}

/// The vectors whose components are these numbers, three by three; numbers left over at the end are left out.
pub fn vectors_of<R: Pod>(components: &[R]) -> &[Vector<R>] {
    bytemuck::cast_slice(components.as_chunks::<3>().0)
}
