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

    /// The shortest of the vectors between a point and the images of another, for vectors shorter
    /// than [`SimBox::largest_cutoff`].
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
        d
    }
}

fn norm(u: Vec3) -> f64 {
    u.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A third of the trace: a pressure from its tensor.
pub fn mean_diagonal(t: &SymTensor) -> f64 {
    (t[0] + t[1] + t[2]) / 3.0
}
