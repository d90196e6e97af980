//! Root mean square deviation from a reference structure, after the best rotation.

use super::{Origin, Unit, Variable, VariableKind};
use crate::definition::{Absent, Parameter, Selections, Values};
use crate::frame::{Frame, Gradient};
use crate::group::Group;
use crate::rotation::best_rotation;
use jostle_core::backend::CenterFunction;
use jostle_core::{Dimension, Error, Result, SimBox, Vec3, Vector};

pub(super) const KIND: VariableKind = VariableKind {
    name: "rmsd",
    about: "root mean square deviation from a reference, moved and turned to where it fits best (Kabsch 1976); atoms weigh by mass, or alike",
    selections: Selections::One,
    parameters: &[Parameter {
        name: "reference",
        about: "a file with the reference: all atoms of the system, or those of the group alone",
        values: Values::File,
        default: Absent::None("the positions when the run began"),
    }],
    unit: Unit::Dimension(Dimension::LENGTH),
    frame: Origin::Relative,
    build: |arguments| {
        let reference = arguments.reference.clone();
        Ok(Box::new(Rmsd { group: arguments.group(0), given: reference, reference: Vec::new() }))
    },
};

/// Deviation over the largest coordinate of an atom below which it is rounding, which has no direction.
const ROUNDING: f64 = 1e-12;

struct Rmsd {
    group: usize,
    given: Option<Vec<Vec3>>,
    /// Reference positions about their centre.
    reference: Vec<Vec3>,
}

/// Deviations of atoms from the turned reference, and the root of their weighted mean square.
struct Fit {
    deviations: Vec<Vec3>,
    rmsd: f64,
}

impl Rmsd {
    fn fit(&self, frame: &Frame) -> Fit {
        let (group, center) = (&frame.groups[self.group], frame.centers[self.group]);
        let arms: Vec<Vec3> = frame.whole[self.group].iter().map(|r| *r - center).collect();
        let turn = best_rotation(&self.reference, &arms, &group.shares);
        let turned = |y: &Vec3| Vector(turn.map(|row| row.dot(*y)));
        let deviations: Vec<Vec3> = arms.iter().zip(&self.reference).map(|(x, y)| *x - turned(y)).collect();
        let square = deviations.iter().zip(&group.shares).map(|(d, share)| share * d.norm_squared());
        Fit { rmsd: square.sum::<f64>().sqrt(), deviations }
    }
}

impl Variable for Rmsd {
    fn begin(&mut self, groups: &[Group], _simbox: &SimBox) -> Result<()> {
        let group = &groups[self.group];
        if group.len() < 3 {
            return Err(Error::input("a structure has three atoms or more").hint("use a distance"));
        }
        let positions = self.given.as_ref().unwrap_or(&group.start.positions);
        if positions.len() != group.len() {
            let message = format!("the reference has {} atoms, the group {}", positions.len(), group.len());
            return Err(Error::input(message));
        }
        let center = group.center(positions);
        self.reference = positions.iter().map(|r| *r - center).collect();
        Ok(())
    }

    fn value(&self, frame: &Frame) -> Result<f64> {
        Ok(self.fit(frame).rmsd)
    }

    /// At the best rotation its change does not change the deviation, so that the derivative is that with the
    /// rotation held. At the reference itself there is no derivative, and none is added. Deviations have no centre but by
    /// rounding, which is taken off: nothing pulls the group as a whole.
    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        let (group, center, fit) = (&frame.groups[self.group], frame.centers[self.group], self.fit(frame));
        let coordinates = frame.whole[self.group].iter().flatten();
        if fit.rmsd <= ROUNDING * coordinates.fold(0.0, |most: f64, x| most.max(x.abs())) {
            return;
        }
        let off_center = group.center(&fit.deviations);
        for (atom, (deviation, share)) in fit.deviations.iter().zip(&group.shares).enumerate() {
            let slope = (*deviation - off_center).map(|d| weight * share * d / fit.rmsd);
            gradient.add_atom(self.group, atom, slope);
            gradient.add_strain(frame.whole[self.group][atom] - center, slope);
        }
    }

    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        Some((CenterFunction::Deviation(self.reference.clone()), vec![self.group]))
    }
}
