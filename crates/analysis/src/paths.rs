//! Paths of atoms in a periodic box, whose shape may change from frame to frame.
//!
//! Positions relative to other atoms are those of paths that differ from the positions in the box by whole edges of the box
//! as it is. Displacements are differences of comoving coordinates ([`SimBox::to_comoving`]) of these paths: an atom at one
//! face of a box that breathes goes to and fro with it, one at the opposite face does not, and those that cross a face
//! again and again would walk at random; so would all that have come far (S. von Bülow, J. T. Bullerjahn and G. Hummer,
//! J. Chem. Phys. 153 (2020) 021101).

use crate::lattice::Lattice;
use crate::leaps;
use jostle_core::{SimBox, Vec3};

/// Unbroken paths from positions that may have been wrapped into the box: each atom goes to that image of its new position
/// that is nearest to where it was, in a box of the new shape. Right as long as no atom moves by half the box between two
/// frames; where crossings of the box were counted, they decide.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    /// Comoving coordinates in the frame before.
    before: Vec<Vec3>,
    lattice: Lattice,
    crossings: Vec<[i32; 3]>,
    paths: Vec<Vec3>,
    /// Atoms whose last step was longer than a quarter of the box.
    far: usize,
}

impl Paths {
    /// Goes on to the next frame; the box with the edges of the first frame as they have moved since (tilts of files flip to
    /// others of the same lattice), and positions on unbroken paths.
    pub fn advance(
        &mut self,
        simbox: &SimBox,
        positions: &[Vec3],
        images: Option<&[[i32; 3]]>,
    ) -> (SimBox, &[Vec3]) {
        let lattice = self.lattice.follow(simbox);
        self.far = 0;
        if let Some(images) = images {
            self.crossings = images.iter().map(|n| lattice.image_of(simbox.shift(*n))).collect();
        } else {
            self.crossings.resize(positions.len(), [0; 3]);
            let quarter = 0.5 * simbox.largest_cutoff();
            for ((crossed, before), now) in self.crossings.iter_mut().zip(&self.before).zip(positions) {
                let moved = *now - lattice.from_comoving(*before);
                let step = simbox.nearest_image(moved);
                self.far += usize::from(step.norm_squared() > quarter * quarter);
                let shift = lattice.image_of(step - moved);
                *crossed = std::array::from_fn(|k| crossed[k] + shift[k]);
            }
        }
        let whole = |(r, n): (&Vec3, &[i32; 3])| *r + lattice.shift(*n);
        self.paths = positions.iter().zip(&self.crossings).map(whole).collect();
        self.before = comoving(&lattice, positions);
        (lattice, &self.paths)
    }

    /// Returns true where some of the last steps were so long that the nearest image may not be where an atom went.
    pub fn are_doubtful(&self) -> bool {
        self.far as f64 > leaps::FEW * self.paths.len() as f64
    }
}

/// Comoving coordinates of atoms.
pub(crate) fn comoving(simbox: &SimBox, positions: &[Vec3]) -> Vec<Vec3> {
    positions.iter().map(|r| simbox.to_comoving(*r)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Vector;

    fn cube(edge: f64) -> SimBox {
        SimBox::new([0.0; 3], [edge; 3], [0.0; 3], [true; 3]).unwrap()
    }

    /// A pair across a face stays a pair while the box grows.
    #[test]
    fn relative_positions_follow_the_box() {
        let mut paths = Paths::default();
        // Fractions of the edge, and the edge.
        for ([first, second], edge) in [([0.05, 0.10], 10.0), ([0.05, 0.95], 10.0), ([0.10, 0.95], 12.0)] {
            let simbox = cube(edge);
            let positions = [first, second].map(|s| Vector([s * edge, 0.0, 0.0]));
            let path = paths.advance(&simbox, &positions, None).1;
            let d = path[1] - path[0];
            assert!((d - simbox.nearest_image(positions[1] - positions[0])).norm_squared() < 1e-24, "{d:?}");
        }
    }

    /// Atoms that cross a face to and fro in a box that breathes stay where they are.
    #[test]
    fn atoms_at_a_face_do_not_walk() {
        let mut paths = Paths::default();
        for k in 0..200 {
            let simbox = cube(10.0 + (0.7 * f64::from(k)).sin());
            let s = if k % 3 == 0 { 0.001 } else { 0.999 };
            let positions = [simbox.to_cartesian(Vector([s, 0.5, 0.0]))];
            let path = comoving(&simbox, paths.advance(&simbox, &positions, None).1);
            let expected = Vector([if k % 3 == 0 { 0.001 } else { -0.001 }, 0.5, 0.0]);
            assert!((path[0] - expected).norm_squared() < 1e-24, "{k}: {path:?}");
        }
    }

    /// Along open axes, whose edges may be any in each frame, positions count.
    #[test]
    fn open_axes_are_not_followed() {
        let slab = |width: f64| {
            SimBox::new([0.0, 0.0, -width], [8.0, 6.0, 2.0 * width], [1.0, 0.0, 0.0], [true, true, false])
        };
        let (narrow, wide, r) = (slab(3.0).unwrap(), slab(5.0).unwrap(), Vector([3.0, 2.0, 1.5]));
        let (there, moved) = (narrow.to_comoving(r), Vector([0.0, 0.0, 0.25]));
        assert!((wide.from_comoving(there) - r).norm_squared() < 1e-24);
        let d = wide.comoving_shift(wide.to_comoving(r + moved) - there);
        assert!((d - moved).norm_squared() < 1e-24, "{d:?}");
    }
}
