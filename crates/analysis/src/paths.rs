//! Paths of atoms in a periodic box, whose shape may change from frame to frame.
//!
//! There are two of them. Positions relative to other atoms need paths that differ from the positions in the box by whole
//! edges of the box as it is ([`Paths`]). Displacements need paths on which an atom does not move because the box does
//! ([`Walk`]): an atom at one face of a box that breathes would otherwise go to and fro with it, and one at the opposite
//! face would not, so that atoms which cross a face again and again would walk at random (S. von Bülow, J. T. Bullerjahn
//! and G. Hummer, J. Chem. Phys. 153 (2020) 021101).

use crate::view::View;
use jostle_core::{SimBox, Vec3};
use serde::{Deserialize, Serialize};

/// Unbroken paths from positions that may have been wrapped into the box: each atom goes to that image of its new position
/// that is nearest to where it was, in a box of the new shape. Right as long as no atom moves by half the box between two
/// frames; where crossings of the box were counted, they decide.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    before: Vec<Vec3>,
    shape: Option<SimBox>,
    crossings: Vec<[i32; 3]>,
    paths: Vec<Vec3>,
}

impl Paths {
    /// Goes on to the next frame; positions on unbroken paths.
    pub fn advance(&mut self, simbox: &SimBox, positions: &[Vec3], images: Option<&[[i32; 3]]>) -> &[Vec3] {
        if let Some(images) = images {
            self.crossings = images.to_vec();
        } else {
            self.crossings.resize(positions.len(), [0; 3]);
            if let Some(shape) = &self.shape {
                for ((crossed, before), now) in self.crossings.iter_mut().zip(&self.before).zip(positions) {
                    let moved = *now - simbox.carried(*before, shape);
                    let shift = simbox.image_of(simbox.nearest_image(moved) - moved);
                    *crossed = std::array::from_fn(|k| crossed[k] + shift[k]);
                }
            }
        }
        let whole = |(r, n): (&Vec3, &[i32; 3])| *r + simbox.shift(*n);
        self.paths = positions.iter().zip(&self.crossings).map(whole).collect();
        self.before.clear();
        self.before.extend_from_slice(positions);
        self.shape = Some(*simbox);
        &self.paths
    }
}

/// Displacements of atoms within the box, added up from frame to frame.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Walk {
    before: Vec<Vec3>,
    shape: Option<SimBox>,
    path: Vec<Vec3>,
}

impl Walk {
    /// Goes on to the next frame; where the atoms have come.
    pub fn advance(&mut self, frame: &View) -> &[Vec3] {
        match &self.shape {
            None => self.path = frame.unwrapped.to_vec(),
            Some(shape) => {
                for ((path, before), now) in self.path.iter_mut().zip(&self.before).zip(frame.unwrapped) {
                    *path += *now - frame.simbox.carried(*before, shape);
                }
            }
        }
        (self.before, self.shape) = (frame.unwrapped.to_vec(), Some(*frame.simbox));
        &self.path
    }
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
            let path = paths.advance(&simbox, &positions, None);
            let d = path[1] - path[0];
            assert!((d - simbox.nearest_image(positions[1] - positions[0])).norm_squared() < 1e-24, "{d:?}");
        }
    }

    /// Atoms that cross a face to and fro in a box that breathes stay where they are.
    #[test]
    fn atoms_at_a_face_do_not_walk() {
        let (mut paths, mut walk) = (Paths::default(), Walk::default());
        for k in 0..200 {
            let simbox = cube(10.0 + (0.7 * f64::from(k)).sin());
            let s = if k % 3 == 0 { 0.001 } else { 0.999 };
            let positions = [simbox.to_cartesian(Vector([s, 0.5, 0.0]))];
            let unwrapped = paths.advance(&simbox, &positions, None);
            let frame = View {
                time: None,
                simbox: &simbox,
                positions: &positions,
                unwrapped,
                images: None,
                velocities: None,
                whole: None,
            };
            let path = walk.advance(&frame)[0];
            // Steps of 0.002 edges, of lengths between 9 and 11.
            assert!(path[0].abs() < 0.25 && (path[1] - 5.0).abs() < 1e-12, "{k}: {path:?}");
        }
    }
}
