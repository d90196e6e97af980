//! Functions of the squared distance, from which kernels are made.

use jostle_core::Real;

/// An energy and a force as a function of the squared distance: what a kernel is made from.
pub trait PairFunction: Copy + Send + Sync + 'static {
    /// Number of coefficients that [`PairFunction::evaluate`] reads; at most [`MAX_COEFFICIENTS`].
    const N_COEFFICIENTS: usize;

    /// Energy u(r) and force over distance, -(du/dr) / r, at the squared distance `r2`.
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R);
}

/// The distance to the last digit, from its square and its inverse, by a step of Newton's: an exponential of
/// many times the distance makes much of the units in the last place by which their product is wrong.
#[inline(always)]
pub(crate) fn distance<R: Real>(r2: R, inverse: R) -> R {
    let r = r2 * inverse;
    (R::lit(0.5) * inverse).mul_add((-r).mul_add(r, r2), r)
}

/// The most coefficients that a potential with its truncation may have.
pub const MAX_COEFFICIENTS: usize = 12;

/// Work on a potential whose type is known: building a kernel, writing source code, testing a derivative.
/// See [`super::PairKind::visit`].
pub trait PairVisitor {
    /// Result of the work.
    type Output;
    /// Does the work for the potential wrapped in its truncation.
    fn visit<F: PairFunction>(self) -> Self::Output;
}

/// Energy and force over distance of one pair.
pub(crate) struct At<'a, R> {
    pub r2: R,
    pub coefficients: &'a [R],
}

impl<R: Real> PairVisitor for At<'_, R> {
    type Output = (R, R);

    #[inline(always)]
    fn visit<F: PairFunction>(self) -> (R, R) {
        F::evaluate(self.r2, self.coefficients)
    }
}
