//! Coordination number: pairs of two groups within reach, counted smoothly.

use super::{Origin, Unit, Variable, VariableKind};
use crate::definition::{Absent, Parameter, Selections, Values};
use crate::derivative::slope;
use crate::frame::{Frame, Gradient};
use crate::group::Group;
use jostle_core::vector::{dot, minus};
use jostle_core::{Dimension, Error, Real, Result, Vec3};
use std::collections::HashSet;

pub(super) const KIND: VariableKind = VariableKind {
    name: "coordination",
    about: "pairs of two groups within reach: the sum of (1 - (r/r0)^n) / (1 - (r/r0)^m) over them",
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
        let reach = arguments.number("reach");
        Ok(Box::new(Coordination { groups: [arguments.group(0), arguments.group(1)], reach, powers: [n, m] }))
    },
};

struct Coordination {
    groups: [usize; 2],
    reach: f64,
    powers: [u32; 2],
}

/// x to a whole power.
fn power<R: Real>(x: R, n: u32) -> R {
    (0..n).fold(R::lit(1.0), |product, _| product * x)
}

/// Rational switching function (1 - x^n) / (1 - x^m) of x = r / r0; the removable singularity at 1 is replaced
/// by the first terms of a series.
pub fn switching<R: Real>(x: R, [n, m]: [u32; 2]) -> R {
    let one = R::lit(1.0);
    let off = x - one;
    let (nf, mf) = (f64::from(n), f64::from(m));
    let near = R::lit(nf / mf) * (one + R::lit(0.5 * (nf - mf)) * off);
    let is_near = (off * off).lt(R::lit(1e-10));
    let below = R::select(is_near, one, one - power(x, m));
    R::select(is_near, near, (one - power(x, n)) / below)
}

/// Pairs of atoms of two groups, each once: places within the groups.
pub(super) fn for_each_pair(groups: [&Group; 2], mut f: impl FnMut(usize, usize)) {
    let [first, second] = groups;
    let [in_first, in_second] = groups.map(|group| group.places.iter().collect::<HashSet<_>>());
    for (a, place) in first.places.iter().enumerate() {
        for (b, other) in second.places.iter().enumerate() {
            let twice = in_second.contains(place) && in_first.contains(other);
            if place != other && !(twice && place > other) {
                f(a, b);
            }
        }
    }
}

impl Coordination {
    fn for_each(&self, frame: &Frame, mut f: impl FnMut(usize, usize, Vec3)) {
        let groups = self.groups.map(|group| &frame.groups[group]);
        let [first, second] = self.groups.map(|group| &frame.whole[group]);
        for_each_pair(groups, |a, b| f(a, b, frame.simbox.nearest_image(minus(second[b], first[a]))));
    }
}

impl Variable for Coordination {
    fn value(&self, frame: &Frame) -> Result<f64> {
        let mut sum = 0.0;
        self.for_each(frame, |_, _, d| sum += switching(dot(d, d).sqrt() / self.reach, self.powers));
        Ok(sum)
    }

    fn add_gradient(&self, frame: &Frame, weight: f64, gradient: &mut Gradient) {
        self.for_each(frame, |a, b, d| {
            let r = dot(d, d).sqrt();
            let falling = slope(r / self.reach, |x| switching(x, self.powers));
            let along = d.map(|x| weight * falling * x / (self.reach * r));
            gradient.add_atom(self.groups[0], a, along.map(|x| -x));
            gradient.add_atom(self.groups[1], b, along);
            gradient.add_strain(d, along);
        });
    }
}
