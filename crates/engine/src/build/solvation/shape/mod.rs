//! Shapes of periodic boxes, a file each.

mod cubic;
mod dodecahedron;
mod octahedron;
mod orthorhombic;

use jostle_core::{Error, Result, SimBox, Vec3};
use jostle_io::input::NamedChoice;

/// All shapes.
const ALL: &[&BoxShape] = &[&cubic::SHAPE, &orthorhombic::SHAPE, &dodecahedron::SHAPE, &octahedron::SHAPE];

/// A shape of a box.
#[derive(Debug, PartialEq)]
pub struct BoxShape {
    /// Its name.
    pub name: &'static str,
    /// The shape in words.
    pub about: &'static str,
    /// Lengths that make its size.
    pub size: SizeOf,
    /// Lengths and tilts of the box in units of the distance of its images, or for [`SizeOf::Edges`] of its edges.
    unit: [Vec3; 2],
}

/// Lengths that make the size of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeOf {
    /// One: the distance of a point from its nearest images.
    Distance,
    /// Three edges.
    Edges,
}

impl BoxShape {
    /// The box of this size; for [`SizeOf::Distance`] the three numbers are one.
    ///
    /// # Errors
    /// If a number is not positive, or three are given for a shape of one.
    pub fn simbox(&self, size: Vec3) -> Result<SimBox> {
        if self.size == SizeOf::Distance && (size[0] != size[1] || size[0] != size[2]) {
            return Err(Error::input(format!("a box of the shape {} has one size, not three", self.name))
                .hint("give one number, the distance of images, or --shape orthorhombic"));
        }
        let [lengths, tilts] = self.unit.map(|unit| [0, 1, 2].map(|k| unit[k] * size[k]));
        SimBox::new([0.0; 3], lengths, tilts, [true; 3])
    }
}

impl NamedChoice for &'static BoxShape {
    const ALL: &'static [Self] = ALL;

    fn name(self) -> &'static str {
        self.name
    }

    fn about(self) -> &'static str {
        self.about
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Vector;

    /// Volumes of the shapes by their image distance (GROMACS' manual, table "box types"), and that distance.
    #[test]
    fn shapes_have_their_volumes_and_distances_of_images() {
        let volumes =
            [("cubic", 1.0), ("dodecahedron", 0.5 * 2f64.sqrt()), ("octahedron", 4.0 / 9.0 * 3f64.sqrt())];
        for (name, volume) in volumes {
            let simbox = <&BoxShape>::from_name(name).unwrap().simbox(Vector([2.0; 3])).unwrap();
            assert!((simbox.volume() / 8.0 - volume).abs() < 1e-12, "{name}");
            let images = (-1..=1).flat_map(|i| (-1..=1).flat_map(move |j| (-1..=1).map(move |k| [i, j, k])));
            let distances = images.filter(|image| *image != [0; 3]).map(|image| {
                let shift = simbox.shift(image);
                shift.iter().map(|x| x * x).sum::<f64>().sqrt()
            });
            let nearest = distances.fold(f64::INFINITY, f64::min);
            assert!((nearest - 2.0).abs() < 1e-12, "{name}: {nearest}");
        }
        let simbox = <&BoxShape>::from_name("orthorhombic").unwrap().simbox(Vector([2.0, 3.0, 4.0])).unwrap();
        assert_eq!(simbox.lengths(), [2.0, 3.0, 4.0]);
        assert!(<&BoxShape>::from_name("cubic").unwrap().simbox(Vector([2.0, 3.0, 4.0])).is_err());
    }
}
