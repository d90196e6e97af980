//! Tilt of the vector between two centres from an axis.

use super::angle::{BetweenVectors, parallel};
use super::{Origin, Unit, Variable, VariableKind, axes, axis};
use crate::definition::{Absent, Parameter, Selections, Values};
use crate::derivative::{VectorFunction, with_gradient};
use crate::frame::{Frame, Gradient};
use jostle_core::backend::CenterFunction;
use jostle_core::{Error, Result, Vec3};

pub(super) const KIND: VariableKind = VariableKind {
    name: "tilt",
    about: "angle between an axis and the vector from the first to the second centre, from 0 to pi",
    selections: Selections::Two,
    parameters: &[Parameter {
        name: "axis",
        about: "the axis",
        values: Values::Words(axes),
        default: Absent::Refused,
    }],
    unit: Unit::Radian,
    frame: Origin::Relative,
    build: |arguments| {
        let mut axis_vector = Vec3::ZERO;
        axis_vector[axis(arguments.word("axis").unwrap_or_default())] = 1.0;
        Ok(Box::new(Tilt { groups: [arguments.group(0), arguments.group(1)], axis: axis_vector }))
    },
};

struct Tilt {
    groups: [usize; 2],
    axis: Vec3,
}

impl Variable for Tilt {
    fn value(&self, frame: &Frame) -> Result<f64> {
        let d = frame.between(self.groups[0], self.groups[1]);
        if parallel(d, self.axis) {
            return Err(Error::simulation("its vector is along the axis, where it has no derivative"));
        }
        Ok(BetweenVectors.of([d, self.axis]))
    }

    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        let d = frame.between(self.groups[0], self.groups[1]);
        let (_, [slope, _]) = with_gradient(&BetweenVectors, [d, self.axis]);
        gradient.add_between(self.groups, d, slope.map(|s| weight * s));
    }

    fn is_near_turn(&self, frame: &Frame) -> bool {
        frame.is_near_turn(self.groups, |shift| shift.dot(self.axis) != 0.0)
    }

    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        let axis = self.axis.iter().position(|x| *x == 1.0)?;
        Some((CenterFunction::Tilt(axis), self.groups.to_vec()))
    }
}
