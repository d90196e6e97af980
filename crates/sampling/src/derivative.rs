//! Exact derivatives of functions of a few vectors, by numbers that carry their derivative.

use jostle_core::{Dual, Real, Vector};

/// A number with the angle of a point in the plane.
pub trait Planar: Real {
    /// Angle of the point (x, y) from the first axis, from -pi to pi.
    fn angle(x: Self, y: Self) -> Self;
}

impl Planar for f64 {
    fn angle(x: f64, y: f64) -> f64 {
        y.atan2(x)
    }
}

impl<R: Planar> Planar for Dual<R> {
    fn angle(x: Self, y: Self) -> Self {
        let square = x.value * x.value + y.value * y.value;
        let slope = (x.value * y.slope - y.value * x.slope) / square;
        Dual { value: R::angle(x.value, y.value), slope }
    }
}

/// A function of a few vectors, written once for every kind of number.
pub trait VectorFunction<const N: usize> {
    /// Value of the function.
    fn of<R: Planar>(&self, vectors: [Vector<R>; N]) -> R;
}

/// Value and derivative with each component of each vector.
pub fn with_gradient<const N: usize, R: Planar>(
    function: &impl VectorFunction<N>,
    vectors: [Vector<R>; N],
) -> (R, [Vector<R>; N]) {
    let mut gradient = [Vector([R::lit(0.0); 3]); N];
    for (n, k) in (0..N).flat_map(|n| [0, 1, 2].map(|k| (n, k))) {
        let mut all = vectors.map(|v| v.map(Dual::constant));
        all[n][k].slope = R::lit(1.0);
        gradient[n][k] = function.of(all).slope;
    }
    (function.of(vectors), gradient)
}

/// Slope of a function of one number.
pub fn slope(x: f64, function: impl Fn(Dual<f64>) -> Dual<f64>) -> f64 {
    function(Dual::variable(x)).slope
}
