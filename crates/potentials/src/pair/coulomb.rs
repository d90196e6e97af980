//! C.-A. de Coulomb, Mémoires de l'Académie royale des sciences (1785) 569.

use super::PairFunction;
use jostle_core::Real;

/// u(r) = strength / r, without a screening or an end: for atoms in open space, and for bound pairs.
#[derive(Debug, Clone, Copy)]
pub struct Coulomb;

impl PairFunction for Coulomb {
    const N_COEFFICIENTS: usize = 1;

    /// The one coefficient is the strength: Coulomb's constant times both charges.
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let inv = r2.rsqrt();
        let energy = c[0] * inv;
        (energy, energy * inv * inv)
    }
}
