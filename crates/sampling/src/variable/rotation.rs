//! Angle by which a group has turned about an axis through its centre.

use super::dihedral::PERIOD;
use super::{Origin, Unit, Variable, VariableKind, axes, axis};
use crate::definition::{Absent, Parameter, Selections, Values};
use crate::frame::{Frame, Gradient};
use crate::group::Group;
use jostle_core::{Error, Result, SimBox, Vec3};

pub(super) const KIND: VariableKind = VariableKind {
    name: "rotation",
    about: "angle by which some atoms have turned about an axis through their centre, from -pi to pi: that of the turn by which the reference fits them best in the plane across the axis",
    selections: Selections::One,
    parameters: &[
        Parameter { name: "axis", about: "the axis", values: Values::Words(axes), default: Absent::Refused },
        Parameter {
            name: "reference",
            about: "a file with the reference: all atoms of the system, or those of the group alone",
            values: Values::File,
            default: Absent::None("the positions when the run began"),
        },
    ],
    unit: Unit::Radian,
    frame: Origin::Relative,
    build: |arguments| {
        let along = axis(arguments.word("axis").unwrap_or_default());
        let across = [(along + 1) % 3, (along + 2) % 3];
        let given = arguments.reference.clone();
        Ok(Box::new(Rotation { group: arguments.group(0), across, given, reference: Vec::new() }))
    },
};

struct Rotation {
    group: usize,
    /// The axes of the plane, in the order of a right-handed system with the axis of the turn.
    across: [usize; 2],
    given: Option<Vec<Vec3>>,
    /// Reference positions about their centre, in the plane.
    reference: Vec<[f64; 2]>,
}

/// Sums of products of the reference with the positions: along each other, and across.
struct Products {
    cosine: f64,
    sine: f64,
}

impl Rotation {
    fn in_plane(&self, arm: Vec3) -> [f64; 2] {
        self.across.map(|k| arm[k])
    }

    fn products(&self, frame: &Frame) -> Products {
        let (group, center) = (&frame.groups[self.group], frame.centers[self.group]);
        let mut sums = Products { cosine: 0.0, sine: 0.0 };
        for ((r, share), [a, b]) in frame.whole[self.group].iter().zip(&group.shares).zip(&self.reference) {
            let [x, y] = self.in_plane(*r - center);
            sums.cosine += share * (a * x + b * y);
            sums.sine += share * (a * y - b * x);
        }
        sums
    }
}

impl Variable for Rotation {
    fn begin(&mut self, groups: &[Group], _simbox: &SimBox) -> Result<()> {
        let group = &groups[self.group];
        let positions = self.given.as_ref().unwrap_or(&group.start.positions);
        if positions.len() != group.len() {
            let message = format!("the reference has {} atoms, the group {}", positions.len(), group.len());
            return Err(Error::input(message));
        }
        let center = group.center(positions);
        self.reference = positions.iter().map(|r| self.in_plane(*r - center)).collect();
        if self.reference.as_flattened().iter().all(|x| *x == 0.0) {
            return Err(Error::input("all atoms of its reference are on the axis")
                .hint("choose atoms beside it, or another axis"));
        }
        Ok(())
    }

    fn value(&self, frame: &Frame) -> Result<f64> {
        match self.products(frame) {
            Products { cosine: 0.0, sine: 0.0 } => {
                Err(Error::simulation("its atoms fit the reference alike by every turn"))
            }
            Products { cosine, sine } => Ok(sine.atan2(cosine)),
        }
    }

    /// Arms of the reference add up to nothing, so that the derivative with the centre vanishes. A turn of all atoms
    /// adds its angle to the value: minus the derivatives times a torque are forces of just this torque.
    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        let (group, center) = (&frame.groups[self.group], frame.centers[self.group]);
        let Products { cosine, sine } = self.products(frame);
        let factor = weight / (cosine * cosine + sine * sine);
        let atoms = frame.whole[self.group].iter().zip(&group.shares).zip(&self.reference);
        for (atom, ((r, share), [a, b])) in atoms.enumerate() {
            let in_plane = [-cosine * b - sine * a, cosine * a - sine * b].map(|x| factor * share * x);
            let mut slope = Vec3::ZERO;
            self.across.iter().zip(in_plane).for_each(|(k, x)| slope[*k] = x);
            gradient.add_atom(self.group, atom, slope);
            gradient.add_strain(*r - center, slope);
        }
    }

    fn period(&self) -> Option<f64> {
        Some(PERIOD)
    }
}
