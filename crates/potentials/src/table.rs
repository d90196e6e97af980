//! Pair energies given by numbers: cubics in the squared distance, as in NAMD's interpolation
//! tables (J. C. Phillips et al., "Scalable molecular dynamics with NAMD", J. Comput. Chem. 26
//! (2005) 1781), between knots that are evenly spaced in it.
//!
//! The look-up of a row is part of each engine; its meaning is [`energy_and_force`].

use crate::embedded::cubic;
use crate::pair::At;
use crate::serial::Name;
use crate::truncation::{Precomputed, Truncation};
use jostle_core::Real;
use serde::{Deserialize, Serialize};

/// Numbers in a row.
pub const ROW: usize = 4;

/// Coefficients of a pair: knots per squared distance, what to subtract from the place in the table
/// (so that row 1 begins at the first distance), the pair's first row, and its last one.
pub const N_COEFFICIENTS: usize = 4;

/// Error of a curve that is aimed at, relative to energy and r times force: the rounding of single precision.
const WANTED: f64 = 1e-7;

/// Largest distance at which a table may begin, as a fraction of the cut-off.
const NEAREST: f64 = 0.4;

/// Fewest and most intervals of a curve. A row is 16 bytes in single precision.
const INTERVALS: [usize; 2] = [128, 8192];

/// The energy of one pair of species.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Squared distance of the first knot.
    start: f64,
    /// Knots per squared distance.
    per_square: f64,
    /// The first row, for what is nearer than the first knot, has no numbers: such a force is
    /// reported as one that is not finite. The last one goes on straight ahead.
    rows: Vec<[f64; ROW]>,
}

/// The curves of a force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tables {
    /// Name of the energies.
    name: Name,
    curves: Vec<Curve>,
    /// First row of each curve.
    first: Vec<usize>,
}

impl Curve {
    /// A curve through energies and forces (-du/dr) that are a function of the distance, from a distance
    /// greater than zero up to a cut-off. The number of knots is the smallest for which the error in between
    /// is no more than the rounding of single precision, up to 8192.
    pub fn through(from: f64, cutoff: f64, function: impl Fn(f64) -> (f64, f64)) -> Curve {
        let mut n = INTERVALS[0];
        loop {
            let curve = Curve::with(n, from, cutoff, &function);
            if n >= INTERVALS[1] || curve.error_between(&function) <= WANTED {
                return curve;
            }
            n *= 2;
        }
    }

    /// A curve that begins as near as 8192 knots are as exact as single precision rounds; `None` if
    /// that is beyond two fifths of the cut-off, as where a function has a kink or a jump.
    pub fn towards_zero(cutoff: f64, function: impl Fn(f64) -> (f64, f64)) -> Option<Curve> {
        let exact = |from: f64| {
            let curve = Curve::through(from, cutoff, &function);
            (curve.error_between(&function) <= WANTED).then_some(curve)
        };
        let curves = (1..80).map_while(|k| exact(cutoff * 0.95f64.powi(k)));
        curves.last().filter(|curve| curve.from() <= NEAREST * cutoff)
    }

    fn with(n: usize, from: f64, cutoff: f64, function: &impl Fn(f64) -> (f64, f64)) -> Curve {
        let start = from * from;
        let width = (cutoff * cutoff - start) / n as f64;
        // Energy, and its slope by the place in the table: du/d(r^2) = -f / 2r.
        let knot = |k: usize| {
            let r = if k == n { cutoff } else { (start + k as f64 * width).sqrt() };
            let (energy, force) = function(r);
            [energy, -0.5 * width * force / r]
        };
        let knots: Vec<[f64; 2]> = (0..=n).map(knot).collect();
        let mut rows = vec![[f64::NAN; ROW]];
        for pair in knots.windows(2) {
            let ([u, du], [v, dv]) = (pair[0], pair[1]);
            rows.push([u, du, 3.0 * (v - u) - 2.0 * du - dv, 2.0 * (u - v) + du + dv]);
        }
        let [end, slope] = knots[n];
        rows.push([end, slope, 0.0, 0.0]);
        Curve { start, per_square: 1.0 / width, rows }
    }

    fn error_between(&self, function: &impl Fn(f64) -> (f64, f64)) -> f64 {
        let middle = |k: usize| (self.start + (k as f64 + 0.5) / (3.0 * self.per_square)).sqrt();
        self.error((0..3 * self.n_intervals()).map(middle), function)
    }

    /// The largest difference to a function at some distances, relative to energy and r times force;
    /// where these vanish, to a thousandth of what they are on the whole.
    pub fn error(&self, distances: impl Iterator<Item = f64>, function: impl Fn(f64) -> (f64, f64)) -> f64 {
        let (mut parts, mut sizes) = (Vec::new(), Vec::new());
        for r in distances {
            let ((energy, force), (found, force_over_r)) = (function(r), self.at(r * r));
            sizes.push(energy.abs() + (r * force).abs());
            parts.push((found - energy).abs().max((force_over_r * r * r - r * force).abs()));
        }
        let mut sorted = sizes.clone();
        sorted.sort_by(f64::total_cmp);
        let floor = sorted.get(sizes.len() / 2).map_or(0.0, |median| 1e-3 * median).max(f64::MIN_POSITIVE);
        parts.iter().zip(&sizes).map(|(part, size)| part / size.max(floor)).fold(0.0, f64::max)
    }

    /// Energy and force over distance at a squared distance.
    pub fn at(&self, r2: f64) -> (f64, f64) {
        let x = (r2 - self.start) * self.per_square + 1.0;
        let row = x.max(0.0).min((self.rows.len() - 1) as f64).floor();
        energy_and_force(x - row, self.per_square, self.rows[row as usize])
    }

    /// Number of cubics.
    pub fn n_intervals(&self) -> usize {
        self.rows.len() - 2
    }

    /// The first distance.
    pub fn from(&self) -> f64 {
        self.start.sqrt()
    }
}

impl Tables {
    /// Tables of curves, which pairs of species have by index.
    pub fn new(name: &'static str, curves: Vec<Curve>) -> Tables {
        let mut rows = 0;
        let first = curves.iter().map(|curve| {
            rows += curve.rows.len();
            rows - curve.rows.len()
        });
        Tables { name: Name(name), first: first.collect(), curves }
    }

    /// The name in the input file of what they are the energies of.
    pub fn name(&self) -> &'static str {
        self.name.0
    }

    /// The curves.
    pub fn curves(&self) -> &[Curve] {
        &self.curves
    }

    /// All rows, one curve after the other.
    pub fn rows(&self) -> impl Iterator<Item = &[f64; ROW]> {
        self.curves.iter().flat_map(|curve| &curve.rows)
    }

    /// Coefficients by which an engine finds the row of a distance, see [`N_COEFFICIENTS`].
    pub fn coefficients(&self, curve: usize) -> Option<[f64; N_COEFFICIENTS]> {
        let Curve { start, per_square, rows, .. } = self.curves.get(curve)?;
        Some([*per_square, start * per_square - 1.0, self.first[curve] as f64, (rows.len() - 1) as f64])
    }

    /// Distance of a squared distance from the beginning of its row, and the row.
    pub fn look_up(&self, r2: f64, c: &[f64]) -> (f64, [f64; ROW]) {
        let [per_square, start, first, last] = c[..N_COEFFICIENTS] else {
            return (f64::NAN, [f64::NAN; ROW]);
        };
        let x = r2 * per_square - start;
        let row = x.max(0.0).min(last).floor();
        let curve = self.first.partition_point(|f| *f as f64 <= first).saturating_sub(1);
        let rows = self.curves.get(curve).map(|curve| curve.rows[row as usize]);
        (x - row, rows.unwrap_or([f64::NAN; ROW]))
    }
}

/// A function of the distance, energy and force, under a truncation.
pub fn truncated(
    truncation: Truncation,
    cutoff: f64,
    function: impl Fn(f64) -> (f64, f64),
) -> impl Fn(f64) -> (f64, f64) {
    let (energy, force) = function(cutoff);
    let own = truncation.coefficients((energy, force / cutoff), cutoff);
    move |r| {
        let (energy, force) = function(r);
        let given = [&[energy, force / r], own.as_slice()].concat();
        let (energy, force_over_r) =
            truncation.visit::<Precomputed, _>(At { r2: r * r, coefficients: &given });
        (energy, force_over_r * r)
    }
}

/// Energy and force over distance, so far beyond the beginning of a row: -(1/r) du/dr = -2 du/d(r^2).
#[inline(always)]
pub fn energy_and_force<R: Real>(beyond: R, per_square: R, row: [R; ROW]) -> (R, R) {
    let (energy, slope) = cubic(beyond, row);
    (energy, slope * (per_square * R::lit(-2.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lennard_jones(r: f64) -> (f64, f64) {
        (4.0 * (r.powi(-12) - r.powi(-6)), 24.0 * (2.0 * r.powi(-13) - r.powi(-7)))
    }

    #[test]
    fn a_curve_is_as_exact_as_it_says() {
        let curve = Curve::through(0.8, 2.5, lennard_jones);
        assert!(curve.n_intervals() < INTERVALS[1]);
        for k in 0..1000 {
            let r = 0.8001 + 0.0017 * f64::from(k);
            let (energy, force) = lennard_jones(r);
            let (found, force_over_r) = curve.at(r * r);
            let size = energy.abs() + (r * force).abs();
            assert!((found - energy).abs() < 1e-7 * size.max(1e-2), "{r}: {found} {energy}");
            assert!((force_over_r * r * r - r * force).abs() < 1.1e-7 * size.max(1e-2), "{r}");
        }
    }

    /// Errors of the force with four times as many knots are 64 times smaller.
    #[test]
    fn errors_fall_as_the_cube_of_the_spacing() {
        let error = |n| Curve::with(n, 0.9, 2.5, &lennard_jones).error_between(&lennard_jones);
        let ratio = error(256) / error(1024);
        assert!((40.0..100.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn the_force_is_the_slope_of_the_energy_everywhere() {
        let curve = Curve::with(128, 0.9, 2.5, &lennard_jones);
        for k in 0..500 {
            let r = 0.905 + 0.003 * f64::from(k);
            let h = 1e-5;
            let slope = (curve.at((r + h).powi(2)).0 - curve.at((r - h).powi(2)).0) / (2.0 * h);
            let force = curve.at(r * r).1 * r;
            assert!((slope + force).abs() < 1e-4 * (1.0 + force.abs()), "{r}: {slope} {force}");
        }
    }

    #[test]
    fn nearer_than_the_first_distance_there_is_no_number() {
        let tables = Tables::new(
            "table",
            vec![Curve::through(0.9, 2.5, lennard_jones), Curve::with(128, 0.8, 2.0, &lennard_jones)],
        );
        for (curve, inside, outside) in [(0, 0.91_f64, 0.89_f64), (1, 0.81, 0.79)] {
            let c = tables.coefficients(curve).unwrap();
            let at = |r: f64| {
                let (beyond, row) = tables.look_up(r * r, &c);
                energy_and_force(beyond, c[0], row)
            };
            let (expected, found) = (tables.curves()[curve].at(inside * inside), at(inside));
            assert!((found.0 - expected.0).abs() < 1e-9 * expected.0.abs());
            assert!((found.1 - expected.1).abs() < 1e-9 * expected.1.abs());
            assert!(at(outside).0.is_nan() && at(outside).1.is_nan());
        }
    }
}
