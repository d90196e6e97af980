//! Functions of one or two variables on a grid: values and derivatives at its points, cubic in between.

use jostle_core::Real;
use jostle_core::backend::GridAxis;
use serde::{Deserialize, Serialize};

/// An axis of a grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The first point.
    pub lower: f64,
    /// Distance of points.
    pub spacing: f64,
    /// Number of intervals.
    pub intervals: usize,
    /// True where the last point is the first one again.
    pub periodic: bool,
}

impl Axis {
    /// An axis from one value to another with points at most so far apart; of a periodic variable, once round.
    pub fn new(period: Option<f64>, [lower, upper]: [f64; 2], spacing: f64) -> Self {
        let [lower, upper] = match period {
            Some(period) => [-0.5 * period, 0.5 * period],
            None => [lower, upper],
        };
        let intervals = ((upper - lower) / spacing).ceil().max(1.0) as usize;
        let spacing = (upper - lower) / intervals as f64;
        Axis { lower, spacing, intervals, periodic: period.is_some() }
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.intervals + usize::from(!self.periodic)
    }

    /// Value at a point.
    pub fn value(&self, point: usize) -> f64 {
        self.lower + point as f64 * self.spacing
    }

    /// The axis as plain data.
    pub fn plain(&self) -> GridAxis {
        let Axis { lower, spacing, intervals, periodic } = *self;
        GridAxis { lower, spacing, intervals, periodic }
    }

    /// The last value.
    pub fn upper(&self) -> f64 {
        self.lower + self.intervals as f64 * self.spacing
    }

    /// Interval with a value and the part of it up to the value; `None` outside.
    pub fn interval(&self, value: f64) -> Option<(usize, f64)> {
        let mut x = (value - self.lower) / self.spacing;
        let n = self.intervals as f64;
        if self.periodic {
            x -= n * (x / n).floor();
        }
        if !(0.0..=n).contains(&x) {
            return None;
        }
        let interval = (x as usize).min(self.intervals - 1);
        Some((interval, x - interval as f64))
    }

    /// Point at the end of an interval.
    fn next(&self, interval: usize) -> usize {
        if self.periodic && interval + 1 == self.intervals { 0 } else { interval + 1 }
    }
}

/// A function on a grid of one or two axes. Each point has the value, the derivatives and the mixed derivative, in
/// units of the spacings, so that the interpolation is smooth and its gradient exact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// The axes.
    pub axes: Vec<Axis>,
    /// For every point, a number for each set of axes along which it is derived.
    values: Vec<f64>,
}

/// Hermite's cubics of a part of an interval, for the value and the derivative at its two ends; and their slopes.
fn hermite<R: Real>(t: R) -> [[[R; 2]; 2]; 2] {
    let (t2, t3, number) = (t * t, t * t * t, R::lit);
    let three = number(3.0) * t2;
    let steep = number(6.0) * t2 - number(6.0) * t;
    let rising = number(2.0) * t3 - three;
    [
        [[rising + number(1.0), steep], [t3 - number(2.0) * t2 + t, three - number(4.0) * t + number(1.0)]],
        [[-rising, -steep], [t3 - t2, three - number(2.0) * t]],
    ]
}

/// Value of a function on a grid and its derivatives, from the parts of the intervals up to the values of the
/// variables, the numbers stored at the corners around them, corner after corner, and the spacings.
pub fn interpolate<R: Real>(parts: &[R], stored: &[R], spacings: &[R]) -> Vec<R> {
    let (dimensions, kinds) = (parts.len(), 1 << parts.len());
    let weights: Vec<_> = parts.iter().map(|t| hermite(*t)).collect();
    let product = |corner: usize, kind: usize, along: Option<usize>| {
        let factor = |d: usize| weights[d][corner >> d & 1][kind >> d & 1][usize::from(along == Some(d))];
        (1..dimensions).fold(factor(0), |product, d| product * factor(d))
    };
    let sum = |along: Option<usize>| {
        let terms = (0..kinds * kinds).map(|k| stored[k] * product(k / kinds, k % kinds, along));
        terms.fold(R::lit(0.0), |sum, term| sum + term)
    };
    let slopes = (0..dimensions).map(|d| sum(Some(d)) / spacings[d]);
    std::iter::once(sum(None)).chain(slopes).collect()
}

impl Grid {
    /// A grid of zeros.
    pub fn new(axes: Vec<Axis>) -> Self {
        let points: usize = axes.iter().map(Axis::points).product();
        let values = vec![0.0; points << axes.len()];
        Grid { axes, values }
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.values.len() >> self.axes.len()
    }

    /// The numbers of all points.
    pub fn numbers(&self) -> &[f64] {
        &self.values
    }

    /// Replaces them by as many others.
    pub fn set_numbers(&mut self, numbers: Vec<f64>) {
        debug_assert_eq!(numbers.len(), self.values.len());
        self.values = numbers;
    }

    /// Numbers of a point along the axes, the first of which counts fastest.
    pub fn indices(&self, point: usize) -> Vec<usize> {
        let mut rest = point;
        let split = |axis: &Axis| {
            let index = rest % axis.points();
            rest /= axis.points();
            index
        };
        self.axes.iter().map(split).collect()
    }

    /// Value at a point.
    pub fn at_point(&self, point: usize) -> f64 {
        self.values[point << self.axes.len()]
    }

    /// Adds a product of functions of one variable each, which give value and derivative.
    pub fn add_product(&mut self, factor: f64, functions: &[&dyn Fn(f64) -> [f64; 2]]) {
        let tables: Vec<Vec<[f64; 2]>> = self
            .axes
            .iter()
            .zip(functions)
            .map(|(axis, f)| {
                (0..axis.points())
                    .map(|point| {
                        let [value, slope] = f(axis.value(point));
                        [value, slope * axis.spacing]
                    })
                    .collect()
            })
            .collect();
        let kinds = 1 << self.axes.len();
        for point in 0..self.points() {
            let indices = self.indices(point);
            for kind in 0..kinds {
                let factors =
                    tables.iter().zip(&indices).enumerate().map(|(d, (t, index))| t[*index][kind >> d & 1]);
                self.values[point * kinds + kind] += factor * factors.product::<f64>();
            }
        }
    }

    /// Value and derivatives at values of the variables; `None` outside the grid.
    pub fn evaluate(&self, values: &[f64], slopes: &mut [f64]) -> Option<f64> {
        let places: Vec<(usize, f64)> =
            self.axes.iter().zip(values).map(|(axis, x)| axis.interval(*x)).collect::<Option<_>>()?;
        let kinds = 1 << self.axes.len();
        let mut stored = Vec::with_capacity(kinds * kinds);
        for corner in 0..kinds {
            let (mut point, mut stride) = (0, 1);
            for (d, axis) in self.axes.iter().enumerate() {
                let index = if corner >> d & 1 == 1 { axis.next(places[d].0) } else { places[d].0 };
                point += index * stride;
                stride *= axis.points();
            }
            stored.extend_from_slice(&self.values[point * kinds..(point + 1) * kinds]);
        }
        let parts: Vec<f64> = places.iter().map(|(_, part)| *part).collect();
        let spacings: Vec<f64> = self.axes.iter().map(|axis| axis.spacing).collect();
        let found = interpolate(&parts, &stored, &spacings);
        slopes.copy_from_slice(&found[1..]);
        Some(found[0])
    }
}
