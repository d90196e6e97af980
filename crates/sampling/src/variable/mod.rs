//! Collective variables: functions of the positions of a few atoms or of many. A kind is one file and one line of
//! [`ALL`], from which the input, its schema and the tests follow.

mod angle;
mod contacts;
mod coordination;
mod dihedral;
mod dipole;
mod distance;
mod edge;
mod energy;
mod formula;
mod gyration;
mod pair_count;
mod position;
mod rmsd;
mod rotation;
mod tilt;
mod volume;

pub use energy::check_term;
pub use pair_count::{count_of_pair, switching};

use crate::definition::{Arguments, Parameter, Selections};
use crate::derivative::{Planar, with_gradient};
use crate::frame::{Frame, Gradient};
use crate::group::Group;
use jostle_core::backend::CenterFunction;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Result, SimBox, UnitSystem, Vector};
use std::fmt;

/// A variable of a system.
pub trait Variable: Send {
    /// Its value.
    ///
    /// # Errors
    /// If it is not defined for these positions.
    fn value(&self, frame: &Frame) -> Result<f64>;

    /// Adds `weight` times its derivative with positions and box.
    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient);

    /// Adds `weight` times its derivative with other variables to their weights.
    fn add_weights(&self, _frame: &Frame, _weight: f64, _weights: &mut [f64]) {}

    /// Axes along which its forces act on the total momentum, where it depends on places in space.
    fn axes_of_places(&self) -> [bool; 3] {
        [true; 3]
    }

    /// Returns true where its derivative is known, so that biases may act on it.
    fn has_gradient(&self) -> bool {
        true
    }

    /// Takes note of the positions that groups had when the run began, and of the box then.
    ///
    /// # Errors
    /// If the variable makes no sense for them.
    fn begin(&mut self, _groups: &[Group], _simbox: &SimBox) -> Result<()> {
        Ok(())
    }

    /// Period of its values, if they are those of a circle.
    fn period(&self) -> Option<f64> {
        None
    }

    /// Returns true where other images of its centres are about to be the nearest, by which its value would jump: a bias
    /// would do work there that no force has done.
    fn is_near_turn(&self, _frame: &Frame) -> bool {
        false
    }

    /// Largest size of its value before that, where this follows from the value and the box alone.
    fn reach(&self, _simbox: &SimBox) -> Option<f64> {
        None
    }

    /// The function of centres that it is, and the numbers of the groups; `None` where it depends on the positions
    /// of atoms otherwise, so that devices leave it to the host.
    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        None
    }
}

/// A function of vectors between centres, for devices: from their components to its value, a number that is positive
/// where it is defined, and its derivative with each component. A tilt is the angle of its vector and the axis;
/// `None` for functions of other things.
pub fn of_vectors<R: Planar>(function: &CenterFunction, x: &[R]) -> Option<Vec<R>> {
    let vector = |n: usize| Vector([x[3 * n], x[3 * n + 1], x[3 * n + 2]]);
    let part = match *function {
        CenterFunction::Distance => distance::Part::Whole,
        CenterFunction::DistanceAlong(axis) => distance::Part::Along(axis),
        CenterFunction::DistanceInPlane(axes) => distance::Part::InPlane(axes),
        CenterFunction::Angle | CenterFunction::Tilt(_) => {
            let vectors = [vector(0), vector(1)];
            let (value, gradient) = with_gradient(&angle::BetweenVectors, vectors);
            let margin = angle::margin(vectors[0], vectors[1]);
            return Some([value, margin].into_iter().chain(gradient.into_iter().flatten()).collect());
        }
        CenterFunction::Dihedral => {
            let vectors = [vector(0), vector(1), vector(2)];
            let (value, gradient) = with_gradient(&dihedral::Turn, vectors);
            let margins = [0, 1].map(|k| angle::margin(vectors[k], vectors[k + 1]));
            let margin = R::select(margins[0].lt(margins[1]), margins[0], margins[1]);
            return Some([value, margin].into_iter().chain(gradient.into_iter().flatten()).collect());
        }
        CenterFunction::Position(_)
        | CenterFunction::Edge(_)
        | CenterFunction::Volume
        | CenterFunction::Formula(_)
        | CenterFunction::Gyration
        | CenterFunction::Deviation(_)
        | CenterFunction::Dipole(_)
        | CenterFunction::Pairs(..) => return None,
    };
    let (value, [gradient]) = with_gradient(&part, [vector(0)]);
    let margin = if let distance::Part::Along(_) = part { R::lit(1.0) } else { value };
    Some([&[value, margin], &gradient[..]].concat())
}

impl VariableKind {
    /// Period of its values, if they are those of a circle.
    pub fn period(&self) -> Option<f64> {
        [dihedral::KIND.name, rotation::KIND.name].contains(&self.name).then_some(dihedral::PERIOD)
    }

    /// Returns true where weights of atoms in centres are part of it: pairs of atoms have none.
    pub fn weighs_atoms(&self) -> bool {
        self.selections != Selections::None
            && ![coordination::KIND.name, contacts::KIND.name].contains(&self.name)
    }

    /// Returns true where its value follows from the energies of a run, and not from positions.
    pub fn takes_energies(&self) -> bool {
        self.name == energy::KIND.name
    }

    /// Key of the term whose energy it is, where it is one.
    pub fn key_of_term(&self) -> Option<&'static str> {
        self.takes_energies().then_some(energy::TERM)
    }
}

impl fmt::Debug for VariableKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A kind of variable.
pub struct VariableKind {
    /// Name in an input file.
    pub name: &'static str,
    /// Explanation in one line.
    pub about: &'static str,
    /// Selections of atoms that it needs.
    pub selections: Selections,
    /// Parameters besides.
    pub parameters: &'static [Parameter],
    /// Unit of its values.
    pub unit: Unit,
    /// Dependence on where in space the atoms are, and not on their relative positions alone.
    pub frame: Origin,
    /// The variable, for groups and parameters.
    pub build: fn(&Arguments) -> Result<Box<dyn Variable>>,
}

/// Unit of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// That of a dimension.
    Dimension(Dimension),
    /// Radians.
    Radian,
}

impl Unit {
    /// Name in a system of units.
    pub fn name(self, units: UnitSystem) -> String {
        match self {
            Unit::Dimension(dimension) => unit_name(units, dimension),
            Unit::Radian => "rad".to_string(),
        }
    }
}

/// Dependence of a variable on the origin of space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Relative positions alone: forces conserve momentum.
    Relative,
    /// Places in space.
    Fixed,
}

/// All kinds, in the order of the documentation.
pub static ALL: &[VariableKind] = &[
    distance::KIND,
    angle::KIND,
    dihedral::KIND,
    position::KIND,
    tilt::KIND,
    gyration::KIND,
    rmsd::KIND,
    rotation::KIND,
    coordination::KIND,
    contacts::KIND,
    dipole::KIND,
    edge::KIND,
    volume::KIND,
    energy::KIND,
    formula::KIND,
];

/// The kind of a name.
pub fn find(name: &str) -> Option<&'static VariableKind> {
    ALL.iter().find(|kind| kind.name == name)
}

/// Axes by name.
pub(crate) fn axes() -> Vec<(&'static str, &'static str)> {
    vec![("x", "the first axis"), ("y", "the second axis"), ("z", "the third axis")]
}

/// Number of an axis.
pub(crate) fn axis(name: &str) -> usize {
    axes().iter().position(|(axis, _)| *axis == name).unwrap_or(0)
}
