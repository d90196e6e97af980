//! Points without mass that follow atoms: where they are, and what a force on them does to the atoms.

use crate::constraints::{cross, minus};
use crate::{Real, SimBox, SiteRule, State, VirtualSite};

impl SiteRule {
    /// So far from the apex of an isosceles triangle of this height, on the line to the middle of its base.
    pub fn towards_base(distance: f64, height: f64) -> Self {
        let weight = 0.5 * distance / height;
        SiteRule::Average([1.0 - 2.0 * weight, weight, weight])
    }

    /// a, b and c of r1 + a d2 + b d3 + c d2 x d3, where d2 and d3 lead from the first atom to the others.
    fn weights(self) -> [f64; 3] {
        match self {
            SiteRule::Average([_, second, third]) => [second, third, 0.0],
            SiteRule::OutOfPlane(weights) => weights,
        }
    }

    /// Where the point is, from its first atom, with the other two at `d` from that.
    #[inline(always)]
    pub fn place<R: Real>(self, d: [[R; 3]; 2]) -> [R; 3] {
        let [a, b, c] = self.weights();
        let place: [R; 3] = std::array::from_fn(|k| R::lit(a).mul_add(d[0][k], R::lit(b) * d[1][k]));
        match self {
            SiteRule::Average(_) => place,
            SiteRule::OutOfPlane(_) => {
                let normal = cross(d[0], d[1]);
                std::array::from_fn(|k| R::lit(c).mul_add(normal[k], place[k]))
            }
        }
    }

    /// The forces on its three atoms that a force on the point is: by the chain rule, minus the
    /// derivatives of the energy.
    #[inline(always)]
    pub fn spread<R: Real>(self, d: [[R; 3]; 2], force: [R; 3]) -> [[R; 3]; 3] {
        let [a, b, c] = self.weights();
        let [mut second, mut third] = [a, b].map(|weight| force.map(|f| R::lit(weight) * f));
        if let SiteRule::OutOfPlane(_) = self {
            let [turn_second, turn_third] = [cross(d[1], force), cross(force, d[0])];
            for k in 0..3 {
                second[k] = R::lit(c).mul_add(turn_second[k], second[k]);
                third[k] = R::lit(c).mul_add(turn_third[k], third[k]);
            }
        }
        [std::array::from_fn(|k| force[k] - second[k] - third[k]), second, third]
    }

    /// By how much the virial of the forces of [`SiteRule::spread`] exceeds that of the force on the
    /// point, in the order of a [`crate::SymTensor`]: a point out of the plane does not follow a change
    /// of scale. Zero for averages.
    #[inline(always)]
    pub fn virial<R: Real>(self, d: [[R; 3]; 2], force: [R; 3]) -> [R; 6] {
        if let SiteRule::Average(_) = self {
            return [R::lit(0.0); 6];
        }
        let (place, [_, second, third]) = (self.place(d), self.spread(d, force));
        let product = |p: usize, q: usize| d[0][p] * second[q] + d[1][p] * third[q] - place[p] * force[q];
        let mean = |p, q| R::lit(0.5) * (product(p, q) + product(q, p));
        [product(0, 0), product(1, 1), product(2, 2), mean(0, 1), mean(0, 2), mean(1, 2)]
    }
}

/// A point of a group that follows atoms of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Site {
    /// The point.
    pub site: usize,
    /// The atoms that it follows.
    pub atoms: [usize; 3],
    /// How it does.
    pub rule: SiteRule,
}

impl Site {
    /// Where the other two atoms are from the first one, with all of the group at `r`.
    #[inline(always)]
    fn arms<R: Real>(&self, r: &[[R; 3]]) -> [[R; 3]; 2] {
        let [first, second, third] = self.atoms;
        [minus(r[second], r[first]), minus(r[third], r[first])]
    }
}

/// Puts the points of a group to where its atoms want them.
#[inline(always)]
pub fn follow<R: Real>(sites: &[Site], r: &mut [[R; 3]]) {
    for site in sites {
        let (first, place) = (r[site.atoms[0]], site.rule.place(site.arms(r)));
        r[site.site] = [first[0] + place[0], first[1] + place[1], first[2] + place[2]];
    }
}

/// Gives the forces on points of a group at `r` to its atoms. What that adds to the virial, in the order
/// of a [`crate::SymTensor`].
#[inline(always)]
pub fn spread<R: Real>(sites: &[Site], r: &[[R; 3]], force: &mut [[R; 3]]) -> [R; 6] {
    let mut virial = [R::lit(0.0); 6];
    for site in sites {
        let (arms, on_site) = (site.arms(r), force[site.site]);
        force[site.site] = [R::lit(0.0); 3];
        for (atom, more) in site.atoms.into_iter().zip(site.rule.spread(arms, on_site)) {
            force[atom] = std::array::from_fn(|k| force[atom][k] + more[k]);
        }
        for (sum, more) in virial.iter_mut().zip(site.rule.virial(arms, on_site)) {
            *sum = *sum + more;
        }
    }
    virial
}

/// Puts points to where their atoms want them, in the image in which they are.
pub fn follow_atoms(sites: &[VirtualSite], simbox: &SimBox, state: &mut State) {
    if sites.is_empty() {
        return;
    }
    let order = state.order();
    for VirtualSite { site, atoms, rule } in sites {
        let [first, second, third] = atoms.map(|id| state.position[order[id as usize]]);
        let from_first = |r: [f64; 3]| simbox.nearest_image(std::array::from_fn(|k| r[k] - first[k]));
        let place = rule.place([from_first(second), from_first(third)]);
        let r = &mut state.position[order[*site as usize]];
        let way = simbox.nearest_image(std::array::from_fn(|k| first[k] + place[k] - r[k]));
        (0..3).for_each(|k| r[k] += way[k]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    const RULES: [SiteRule; 3] = [
        SiteRule::Average([0.74, 0.13, 0.13]),
        SiteRule::Average([0.5, 0.7, -0.2]),
        SiteRule::OutOfPlane([-0.34, -0.37, 0.64]),
    ];

    /// The energy of the point is its place times a constant vector, so that forces are minus that.
    #[test]
    fn spread_forces_are_derivatives() {
        let mut random = Stream::new(5, Purpose::Placement, 0, 0);
        for rule in RULES {
            let atoms: [[f64; 3]; 3] = std::array::from_fn(|_| random.normal3());
            let force = random.normal3();
            let arms = |r: [[f64; 3]; 3]| [1, 2].map(|a: usize| std::array::from_fn(|k| r[a][k] - r[0][k]));
            let energy = |r: [[f64; 3]; 3]| {
                let place = rule.place(arms(r));
                -(0..3).map(|k| force[k] * (r[0][k] + place[k])).sum::<f64>()
            };
            let forces = rule.spread(arms(atoms), force);
            for a in 0..3 {
                for k in 0..3 {
                    let moved = |h: f64| {
                        let mut r = atoms;
                        r[a][k] += h;
                        energy(r)
                    };
                    let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                    assert!((forces[a][k] + slope).abs() < 1e-9, "{rule:?} {forces:?}");
                }
            }
            // The trace of the virial is minus the derivative by a common scale.
            let scaled = |h: f64| energy(atoms.map(|r| r.map(|x| x * (1.0 + h))));
            let slope = (scaled(1e-5) - scaled(-1e-5)) / 2e-5;
            let place = rule.place(arms(atoms));
            let of_point: f64 = (0..3).map(|k| force[k] * (atoms[0][k] + place[k])).sum();
            let more: f64 = rule.virial(arms(atoms), force)[..3].iter().sum();
            assert!((of_point + more + slope).abs() < 1e-9, "{rule:?}");
        }
    }

    #[test]
    fn points_follow_in_their_image() {
        let simbox = SimBox::orthorhombic([4.0; 3]).unwrap();
        let mut state = State::default();
        for r in [[3.9, 1.0, 1.0], [0.1, 1.0, 1.0], [-0.1, 2.0, 1.0], [0.3, 5.0, 1.0]] {
            state.push(0, r);
        }
        let rule = SiteRule::Average([0.5, 0.25, 0.25]);
        follow_atoms(&[VirtualSite { site: 3, atoms: [0, 1, 2], rule }], &simbox, &mut state);
        let wanted = [-0.05, 5.25, 1.0];
        assert!((0..3).all(|k| (state.position[3][k] - wanted[k]).abs() < 1e-12), "{:?}", state.position[3]);
    }
}
