//! Number of native contacts.

use super::pair_count::{chosen_pairs, count_of_pair, for_each_pair};
use super::{Origin, Unit, Variable, VariableKind};
use crate::definition::{Absent, Parameter, Selections, Values};
use crate::frame::{Frame, Gradient};
use crate::group::Group;
use jostle_core::backend::{CenterFunction, PairCount};
use jostle_core::{Dimension, Error, Result, SimBox, Vec3};

pub(super) const KIND: VariableKind = VariableKind {
    name: "contacts",
    about: "native contacts: pairs of two groups within reach when the run began, each counted by 1 / (1 + exp(steepness (r - tolerance r0))) (Best, Hummer and Eaton 2013)",
    selections: Selections::Two,
    parameters: &[
        Parameter {
            name: "reach",
            about: "the distance within which a pair is native",
            values: Values::Quantity(Dimension::LENGTH),
            default: Absent::Refused,
        },
        Parameter {
            name: "steepness",
            about: "how steeply a contact ends",
            values: Values::Quantity(Dimension::INVERSE_LENGTH),
            default: Absent::Refused,
        },
        Parameter {
            name: "tolerance",
            about: "times the native distance r0: where a contact counts one half",
            values: Values::Quantity(Dimension::NUMBER),
            default: Absent::Value("1.8"),
        },
    ],
    unit: Unit::Dimension(Dimension::NUMBER),
    frame: Origin::Relative,
    build: |arguments| {
        let [reach, steepness, tolerance] =
            ["reach", "steepness", "tolerance"].map(|key| arguments.number(key));
        let groups = [arguments.group(0), arguments.group(1)];
        let count = PairCount::Falling { steepness };
        Ok(Box::new(Contacts { groups, reach, count, tolerance, native: Vec::new() }))
    },
};

struct Contacts {
    groups: [usize; 2],
    reach: f64,
    count: PairCount,
    tolerance: f64,
    /// Pairs, by their places in the groups, and the distance beyond which they are no contact.
    native: Vec<([usize; 2], f64)>,
}

impl Contacts {
    fn vector(&self, frame: &Frame, [a, b]: [usize; 2]) -> Vec3 {
        let [first, second] = self.groups.map(|group| &frame.whole[group]);
        frame.simbox.nearest_image(second[b] - first[a])
    }
}

impl Variable for Contacts {
    fn begin(&mut self, groups: &[Group], simbox: &SimBox) -> Result<()> {
        let own = self.groups.map(|group| &groups[group]);
        let mut native = Vec::new();
        for_each_pair(own, |a, b| {
            let d = simbox.nearest_image(own[1].start.positions[b] - own[0].start.positions[a]);
            let r = d.dot(d).sqrt();
            if r < self.reach {
                native.push(([a, b], self.tolerance * r));
            }
        });
        self.native = native;
        Ok(())
    }

    fn value(&self, frame: &Frame) -> Result<f64> {
        if self.native.is_empty() {
            return Err(Error::input(format!("no pair of its groups is within {} at the start", self.reach))
                .hint("make reach longer"));
        }
        let one = |(pair, end): &([usize; 2], f64)| {
            let d = self.vector(frame, *pair);
            count_of_pair(&self.count, d.dot(d), *end)[0]
        };
        Ok(self.native.iter().map(one).sum())
    }

    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        for (pair, end) in &self.native {
            let d = self.vector(frame, *pair);
            let [_, steep] = count_of_pair(&self.count, d.dot(d), *end);
            let along = d.map(|x| weight * steep * x);
            gradient.add_atom(self.groups[0], pair[0], along.map(|x| -x));
            gradient.add_atom(self.groups[1], pair[1], along);
            gradient.add_strain(d, along);
        }
    }

    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        Some((CenterFunction::Pairs(self.count, chosen_pairs(&self.native)?), self.groups.to_vec()))
    }
}
