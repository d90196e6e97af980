//! Length of an edge of the box.

use super::{Origin, Unit, Variable, VariableKind, axes, axis};
use crate::definition::{Absent, Parameter, Selections, Values};
use crate::frame::{Frame, Gradient};
use jostle_core::backend::CenterFunction;
use jostle_core::{Dimension, Result};

pub(super) const KIND: VariableKind = VariableKind {
    name: "edge",
    about: "of the box, along an axis",
    selections: Selections::None,
    parameters: &[Parameter {
        name: "axis",
        about: "the axis",
        values: Values::Words(axes),
        default: Absent::Refused,
    }],
    unit: Unit::Dimension(Dimension::LENGTH),
    frame: Origin::Relative,
    build: |arguments| Ok(Box::new(Edge(axis(arguments.word("axis").unwrap_or_default())))),
};

struct Edge(usize);

impl Variable for Edge {
    fn value(&self, frame: &Frame) -> Result<f64> {
        Ok(frame.simbox.lengths()[self.0])
    }

    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        gradient.strain[self.0] += weight * frame.simbox.lengths()[self.0];
    }

    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        Some((CenterFunction::Edge(self.0), Vec::new()))
    }
}
