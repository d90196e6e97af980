//! Rigid molecules of water in closed form: SETTLE.

use crate::{Real, Vector};

/// A rigid triangle of three atoms, the last two of which have the same mass and the same distance
/// from the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Water<R> {
    /// Distance from the centre of mass to the first atom.
    pub to_apex: R,
    /// Distance from the centre of mass to the middle between the last two atoms.
    pub to_base: R,
    /// Half the distance between the last two atoms.
    pub half_base: R,
    /// Part of the mass that each of the last two atoms has.
    pub weight: R,
}

impl Water<f64> {
    /// `None` where these atoms are something else.
    pub(super) fn new(pairs: &[[usize; 2]], lengths: &[f64], masses: &[f64]) -> Option<Self> {
        if pairs != [[0, 1], [0, 2], [1, 2]] {
            return None;
        }
        let (&[arm, other, base], &[apex, end, last]) = (lengths, masses) else { return None };
        if arm != other || end != last || !(apex + end).is_finite() || base >= 2.0 * arm {
            return None;
        }
        let weight = end / (apex + 2.0 * end);
        let height = (arm * arm - 0.25 * base * base).sqrt();
        let to_apex = 2.0 * weight * height;
        Some(Water { to_apex, to_base: height - to_apex, half_base: 0.5 * base, weight })
    }
}

/// A vector of length one along v.
#[inline(always)]
fn unit<R: Real>(v: Vector<R>) -> Vector<R> {
    v * v.norm_squared().rsqrt()
}

/// The cosine that belongs to a sine, if positive.
#[inline(always)]
fn cosine<R: Real>(sine: R) -> R {
    (R::lit(1.0) - sine * sine).sqrt()
}

/// p a + q b
#[inline(always)]
fn mixed<R: Real>(p: R, a: Vector<R>, q: R, b: Vector<R>) -> Vector<R> {
    Vector([p.mul_add(a[0], q * b[0]), p.mul_add(a[1], q * b[1]), p.mul_add(a[2], q * b[2])])
}

/// SETTLE: positions of the atoms of a molecule of water that drifted from `before` to `now`, by the equations of
/// Miyamoto and Kollman (1992); not a number where the atoms have flown apart.
#[inline(always)]
pub fn settle<R: Real>(water: &Water<R>, before: [Vector<R>; 3], now: [Vector<R>; 3]) -> [Vector<R>; 3] {
    let Water { to_apex, to_base, half_base, weight } = *water;
    // Vectors are counted from the first atom, so that no digits are lost.
    let (b0, c0) = (before[1] - before[0], before[2] - before[0]);
    let ends = [now[1] - now[0], now[2] - now[0]];
    let center = mixed(weight, ends[0], weight, ends[1]);
    let a1 = -center;
    let (b1, c1) = (ends[0] - center, ends[1] - center);
    // Axes: z across the plane of the molecule before, x across the apex now.
    let z = unit(b0.cross(c0));
    let x = unit(a1.cross(z));
    let y = z.cross(x);
    let (b0, c0) = ([x.dot(b0), y.dot(b0)], [x.dot(c0), y.dot(c0)]);
    let heights = [z.dot(a1), z.dot(b1), z.dot(c1)];
    let (b1, c1) = ([x.dot(b1), y.dot(b1)], [x.dot(c1), y.dot(c1)]);
    // Tilted so that heights are what they are (eqs. A8 to A10),
    let sin_phi = heights[0] / to_apex;
    let cos_phi = cosine(sin_phi);
    let sin_psi = (heights[1] - heights[2]) / (R::lit(2.0) * half_base * cos_phi);
    let cos_psi = cosine(sin_psi);
    let ya = to_apex * cos_phi;
    let xb = -(half_base * cos_psi);
    let (middle, lift) = (to_base * cos_phi, half_base * sin_psi * sin_phi);
    let (yb, yc) = (-middle - lift, lift - middle);
    // then turned about z so that impulses are along the arms before (eqs. A15 to A17).
    let alpha = xb * (b0[0] - c0[0]) + b0[1] * yb + c0[1] * yc;
    let beta = xb * (c0[1] - b0[1]) + b0[0] * yb + c0[0] * yc;
    let gamma = b0[0] * b1[1] - b1[0] * b0[1] + c0[0] * c1[1] - c1[0] * c0[1];
    let both = alpha * alpha + beta * beta;
    let sin_theta = (alpha * gamma - beta * (both - gamma * gamma).sqrt()) / both;
    let cos_theta = cosine(sin_theta);
    let (u, v) = (mixed(cos_theta, x, sin_theta, y), mixed(cos_theta, y, -sin_theta, x));
    // Positions from the centre of mass.
    let apex = mixed(ya, v, heights[0], z);
    let left = mixed(xb, u, yb, v).along(heights[1], z);
    let right = mixed(-xb, u, yc, v).along(heights[2], z);
    let center = now[0] + center;
    [center + apex, center + left, center + right]
}
