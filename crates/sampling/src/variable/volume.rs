//! Volume of the box.

use super::{Origin, Unit, Variable, VariableKind};
use crate::definition::Selections;
use crate::frame::{Frame, Gradient};
use jostle_core::backend::CenterFunction;
use jostle_core::{Dimension, Result};

pub(super) const KIND: VariableKind = VariableKind {
    name: "volume",
    about: "of the box",
    selections: Selections::None,
    parameters: &[],
    unit: Unit::Dimension(Dimension { length: 3, ..Dimension::NUMBER }),
    frame: Origin::Relative,
    build: |_| Ok(Box::new(Volume)),
};

struct Volume;

impl Variable for Volume {
    fn value(&self, frame: &Frame) -> Result<f64> {
        Ok(frame.simbox.volume())
    }

    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        let slope = weight * frame.simbox.volume();
        gradient.strain[..3].iter_mut().for_each(|sum| *sum += slope);
    }

    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        Some((CenterFunction::Volume, Vec::new()))
    }
}
