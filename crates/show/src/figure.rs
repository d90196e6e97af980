//! What a plot shows, before anybody has drawn it.

/// A plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What its files are called, without an ending.
    pub name: String,
    /// What it shows, in words.
    pub title: String,
    /// What is along.
    pub x: Axis,
    /// What is up.
    pub y: Axis,
    /// What is drawn.
    pub curves: Vec<Curve>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// The quantity with its unit.
    pub label: String,
    /// How numbers become places.
    pub scale: Scale,
}

/// How numbers become places on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// In proportion.
    Linear,
    /// Powers of ten equally far apart; there is no zero.
    Logarithmic,
}

/// A line with, perhaps, errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// What it is beside others; empty where it is alone.
    pub label: String,
    /// Along it.
    pub points: Vec<Point>,
}

/// A point of a curve; all numbers are finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Along.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// The standard error of `y`.
    pub error: Option<f64>,
}

impl Scale {
    /// Whether a number has a place.
    pub fn shows(self, x: f64) -> bool {
        self == Scale::Linear || x > 0.0
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
