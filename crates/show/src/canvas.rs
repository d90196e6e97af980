//! Pixels on which figures are drawn, a place for all that plotters draws.
//!
//! Shapes and the outlines of letters become paths of tiny-skia, which fills and strokes them with smooth edges. A library
//! that reads SVG could draw these pixels as well, but brings shapers of every script, which take a tenth of the
//! program's time to build.

use ab_glyph::{Font, FontRef, OutlineCurve, Point, ScaleFont};
use jostle_core::{Error, Result};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontTransform,
};
use std::convert::Infallible;
use tiny_skia::{FillRule, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, Transform};

type Drawn = std::result::Result<(), DrawingErrorKind<Infallible>>;

/// Ratio of the size that plotters gives a font to its em (as in the SVG that it writes).
const SIZE_OVER_EM: f64 = 1.24;

/// Pixels of a figure.
pub struct Canvas<'a> {
    pixels: &'a mut Pixmap,
    font: FontRef<'static>,
    /// Pixels along an edge of each point of the figure.
    sharpness: f32,
}

impl<'a> Canvas<'a> {
    /// Pixels, of which `sharpness` along an edge are a point of the figure. `font` has all letters.
    ///
    /// # Errors
    /// If the font cannot be read.
    pub fn new(pixels: &'a mut Pixmap, font: &'static [u8], sharpness: f32) -> Result<Self> {
        let font = FontRef::try_from_slice(font)
            .map_err(|e| Error::simulation(format!("the font of figures cannot be read: {e}")))?;
        Ok(Canvas { pixels, font, sharpness })
    }

    fn scale(&self) -> Transform {
        Transform::from_scale(self.sharpness, self.sharpness)
    }

    fn fill(&mut self, path: Option<Path>, color: BackendColor, place: Transform) -> Drawn {
        if let Some(path) = path {
            self.pixels.fill_path(&path, &paint(color), FillRule::Winding, place, None);
        }
        Ok(())
    }

    fn stroke(&mut self, path: Option<Path>, color: BackendColor, width: u32) -> Drawn {
        if let Some(path) = path {
            let stroke = Stroke { width: width as f32, ..Stroke::default() };
            self.pixels.stroke_path(&path, &paint(color), &stroke, self.scale(), None);
        }
        Ok(())
    }
}

/// Color of a shape.
fn paint(color: BackendColor) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    let (r, g, b) = color.rgb;
    paint.set_color_rgba8(r, g, b, (color.alpha * 255.0).round() as u8);
    paint
}

/// Path through points.
fn polyline(points: impl IntoIterator<Item = BackendCoord>, ends: Ends) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (k, (x, y)) in points.into_iter().enumerate() {
        match k {
            0 => path.move_to(x as f32, y as f32),
            _ => path.line_to(x as f32, y as f32),
        }
    }
    if ends == Ends::Joined {
        path.close();
    }
    path.finish()
}

/// First and last point of a path.
#[derive(PartialEq)]
enum Ends {
    Open,
    Joined,
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        let points = |n: u32| (n as f32 / self.sharpness) as u32;
        (points(self.pixels.width()), points(self.pixels.height()))
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Drawn {
        self.draw_rect((x, y), (x + 1, y + 1), &color, true)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        low: BackendCoord,
        high: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let [left, top, right, bottom] = [low.0, low.1, high.0, high.1].map(|x| x as f32);
        let path = Rect::from_ltrb(left, top, right, bottom).map(PathBuilder::from_rect);
        match fill {
            true => self.fill(path, style.color(), self.scale()),
            false => self.stroke(path, style.color(), style.stroke_width()),
        }
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        self.stroke(polyline(path, Ends::Open), style.color(), style.stroke_width())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        (x, y): BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let path = PathBuilder::from_circle(x as f32, y as f32, radius as f32);
        match fill {
            true => self.fill(path, style.color(), self.scale()),
            false => self.stroke(path, style.color(), style.stroke_width()),
        }
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Drawn {
        self.fill(polyline(corners, Ends::Joined), style.color(), self.scale())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, (x, y): BackendCoord) -> Drawn {
        let em = (style.size() / SIZE_OVER_EM) as f32;
        let (outlines, width) = outlines(&self.font, text, em);
        let left = match style.anchor().h_pos {
            HPos::Left => 0.0,
            HPos::Center => -width / 2.0,
            HPos::Right => -width,
        };
        let baseline = match style.anchor().v_pos {
            VPos::Top => 0.76 * em,
            VPos::Center => 0.25 * em,
            VPos::Bottom => -0.25 * em,
        };
        let turn = match style.transform() {
            FontTransform::None => 0.0,
            FontTransform::Rotate90 => 90.0,
            FontTransform::Rotate180 => 180.0,
            FontTransform::Rotate270 => 270.0,
        };
        let place = Transform::from_translate(left, baseline)
            .post_rotate(turn)
            .post_translate(x as f32, y as f32)
            .post_concat(self.scale());
        self.fill(outlines, style.color(), place)
    }
}

/// Outlines of letters on a line from the origin to the right, y downwards, and the length of the line.
fn outlines(font: &FontRef, text: &str, em: f32) -> (Option<Path>, f32) {
    let units = font.units_per_em().unwrap_or(1000.0);
    // ab_glyph counts sizes by the height of lines.
    let scaled = font.as_scaled(em * font.height_unscaled() / units);
    let mut path = PathBuilder::new();
    let mut x = 0.0;
    let mut last = None;
    for glyph in text.chars().map(|letter| font.glyph_id(letter)) {
        x += last.map_or(0.0, |last| scaled.kern(last, glyph));
        if let Some(outline) = font.outline(glyph) {
            add_outline(&mut path, &outline.curves, |p| (x + p.x * em / units, -p.y * em / units));
        }
        x += scaled.h_advance(glyph);
        last = Some(glyph);
    }
    (path.finish(), x)
}

/// Adds the curves of a letter to a path, a closed loop after the other.
fn add_outline(path: &mut PathBuilder, curves: &[OutlineCurve], place: impl Fn(Point) -> (f32, f32)) {
    let mut end = None;
    for curve in curves {
        let (OutlineCurve::Line(from, to)
        | OutlineCurve::Quad(from, _, to)
        | OutlineCurve::Cubic(from, _, _, to)) = *curve;
        if end != Some(from) {
            if end.is_some() {
                path.close();
            }
            let (x, y) = place(from);
            path.move_to(x, y);
        }
        let (x, y) = place(to);
        match *curve {
            OutlineCurve::Line(..) => path.line_to(x, y),
            OutlineCurve::Quad(_, control, _) => {
                let (cx, cy) = place(control);
                path.quad_to(cx, cy, x, y);
            }
            OutlineCurve::Cubic(_, first, second, _) => {
                let ((ax, ay), (bx, by)) = (place(first), place(second));
                path.cubic_to(ax, ay, bx, by, x, y);
            }
        }
        end = Some(to);
    }
    if end.is_some() {
        path.close();
    }
}
