//! Distance between two centres, or a part of it.

use super::{Origin, Unit, Variable, VariableKind, axes, axis};
use crate::definition::{Absent, Arguments, Parameter, Selections, Values};
use crate::derivative::{Planar, VectorFunction, with_gradient};
use crate::frame::{Frame, Gradient, NEAR_TURN};
use jostle_core::backend::CenterFunction;
use jostle_core::{Dimension, Error, Result, SimBox, Vec3, Vector};

pub(super) const KIND: VariableKind = VariableKind {
    name: "distance",
    about: "between two centres, in their nearest images; of the vector, its part along an axis or in a plane",
    selections: Selections::Two,
    parameters: &[
        Parameter {
            name: "along",
            about: "its part along this axis alone, with its sign: from the first to the second centre",
            values: Values::Words(axes),
            default: Absent::None("the whole vector"),
        },
        Parameter {
            name: "in_plane",
            about: "its part in this plane alone",
            values: Values::Words(|| {
                vec![
                    ("xy", "the first two axes"),
                    ("xz", "the first and the third axis"),
                    ("yz", "the last two axes"),
                ]
            }),
            default: Absent::None("the whole vector"),
        },
    ],
    unit: Unit::Dimension(Dimension::LENGTH),
    frame: Origin::Relative,
    build,
};

/// Part of a vector.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    Whole,
    Along(usize),
    InPlane([usize; 2]),
}

struct Distance {
    groups: [usize; 2],
    part: Part,
}

fn build(arguments: &Arguments) -> Result<Box<dyn Variable>> {
    let part = match (arguments.word("along"), arguments.word("in_plane")) {
        (None, None) => Part::Whole,
        (Some(name), None) => Part::Along(axis(name)),
        (None, Some(plane)) => {
            let mut axes = plane.chars().map(|c| axis(&c.to_string()));
            Part::InPlane([axes.next().unwrap_or(0), axes.next().unwrap_or(0)])
        }
        (Some(_), Some(_)) => {
            return Err(Error::input("a distance along an axis and in a plane").hint("leave one of them out"));
        }
    };
    Ok(Box::new(Distance { groups: [arguments.group(0), arguments.group(1)], part }))
}

impl VectorFunction<1> for Part {
    fn of<R: Planar>(&self, [d]: [Vector<R>; 1]) -> R {
        match *self {
            Part::Whole => (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt(),
            Part::Along(k) => d[k],
            Part::InPlane([a, b]) => (d[a] * d[a] + d[b] * d[b]).sqrt(),
        }
    }
}

impl Variable for Distance {
    fn value(&self, frame: &Frame) -> Result<f64> {
        let d = frame.between(self.groups[0], self.groups[1]);
        let value = self.part.of([d]);
        match self.part {
            Part::Whole | Part::InPlane(_) if value == 0.0 => {
                Err(Error::simulation("its two centres are at the same place, where it has no direction"))
            }
            _ => Ok(value),
        }
    }

    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        let d = frame.between(self.groups[0], self.groups[1]);
        let (_, [slope]) = with_gradient(&self.part, [d]);
        gradient.add_between(self.groups, d, slope.map(|s| weight * s));
    }

    /// A component jumps to the other sign; a part in a plane jumps where an image is off by a vector that leaves the plane
    /// askew, and whole distances do not, as both images are as far.
    fn is_near_turn(&self, frame: &Frame) -> bool {
        match self.part {
            Part::Whole => false,
            Part::Along(k) => frame.is_near_turn(self.groups, |shift| shift[k] != 0.0),
            Part::InPlane([a, b]) => {
                let out = 3 - a - b;
                let is_askew = |shift: Vec3| shift[out] != 0.0 && (shift[a] != 0.0 || shift[b] != 0.0);
                frame.is_near_turn(self.groups, is_askew)
            }
        }
    }

    fn reach(&self, simbox: &SimBox) -> Option<f64> {
        match self.part {
            Part::Along(k) => simbox.periodic()[k].then(|| NEAR_TURN * simbox.lengths()[k]),
            Part::Whole | Part::InPlane(_) => None,
        }
    }

    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        let function = match self.part {
            Part::Whole => CenterFunction::Distance,
            Part::Along(axis) => CenterFunction::DistanceAlong(axis),
            Part::InPlane(axes) => CenterFunction::DistanceInPlane(axes),
        };
        Some((function, self.groups.to_vec()))
    }
}
