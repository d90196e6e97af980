//! Rhombic dodecahedron, as the cell that GROMACS calls xy-square: it fills space with its images as spheres in their
//! densest packing, in 71% of the volume of a cube.

use super::{BoxShape, SizeOf};
use jostle_core::Vector;

pub(super) const SHAPE: BoxShape = BoxShape {
    name: "dodecahedron",
    about: "a rhombic dodecahedron: 71% of the volume of a cube with images as far apart",
    size: SizeOf::Distance,
    unit: [Vector([1.0, 1.0, std::f64::consts::FRAC_1_SQRT_2]), Vector([0.0, 0.5, 0.5])],
};
