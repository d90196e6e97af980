//! Dipole moment of a group.

use super::{Origin, Unit, Variable, VariableKind, axes, axis};
use crate::definition::{Absent, Parameter, Selections, Values};
use crate::frame::{Frame, Gradient};
use jostle_core::backend::CenterFunction;
use jostle_core::{Dimension, Error, Result, Vec3, Vector};

pub(super) const KIND: VariableKind = VariableKind {
    name: "dipole",
    about: "dipole moment of some atoms about their centre, whole across boundaries",
    selections: Selections::One,
    parameters: &[Parameter {
        name: "along",
        about: "its part along this axis alone",
        values: Values::Words(axes),
        default: Absent::None("its magnitude"),
    }],
    unit: Unit::Dimension(Dimension { charge: 1, length: 1, ..Dimension::NUMBER }),
    frame: Origin::Relative,
    build: |arguments| {
        Ok(Box::new(Dipole { group: arguments.group(0), along: arguments.word("along").map(axis) }))
    },
};

struct Dipole {
    group: usize,
    along: Option<usize>,
}

impl Dipole {
    fn moment(&self, frame: &Frame) -> Vec3 {
        let (group, center) = (&frame.groups[self.group], frame.centers[self.group]);
        let mut moment = Vec3::ZERO;
        for (r, charge) in frame.whole[self.group].iter().zip(&group.charges) {
            let arm = *r - center;
            moment += *charge * arm;
        }
        moment
    }
}

impl Variable for Dipole {
    fn value(&self, frame: &Frame) -> Result<f64> {
        let moment = self.moment(frame);
        match self.along {
            Some(axis) => Ok(moment[axis]),
            None => match moment.dot(moment).sqrt() {
                magnitude if magnitude > 0.0 => Ok(magnitude),
                _ => Err(Error::simulation("the dipole moment vanishes, where it has no direction")
                    .hint("take its part along an axis, or atoms with charges")),
            },
        }
    }

    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        let (group, center, moment) =
            (&frame.groups[self.group], frame.centers[self.group], self.moment(frame));
        let direction: Vec3 = match self.along {
            Some(axis) => Vector::from_fn(|k| if k == axis { weight } else { 0.0 }),
            None => moment.map(|x| weight * x / moment.dot(moment).sqrt()),
        };
        let total: f64 = group.charges.iter().sum();
        for (atom, (r, (charge, share))) in
            frame.whole[self.group].iter().zip(group.charges.iter().zip(&group.shares)).enumerate()
        {
            let slope = direction.map(|x| (charge - total * share) * x);
            gradient.add_atom(self.group, atom, slope);
            gradient.add_strain(*r - center, slope);
        }
    }

    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        Some((CenterFunction::Dipole(self.along), vec![self.group]))
    }
}
