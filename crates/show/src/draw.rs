//! Figures as SVG and as PNG, by one drawing.

use crate::canvas::Canvas;
use crate::figure::{AxisScale, Curve, Figure, Point};
use jostle_core::{Error, Result};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, register_font};
use std::ops::Range;
use std::sync::Once;
use tiny_skia::Pixmap;

/// The size of a figure; text is as large as in print when it is one column (86 mm) wide.
const SIZE: (u32, u32) = (680, 500);
const TEXT: u32 = 21;
/// Points of a PNG for each of the figure: 600 dpi at that width.
const SHARPNESS: f32 = 3.0;
/// More points than this cannot be told apart.
const MOST_POINTS: usize = 3000;
const FONT: &str = "DejaVu Sans";
const FONT_DATA: &[u8] = include_bytes!("../assets/font/DejaVuSans.ttf");
/// M. Okabe and K. Ito's colours, which the colour-blind can tell apart (Color Universal Design,
/// 2008).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];

/// Draws a figure as SVG.
///
/// # Errors
/// If the figure cannot be drawn, which is a bug.
pub fn svg(figure: &Figure) -> Result<String> {
    let mut text = String::new();
    draw(figure, SVGBackend::with_string(&mut text, SIZE))?;
    // A viewer without the font takes one of the same width.
    Ok(text
        .replace(&format!("font-family=\"{FONT}\""), &format!("font-family=\"{FONT}, Verdana, sans-serif\"")))
}

/// Draws a figure as PNG.
///
/// # Errors
/// Errors of [`svg`].
pub fn png(figure: &Figure) -> Result<Vec<u8>> {
    let failed = |why: &str| Error::simulation(format!("\"{}\" cannot become a PNG: {why}", figure.name));
    let pixels = |n: u32| (n as f32 * SHARPNESS) as u32;
    let mut pixmap = Pixmap::new(pixels(SIZE.0), pixels(SIZE.1)).ok_or_else(|| failed("no memory"))?;
    draw(figure, Canvas::new(&mut pixmap, FONT_DATA, SHARPNESS)?)?;
    pixmap.encode_png().map_err(|e| failed(&e.to_string()))
}

/// Draws a figure on an area of [`SIZE`].
fn draw<B: DrawingBackend>(figure: &Figure, backend: B) -> Result<()>
where
    B::ErrorType: 'static,
{
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        // A font that cannot be read is reported when text is drawn.
        let _ = register_font(FONT, FontStyle::Normal, FONT_DATA);
    });
    let area = backend.into_drawing_area();
    let (x, mut y) = (range(figure, |p| (p.x, p.x), figure.x.scale), range(figure, reach, figure.y.scale));
    // Space for the legend.
    let words = figure.curves.iter().filter(|c| !c.label.is_empty()).count() as f64;
    y.end = match figure.y.scale {
        AxisScale::Linear => y.end + 0.075 * words * (y.end - y.start),
        AxisScale::Logarithmic => y.end * (y.end / y.start).powf(0.075 * words),
    };
    let at = legend_corner(figure, &x);
    let drawn = match (figure.x.scale, figure.y.scale) {
        (AxisScale::Linear, AxisScale::Linear) => chart(figure, &area, x, y, at),
        (AxisScale::Linear, AxisScale::Logarithmic) => chart(figure, &area, x, y.log_scale(), at),
        (AxisScale::Logarithmic, AxisScale::Linear) => chart(figure, &area, x.log_scale(), y, at),
        (AxisScale::Logarithmic, AxisScale::Logarithmic) => {
            chart(figure, &area, x.log_scale(), y.log_scale(), at)
        }
    };
    drawn.map_err(|e| Error::simulation(format!("the figure \"{}\" cannot be drawn: {e}", figure.name)))
}

/// Lower and upper end of a point's error bar.
fn reach(point: &Point) -> (f64, f64) {
    let error = point.error.unwrap_or(0.0);
    (point.y - error, point.y + error)
}

/// Range of an axis: all points and, on a linear one, a margin.
fn range(figure: &Figure, reach: impl Fn(&Point) -> (f64, f64), scale: AxisScale) -> Range<f64> {
    let points = figure.curves.iter().flat_map(|c| &c.points);
    let shown = points.filter(|p| figure.x.scale.shows(p.x) && figure.y.scale.shows(p.y));
    let ends = shown.flat_map(|p| <[f64; 2]>::from(reach(p))).filter(|x| scale.shows(*x));
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    if low > high {
        return 0.1..1.0;
    }
    match scale {
        AxisScale::Logarithmic => low / 1.2..high * 1.2,
        AxisScale::Linear => {
            let margin = if high > low { 0.04 * (high - low) } else { 0.05 * high.abs().max(1e-12) };
            // A range that begins near zero is drawn from zero on.
            let from = if low >= 0.0 && low < 0.2 * high { 0.0 } else { low - margin };
            from..high + margin
        }
    }
}

/// Corner of the legend: the upper one beside which curves are lower.
fn legend_corner(figure: &Figure, x: &Range<f64>) -> SeriesLabelPosition {
    let place = |value: f64| match figure.x.scale {
        AxisScale::Linear => (value - x.start) / (x.end - x.start),
        AxisScale::Logarithmic => (value / x.start).ln() / (x.end / x.start).ln(),
    };
    let highest = |within: Range<f64>| {
        let points = figure.curves.iter().flat_map(|curve| &curve.points);
        points.filter(|p| within.contains(&place(p.x))).map(|p| reach(p).1).fold(f64::NEG_INFINITY, f64::max)
    };
    match highest(-0.1..0.4) < highest(0.6..1.1) {
        true => SeriesLabelPosition::UpperLeft,
        false => SeriesLabelPosition::UpperRight,
    }
}

type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;
type Plane<'a, B, X, Y> = ChartContext<'a, B, Cartesian2d<X, Y>>;

/// Draws axes, bands of errors, lines and legend, in this order.
fn chart<B, X, Y>(
    figure: &Figure,
    area: &DrawingArea<B, Shift>,
    x: X,
    y: Y,
    legend: SeriesLabelPosition,
) -> Drawn
where
    B: DrawingBackend,
    B::ErrorType: 'static,
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    area.fill(&WHITE)?;
    let note = figure.note();
    if let Some(note) = &note {
        let right = text_style(TEXT - 5).color(&BLACK.mix(0.6)).pos(Pos::new(HPos::Right, VPos::Top));
        area.draw_text(note, &right, (SIZE.0 as i32 - 28, 8))?;
    }
    let mut plane = ChartBuilder::on(area)
        .margin(16)
        .margin_top(if note.is_some() { 36 } else { 16 })
        .margin_right(28)
        .x_label_area_size(58)
        .y_label_area_size(100)
        .build_cartesian_2d(x, y)?;
    draw_axes(figure, &mut plane)?;
    draw_bands(figure, &mut plane)?;
    draw_lines(figure, &mut plane)?;
    if figure.curves.iter().any(|c| !c.label.is_empty()) {
        plane
            .configure_series_labels()
            .position(legend)
            .legend_area_size(32)
            .margin(12)
            .background_style(WHITE.mix(0.8))
            .label_font(text_style(TEXT - 3))
            .draw()?;
    }
    area.present()?;
    Ok(())
}

fn text_style(size: u32) -> FontDesc<'static> {
    (FONT, size).into_font()
}

fn draw_axes<B, X, Y>(figure: &Figure, plane: &mut Plane<B, X, Y>) -> Drawn
where
    B: DrawingBackend,
    B::ErrorType: 'static,
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    plane
        .configure_mesh()
        .bold_line_style(BLACK.mix(0.12))
        .light_line_style(TRANSPARENT)
        .axis_style(BLACK)
        .x_desc(&figure.x.label)
        .y_desc(&figure.y.label)
        .x_labels(6)
        .y_labels(6)
        .label_style(text_style(TEXT))
        .axis_desc_style(text_style(TEXT))
        .x_label_formatter(&number)
        .y_label_formatter(&number)
        .draw()?;
    Ok(())
}

/// Points of a curve that the axes have places for, thinned to what can be told apart.
fn visible(figure: &Figure, curve: &Curve) -> Vec<Point> {
    let points = curve.thinned(MOST_POINTS).points.into_iter();
    points.filter(|p| figure.x.scale.shows(p.x) && figure.y.scale.shows(p.y)).collect()
}

fn colour(k: usize) -> RGBColor {
    COLOURS[k % COLOURS.len()]
}

/// Standard errors as bands around curves.
fn draw_bands<B, X, Y>(figure: &Figure, plane: &mut Plane<B, X, Y>) -> Drawn
where
    B: DrawingBackend,
    B::ErrorType: 'static,
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    for (k, curve) in figure.curves.iter().enumerate() {
        let points = visible(figure, curve);
        if points.iter().all(|p| p.error.is_none()) {
            continue;
        }
        let ends = |p: &Point| {
            let (low, high) = reach(p);
            (p.x, if figure.y.scale.shows(low) { low } else { high / 10.0 }, high)
        };
        let band: Vec<(f64, f64, f64)> = points.iter().map(ends).collect();
        let around = band.iter().map(|b| (b.0, b.1)).chain(band.iter().rev().map(|b| (b.0, b.2)));
        let around: Vec<(f64, f64)> = around.collect();
        plane.draw_series([Polygon::new(around, colour(k).mix(0.25).filled())])?;
    }
    Ok(())
}

fn draw_lines<B, X, Y>(figure: &Figure, plane: &mut Plane<B, X, Y>) -> Drawn
where
    B: DrawingBackend,
    B::ErrorType: 'static,
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    for (k, curve) in figure.curves.iter().enumerate() {
        let line = visible(figure, curve).into_iter().map(|p| (p.x, p.y));
        let drawn = plane.draw_series(LineSeries::new(line, colour(k).stroke_width(2)))?;
        if !curve.label.is_empty() {
            drawn
                .label(&curve.label)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 26, y)], colour(k).stroke_width(3)));
        }
    }
    Ok(())
}

/// A number on an axis, as short as it can be.
fn number(x: &f64) -> String {
    let x = *x;
    let size = x.abs();
    if size < 1e-12 {
        return "0".into();
    }
    if !(1e-3..1e5).contains(&size) {
        let power = size.log10().floor();
        let text = format!("{:.2}", x / 10f64.powf(power));
        let digits = text.trim_end_matches('0').trim_end_matches('.');
        return format!("{}e{power}", digits).replace('-', "−");
    }
    let text = format!("{x:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::PlotAxis;

    fn figure(scale: AxisScale) -> Figure {
        let axis = |label: &str| PlotAxis { label: label.into(), scale };
        let points = (0..50).map(|k| {
            let x = f64::from(k) * 0.2;
            Point { x, y: x * x, error: Some(0.1 * x) }
        });
        let curve = |label: &str| Curve { label: label.into(), points: points.clone().collect() };
        Figure {
            name: "msd".into(),
            title: "MSD".into(),
            x: axis("time (ps)"),
            y: axis("msd (Å²)"),
            curves: vec![curve("one"), curve("<two>")],
        }
    }

    /// Curves that rise have their legend on the left, those that fall on the right.
    #[test]
    fn legends_lie_beside_curves() {
        for scale in [AxisScale::Linear, AxisScale::Logarithmic] {
            let rising = figure(scale);
            let mut falling = rising.clone();
            for point in falling.curves.iter_mut().flat_map(|curve| &mut curve.points) {
                (point.y, point.error) = (1.0 / (1.0 + point.x), None);
            }
            let corner =
                |figure: &Figure| legend_corner(figure, &range(figure, |p| (p.x, p.x), figure.x.scale));
            assert!(matches!(corner(&rising), SeriesLabelPosition::UpperLeft));
            assert!(matches!(corner(&falling), SeriesLabelPosition::UpperRight));
        }
    }

    #[test]
    fn a_figure_becomes_svg_and_png() {
        for scale in [AxisScale::Linear, AxisScale::Logarithmic] {
            let text = svg(&figure(scale)).unwrap();
            assert_eq!(text.contains("not shown"), scale == AxisScale::Logarithmic);
            assert!(text.contains("msd (Å²)") && text.contains("&lt;two&gt;") && !text.contains("NaN"));
            let png = png(&figure(scale)).unwrap();
            assert_eq!(&png[1..4], b"PNG");
            assert_eq!(png[16..24], [0, 0, 0x07, 0xf8, 0, 0, 0x05, 0xdc], "width and height");
        }
    }

    #[test]
    fn numbers_on_axes_are_short() {
        for (x, text) in [(0.0, "0"), (94.4, "94.4"), (-1200.0, "−1200"), (2.5e7, "2.5e7"), (1e-6, "1e−6")]
        {
            assert_eq!(number(&x), text);
        }
    }
}
