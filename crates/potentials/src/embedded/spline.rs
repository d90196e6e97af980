//! Functions given by numbers on a uniform grid.

use jostle_core::Real;
use serde::{Deserialize, Serialize};

/// Value and slope of c0 + c1 p + c2 p^2 + c3 p^3.
#[inline(always)]
pub fn cubic<R: Real>(p: R, c: [R; 4]) -> (R, R) {
    let value = c[3].mul_add(p, c[2]).mul_add(p, c[1]).mul_add(p, c[0]);
    let slope = (c[3] * R::lit(3.0)).mul_add(p, c[2] * R::lit(2.0)).mul_add(p, c[1]);
    (value, slope)
}

/// A function on a uniform grid, a cubic between each two knots: value and slope are continuous.
/// The slopes at the knots are fourth-order differences, as in LAMMPS, whose numbers it gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spline {
    /// First knot of the grid.
    pub start: f64,
    /// The distance between two knots.
    pub spacing: f64,
    /// Cubic from each knot to the next one, in p = distance from the knot / spacing.
    pub cubics: Vec<[f64; 4]>,
}

impl Spline {
    /// A spline through `values` at `start`, `start + spacing`, ...; `None` for fewer than five or an
    /// infinite one.
    pub fn through(start: f64, spacing: f64, values: &[f64]) -> Option<Self> {
        let n = values.len();
        let sound = start.is_finite() && spacing > 0.0 && spacing.is_finite();
        if n < 5 || !sound || values.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let slope = |k: usize| match k {
            0 => values[1] - values[0],
            1 => 0.5 * (values[2] - values[0]),
            _ if k == n - 1 => values[n - 1] - values[n - 2],
            _ if k == n - 2 => 0.5 * (values[n - 1] - values[n - 3]),
            _ => ((values[k - 2] - values[k + 2]) + 8.0 * (values[k + 1] - values[k - 1])) / 12.0,
        };
        let between = |k: usize| {
            if k == n - 1 {
                return [values[k], slope(k), 0.0, 0.0];
            }
            let (rise, left, right) = (values[k + 1] - values[k], slope(k), slope(k + 1));
            [values[k], left, 3.0 * rise - 2.0 * left - right, left + right - 2.0 * rise]
        };
        Some(Spline { start, spacing, cubics: (0..n).map(between).collect() })
    }

    /// A spline of a function, with `n` knots from `start` to `end`.
    pub fn tabulate(start: f64, end: f64, n: usize, function: impl Fn(f64) -> f64) -> Option<Self> {
        let spacing = (end - start) / (n.max(2) - 1) as f64;
        let values: Vec<f64> = (0..n).map(|k| function(start + k as f64 * spacing)).collect();
        Self::through(start, spacing, &values)
    }

    /// The last knot.
    pub fn end(&self) -> f64 {
        self.start + (self.cubics.len() - 1) as f64 * self.spacing
    }

    /// Value and derivative. Beyond the last knot the function stays as it is there; before the
    /// first one its first cubic goes on.
    pub fn at(&self, x: f64) -> (f64, f64) {
        let place = ((x - self.start) / self.spacing).min((self.cubics.len() - 1) as f64);
        let cell = (place.max(0.0) as usize).min(self.cubics.len() - 2);
        let (value, slope) = cubic(place - cell as f64, self.cubics[cell]);
        (value, slope / self.spacing)
    }

    /// Value and derivative, with a straight line beyond the last knot.
    pub fn at_or_beyond(&self, x: f64) -> (f64, f64) {
        let (value, slope) = self.at(x);
        (value + slope * (x - self.end()).max(0.0), slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Dual;

    #[test]
    fn a_cubic_is_reproduced_and_slopes_are_derivatives() {
        let f = |x: f64| 0.3 - x * (1.2 - x * (0.7 + 0.1 * x));
        let spline = Spline::tabulate(0.5, 4.5, 41, f).unwrap();
        // Slopes within two knots of either end are of a lower order.
        for k in 0..300 {
            let x = 0.7 + 0.012 * f64::from(k);
            let (value, slope) = spline.at(x);
            assert!((value - f(x)).abs() < 1e-13, "{x}: {value} {}", f(x));
            assert!((slope + 1.2 - x * (1.4 + 0.3 * x)).abs() < 1e-12, "{x}: {slope}");
        }
        let (p, c) = (Dual::variable(0.3), [0.4, -0.3, 0.2, 0.7]);
        let (value, slope) = cubic(p, c.map(Dual::constant));
        assert!((value.slope - slope.value).abs() < 1e-15);
    }

    #[test]
    fn a_table_of_a_smooth_function_is_accurate_to_the_fourth_power_of_its_spacing() {
        let error = |n: usize| {
            let spline = Spline::tabulate(1.0, 3.0, n, |x: f64| (3.0 * x).sin()).unwrap();
            let off = |x: f64| ((3.0 * x).sin() - spline.at(x).0).abs();
            (0..1000).map(|k| off(1.5 + 0.001 * f64::from(k))).fold(0.0, f64::max)
        };
        let (coarse, fine) = (error(41), error(81));
        assert!(coarse < 2e-6 && fine < coarse / 12.0, "{coarse:e} {fine:e}");
    }

    #[test]
    fn beyond_its_ends() {
        let spline = Spline::tabulate(0.0, 2.0, 21, |x| x * x).unwrap();
        let (last, slope) = spline.at(2.0);
        assert_eq!(spline.at(5.0).0, last);
        assert!((spline.at_or_beyond(2.5).0 - (last + 0.5 * slope)).abs() < 1e-12);
        assert!((spline.at(-0.05).0 - 0.0025).abs() < 0.02);
        assert_eq!(Spline::through(0.0, 0.1, &[1.0; 4]), None);
        assert_eq!(Spline::through(0.0, 0.1, &[1.0, 2.0, f64::NAN, 3.0, 4.0]), None);
    }
}
