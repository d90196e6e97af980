//! Coordination number: pairs of two groups within reach, counted smoothly.

use super::pair_count::{all_pairs, count_of_pair, for_each_pair};
use super::{Origin, Unit, Variable, VariableKind};
use crate::definition::{Absent, Parameter, Selections, Values};
use crate::frame::{Frame, Gradient};
use crate::group::Group;
use jostle_core::backend::{CenterFunction, MemberPair, PairCount};
use jostle_core::{Dimension, Error, Result, SimBox, Vec3};

pub(super) const KIND: VariableKind = VariableKind {
    name: "coordination",
    about: "pairs of two groups within reach: the sum of (1 - (r/r0)^n) / (1 - (r/r0)^m) over them, each pair of atoms once",
    selections: Selections::Two,
    parameters: &[
        Parameter {
            name: "reach",
            about: "r0: the distance at which a pair counts n / m",
            values: Values::Quantity(Dimension::LENGTH),
            default: Absent::Refused,
        },
        Parameter { name: "n", about: "the power above", values: Values::Count, default: Absent::Value("6") },
        Parameter {
            name: "m",
            about: "the power below",
            values: Values::Count,
            default: Absent::Value("12"),
        },
    ],
    unit: Unit::Dimension(Dimension::NUMBER),
    frame: Origin::Relative,
    build: |arguments| {
        let [n, m] = ["n", "m"].map(|key| arguments.number(key) as u32);
        if n >= m {
            return Err(Error::input(format!("n = {n} is not below m = {m}")).hint("m is often 2 n"));
        }
        if m > LARGEST_POWER {
            let message = format!("m = {m}: every pair is counted by so many products");
            return Err(Error::input(message).hint(format!("at most {LARGEST_POWER}; m is often 12")));
        }
        let reach = arguments.number("reach");
        let count = PairCount::Rational { reach, powers: [n, m] };
        Ok(Box::new(Coordination { groups: [arguments.group(0), arguments.group(1)], count, pairs: None }))
    },
};

/// Largest power of a distance: a switch that is sharper is a step.
const LARGEST_POWER: u32 = 1000;

struct Coordination {
    groups: [usize; 2],
    count: PairCount,
    /// Pairs as plain data; `None` where they are too many for a device.
    pairs: Option<Vec<MemberPair>>,
}

impl Coordination {
    fn for_each(&self, frame: &Frame, mut f: impl FnMut(usize, usize, Vec3)) {
        let groups = self.groups.map(|group| &frame.groups[group]);
        let [first, second] = self.groups.map(|group| &frame.whole[group]);
        for_each_pair(groups, |a, b| f(a, b, frame.simbox.nearest_image(second[b] - first[a])));
    }
}

impl Variable for Coordination {
    fn begin(&mut self, groups: &[Group], _simbox: &SimBox) -> Result<()> {
        self.pairs = all_pairs(self.groups.map(|group| &groups[group]));
        Ok(())
    }

    fn value(&self, frame: &Frame) -> Result<f64> {
        let mut sum = 0.0;
        self.for_each(frame, |_, _, d| sum += count_of_pair(&self.count, d.dot(d), 0.0)[0]);
        Ok(sum)
    }

    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        self.for_each(frame, |a, b, d| {
            let [_, falling] = count_of_pair(&self.count, d.dot(d), 0.0);
            let along = d.map(|x| weight * falling * x);
            gradient.add_atom(self.groups[0], a, along.map(|x| -x));
            gradient.add_atom(self.groups[1], b, along);
            gradient.add_strain(d, along);
        });
    }

    fn of_centers(&self) -> Option<(CenterFunction, Vec<usize>)> {
        Some((CenterFunction::Pairs(self.count, self.pairs.clone()?), self.groups.to_vec()))
    }
}
