//! Dihedral angle of four centres.

use super::angle::parallel;
use super::{Origin, Unit, Variable, VariableKind};
use crate::definition::Selections;
use crate::derivative::{Planar, VectorFunction, with_gradient};
use crate::frame::{Frame, Gradient};
use jostle_core::backend::CenterFunction;
use jostle_core::{Error, Result, Vec3, Vector};

pub(super) const KIND: VariableKind = VariableKind {
    name: "dihedral",
    about: "of four centres, from -pi to pi, zero where the outer ones are on the same side (IUPAC)",
    selections: Selections::Several(4),
    parameters: &[],
    unit: Unit::Radian,
    frame: Origin::Relative,
    build: |arguments| Ok(Box::new(Dihedral([0, 1, 2, 3].map(|k| arguments.group(k))))),
};

/// A full turn.
pub(super) const PERIOD: f64 = 2.0 * std::f64::consts::PI;

/// Dihedral angle of three vectors in a chain.
pub(super) struct Turn;

impl VectorFunction<3> for Turn {
    fn of<R: Planar>(&self, [a, b, c]: [Vector<R>; 3]) -> R {
        let (first, second) = (a.cross(b), b.cross(c));
        R::angle(first.dot(second), b.dot(b).sqrt() * a.dot(second))
    }
}

struct Dihedral([usize; 4]);

impl Dihedral {
    fn vectors(&self, frame: &Frame) -> [Vec3; 3] {
        [0, 1, 2].map(|k| frame.between(self.0[k], self.0[k + 1]))
    }
}

impl Variable for Dihedral {
    fn value(&self, frame: &Frame) -> Result<f64> {
        let [a, b, c] = self.vectors(frame);
        if parallel(a, b) || parallel(b, c) {
            return Err(Error::simulation(
                "three of its four centres are on a line, where it is not defined",
            )
            .hint("choose four centres that make two angles"));
        }
        Ok(Turn.of([a, b, c]))
    }

    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        let vectors = self.vectors(frame);
        let (_, slopes) = with_gradient(&Turn, vectors);
        for k in 0..3 {
            gradient.add_between([self.0[k], self.0[k + 1]], vectors[k], slopes[k].map(|s| weight * s));
        }
    }

    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        Some((CenterFunction::Dihedral, self.0.to_vec()))
    }

    fn period(&self) -> Option<f64> {
        Some(PERIOD)
    }
}
