//! The simulation box: orthorhombic or triclinic, periodic or open along each axis.

use crate::error::{Error, Result};
use crate::{SymTensor, Vec3, Vector};
use serde::{Deserialize, Serialize};

/// A parallelepiped with a corner at `origin` and the edge vectors
/// a = (lx, 0, 0), b = (xy, ly, 0), c = (xz, yz, lz).
///
/// Along an open axis atoms are never wrapped and have no images; the edge is then only a mark of
/// where they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SimBox {
    origin: Vec3,
    lengths: [f64; 3],
    tilts: [f64; 3],
    periodic: [bool; 3],
}

impl SimBox {
    /// A box with a corner at the origin, periodic along all axes.
    pub fn orthorhombic(lengths: [f64; 3]) -> Result<Self> {
        Self::new([0.0; 3], lengths, [0.0; 3], [true; 3])
    }

    /// A general box; `tilts` are xy, xz, yz.
    ///
    /// # Errors
    /// If an edge is not a positive finite number, or a tilt joins an open and a periodic axis.
    pub fn new(
        origin: impl Into<Vec3>,
        lengths: [f64; 3],
        tilts: [f64; 3],
        periodic: [bool; 3],
    ) -> Result<Self> {
        let origin = origin.into();
        if lengths.iter().any(|l| !l.is_finite() || *l <= 0.0) {
            return Err(Error::input(format!("the box edges {lengths:?} are not all positive")));
        }
        if tilts.iter().chain(&origin).any(|t| !t.is_finite()) {
            return Err(Error::input("the box has a tilt or an origin that is not a finite number"));
        }
        let joined = [(0, 1, "xy"), (0, 2, "xz"), (1, 2, "yz")];
        for (tilt, (a, b, name)) in tilts.iter().zip(joined) {
            if *tilt != 0.0 && !(periodic[a] && periodic[b]) {
                return Err(Error::input(format!("the box has the tilt {name} = {tilt} along an open axis"))
                    .hint("a tilt needs both of its axes periodic"));
            }
        }
        Ok(SimBox { origin, lengths, tilts, periodic })
    }

    /// The corner that all edges start from.
    pub fn origin(&self) -> Vec3 {
        self.origin
    }

    /// lx, ly, lz.
    pub fn lengths(&self) -> [f64; 3] {
        self.lengths
    }

    /// xy, xz, yz.
    pub fn tilts(&self) -> [f64; 3] {
        self.tilts
    }

    /// Flags of the periodic axes.
    pub fn periodic(&self) -> [bool; 3] {
        self.periodic
    }

    /// The box without images along some axes, for a part of it that has the atoms of other parts around it.
    pub fn without_images(mut self, along: [bool; 3]) -> Self {
        self.periodic.iter_mut().zip(along).for_each(|(periodic, without)| *periodic &= !without);
        self
    }

    /// Returns true where all tilts are zero.
    pub fn is_orthorhombic(&self) -> bool {
        self.tilts == [0.0; 3]
    }

    /// The volume of the parallelepiped.
    pub fn volume(&self) -> f64 {
        self.lengths.iter().product()
    }

    /// The edge vectors a, b, c.
    pub fn edges(&self) -> [Vec3; 3] {
        let ([lx, ly, lz], [xy, xz, yz]) = (self.lengths, self.tilts);
        [Vector([lx, 0.0, 0.0]), Vector([xy, ly, 0.0]), Vector([xz, yz, lz])]
    }

    /// Distances between opposite faces: the shortest way along each axis to an image. A cut-off must not
    /// exceed half the smallest of the periodic ones.
    pub fn widths(&self) -> [f64; 3] {
        let [a, b, c] = self.edges();
        let volume = self.volume();
        let width = |u: Vec3, v: Vec3| volume / norm(u.cross(v));
        [width(b, c), width(c, a), width(a, b)]
    }

    /// Largest cut-off for which the nearest image is enough: half the smallest periodic width. Infinite if
    /// every axis is open.
    pub fn largest_cutoff(&self) -> f64 {
        let widths = self.widths().into_iter().zip(self.periodic);
        widths.filter(|(_, p)| *p).map(|(w, _)| 0.5 * w).fold(f64::INFINITY, f64::min)
    }

    /// Refuses a cut-off that reaches further than the nearest image.
    ///
    /// # Errors
    /// If the cut-off exceeds [`SimBox::largest_cutoff`].
    pub fn check_cutoff(&self, cutoff: f64) -> Result<()> {
        let most = self.largest_cutoff();
        if cutoff > most {
            return Err(Error::input(format!(
                "the cut-off {cutoff} is more than half the smallest width of the box ({most})"
            ))
            .hint("use a larger box or a shorter cut-off"));
        }
        Ok(())
    }

    /// Fractional coordinates of a point: 0 to 1 inside the box.
    #[inline(always)]
    pub fn to_fractional(&self, r: Vec3) -> Vec3 {
        let ([lx, ly, lz], [xy, xz, yz]) = (self.lengths, self.tilts);
        let d = r - self.origin;
        let z = d[2] / lz;
        let y = (d[1] - yz * z) / ly;
        Vector([(d[0] - xy * y - xz * z) / lx, y, z])
    }

    /// The point with the fractional coordinates `s`.
    #[inline(always)]
    pub fn to_cartesian(&self, s: Vec3) -> Vec3 {
        self.origin + self.shift_real(s)
    }

    /// The box whose edges are those of this one under the linear map with these columns, upper
    /// triangular as the edges are.
    ///
    /// # Errors
    /// Errors of [`SimBox::new`].
    pub fn mapped(&self, columns: [Vec3; 3]) -> Result<Self> {
        let map = |v: Vec3| Vec3::from_fn(|k| (0..3).map(|j| columns[j][k] * v[j]).sum());
        let [a, b, c] = self.edges().map(map);
        Self::new(self.origin, [a[0], b[1], c[2]], [b[0], c[0], c[1]], self.periodic)
    }

    /// The box in another unit of length, to which `convert` takes numbers.
    ///
    /// # Errors
    /// Errors of [`SimBox::new`].
    pub fn converted(&self, convert: impl Fn(f64) -> f64) -> Result<Self> {
        let (lengths, tilts) = (self.lengths.map(&convert), self.tilts.map(&convert));
        Self::new(self.origin.map(&convert), lengths, tilts, self.periodic)
    }

    /// The lattice vector n_a a + n_b b + n_c c.
    #[inline(always)]
    pub fn shift(&self, image: [i32; 3]) -> Vec3 {
        self.shift_real(Vector(image.map(f64::from)))
    }

    /// Whole edges that make up a vector, the nearest to it.
    pub fn image_of(&self, shift: Vec3) -> [i32; 3] {
        *self.to_fractional(self.origin + shift).map(|edges| edges.round() as i32)
    }

    /// Coordinates that a point keeps when it follows the box: its fractions of periodic edges, and its place along open
    /// axes, whose edges hold nothing.
    pub fn to_comoving(&self, r: Vec3) -> Vec3 {
        let s = self.to_fractional(r);
        Vec3::from_fn(|k| if self.periodic[k] { s[k] } else { self.origin[k] + s[k] * self.lengths[k] })
    }

    /// The point with these comoving coordinates.
    pub fn from_comoving(&self, c: Vec3) -> Vec3 {
        Vec3::from_fn(|k| if self.periodic[k] { self.origin[k] } else { 0.0 }) + self.comoving_shift(c)
    }

    /// The vector between points whose comoving coordinates differ by `d`.
    pub fn comoving_shift(&self, d: Vec3) -> Vec3 {
        self.shift_real(Vec3::from_fn(|k| if self.periodic[k] { d[k] } else { d[k] / self.lengths[k] }))
    }

    #[inline(always)]
    fn shift_real(&self, n: Vec3) -> Vec3 {
        let ([lx, ly, lz], [xy, xz, yz]) = (self.lengths, self.tilts);
        Vector([lx * n[0] + xy * n[1] + xz * n[2], ly * n[1] + yz * n[2], lz * n[2]])
    }

    /// Moves a point into the box along the periodic axes and counts the images crossed, so that
    /// `position + shift(image)` stays the same.
    #[inline(always)]
    pub fn wrap(&self, position: &mut Vec3, image: &mut [i32; 3]) {
        let s = self.to_fractional(*position);
        let mut cells = [0i32; 3];
        for k in 0..3 {
            if self.periodic[k] {
                cells[k] = s[k].floor() as i32;
            }
        }
        if cells != [0; 3] {
            let shift = self.shift(cells);
            for k in 0..3 {
                position[k] -= shift[k];
                // An atom that blew up may be further away than images can be counted.
                image[k] = image[k].saturating_add(cells[k]);
            }
        }
    }

    /// The shortest of the vectors between a point and the images of another.
    pub fn nearest_image(&self, d: Vec3) -> Vec3 {
        let ([lx, ly, lz], [xy, xz, yz]) = (self.lengths, self.tilts);
        let mut d = d;
        if self.periodic[2] {
            let n = (d[2] / lz).round();
            d = Vector([d[0] - n * xz, d[1] - n * yz, d[2] - n * lz]);
        }
        if self.periodic[1] {
            let n = (d[1] / ly).round();
            d = Vector([d[0] - n * xy, d[1] - n * ly, d[2]]);
        }
        if self.periodic[0] {
            d[0] -= (d[0] / lx).round() * lx;
        }
        // No image is nearer than the smallest edge, as each is off another layer by as much.
        let edges = self.lengths.iter().zip(self.periodic).filter(|(_, periodic)| *periodic);
        let edge = edges.fold(f64::INFINITY, |least, (length, _)| least.min(*length));
        if self.is_orthorhombic() || d.norm_squared() <= 0.25 * edge * edge {
            d
        } else {
            self.nearest_of_all(d)
        }
    }

    /// The shortest of the images of a vector in a sheared box, among all that may be shorter: those in layers that are
    /// near enough.
    #[cold]
    fn nearest_of_all(&self, d: Vec3) -> Vec3 {
        let [a, b, c] = self.edges();
        let mut nearest = d;
        // Of images that are equally far, the first one is taken whatever rounding says.
        let margin = 1.0 - 1e-12;
        for n in layers(d[2], self.lengths[2], nearest.norm_squared(), self.periodic[2]) {
            let in_layer = d - n * c;
            let left = nearest.norm_squared() - in_layer[2] * in_layer[2];
            for n in layers(in_layer[1], self.lengths[1], left, self.periodic[1]) {
                let mut image = in_layer - n * b;
                if self.periodic[0] {
                    image -= (image[0] / self.lengths[0]).round() * a;
                }
                if image.norm_squared() < margin * nearest.norm_squared() {
                    nearest = image;
                }
            }
        }
        nearest
    }
}

/// Layers on either side that are looked at: none is further off but in boxes that are a thousand times as long as wide.
const MOST_LAYERS: f64 = 1000.0;

/// Numbers n of layers, `length` apart, in which x - n length is no further away than the square root of `most2`.
fn layers(x: f64, length: f64, most2: f64, periodic: bool) -> impl Iterator<Item = f64> {
    let most = most2.max(0.0).sqrt();
    let number = |x: f64| (x / length).clamp(-MOST_LAYERS, MOST_LAYERS);
    let (first, last) = match periodic {
        true => (number(x - most).ceil() as i32, number(x + most).floor() as i32),
        false => (0, 0),
    };
    (first..=last).map(f64::from)
}

fn norm(u: Vec3) -> f64 {
    u.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A third of the trace: a pressure from its tensor.
pub fn mean_diagonal(t: &SymTensor) -> f64 {
    (t[0] + t[1] + t[2]) / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    /// Nearest of all images that brute force finds, for vectors as long as several boxes, in boxes that are sheared by
    /// more than half an edge, and flat ones.
    #[test]
    fn nearest_images_are_the_nearest() {
        let boxes = [
            ([10.0, 8.0, 10.0], [5.0, 0.0, 0.0], [true; 3]),
            ([8.0, 7.0, 9.0], [2.5, -1.5, 1.2], [true; 3]),
            ([10.0, 10.0, 3.0], [4.0, -5.0, 3.3], [true; 3]),
            ([6.0, 9.0, 5.0], [-8.0, 0.0, 0.0], [true, true, false]),
            ([4.0, 5.0, 6.0], [0.0; 3], [true, false, true]),
        ];
        for (lengths, tilts, periodic) in boxes {
            let simbox = SimBox::new([0.0; 3], lengths, tilts, periodic).unwrap();
            for trial in 0..400 {
                let mut stream = Stream::new(17, Purpose::Velocity, trial, 0);
                let d = Vec3::from_fn(|k| 2.0 * lengths[k] * (stream.uniform() - 0.5));
                let range = |k: usize| if periodic[k] { -6..=6 } else { 0..=0 };
                let all = range(0).flat_map(|a| range(1).flat_map(move |b| range(2).map(move |c| [a, b, c])));
                let nearest = all.map(|image| (d - simbox.shift(image)).norm()).fold(f64::INFINITY, f64::min);
                let found = simbox.nearest_image(d);
                assert!((found.norm() - nearest).abs() < 1e-12, "{lengths:?} {tilts:?} {d:?}: {found:?}");
                let cells = simbox.to_fractional(simbox.origin() + d - found);
                assert!(cells.iter().all(|s| (s - s.round()).abs() < 1e-12), "{d:?} {found:?}");
            }
        }
    }

    /// Vectors without meaning come back, and at once.
    #[test]
    fn vectors_that_are_no_numbers_have_no_nearest_image() {
        let simbox = SimBox::new([0.0; 3], [1.0, 2.0, 1e-9], [0.4, 0.3, 0.2], [true; 3]).unwrap();
        for x in [f64::NAN, f64::INFINITY, 1e300] {
            let _ = simbox.nearest_image(Vector([x, 1.0, x]));
        }
    }
}
