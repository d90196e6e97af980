//! Numbers of pairs within reach, each counted by a smooth function of its distance.

use crate::group::Group;
use jostle_core::backend::{MemberPair, PairCount};
use jostle_core::{Dual, Real};
use std::collections::HashSet;

/// Most pairs that one block of threads of a device counts in a step.
const MOST_PAIRS: usize = 1 << 15;

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

/// 1 / (1 + exp(x)), without an exponential that overflows.
fn falling<R: Real>(x: R) -> R {
    R::lit(0.5) - R::lit(0.5) * (R::lit(0.5) * x).tanh()
}

/// Count of a pair at the square of its distance, and the derivative with the distance over the distance. `end`: where a
/// contact counts one half.
pub fn count_of_pair<R: Real>(count: &PairCount, r2: R, end: R) -> [R; 2] {
    let r = r2.sqrt();
    let at = Dual::variable(r);
    let found = match *count {
        PairCount::Rational { reach, powers } => switching(at / Dual::lit(reach), powers),
        PairCount::Falling { steepness } => falling(Dual::lit(steepness) * (at - Dual::constant(end))),
    };
    [found.value, found.slope / r]
}

/// All pairs of two groups as plain data; `None` where they are too many.
pub(super) fn all_pairs(groups: [&Group; 2]) -> Option<Vec<MemberPair>> {
    if groups[0].len() * groups[1].len() > 2 * MOST_PAIRS {
        return None;
    }
    let mut pairs = Vec::new();
    for_each_pair(groups, |a, b| pairs.push(MemberPair { members: [a, b], end: 0.0 }));
    (pairs.len() <= MOST_PAIRS).then_some(pairs)
}

/// Chosen pairs as plain data, each with its end; `None` where they are too many.
pub(super) fn chosen_pairs(pairs: &[([usize; 2], f64)]) -> Option<Vec<MemberPair>> {
    let one = |(members, end): &([usize; 2], f64)| MemberPair { members: *members, end: *end };
    (pairs.len() <= MOST_PAIRS).then(|| pairs.iter().map(one).collect())
}
