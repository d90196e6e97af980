//! Virtual sites: points without mass that follow atoms, their positions, and the forces that they hand on to
//! the atoms.

use crate::{Arms, LocalFrame, Real, SimBox, SiteRule, State, Vec3, Vector, VirtualSite};

impl SiteRule {
    /// A point at a distance from the apex of an isosceles triangle of this height, on the line to the middle
    /// of its base.
    pub fn towards_base(distance: f64, height: f64) -> Self {
        let weight = 0.5 * distance / height;
        SiteRule::Average([1.0 - 2.0 * weight, weight, weight])
    }

    /// Position of the point from its first atom, with the other two at `d` from that.
    #[inline(always)]
    pub fn place<R: Real>(self, d: [Vector<R>; 2]) -> Vector<R> {
        match self {
            SiteRule::Average([_, a, b]) => sum([a, b], d),
            SiteRule::OutOfPlane([a, b, c]) => along(sum([a, b], d), c, d[0].cross(d[1])),
            SiteRule::Frame(frame) => frame.place(d),
        }
    }

    /// Forces on its three atoms that are equivalent to a force on the point: by the chain rule, minus the
    /// derivatives of the energy.
    #[inline(always)]
    pub fn spread<R: Real>(self, d: [Vector<R>; 2], force: Vector<R>) -> [Vector<R>; 3] {
        let none = Vector([R::lit(0.0); 3]);
        let [second, third] = match self {
            SiteRule::Average([_, a, b]) => [along(none, a, force), along(none, b, force)],
            SiteRule::OutOfPlane([a, b, c]) => [
                along(along(none, a, force), c, d[1].cross(force)),
                along(along(none, b, force), c, force.cross(d[0])),
            ],
            SiteRule::Frame(frame) => frame.spread(d, force),
        };
        [Vector::from_fn(|k| force[k] - second[k] - third[k]), second, third]
    }

    /// Difference between the virial of the forces of [`SiteRule::spread`] and that of the force on the
    /// point, in the order of a [`crate::SymTensor`]: a point out of the plane does not follow a change of
    /// scale. Zero for averages.
    #[inline(always)]
    pub fn virial<R: Real>(self, d: [Vector<R>; 2], force: Vector<R>) -> [R; 6] {
        if self.is_average() {
            return [R::lit(0.0); 6];
        }
        let (place, [_, second, third]) = (self.place(d), self.spread(d, force));
        let product = |p: usize, q: usize| d[0][p] * second[q] + d[1][p] * third[q] - place[p] * force[q];
        let mean = |p, q| R::lit(0.5) * (product(p, q) + product(q, p));
        [product(0, 0), product(1, 1), product(2, 2), mean(0, 1), mean(0, 2), mean(1, 2)]
    }

    /// Returns true where the parts of forces do not depend on positions.
    pub fn is_average(self) -> bool {
        matches!(self, SiteRule::Average(_))
    }
}

/// A frame at the positions of its atoms.
struct Placed<R> {
    /// Arms, of length one where only directions count, and then the inverses of their lengths.
    arms: [Vector<R>; 2],
    inverse: Option<[R; 2]>,
    /// Unit vectors along x and z, and the inverse lengths of the vectors that they are made from.
    x: (Vector<R>, R),
    z: (Vector<R>, R),
    /// Sums of arms that x and, on its side, y are made from.
    sums: [Vector<R>; 2],
}

impl LocalFrame {
    /// Returns true where the place is on the axis x, so that the other axes do not matter and need not
    /// exist.
    fn is_on_axis(&self) -> bool {
        self.place[1..] == [0.0; 2]
    }

    #[inline(always)]
    fn at<R: Real>(&self, d: [Vector<R>; 2]) -> Placed<R> {
        let (arms, inverse) = match self.arms {
            Arms::AsLong => (d, None),
            Arms::Directions => {
                let [(first, one), (second, other)] = [unit(d[0]), unit(d[1])];
                ([first, second], Some([one, other]))
            }
        };
        let sums = [sum(self.x, arms), sum(self.y, arms)];
        let x = unit(sums[0]);
        let z = if self.is_on_axis() { x } else { unit(sums[0].cross(sums[1])) };
        Placed { arms, inverse, x, z, sums }
    }

    #[inline(always)]
    fn place<R: Real>(&self, d: [Vector<R>; 2]) -> Vector<R> {
        let Placed { x: (x, _), z: (z, _), .. } = self.at(d);
        let [along_x, along_y, along_z] = self.place;
        let place = along(sum(self.origin, d), along_x, x);
        if self.is_on_axis() { place } else { along(along(place, along_y, z.cross(x)), along_z, z) }
    }

    /// The forces on the second and the third atom.
    #[inline(always)]
    fn spread<R: Real>(&self, d: [Vector<R>; 2], force: Vector<R>) -> [Vector<R>; 2] {
        let Placed { arms, inverse, x, z, sums } = self.at(d);
        let none = Vector([R::lit(0.0); 3]);
        let [along_x, along_y, along_z] = self.place;
        // Forces on the unit vectors, then on the sums that they are made from; y is z x x.
        let mut on_x = along(none, along_x, force);
        let mut on_sums = [none; 2];
        if !self.is_on_axis() {
            on_x = along(on_x, along_y, force.cross(z.0));
            let on_z = along(along(none, along_z, force), along_y, x.0.cross(force));
            let on_normal = turned(z, on_z);
            on_sums = [sums[1].cross(on_normal), on_normal.cross(sums[0])];
        }
        on_sums[0] += turned(x, on_x);
        let on_arm = |k: usize| {
            let on_arm = sum([self.x[k], self.y[k]], on_sums);
            let on_arm = inverse.map_or(on_arm, |inverse| turned((arms[k], inverse[k]), on_arm));
            along(on_arm, self.origin[k], force)
        };
        [on_arm(0), on_arm(1)]
    }
}

/// a u + b v
#[inline(always)]
fn sum<R: Real>([a, b]: [f64; 2], [u, v]: [Vector<R>; 2]) -> Vector<R> {
    Vector::from_fn(|k| R::lit(a).mul_add(u[k], R::lit(b) * v[k]))
}

/// r + a d
#[inline(always)]
fn along<R: Real>(r: Vector<R>, a: f64, d: Vector<R>) -> Vector<R> {
    Vector::from_fn(|k| R::lit(a).mul_add(d[k], r[k]))
}

/// A unit vector along v, and the inverse length of v.
#[inline(always)]
fn unit<R: Real>(v: Vector<R>) -> (Vector<R>, R) {
    let inverse = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).rsqrt();
    (v * inverse, inverse)
}

/// Force on a vector if `force` acts on the unit vector along it.
#[inline(always)]
fn turned<R: Real>((unit, inverse): (Vector<R>, R), force: Vector<R>) -> Vector<R> {
    let radial = force[0] * unit[0] + force[1] * unit[1] + force[2] * unit[2];
    Vector::from_fn(|k| inverse * (force[k] - radial * unit[k]))
}

/// A virtual site of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Site {
    /// Index of the point in the group.
    pub site: usize,
    /// Indices of the atoms that it follows.
    pub atoms: [usize; 3],
    /// Rule by which it follows them.
    pub rule: SiteRule,
}

impl Site {
    /// Vectors from the first atom to the other two, with the group at `r`.
    #[inline(always)]
    fn arms<R: Real>(&self, r: &[Vector<R>]) -> [Vector<R>; 2] {
        let [first, second, third] = self.atoms;
        [r[second] - r[first], r[third] - r[first]]
    }
}

/// Moves the virtual sites of a group to where their atoms place them.
#[inline(always)]
pub fn follow<R: Real>(sites: &[Site], r: &mut [Vector<R>]) {
    for site in sites {
        r[site.site] = r[site.atoms[0]] + site.rule.place(site.arms(r));
    }
}

/// Hands the forces on virtual sites of a group at `r` on to their atoms. Returns the addition to the virial,
/// in the order of a [`crate::SymTensor`].
#[inline(always)]
pub fn spread<R: Real>(sites: &[Site], r: &[Vector<R>], force: &mut [Vector<R>]) -> [R; 6] {
    let mut virial = [R::lit(0.0); 6];
    for site in sites {
        let (arms, on_site) = (site.arms(r), force[site.site]);
        force[site.site] = Vector([R::lit(0.0); 3]);
        for (atom, more) in site.atoms.into_iter().zip(site.rule.spread(arms, on_site)) {
            force[atom] += more;
        }
        for (sum, more) in virial.iter_mut().zip(site.rule.virial(arms, on_site)) {
            *sum = *sum + more;
        }
    }
    virial
}

/// Moves virtual sites to where their atoms place them, in the image in which they are.
pub fn follow_atoms(sites: &[VirtualSite], simbox: &SimBox, state: &mut State) {
    if sites.is_empty() {
        return;
    }
    let index_by_id = state.index_by_id();
    for VirtualSite { site, atoms, rule } in sites {
        let [first, second, third] = atoms.map(|id| state.position[index_by_id.of(id)]);
        let from_first = |r: Vec3| simbox.nearest_image(r - first);
        let place = rule.place([from_first(second), from_first(third)]);
        let r = &mut state.position[index_by_id.of(*site)];
        *r += simbox.nearest_image(first + place - *r);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    const FRAME: LocalFrame = LocalFrame {
        arms: Arms::AsLong,
        origin: [0.2, -0.3],
        x: [0.6, 0.5],
        y: [1.0, -0.9],
        place: [0.3, -0.7, 0.4],
    };
    const RULES: [SiteRule; 6] = [
        SiteRule::Average([0.74, 0.13, 0.13]),
        SiteRule::Average([0.5, 0.7, -0.2]),
        SiteRule::OutOfPlane([-0.34, -0.37, 0.64]),
        SiteRule::Frame(FRAME),
        SiteRule::Frame(LocalFrame { arms: Arms::Directions, ..FRAME }),
        SiteRule::Frame(LocalFrame { x: [-1.0, 0.0], place: [1.3, 0.0, 0.0], ..FRAME }),
    ];

    /// The energy of the point is its place times a constant vector, so that forces are minus that.
    #[test]
    fn spread_forces_are_derivatives() {
        let mut random = Stream::new(5, Purpose::Placement, 0, 0);
        for rule in RULES {
            let atoms: [Vec3; 3] = std::array::from_fn(|_| random.normal3());
            let force = random.normal3();
            let arms = |r: [Vec3; 3]| [1, 2].map(|a: usize| r[a] - r[0]);
            let energy = |r: [Vec3; 3]| {
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

    /// Axes of arms 2 along x and 4 along y: along their sum, or along their bisector.
    #[test]
    fn axes_are_made_of_arms() {
        let d = [Vector([2.0, 0.0, 0.0]), Vector([0.0, 4.0, 0.0])];
        let frame = LocalFrame { origin: [0.5, 0.25], x: [1.0, 1.0], y: [-1.0, 1.0], ..FRAME };
        let at = |arms, place| SiteRule::Frame(LocalFrame { arms, place, ..frame }).place::<f64>(d);
        let (half, fifth) = (0.5f64.sqrt(), 0.2f64.sqrt());
        for (arms, place, wanted) in [
            (Arms::AsLong, [1.0, 0.0, 0.0], [fifth, 2.0 * fifth, 0.0]),
            (Arms::AsLong, [0.0, 1.0, 0.0], [-2.0 * fifth, fifth, 0.0]),
            (Arms::Directions, [1.0, 0.0, 0.0], [half, half, 0.0]),
            (Arms::Directions, [1.0, 1.0, 0.3], [0.0, 2.0 * half, 0.3]),
        ] {
            let found = at(arms, place);
            let off = |k: usize| found[k] - [1.0, 1.0, 0.0][k] - wanted[k];
            assert!((0..3).all(|k| off(k).abs() < 1e-14), "{arms:?} {place:?}: {found:?}");
        }
        // A third atom that defines no plane does no harm to a point on the axis.
        let rule =
            SiteRule::Frame(LocalFrame { x: [-1.0, 0.0], origin: [0.0; 2], place: [3.0, 0.0, 0.0], ..FRAME });
        assert_eq!(rule.place([Vector(d[0].0), Vector(d[0].0)]), [-3.0, 0.0, 0.0]);
        assert_eq!(
            rule.spread([Vector(d[0].0), Vector(d[0].0)], Vector([1.0, 2.0, 0.0])),
            [[1.0, 5.0, 0.0], [0.0, -3.0, 0.0], [0.0; 3]]
        );
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
