//! Constraints (distances that do not change) and virtual sites: groups of atoms that are joined by them, and
//! their effect on positions and velocities.
//!
//! Positions after a drift are moved back along the distances before the drift (SHAKE: Ryckaert, Ciccotti and
//! Berendsen, J. Comput. Phys. 23 (1977) 327), all of a group at once (Kräutler, van Gunsteren and
//! Hünenberger, J. Comput. Chem. 22 (2001) 501), and for molecules of water in closed form (SETTLE: Miyamoto
//! and Kollman, J. Comput. Chem. 13 (1992) 952). Velocities lose the part that would change a distance
//! (RATTLE: Andersen, J. Comput. Phys. 52 (1983) 24).

use crate::virtual_sites::Site;
use crate::{Constraint, Error, Real, Result, System, VirtualSite};
use std::collections::BTreeMap;

/// Largest number of constraints that are solved together.
pub const MOST: usize = 12;

/// Largest number of atoms in a group, virtual sites included.
pub const MOST_ATOMS: usize = 16;

/// Relative error of squared distances at which iterations end.
pub const TOLERANCE: f64 = 1e-12;

/// Largest number of rounds of [`shake`]: more than any intact molecule needs.
pub const MOST_ROUNDS: usize = 100;

/// Size of the lower triangle of a matrix, stored row by row.
const TRIANGLE: usize = MOST * (MOST + 1) / 2;

/// All constraints and virtual sites of a system.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Groups {
    /// Distinct shapes of groups.
    pub shapes: Vec<Shape>,
    /// Groups, sorted by shape.
    pub groups: Vec<Group>,
}

/// Common properties of groups of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// Number of atoms, virtual sites included.
    pub atoms: usize,
    /// The two atoms of each constraint.
    pub pairs: Vec<[usize; 2]>,
    /// Virtual sites, which are the last of the atoms.
    pub sites: Vec<Site>,
    /// Method by which positions are found.
    pub solver: Solver,
}

/// Method by which the positions of a group are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Solver {
    /// Iteration: [`shake`].
    Shake,
    /// Closed form for rigid molecules of water: [`settle`].
    Settle,
}

/// Atoms that are joined by constraints or by a virtual site.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Index into [`Groups::shapes`].
    pub shape: usize,
    /// Ids of the atoms.
    pub atoms: Vec<u32>,
    /// Lengths of the constraints.
    pub lengths: Vec<f64>,
    /// Geometry for [`settle`]; `None` for other solvers.
    pub water: Option<Water<f64>>,
}

/// A rigid triangle of three atoms, the last two of which have the same mass and the same distance
/// from the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Water<R> {
    /// Distance from the centre of mass to the first atom.
    pub to_apex: R,
    /// Distance from the centre of mass to the middle between the last two atoms.
    pub to_base: R,
    /// Half the distance between the last two atoms.
    pub half_base: R,
    /// Part of the mass that each of the last two atoms has.
    pub weight: R,
}

impl Groups {
    /// Groups of a system. In each group, atoms with more constraints come first and virtual sites last, so
    /// that groups of one kind have the same pairs.
    ///
    /// # Errors
    /// If more than [`MOST`] constraints or [`MOST_ATOMS`] atoms are joined.
    pub fn new(system: &System) -> Result<Self> {
        let (_, inverse_mass) = system.dynamic_masses();
        let inverse_mass = inverse_mass.by_id(&system.state);
        // A constraint between two atoms that no force moves is left out.
        let held = |c: &&Constraint| c.atoms.iter().any(|id| inverse_mass[*id as usize] > 0.0);
        let constraints = || system.topology.constraints.iter().filter(held);
        let sites = &system.topology.virtual_sites;
        let mut leader: Vec<u32> = (0..system.state.len() as u32).collect();
        let find = |leader: &[u32], mut a: u32| {
            while leader[a as usize] != a {
                a = leader[a as usize];
            }
            a
        };
        let followed = sites.iter().flat_map(|v| v.atoms.map(|atom| [v.site, atom]));
        for [a, b] in constraints().map(|c| c.atoms).chain(followed) {
            let [a, b] = [a, b].map(|id| find(&leader, id));
            leader[a.max(b) as usize] = a.min(b);
        }
        let mut by_leader: BTreeMap<u32, Members> = BTreeMap::new();
        for constraint in constraints() {
            by_leader.entry(find(&leader, constraint.atoms[0])).or_default().constraints.push(*constraint);
        }
        for site in sites {
            by_leader.entry(find(&leader, site.site)).or_default().sites.push(*site);
        }
        let mass: Vec<f64> = inverse_mass.iter().map(|inverse| inverse.recip()).collect();
        let mut all = Groups::default();
        for members in by_leader.into_values() {
            let (constraints, atoms) = (members.constraints.len(), members.atoms());
            let (n, what, most) = match constraints > MOST {
                true => (constraints, "constraints", MOST),
                false => (atoms.len(), "atoms", MOST_ATOMS),
            };
            if n > most {
                let name = system.names.describe(atoms[0]);
                let message = format!("{n} {what} hang together at {name}");
                return Err(Error::input(message).hint(format!("at most {most} may")));
            }
            all.add(&members, atoms, &mass);
        }
        all.groups.sort_by_key(|group| group.shape);
        Ok(all)
    }

    fn add(&mut self, members: &Members, mut atoms: Vec<u32>, mass: &[f64]) {
        let Members { constraints, sites } = members;
        let held = |id: u32| constraints.iter().filter(|c| c.atoms.contains(&id)).count();
        let follows = |id: u32| sites.iter().any(|v| v.site == id);
        atoms.sort_by_key(|id| (follows(*id), std::cmp::Reverse(held(*id)), *id));
        let n_led = atoms.len() - sites.len();
        if n_led == 3 && constraints.len() == 3 {
            // The atom whose mass differs from that of both others comes first.
            let [a, b, c] = [0, 1, 2].map(|k| mass[atoms[k] as usize]);
            match () {
                () if b == c => {}
                () if a == c => atoms.swap(0, 1),
                () if a == b => atoms[..3].rotate_right(1),
                () => {}
            }
        }
        let place = |id: u32| atoms.iter().position(|a| *a == id).unwrap_or(0);
        let mut held: Vec<([usize; 2], f64)> = constraints
            .iter()
            .map(|c| {
                let [a, b] = c.atoms.map(place);
                ([a.min(b), a.max(b)], c.length)
            })
            .collect();
        held.sort_by_key(|(pair, _)| *pair);
        let (pairs, lengths): (Vec<_>, Vec<_>) = held.into_iter().unzip();
        let mut sites: Vec<Site> = sites
            .iter()
            .map(|v| Site { site: place(v.site), atoms: v.atoms.map(place), rule: v.rule })
            .collect();
        sites.sort_by_key(|site| site.site);
        let masses: Vec<f64> = atoms[..n_led].iter().map(|id| mass[*id as usize]).collect();
        let water = Water::new(&pairs, &lengths, &masses);
        let solver = if water.is_some() { Solver::Settle } else { Solver::Shake };
        let shape = Shape { atoms: atoms.len(), pairs, sites, solver };
        let known = self.shapes.iter().position(|known| *known == shape);
        let shape = known.unwrap_or_else(|| {
            self.shapes.push(shape);
            self.shapes.len() - 1
        });
        self.groups.push(Group { shape, atoms, lengths, water });
    }
}

/// Constraints and virtual sites of a group.
#[derive(Debug, Default)]
struct Members {
    constraints: Vec<Constraint>,
    sites: Vec<VirtualSite>,
}

impl Members {
    /// Ids, in ascending order.
    fn atoms(&self) -> Vec<u32> {
        let held = self.constraints.iter().flat_map(|c| c.atoms);
        let mut atoms: Vec<u32> =
            held.chain(self.sites.iter().flat_map(|v| v.atoms.into_iter().chain([v.site]))).collect();
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }
}

impl Water<f64> {
    /// `None` where these atoms are something else.
    fn new(pairs: &[[usize; 2]], lengths: &[f64], masses: &[f64]) -> Option<Self> {
        if pairs != [[0, 1], [0, 2], [1, 2]] {
            return None;
        }
        let (&[arm, other, base], &[apex, end, last]) = (lengths, masses) else { return None };
        if arm != other || end != last || !(apex + end).is_finite() || base >= 2.0 * arm {
            return None;
        }
        let weight = end / (apex + 2.0 * end);
        let height = (arm * arm - 0.25 * base * base).sqrt();
        let to_apex = 2.0 * weight * height;
        Some(Water { to_apex, to_base: height - to_apex, half_base: 0.5 * base, weight })
    }
}

#[inline(always)]
pub(crate) fn minus<R: Real>(a: [R; 3], b: [R; 3]) -> [R; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
fn plus<R: Real>(a: [R; 3], b: [R; 3]) -> [R; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline(always)]
fn dot<R: Real>(a: [R; 3], b: [R; 3]) -> R {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

#[inline(always)]
pub(crate) fn cross<R: Real>(a: [R; 3], b: [R; 3]) -> [R; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// r + factor d
#[inline(always)]
fn along<R: Real>(r: [R; 3], factor: R, d: [R; 3]) -> [R; 3] {
    [factor.mul_add(d[0], r[0]), factor.mul_add(d[1], r[1]), factor.mul_add(d[2], r[2])]
}

// Functions rather than closures, and arrays rather than `map`: what is not inlined for certain would
// be compiled without the instruction set that registers need.

/// A vector of length one along v.
#[inline(always)]
fn unit<R: Real>(v: [R; 3]) -> [R; 3] {
    let inverse = dot(v, v).rsqrt();
    [v[0] * inverse, v[1] * inverse, v[2] * inverse]
}

/// The cosine that belongs to a sine, if positive.
#[inline(always)]
fn cosine<R: Real>(sine: R) -> R {
    (R::lit(1.0) - sine * sine).sqrt()
}

/// p a + q b
#[inline(always)]
fn mixed<R: Real>(p: R, a: [R; 3], q: R, b: [R; 3]) -> [R; 3] {
    [p.mul_add(a[0], q * b[0]), p.mul_add(a[1], q * b[1]), p.mul_add(a[2], q * b[2])]
}

/// Coupling of constraints: the change of the speed along one distance of a group by an impulse along
/// another.
#[derive(Debug, Clone, Copy)]
pub struct ImpulseCoupling<R> {
    /// The distances, as vectors.
    pub arms: [[R; 3]; MOST],
    /// L and, on the diagonal, the inverse of D, where the symmetric matrix is L D L^T.
    pub factors: [R; TRIANGLE],
}

/// Index of row i, column j in the lower triangle.
fn at(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

impl<R: Real> ImpulseCoupling<R> {
    /// Number of factors for `n` constraints.
    pub fn n_factors(n: usize) -> usize {
        at(n, 0)
    }

    /// Coupling from its arms and its [`ImpulseCoupling::n_factors`] factors.
    pub fn from_parts(arms: &[[R; 3]], factors: &[R]) -> Self {
        let mut coupling =
            ImpulseCoupling { arms: [[R::lit(0.0); 3]; MOST], factors: [R::lit(0.0); TRIANGLE] };
        coupling.arms[..arms.len()].copy_from_slice(arms);
        coupling.factors[..factors.len()].copy_from_slice(factors);
        coupling
    }

    /// Coupling of a group with its atoms at `r`. The matrix is positive definite where constraints do not
    /// contradict each other.
    #[inline(always)]
    pub fn new(pairs: &[[usize; 2]], r: &[[R; 3]], inverse_mass: &[R]) -> Self {
        let mut coupling =
            ImpulseCoupling { arms: [[R::lit(0.0); 3]; MOST], factors: [R::lit(0.0); TRIANGLE] };
        let ImpulseCoupling { arms, factors: m } = &mut coupling;
        for (k, [a, b]) in pairs.iter().enumerate() {
            arms[k] = minus(r[*a], r[*b]);
        }
        for (i, [a, b]) in pairs.iter().enumerate() {
            m[at(i, i)] = (inverse_mass[*a] + inverse_mass[*b]) * dot(arms[i], arms[i]);
            for (j, [c, d]) in pairs[..i].iter().enumerate() {
                // Different constraints share one atom at most.
                let weight = match () {
                    () if a == c || a == d => inverse_mass[*a],
                    () if b == c || b == d => inverse_mass[*b],
                    () => continue,
                };
                let product = weight * dot(arms[i], arms[j]);
                m[at(i, j)] = if a == c || b == d { product } else { -product };
            }
        }
        let n = pairs.len();
        for k in 0..n {
            let inverse = m[at(k, k)].recip();
            m[at(k, k)] = inverse;
            for i in (k + 1..n).rev() {
                let l = m[at(i, k)] * inverse;
                for j in k + 1..=i {
                    m[at(i, j)] = m[at(i, j)] - l * m[at(j, k)];
                }
                m[at(i, k)] = l;
            }
        }
        coupling
    }

    /// Replaces changes of the speeds along the arms by the impulses that cause them.
    #[inline(always)]
    fn solve(&self, x: &mut [R]) {
        let (m, n) = (&self.factors, x.len());
        for i in 1..n {
            for j in 0..i {
                x[i] = x[i] - m[at(i, j)] * x[j];
            }
        }
        for i in (0..n).rev() {
            x[i] = x[i] * m[at(i, i)];
            for j in i + 1..n {
                x[i] = x[i] - m[at(j, i)] * x[j];
            }
        }
    }

    /// Subtracts impulses along the arms from positions or velocities.
    #[inline(always)]
    fn take(&self, pairs: &[[usize; 2]], impulses: &[R], inverse_mass: &[R], from: &mut [[R; 3]]) {
        for (k, [a, b]) in pairs.iter().enumerate() {
            from[*a] = along(from[*a], -(impulses[k] * inverse_mass[*a]), self.arms[k]);
            from[*b] = along(from[*b], impulses[k] * inverse_mass[*b], self.arms[k]);
        }
    }
}

/// One round of SHAKE: moves atoms from `now` along their arms before the drift, so that errors of squared
/// distances become of second order in the drift. Returns the sum of the squared relative errors before the
/// round.
#[inline(always)]
pub fn shake<R: Real>(
    pairs: &[[usize; 2]],
    before: &ImpulseCoupling<R>,
    lengths: &[R],
    inverse_mass: &[R],
    now: &mut [[R; 3]],
) -> R {
    let (mut wrong, mut error) = ([R::lit(0.0); MOST], R::lit(0.0));
    for (k, [a, b]) in pairs.iter().enumerate() {
        let (d, square) = (minus(now[*a], now[*b]), lengths[k] * lengths[k]);
        let excess = dot(d, d) - square;
        wrong[k] = R::lit(0.5) * excess;
        let relative = excess * square.recip();
        error = relative.mul_add(relative, error);
    }
    let wrong = &mut wrong[..pairs.len()];
    before.solve(wrong);
    before.take(pairs, wrong, inverse_mass, now);
    error
}

/// RATTLE: removes from the velocities `v` of atoms at `r` the part that would change a distance. Returns the
/// sum of arm times impulse over the constraints, in the order of a [`crate::SymTensor`].
#[inline(always)]
pub fn rattle<R: Real>(pairs: &[[usize; 2]], r: &[[R; 3]], inverse_mass: &[R], v: &mut [[R; 3]]) -> [R; 6] {
    let coupling = ImpulseCoupling::new(pairs, r, inverse_mass);
    let mut impulses = [R::lit(0.0); MOST];
    for (k, [a, b]) in pairs.iter().enumerate() {
        impulses[k] = dot(coupling.arms[k], minus(v[*a], v[*b]));
    }
    let impulses = &mut impulses[..pairs.len()];
    coupling.solve(impulses);
    coupling.take(pairs, impulses, inverse_mass, v);
    let mut sum = [R::lit(0.0); 6];
    for (impulse, arm) in impulses.iter().zip(&coupling.arms) {
        for (sum, (p, q)) in sum.iter_mut().zip([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]) {
            *sum = *sum - *impulse * arm[p] * arm[q];
        }
    }
    sum
}

/// SETTLE: positions of the atoms of a molecule of water that drifted from `before` to `now`, by the equations of
/// Miyamoto and Kollman (1992); not a number where the atoms have flown apart.
#[inline(always)]
pub fn settle<R: Real>(water: &Water<R>, before: [[R; 3]; 3], now: [[R; 3]; 3]) -> [[R; 3]; 3] {
    let Water { to_apex, to_base, half_base, weight } = *water;
    // Vectors are counted from the first atom, so that no digits are lost.
    let (b0, c0) = (minus(before[1], before[0]), minus(before[2], before[0]));
    let ends = [minus(now[1], now[0]), minus(now[2], now[0])];
    let center = mixed(weight, ends[0], weight, ends[1]);
    let a1 = [-center[0], -center[1], -center[2]];
    let (b1, c1) = (minus(ends[0], center), minus(ends[1], center));
    // Axes: z across the plane of the molecule before, x across the apex now.
    let z = unit(cross(b0, c0));
    let x = unit(cross(a1, z));
    let y = cross(z, x);
    let (b0, c0) = ([dot(x, b0), dot(y, b0)], [dot(x, c0), dot(y, c0)]);
    let heights = [dot(z, a1), dot(z, b1), dot(z, c1)];
    let (b1, c1) = ([dot(x, b1), dot(y, b1)], [dot(x, c1), dot(y, c1)]);
    // Tilted so that heights are what they are (eqs. A8 to A10),
    let sin_phi = heights[0] / to_apex;
    let cos_phi = cosine(sin_phi);
    let sin_psi = (heights[1] - heights[2]) / (R::lit(2.0) * half_base * cos_phi);
    let cos_psi = cosine(sin_psi);
    let ya = to_apex * cos_phi;
    let xb = -(half_base * cos_psi);
    let (middle, lift) = (to_base * cos_phi, half_base * sin_psi * sin_phi);
    let (yb, yc) = (-middle - lift, lift - middle);
    // then turned about z so that impulses are along the arms before (eqs. A15 to A17).
    let alpha = xb * (b0[0] - c0[0]) + b0[1] * yb + c0[1] * yc;
    let beta = xb * (c0[1] - b0[1]) + b0[0] * yb + c0[0] * yc;
    let gamma = b0[0] * b1[1] - b1[0] * b0[1] + c0[0] * c1[1] - c1[0] * c0[1];
    let both = alpha * alpha + beta * beta;
    let sin_theta = (alpha * gamma - beta * (both - gamma * gamma).sqrt()) / both;
    let cos_theta = cosine(sin_theta);
    let (u, v) = (mixed(cos_theta, x, sin_theta, y), mixed(cos_theta, y, -sin_theta, x));
    // Positions from the centre of mass.
    let apex = mixed(ya, v, heights[0], z);
    let left = along(mixed(xb, u, yb, v), heights[1], z);
    let right = along(mixed(-xb, u, yc, v), heights[2], z);
    let center = plus(now[0], center);
    [plus(center, apex), plus(center, left), plus(center, right)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    const TRIANGLE: [[usize; 2]; 3] = [[0, 1], [0, 2], [1, 2]];

    /// A molecule of water at a random place, its positions after a drift of this size, and its inverse
    /// masses.
    fn drifted(seed: u32, step: f64) -> ([[f64; 3]; 3], [[f64; 3]; 3], [f64; 3]) {
        let mut random = Stream::new(9, Purpose::Placement, seed, 0);
        let (x, other) = (random.direction(), random.direction());
        let inverse = 1.0 / dot(cross(x, other), cross(x, other)).sqrt();
        let z = cross(x, other).map(|u| u * inverse);
        let y = cross(z, x);
        let place = random.normal3();
        let (height, half) = (0.1 * 0.577381f64, 0.1 * 0.816471f64);
        let before = [[0.0, height], [-half, 0.0], [half, 0.0]].map(|[v, u]| {
            let r: [f64; 3] = std::array::from_fn(|k| place[k] + u * y[k] + v * x[k]);
            r
        });
        let now = before.map(|r| along(r, step, random.normal3()));
        (before, now, [1.0 / 15.9994, 1.0 / 1.008, 1.0 / 1.008])
    }

    fn water(before: [[f64; 3]; 3], inverse_mass: [f64; 3]) -> (Water<f64>, [f64; 3]) {
        let mut lengths = TRIANGLE.map(|[a, b]| {
            let d = minus(before[a], before[b]);
            dot(d, d).sqrt()
        });
        lengths[1] = lengths[0];
        (Water::new(&TRIANGLE, &lengths, &inverse_mass.map(f64::recip)).unwrap(), lengths)
    }

    /// Iteration and closed form give the same positions.
    #[test]
    fn settle_and_shake_agree() {
        for seed in 0..200 {
            let (before, now, inverse_mass) = drifted(seed, 0.004);
            let (water, lengths) = water(before, inverse_mass);
            let settled = settle(&water, before, now);
            let coupling = ImpulseCoupling::new(&TRIANGLE, &before, &inverse_mass);
            let mut shaken = now;
            let rounds = (0..MOST_ROUNDS)
                .position(|_| shake(&TRIANGLE, &coupling, &lengths, &inverse_mass, &mut shaken) < 1e-26);
            assert!(rounds.is_some_and(|n| n < 30), "{rounds:?}");
            for (pair, length) in TRIANGLE.iter().zip(lengths) {
                let d = minus(settled[pair[0]], settled[pair[1]]);
                assert!((dot(d, d).sqrt() / length - 1.0).abs() < 1e-13);
            }
            for (a, b) in settled.iter().flatten().zip(shaken.iter().flatten()) {
                assert!((a - b).abs() < 1e-14, "{settled:?} {shaken:?}");
            }
            // Atoms move each other: their centre of mass and its angular momentum stay.
            let moved: [[f64; 3]; 3] = std::array::from_fn(|k| minus(settled[k], now[k]));
            for k in 0..3 {
                let linear: f64 = moved.iter().zip(inverse_mass).map(|(d, m)| d[k] / m).sum();
                let angular: f64 = (0..3).map(|a| cross(before[a], moved[a])[k] / inverse_mass[a]).sum();
                assert!(linear.abs() < 1e-14 && angular.abs() < 1e-14, "{linear:e} {angular:e}");
            }
        }
    }

    #[test]
    fn what_has_flown_apart_does_not_settle() {
        let (before, now, inverse_mass) = drifted(1, 0.3);
        let (water, lengths) = water(before, inverse_mass);
        let settled = settle(&water, before, now);
        assert!(settled.iter().flatten().any(|x| x.is_nan()), "{settled:?}");
        let coupling = ImpulseCoupling::new(&TRIANGLE, &before, &inverse_mass);
        let mut shaken = now;
        let error = shake(&TRIANGLE, &coupling, &lengths, &inverse_mass, &mut shaken);
        assert!(error > 0.1, "{error}");
    }

    #[test]
    fn velocities_along_constraints_are_gone_and_momentum_stays() {
        // A centre with four neighbours, two of which are held at a distance, too.
        let pairs = [[0, 1], [0, 2], [0, 3], [0, 4], [2, 3]];
        let mut random = Stream::new(3, Purpose::Placement, 0, 0);
        let r: Vec<[f64; 3]> = (0..5).map(|_| random.normal3()).collect();
        let before: Vec<[f64; 3]> = (0..5).map(|_| random.normal3()).collect();
        let inverse_mass = [1.0 / 12.0, 1.0, 0.5, 1.0, 0.25];
        let mut v = before.clone();
        let impulse = rattle(&pairs, &r, &inverse_mass, &mut v);
        for [a, b] in pairs {
            assert!(dot(minus(r[a], r[b]), minus(v[a], v[b])).abs() < 1e-13);
        }
        let trace: f64 = (0..5).map(|k| dot(r[k], minus(v[k], before[k])) / inverse_mass[k]).sum();
        assert!((impulse[0] + impulse[1] + impulse[2] - trace).abs() < 1e-12, "{impulse:?} {trace}");
        for k in 0..3 {
            let change: f64 = (0..5).map(|a| (v[a][k] - before[a][k]) / inverse_mass[a]).sum();
            assert!(change.abs() < 1e-12);
        }
    }

    #[test]
    fn atoms_that_hang_together_are_found() {
        use crate::{SimBox, Species, Topology};
        let species = |name: &str, mass| Species { name: name.into(), mass, charge: 0.0 };
        let simbox = SimBox::orthorhombic([9.0; 3]).unwrap();
        let mut system = System::new(simbox, vec![species("O", 16.0), species("H", 1.0), species("C", 12.0)]);
        [1, 0, 1, 0, 1, 2, 1, 1].iter().for_each(|s| system.state.push(*s, [0.0; 3]));
        let hold = |a: u32, b: u32, length: f64| Constraint { atoms: [a, b], length };
        system.topology = Topology::default();
        system.topology.constraints = vec![
            hold(0, 2, 1.6),
            hold(7, 5, 1.1),
            hold(1, 0, 1.0),
            hold(2, 1, 1.0),
            hold(4, 5, 1.1),
            hold(5, 6, 1.1),
        ];
        let Groups { shapes, groups } = Groups::new(&system).unwrap();
        assert_eq!((&groups[0].atoms[..], &groups[1].atoms[..]), (&[1, 0, 2][..], &[5, 4, 6, 7][..]));
        assert_eq!(shapes[groups[0].shape].pairs, [[0, 1], [0, 2], [1, 2]]);
        assert_eq!(shapes[groups[1].shape].pairs, [[0, 1], [0, 2], [0, 3]]);
        let water = groups[0].water.unwrap();
        assert!((water.to_apex + water.to_base - 0.6).abs() < 1e-15 && water.half_base == 0.8);
        assert!((water.weight - 1.0 / 18.0).abs() < 1e-15 && groups[1].water.is_none());
        system.topology.constraints[0].length = 2.1;
        assert!(Groups::new(&system).unwrap().groups[0].water.is_none());
    }
}
