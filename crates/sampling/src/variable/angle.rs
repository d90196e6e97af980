//! Angle at the second of three centres.

use super::{Origin, Unit, Variable, VariableKind};
use crate::definition::Selections;
use crate::derivative::{Planar, VectorFunction, with_gradient};
use crate::frame::{Frame, Gradient};
use jostle_core::backend::CenterFunction;
use jostle_core::{Error, Real, Result, Vec3, Vector};

pub(super) const KIND: VariableKind = VariableKind {
    name: "angle",
    about: "at the second of three centres, from 0 to pi",
    selections: Selections::Several(3),
    parameters: &[],
    unit: Unit::Radian,
    frame: Origin::Relative,
    build: |arguments| Ok(Box::new(Angle([0, 1, 2].map(|k| arguments.group(k))))),
};

/// Sine below which three centres are on a line.
pub(super) const SMALLEST_SINE: f64 = 1e-7;

/// The angle between two vectors.
pub(super) struct BetweenVectors;

impl VectorFunction<2> for BetweenVectors {
    fn of<R: Planar>(&self, [a, b]: [Vector<R>; 2]) -> R {
        let normal = a.cross(b);
        R::angle(a.dot(b), normal.dot(normal).sqrt())
    }
}

/// Number that is positive unless two vectors are parallel or one of them vanishes.
pub(super) fn margin<R: Real>(a: Vector<R>, b: Vector<R>) -> R {
    let normal = a.cross(b);
    normal.dot(normal) - R::lit(SMALLEST_SINE * SMALLEST_SINE) * a.dot(a) * b.dot(b)
}

/// Returns true where two vectors are parallel or one of them vanishes.
pub(super) fn parallel(a: Vec3, b: Vec3) -> bool {
    margin(a, b) <= 0.0
}

struct Angle([usize; 3]);

impl Angle {
    fn arms(&self, frame: &Frame) -> [Vec3; 2] {
        let [a, middle, b] = self.0;
        [frame.between(middle, a), frame.between(middle, b)]
    }
}

impl Variable for Angle {
    fn value(&self, frame: &Frame) -> Result<f64> {
        let [a, b] = self.arms(frame);
        if parallel(a, b) {
            return Err(Error::simulation("its three centres are on a line, where it has no derivative")
                .hint("bias something else, such as a distance"));
        }
        Ok(BetweenVectors.of([a, b]))
    }

    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        let arms = self.arms(frame);
        let (_, slopes) = with_gradient(&BetweenVectors, arms);
        let [a, middle, b] = self.0;
        gradient.add_between([middle, a], arms[0], slopes[0].map(|s| weight * s));
        gradient.add_between([middle, b], arms[1], slopes[1].map(|s| weight * s));
    }

    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        Some((CenterFunction::Angle, self.0.to_vec()))
    }
}
