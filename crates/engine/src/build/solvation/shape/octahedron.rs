//! Truncated octahedron: its images are a body-centred lattice; 77% of the volume of a cube.

use super::{BoxShape, SizeOf};
use jostle_core::Vector;

pub(super) const SHAPE: BoxShape = BoxShape {
    name: "octahedron",
    about: "a truncated octahedron: 77% of the volume of a cube with images as far apart",
    size: SizeOf::Distance,
    unit: [
        Vector([1.0, 0.942_809_041_582_063_4, 0.816_496_580_927_726]),
        Vector([1.0 / 3.0, -1.0 / 3.0, 0.471_404_520_791_031_7]),
    ],
};
