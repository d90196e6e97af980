//! Truncations at the cut-off. Each of them wraps a potential and is a potential itself; its own coefficients
//! come after those of the potential.
//!
//! The cut-off is not tested here: a kernel never calls truncations beyond it.

use crate::pair::{At, PairFunction, PairVisitor};
use jostle_core::Real;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// Truncation of a potential at the cut-off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Truncation {
    /// The energy jumps to zero at the cut-off.
    Plain,
    /// u(r) - u(rc): the energy is continuous, the force jumps.
    Shifted,
    /// u(r) - u(rc) - (r - rc) u'(rc): energy and force are continuous.
    ForceShifted,
    /// u(r) S(r), with S falling smoothly from 1 at `from` to 0 at the cut-off:
    /// S = 1 - 10 x^3 + 15 x^4 - 6 x^5, x = (r - from) / (rc - from). Energy, force and its
    /// slope are continuous.
    Switched {
        /// Beginning of the switch, as a fraction of the cut-off.
        from: f64,
    },
    /// u(r) S(r) with the function of CHARMM (B. R. Brooks et al., J. Comput. Chem. 4 (1983) 187), NAMD and LAMMPS'
    /// lj/charmm: S = 1 - 3 x^2 + 2 x^3, x = (r^2 - from^2) / (rc^2 - from^2). Energy and force are continuous.
    CharmmSwitched {
        /// Beginning of the switch, as a fraction of the cut-off.
        from: f64,
    },
}

/// The most coefficients that a truncation has of its own.
pub const MOST_OF_TRUNCATION: usize = 2;

impl Truncation {
    /// The name in the input file.
    pub fn name(self) -> &'static str {
        match self {
            Truncation::Plain => "plain",
            Truncation::Shifted => "shifted",
            Truncation::ForceShifted => "force-shifted",
            Truncation::Switched { .. } => "switched",
            Truncation::CharmmSwitched { .. } => "charmm-switched",
        }
    }

    /// The coefficients of the truncation itself, which come after those of the potential, from
    /// energy and force over distance at the cut-off.
    pub fn coefficients<R: Real>(self, (energy, force_over_r): (R, R), cutoff: f64) -> Vec<R> {
        match self {
            Truncation::Plain => Vec::new(),
            Truncation::Shifted => vec![energy],
            // u_fs = u - u_c + (r - rc) f_c = u + f_c r - (u_c + f_c rc)
            Truncation::ForceShifted => {
                let force = force_over_r * R::lit(cutoff);
                vec![force, energy + force * R::lit(cutoff)]
            }
            Truncation::Switched { from } => {
                let start = from * cutoff;
                vec![R::lit(start), R::lit(1.0 / (cutoff - start))]
            }
            Truncation::CharmmSwitched { from } => {
                let start = from * cutoff;
                vec![R::lit(start * start), R::lit(1.0 / (cutoff * cutoff - start * start))]
            }
        }
    }

    /// Energy and force over distance of a potential, truncated; `c` are the truncation's own
    /// coefficients. For a kernel that is compiled once for all of them.
    #[inline(always)]
    pub fn apply<R: Real>(self, r2: R, (energy, force_over_r): (R, R), c: [R; MOST_OF_TRUNCATION]) -> (R, R) {
        self.visit::<Precomputed, _>(At { r2, coefficients: &[energy, force_over_r, c[0], c[1]] })
    }

    /// Returns true where the truncated force depends on the energy, too.
    pub fn force_needs_energy(self) -> bool {
        self.switches_from().is_some()
    }

    /// Beginning of a switch, as a fraction of the cut-off.
    pub fn switches_from(self) -> Option<f64> {
        match self {
            Truncation::Switched { from } | Truncation::CharmmSwitched { from } => Some(from),
            Truncation::Plain | Truncation::Shifted | Truncation::ForceShifted => None,
        }
    }

    /// Calls the visitor with a potential wrapped in the truncation, as a type.
    #[inline(always)]
    pub fn visit<P: PairFunction, V: PairVisitor>(self, visitor: V) -> V::Output {
        match self {
            Truncation::Plain => visitor.visit::<Plain<P>>(),
            Truncation::Shifted => visitor.visit::<Shifted<P>>(),
            Truncation::ForceShifted => visitor.visit::<ForceShifted<P>>(),
            Truncation::Switched { .. } => visitor.visit::<Switched<P>>(),
            Truncation::CharmmSwitched { .. } => visitor.visit::<CharmmSwitched<P>>(),
        }
    }
}

/// Wrapper for [`Truncation::Plain`].
#[derive(Debug, Clone, Copy)]
pub struct Plain<P>(PhantomData<P>);

impl<P: PairFunction> PairFunction for Plain<P> {
    const N_COEFFICIENTS: usize = P::N_COEFFICIENTS;

    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        P::evaluate(r2, c)
    }
}

/// Wrapper for [`Truncation::Shifted`].
#[derive(Debug, Clone, Copy)]
pub struct Shifted<P>(PhantomData<P>);

impl<P: PairFunction> PairFunction for Shifted<P> {
    const N_COEFFICIENTS: usize = P::N_COEFFICIENTS + 1;

    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let (energy, force_over_r) = P::evaluate(r2, c);
        (energy - c[P::N_COEFFICIENTS], force_over_r)
    }
}

/// Wrapper for [`Truncation::ForceShifted`].
#[derive(Debug, Clone, Copy)]
pub struct ForceShifted<P>(PhantomData<P>);

impl<P: PairFunction> PairFunction for ForceShifted<P> {
    const N_COEFFICIENTS: usize = P::N_COEFFICIENTS + 2;

    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let (energy, force_over_r) = P::evaluate(r2, c);
        let (force_c, energy_c) = (c[P::N_COEFFICIENTS], c[P::N_COEFFICIENTS + 1]);
        let inv = r2.rsqrt();
        (energy + (force_c * r2 * inv - energy_c), force_over_r - force_c * inv)
    }
}

/// Wrapper for [`Truncation::Switched`].
#[derive(Debug, Clone, Copy)]
pub struct Switched<P>(PhantomData<P>);

impl<P: PairFunction> PairFunction for Switched<P> {
    const N_COEFFICIENTS: usize = P::N_COEFFICIENTS + 2;

    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let (energy, force_over_r) = P::evaluate(r2, c);
        let (start, inv_width) = (c[P::N_COEFFICIENTS], c[P::N_COEFFICIENTS + 1]);
        let inv = r2.rsqrt();
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let x = (r2 * inv - start) * inv_width;
        let x = R::select(x.lt(zero), zero, R::select(x.lt(one), x, one));
        let x2 = x * x;
        let s = one - x2 * x * x.mul_add(x.mul_add(R::lit(6.0), R::lit(-15.0)), R::lit(10.0));
        let gap = one - x;
        let slope = R::lit(-30.0) * x2 * gap * gap * inv_width;
        (energy * s, force_over_r * s - energy * slope * inv)
    }
}

/// Wrapper for [`Truncation::CharmmSwitched`].
#[derive(Debug, Clone, Copy)]
pub struct CharmmSwitched<P>(PhantomData<P>);

impl<P: PairFunction> PairFunction for CharmmSwitched<P> {
    const N_COEFFICIENTS: usize = P::N_COEFFICIENTS + 2;

    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let (energy, force_over_r) = P::evaluate(r2, c);
        let (start, inv_width) = (c[P::N_COEFFICIENTS], c[P::N_COEFFICIENTS + 1]);
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let x = (r2 - start) * inv_width;
        let x = R::select(x.lt(zero), zero, R::select(x.lt(one), x, one));
        let s = one - x * x * x.mul_add(R::lit(-2.0), R::lit(3.0));
        // -(du/dr)/r = -2 du/d(r^2), and dS/d(r^2) = -6 x (1 - x) / (rc^2 - from^2)
        let slope = R::lit(12.0) * x * (one - x) * inv_width;
        (energy * s, force_over_r * s + energy * slope)
    }
}

/// A potential that has been computed already: its coefficients are energy and force over distance.
/// Wrapped in a truncation it makes those of the truncated potential.
#[derive(Debug, Clone, Copy)]
pub struct Precomputed;

impl PairFunction for Precomputed {
    const N_COEFFICIENTS: usize = 2;

    #[inline(always)]
    fn evaluate<R: Real>(_r2: R, c: &[R]) -> (R, R) {
        (c[0], c[1])
    }
}
