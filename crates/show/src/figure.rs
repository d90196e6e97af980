//! Data of a plot: axes, curves and errors, before they are drawn.

/// A plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name of its files, without an ending.
    pub name: String,
    /// Title in words.
    pub title: String,
    /// Horizontal axis.
    pub x: PlotAxis,
    /// Vertical axis.
    pub y: PlotAxis,
    /// Curves, in the order of their colours.
    pub curves: Vec<Curve>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlotAxis {
    /// The quantity with its unit.
    pub label: String,
    /// Scale of the axis.
    pub scale: AxisScale,
}

/// Map from numbers to positions on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisScale {
    /// Linear.
    Linear,
    /// Logarithmic: powers of ten equally far apart, without zero.
    Logarithmic,
}

/// A line with, perhaps, errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Label beside other curves; empty where the curve is alone.
    pub label: String,
    /// Points along the curve.
    pub points: Vec<Point>,
}

/// A point of a curve; all numbers are finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Horizontal coordinate.
    pub x: f64,
    /// Vertical coordinate.
    pub y: f64,
    /// The standard error of `y`.
    pub error: Option<f64>,
}

impl AxisScale {
    /// Returns true where a number has a position on the axis.
    pub fn shows(self, x: f64) -> bool {
        self == AxisScale::Linear || x > 0.0
    }
}

impl Figure {
    /// The points that its axes have no place for, in words; nothing where all of them are drawn.
    pub fn note(&self) -> Option<String> {
        let points = || self.curves.iter().flat_map(|c| &c.points);
        let lacking =
            |axis: &PlotAxis, at: fn(&Point) -> f64| points().filter(|p| !axis.scale.shows(at(p))).count();
        let (along, up) = (lacking(&self.x, |p| p.x), lacking(&self.y, |p| p.y));
        let all = points().filter(|p| !self.x.scale.shows(p.x) || !self.y.scale.shows(p.y)).count();
        let axes = match (along, up) {
            (0, 0) => return None,
            (_, 0) => "horizontal axis is",
            (0, _) => "vertical axis is",
            _ => "axes are",
        };
        let (number, are) = match all {
            1 => ("1 point".to_string(), "is"),
            n => (format!("{n} points"), "are"),
        };
        Some(format!("{number} at or below zero {are} not shown: the {axes} logarithmic"))
    }
}

impl Curve {
    /// The curve with no more than some `most` points: of every stretch its lowest and highest, so
    /// that no peak is lost.
    pub fn thinned(&self, most: usize) -> Curve {
        let stretch = (2 * self.points.len()).div_ceil(most.max(2)).max(1);
        if stretch <= 2 {
            return self.clone();
        }
        let ends = |points: &[Point]| -> Vec<Point> {
            let by = |a: &&Point, b: &&Point| a.y.total_cmp(&b.y);
            let (low, high) = (points.iter().min_by(by), points.iter().max_by(by));
            let mut ends: Vec<Point> = low.into_iter().chain(high).copied().collect();
            ends.sort_by(|a, b| a.x.total_cmp(&b.x));
            ends
        };
        Curve { label: self.label.clone(), points: self.points.chunks(stretch).flat_map(ends).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_without_a_place_are_told() {
        let axis = |scale| PlotAxis { label: String::new(), scale };
        let point = |(x, y): &(f64, f64)| Point { x: *x, y: *y, error: None };
        let points = [(0.0, 1.0), (1.0, -2.0), (2.0, 0.0), (0.0, 0.0), (3.0, 3.0)];
        let curve = Curve { label: String::new(), points: points.iter().map(point).collect() };
        let figure = |x, y| Figure {
            name: String::new(),
            title: String::new(),
            x: axis(x),
            y: axis(y),
            curves: vec![curve.clone()],
        };
        use AxisScale::{Linear, Logarithmic};
        assert_eq!(figure(Linear, Linear).note(), None);
        let note = |x, y| figure(x, y).note().unwrap();
        assert!(
            note(Logarithmic, Linear).starts_with("2 points at or below zero are not shown: the horizontal")
        );
        assert!(
            note(Linear, Logarithmic).starts_with("3 points at or below zero are not shown: the vertical")
        );
        assert!(note(Logarithmic, Logarithmic).starts_with("4 points"));
    }

    #[test]
    fn thinning_keeps_peaks() {
        let point = |k: usize| Point { x: k as f64, y: if k == 777 { 5.0 } else { 0.0 }, error: None };
        let curve = Curve { label: String::new(), points: (0..10_000).map(point).collect() };
        let thin = curve.thinned(100);
        assert!(thin.points.len() <= 100);
        assert!(thin.points.contains(&point(777)));
        assert!(thin.points.windows(2).all(|w| w[0].x <= w[1].x));
        assert_eq!(curve.thinned(10_000), curve);
    }
}
