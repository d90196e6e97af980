//! Right angles, three edges.

use super::{BoxShape, SizeOf};

pub(super) const SHAPE: BoxShape = BoxShape {
    name: "orthorhombic",
    about: "right angles and three edges, for what does not turn",
    size: SizeOf::Edges,
    unit: [[1.0; 3], [0.0; 3]],
};
