//! The geometry of a dihedral angle, and the forces that follow from it: A. Blondel and M. Karplus,
//! J. Comput. Chem. 17 (1996) 1132, which has no singularity where the four atoms are in a plane.

use jostle_core::{Real, Vector};

/// A dihedral: energy and slope as a function of cosine and sine of its angle.
pub trait DihedralFunction: Copy + Send + Sync + 'static {
    /// Number of coefficients that [`DihedralFunction::evaluate`] reads.
    const N_COEFFICIENTS: usize;

    /// Energy u and du/d(phi).
    fn evaluate<R: Real>(cosine: R, sine: R, c: &[R]) -> (R, R);
}

/// Smallest sine of a bend that counts: three atoms nearer to a straight line have no plane, and forces would
/// be without bounds.
const SMALLEST_SINE: f64 = 1e-6;

/// A dihedral angle, from the three vectors that lead from atom to atom.
pub struct DihedralAngle<R> {
    /// cos(phi)
    pub cosine: R,
    /// sin(phi); phi is 0 where the ends are on the same side (cis), and positive for a right-handed
    /// screw (IUPAC).
    pub sine: R,
    /// The normals of both planes over their squares.
    normals: [Vector<R>; 2],
    /// The length of the vector in the middle.
    length: R,
    /// The first vector and the last one, projected on the one in the middle.
    along: [R; 2],
}

impl<R: Real> DihedralAngle<R> {
    /// Angle of the vectors from the first atom to the second, on to the third, and to the fourth.
    #[inline(always)]
    pub fn new([first, middle, last]: [Vector<R>; 3]) -> Self {
        let (a, b) = (first.cross(middle), middle.cross(last));
        let middle2 = middle.norm_squared();
        let inv_length = middle2.rsqrt();
        let length = middle2 * inv_length;
        let square = |normal: Vector<R>, arm: Vector<R>| {
            let least = R::lit(SMALLEST_SINE * SMALLEST_SINE) * arm.norm_squared() * middle2;
            let square = normal.norm_squared();
            R::select(least.lt(square), square, least)
        };
        let (a2, b2) = (square(a, first), square(b, last));
        let (inv_a, inv_b) = (a2.rsqrt(), b2.rsqrt());
        let both = inv_a * inv_b;
        let over = |normal: Vector<R>, inv: R| normal.map(|x| x * inv * inv);
        DihedralAngle {
            cosine: a.dot(b) * both,
            // The shorter formula with first . b loses digits twice where both ends are nearly straight.
            sine: a.cross(b).dot(middle) * inv_length * both,
            normals: [over(a, inv_a), over(b, inv_b)],
            length,
            along: [first.dot(middle) * inv_length, last.dot(middle) * inv_length],
        }
    }

    /// The angle, from -pi to pi.
    #[inline(always)]
    pub fn angle(&self) -> R {
        angle(self.cosine, self.sine)
    }

    /// Forces along the three vectors, on their tips, where the energy has this slope du/d(phi). The force on
    /// an atom is that of the vector that ends at it less that of the vector that begins there.
    #[inline(always)]
    pub fn forces(&self, slope: R) -> [Vector<R>; 3] {
        let [a, b] = self.normals;
        let end = -slope * self.length;
        let (by_a, by_b) = (slope * self.along[0], slope * self.along[1]);
        let middle = Vector([
            by_a.mul_add(a[0], by_b * b[0]),
            by_a.mul_add(a[1], by_b * b[1]),
            by_a.mul_add(a[2], by_b * b[2]),
        ]);
        [a.map(|x| end * x), middle, b.map(|x| end * x)]
    }
}

/// The angle from -pi to pi with this cosine and sine: by the inverse of the smaller of both, as that
/// of the other one is inexact near its ends.
#[inline(always)]
pub(super) fn angle<R: Real>(cosine: R, sine: R) -> R {
    let (zero, one, steep) = (R::lit(0.0), R::lit(1.0), R::lit(0.75));
    let (half, right) = (R::lit(std::f64::consts::PI), R::lit(std::f64::consts::FRAC_PI_2));
    let (near, far) = (steep.lt(cosine), cosine.lt(-steep));
    let smaller = R::select(near, sine, R::select(far, sine, cosine));
    let smaller = R::select(smaller.lt(one), smaller, one);
    let smaller = R::select((-one).lt(smaller), smaller, -one);
    let arc = smaller.acos();
    let left = sine.lt(zero);
    let around = R::select(left, -half, half) - (right - arc);
    R::select(near, right - arc, R::select(far, around, R::select(left, -arc, arc)))
}

/// The energy of a dihedral and the forces along its three vectors; see [`DihedralAngle::forces`].
#[inline(always)]
pub fn dihedral_forces<F: DihedralFunction, R: Real>(
    vectors: [Vector<R>; 3],
    c: &[R],
) -> (R, [Vector<R>; 3]) {
    let turn = DihedralAngle::new(vectors);
    let (energy, slope) = F::evaluate(turn.cosine, turn.sine, c);
    (energy, turn.forces(slope))
}
