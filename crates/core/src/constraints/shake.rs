//! Constraints of a group solved together: SHAKE for positions, RATTLE for velocities.

use super::MOST;
use crate::{Real, Vector};

/// Size of the lower triangle of a matrix, stored row by row.
const TRIANGLE: usize = MOST * (MOST + 1) / 2;

/// Coupling of constraints: the change of the speed along one distance of a group by an impulse along
/// another.
#[derive(Debug, Clone, Copy)]
pub struct ImpulseCoupling<R> {
    /// The distances, as vectors.
    pub arms: [Vector<R>; MOST],
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
    pub fn from_parts(arms: &[Vector<R>], factors: &[R]) -> Self {
        let mut coupling =
            ImpulseCoupling { arms: [Vector([R::lit(0.0); 3]); MOST], factors: [R::lit(0.0); TRIANGLE] };
        coupling.arms[..arms.len()].copy_from_slice(arms);
        coupling.factors[..factors.len()].copy_from_slice(factors);
        coupling
    }

    /// Coupling of a group with its atoms at `r`. The matrix is positive definite where constraints do not
    /// contradict each other.
    #[inline(always)]
    pub fn new(pairs: &[[usize; 2]], r: &[Vector<R>], inverse_mass: &[R]) -> Self {
        let mut coupling =
            ImpulseCoupling { arms: [Vector([R::lit(0.0); 3]); MOST], factors: [R::lit(0.0); TRIANGLE] };
        let ImpulseCoupling { arms, factors: m } = &mut coupling;
        for (k, [a, b]) in pairs.iter().enumerate() {
            arms[k] = r[*a] - r[*b];
        }
        for (i, [a, b]) in pairs.iter().enumerate() {
            m[at(i, i)] = (inverse_mass[*a] + inverse_mass[*b]) * arms[i].dot(arms[i]);
            for (j, [c, d]) in pairs[..i].iter().enumerate() {
                // Different constraints share one atom at most.
                let weight = match () {
                    () if a == c || a == d => inverse_mass[*a],
                    () if b == c || b == d => inverse_mass[*b],
                    () => continue,
                };
                let product = weight * arms[i].dot(arms[j]);
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
    fn take(&self, pairs: &[[usize; 2]], impulses: &[R], inverse_mass: &[R], from: &mut [Vector<R>]) {
        for (k, [a, b]) in pairs.iter().enumerate() {
            from[*a] = from[*a].along(-(impulses[k] * inverse_mass[*a]), self.arms[k]);
            from[*b] = from[*b].along(impulses[k] * inverse_mass[*b], self.arms[k]);
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
    now: &mut [Vector<R>],
) -> R {
    let (mut wrong, mut error) = ([R::lit(0.0); MOST], R::lit(0.0));
    for (k, [a, b]) in pairs.iter().enumerate() {
        let (d, square) = (now[*a] - now[*b], lengths[k] * lengths[k]);
        let excess = d.dot(d) - square;
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
pub fn rattle<R: Real>(
    pairs: &[[usize; 2]],
    r: &[Vector<R>],
    inverse_mass: &[R],
    v: &mut [Vector<R>],
) -> [R; 6] {
    let coupling = ImpulseCoupling::new(pairs, r, inverse_mass);
    let mut impulses = [R::lit(0.0); MOST];
    for (k, [a, b]) in pairs.iter().enumerate() {
        impulses[k] = coupling.arms[k].dot(v[*a] - v[*b]);
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
