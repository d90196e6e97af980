//! Energy maps over two dihedral angles (CMAP): A. D. MacKerell, M. Feig and C. L. Brooks,
//! J. Comput. Chem. 25 (2004) 1400. Between its points a map is a bicubic polynomial; the slopes at
//! the points are those of periodic cubic splines, as in OpenMM.

use super::dihedral::DihedralAngle;
use jostle_core::{Error, Real, Result, Vec3, Vector};
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, TAU};

/// A map, periodic in both angles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cmap {
    /// Points along each angle.
    size: usize,
    /// Energy at each point, the first angle running faster, with its slopes along both angles and its mixed
    /// second derivative, per point.
    nodes: Vec<[f64; 4]>,
}

impl Cmap {
    /// The name of the energy.
    pub const TERM: &'static str = "cmap";

    /// A map from energies at `size` times `size` points, the first angle running faster; both begin at -180
    /// degrees.
    ///
    /// # Errors
    /// If there are not so many energies, fewer than three points along an angle, or one that is not
    /// finite.
    pub fn new(size: usize, energies: &[f64]) -> Result<Self> {
        if size < 3 || Some(energies.len()) != size.checked_mul(size) {
            let n = energies.len();
            return Err(Error::input(format!("a map of {size} x {size} points with {n} energies")));
        }
        if energies.iter().any(|e| !e.is_finite()) {
            return Err(Error::input("a map has an energy that is not a finite number"));
        }
        let first = |values: &[f64]| -> Vec<f64> { values.chunks(size).flat_map(slopes).collect() };
        let turned = |values: &[f64]| -> Vec<f64> {
            (0..size * size).map(|k| values[k % size * size + k / size]).collect()
        };
        let second = |values: &[f64]| turned(&first(&turned(values)));
        let (along, across) = (first(energies), second(energies));
        let both = second(&along);
        let nodes = (0..size * size).map(|k| [energies[k], along[k], across[k], both[k]]).collect();
        Ok(Cmap { size, nodes })
    }

    /// Points along each angle.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The energies that it was made from.
    pub fn energies(&self) -> impl Iterator<Item = f64> + '_ {
        self.nodes.iter().map(|node| node[0])
    }

    /// Energy and derivatives of every point: see [`interpolate`].
    pub fn nodes(&self) -> &[[f64; 4]] {
        &self.nodes
    }

    /// Energy and slopes at two angles from -pi to pi.
    pub fn evaluate(&self, angles: [f64; 2]) -> (f64, [f64; 2]) {
        let place = angles.map(|angle| place(angle, self.per_radian()));
        let cell = place.map(|x| x.floor().max(0.0));
        let (energy, slopes) = interpolate([place[0] - cell[0], place[1] - cell[1]], self.corners(cell));
        (energy, slopes.map(|slope| slope * self.per_radian()))
    }

    /// The energy of five atoms in a row and the forces along the four vectors from each to the next,
    /// on their tips; see [`DihedralAngle::forces`].
    pub fn forces(&self, vectors: [Vec3; 4]) -> (f64, [Vec3; 4]) {
        let place = places(vectors, self.per_radian());
        let cell = place.map(|x| x.floor().max(0.0));
        let within = [place[0] - cell[0], place[1] - cell[1]];
        forces_within(vectors, within, self.corners(cell), self.per_radian())
    }

    /// Points for each radian.
    pub fn per_radian(&self) -> f64 {
        self.size as f64 / TAU
    }

    fn corners(&self, cell: [f64; 2]) -> [[f64; 4]; 4] {
        let node = |i: usize, j: usize| {
            let at = |x: f64, step: usize| (x as usize + step) % self.size;
            self.nodes[at(cell[0], i) + self.size * at(cell[1], j)]
        };
        [node(0, 0), node(1, 0), node(0, 1), node(1, 1)]
    }
}

/// Coordinate of an angle from -pi to pi, in points from the first one.
fn place<R: Real>(angle: R, per_radian: R) -> R {
    (angle + R::lit(PI)) * per_radian
}

/// Coordinates of both angles of five atoms in a row on a map, in points from the first one.
pub fn places<R: Real>([a, b, c, d]: [Vector<R>; 4], per_radian: R) -> [R; 2] {
    [DihedralAngle::new([a, b, c]), DihedralAngle::new([b, c, d])].map(|turn| place(turn.angle(), per_radian))
}

/// Energy and forces as of [`Cmap::forces`], at coordinates `within` a cell with these corners.
pub fn forces_within<R: Real>(
    [a, b, c, d]: [Vector<R>; 4],
    within: [R; 2],
    corners: [[R; 4]; 4],
    per_radian: R,
) -> (R, [Vector<R>; 4]) {
    let (energy, slopes) = interpolate(within, corners);
    let [one, two] = [([a, b, c], slopes[0]), ([b, c, d], slopes[1])]
        .map(|(vectors, slope)| DihedralAngle::new(vectors).forces(slope * per_radian));
    (energy, [one[0], one[1] + two[0], one[2] + two[1], two[2]])
}

/// The slopes, per point, of the periodic cubic spline through values.
fn slopes(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let mut slopes = vec![0.0; n];
    // d[k-1] + 4 d[k] + d[k+1] = 3 (y[k+1] - y[k-1]), after Gauss and Seidel: each sweep takes the
    // error down to a third or less.
    for _ in 0..60 {
        for k in 0..n {
            let (before, after) = ((k + n - 1) % n, (k + 1) % n);
            slopes[k] = (3.0 * (values[after] - values[before]) - slopes[before] - slopes[after]) / 4.0;
        }
    }
    slopes
}

/// Energy and slopes between four points, each with its energy, slopes and slope of slope: first
/// (0, 0), then (1, 0), (0, 1), (1, 1).
pub fn interpolate<R: Real>([s, t]: [R; 2], corners: [[R; 4]; 4]) -> (R, [R; 2]) {
    // Hermite's polynomials: one at an end with its slope zero, zero there with slope one.
    let (one, two, three, six) = (R::lit(1.0), R::lit(2.0), R::lit(3.0), R::lit(6.0));
    let basis = |x: R| {
        let gap = one - x;
        let rise = x * x * (three - two * x);
        [[one - rise, x * gap * gap], [rise, -x * x * gap]]
    };
    let slope = |x: R| {
        let gap = one - x;
        let rise = six * x * gap;
        [[-rise, gap * (one - three * x)], [rise, x * (three * x - two)]]
    };
    let sum = |along: [[R; 2]; 2], across: [[R; 2]; 2]| {
        let mut sum = R::lit(0.0);
        for (k, corner) in corners.iter().enumerate() {
            let (u, v) = (along[k % 2], across[k / 2]);
            sum = sum
                + u[0] * v[0] * corner[0]
                + u[1] * v[0] * corner[1]
                + u[0] * v[1] * corner[2]
                + u[1] * v[1] * corner[3];
        }
        sum
    };
    (sum(basis(s), basis(t)), [sum(slope(s), basis(t)), sum(basis(s), slope(t))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Dual;

    fn hills(a: f64, b: f64) -> f64 {
        (a - 0.3).sin() + 0.5 * (2.0 * b).cos() + (a + b).cos()
    }

    fn map(size: usize) -> Cmap {
        let at = |k: usize| k as f64 * TAU / size as f64 - PI;
        let energies: Vec<f64> = (0..size * size).map(|k| hills(at(k % size), at(k / size))).collect();
        Cmap::new(size, &energies).unwrap()
    }

    /// The error of a cubic spline falls as the fourth power of the distance of its points.
    #[test]
    fn maps_follow_smooth_functions_and_pass_through_their_points() {
        let (coarse, fine) = (map(24), map(48));
        let mut worst = [0.0_f64; 2];
        for k in 0..1000 {
            let [a, b] = [k, k * k % 1000].map(|n| f64::from(n) * TAU / 1000.0 - PI);
            for (worst, map) in worst.iter_mut().zip([&coarse, &fine]) {
                *worst = worst.max((map.evaluate([a, b]).0 - hills(a, b)).abs());
            }
        }
        assert!(worst[0] < 1e-3 && worst[1] < worst[0] / 12.0, "{worst:?}");
        for angles in [[-PI, -PI], [PI, PI], [PI, -PI]] {
            assert!((coarse.evaluate(angles).0 - hills(angles[0], angles[1])).abs() < 1e-12);
        }
    }

    #[test]
    fn slopes_are_the_exact_derivatives() {
        let corners =
            [[1.0, 0.2, -0.7, 0.4], [0.3, -1.2, 0.5, 0.1], [2.0, 0.9, 0.8, -0.6], [-1.0, 0.0, 1.1, 2.2]];
        let dual = corners.map(|c| c.map(Dual::constant));
        for (s, t) in [(0.0, 0.0), (0.3, 0.9), (1.0, 0.5), (0.61, 0.17)] {
            let (_, slopes) = interpolate([s, t], corners);
            let along = interpolate([Dual::variable(s), Dual::constant(t)], dual).0.slope;
            let across = interpolate([Dual::constant(s), Dual::variable(t)], dual).0.slope;
            assert!((slopes[0] - along).abs() < 1e-13 && (slopes[1] - across).abs() < 1e-13);
        }
    }

    #[test]
    fn forces_are_the_differences_of_energies() {
        let map = map(24);
        let vectors = [
            Vector([1.0, 0.2, -0.3]),
            Vector([0.4, 1.1, 0.2]),
            Vector([-0.5, 0.3, 1.2]),
            Vector([0.9, -0.8, 0.1]),
        ];
        let (_, forces) = map.forces(vectors);
        for n in 0..4 {
            for k in 0..3 {
                let at = |h: f64| {
                    let mut vectors = vectors;
                    vectors[n][k] += h;
                    map.forces(vectors).0
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((forces[n][k] + slope).abs() < 1e-8, "{forces:?} {slope}");
            }
        }
    }

    #[test]
    fn maps_that_make_no_sense_are_refused() {
        assert!(Cmap::new(4, &[0.0; 15]).is_err());
        assert!(Cmap::new(2, &[0.0; 4]).is_err());
        assert!(Cmap::new(3, &[f64::NAN; 9]).is_err());
    }
}
