//! Radius of gyration.

use super::{Origin, Unit, Variable, VariableKind};
use crate::definition::Selections;
use crate::frame::{Frame, Gradient};
use jostle_core::backend::CenterFunction;
use jostle_core::{Dimension, Error, Result};

pub(super) const KIND: VariableKind = VariableKind {
    name: "gyration",
    about: "radius of gyration of some atoms: root mean square of their distance from the centre",
    selections: Selections::One,
    parameters: &[],
    unit: Unit::Dimension(Dimension::LENGTH),
    frame: Origin::Relative,
    build: |arguments| Ok(Box::new(Gyration(arguments.group(0)))),
};

struct Gyration(usize);

impl Gyration {
    fn radius(&self, frame: &Frame) -> f64 {
        let (group, center) = (&frame.groups[self.0], frame.centers[self.0]);
        let arms = frame.whole[self.0].iter().map(|r| *r - center);
        arms.zip(&group.shares).map(|(arm, share)| share * arm.dot(arm)).sum::<f64>().sqrt()
    }
}

impl Variable for Gyration {
    fn value(&self, frame: &Frame) -> Result<f64> {
        match self.radius(frame) {
            radius if radius > 0.0 => Ok(radius),
            _ => Err(Error::simulation("its atoms are all at one place").hint("choose two atoms or more")),
        }
    }

    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        let (group, center) = (&frame.groups[self.0], frame.centers[self.0]);
        let factor = weight / self.radius(frame);
        for (atom, (r, share)) in frame.whole[self.0].iter().zip(&group.shares).enumerate() {
            let arm = *r - center;
            // The derivative with the centre vanishes, because arms add up to nothing.
            let slope = arm.map(|x| factor * share * x);
            gradient.add_atom(self.0, atom, slope);
            gradient.add_strain(arm, slope);
        }
    }

    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        Some((CenterFunction::Gyration, vec![self.0]))
    }
}
