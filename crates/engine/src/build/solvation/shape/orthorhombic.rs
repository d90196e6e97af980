//! Right angles, three edges.

use super::{BoxShape, SizeOf};
use jostle_core::{Vec3, Vector};

pub(super) const SHAPE: BoxShape = BoxShape {
    name: "orthorhombic",
    about: "right angles and three edges, for what does not turn",
    size: SizeOf::Edges,
    unit: [Vector([1.0; 3]), Vec3::ZERO],
};
