//! Cube.

use super::{BoxShape, SizeOf};
use jostle_core::{Vec3, Vector};

pub(super) const SHAPE: BoxShape =
    BoxShape { name: "cubic", about: "a cube", size: SizeOf::Distance, unit: [Vector([1.0; 3]), Vec3::ZERO] };
