//! Position of a centre along an axis.

use super::{Origin, Unit, Variable, VariableKind, axes, axis};
use crate::definition::{Absent, Parameter, Selections, Values};
use crate::frame::{Frame, Gradient};
use jostle_core::backend::CenterFunction;
use jostle_core::{Dimension, Result, Vec3};

pub(super) const KIND: VariableKind = VariableKind {
    name: "position",
    about: "of the centre of some atoms along an axis, on its unbroken path",
    selections: Selections::One,
    parameters: &[Parameter {
        name: "axis",
        about: "the axis",
        values: Values::Words(axes),
        default: Absent::Refused,
    }],
    unit: Unit::Dimension(Dimension::LENGTH),
    frame: Origin::Fixed,
    build: |arguments| {
        let axis = axis(arguments.word("axis").unwrap_or_default());
        Ok(Box::new(Position { group: arguments.group(0), axis }))
    },
};

struct Position {
    group: usize,
    axis: usize,
}

impl Variable for Position {
    fn value(&self, frame: &Frame) -> Result<f64> {
        Ok(frame.centers[self.group][self.axis])
    }

    /// Atoms scale with the box from its corner, as fractional coordinates do.
    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        let mut slope: Vec3 = Vec3::ZERO;
        slope[self.axis] = weight;
        gradient.centers[self.group] += slope;
        gradient.add_strain(frame.centers[self.group] - frame.simbox.origin(), slope);
    }

    fn axes_of_places(&self) -> [bool; 3] {
        std::array::from_fn(|axis| axis == self.axis)
    }

    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        Some((CenterFunction::Position(self.axis), vec![self.group]))
    }
}
