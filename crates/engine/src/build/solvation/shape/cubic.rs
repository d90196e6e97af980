//! Cube.

use super::{BoxShape, SizeOf};

pub(super) const SHAPE: BoxShape =
    BoxShape { name: "cubic", about: "a cube", size: SizeOf::Distance, unit: [[1.0; 3], [0.0; 3]] };
