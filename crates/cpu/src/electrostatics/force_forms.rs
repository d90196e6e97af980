//! Forms of the real-space force of two unit charges.

use super::force_table::ForceTable;
use crate::simd::{Lanes, Scalar, elementary};
use jostle_core::Precision;
use jostle_potentials::LatticeSum;
use jostle_potentials::electrostatics::chebyshev::{ChebyshevSeries, chebyshev, powers};
use jostle_potentials::electrostatics::gaussian::Wide;
use jostle_potentials::electrostatics::{KaiserBessel, Splitting, direct, reaction, screened};

/// Returns true for single precision.
pub(super) const fn is_single<S>() -> bool {
    size_of::<S>() == 4
}

/// The forms of the force, and their numbers.
pub(super) enum ForceForm<S> {
    EwaldSplitting { alpha: f64 },
    Spread(Spread<S>),
    Polynomial(Polynomial<S>),
    Wide(Wide<S>),
    ReactionField([f64; 2]),
    Screened(Screened<S>),
    Dispersed(Dispersed<S>),
}

impl<S: Scalar> ForceForm<S> {
    pub fn of(sum: &LatticeSum) -> Self {
        match sum {
            LatticeSum::Dispersion(term) => ForceForm::Dispersed(Dispersed {
                shift: S::from_f64(term.shift),
                smooth: Fitted::new(term.cutoff, |r2| term.smooth(r2)),
            }),
            LatticeSum::Charges(term) => match (term.kappa(), term.splitting()) {
                (Some(kappa), _) => ForceForm::Screened(Screened {
                    kappa: S::from_f64(kappa),
                    smooth: Fitted::new(term.cutoff, |r2| term.smooth(r2)),
                }),
                (None, Some(Splitting::Gaussian { alpha })) => match Wide::new(alpha) {
                    Some(wide) if is_single::<S>() => ForceForm::Wide(wide.map(S::from_f64)),
                    _ => ForceForm::EwaldSplitting { alpha },
                },
                (None, Some(Splitting::KaiserBessel(charge))) => match Polynomial::new(charge) {
                    Some(near) if is_single::<S>() => ForceForm::Polynomial(near),
                    _ => ForceForm::Spread(Spread(Fitted::new(charge.radius, |r2| charge.within(r2)))),
                },
                (None, None) => ForceForm::ReactionField(term.reaction()),
            },
        }
    }
}

/// Energy and force of two unit charges in real space.
pub(super) trait UnitChargeForce<L: Lanes>: Copy {
    /// True if [`UnitChargeForce::apart`] is another method than [`UnitChargeForce::direct`].
    const TABULATED: bool = false;
    /// Energy and force over distance; `one` is 0 where they are excluded.
    fn direct(&self, r2: L, one: L) -> (L, L);
    /// Energy and force over distance of pairs none of which is excluded or nearer than
    /// [`UnitChargeForce::least`].
    #[inline(always)]
    fn apart(&self, r2: L) -> (L, L) {
        self.direct(r2, L::lit(1.0))
    }
    /// Least square distance of [`UnitChargeForce::apart`].
    #[inline(always)]
    fn least(&self) -> L {
        L::lit(0.0)
    }
}

/// A form whose force is read from a table.
pub(super) struct Tabulated<'a, S, M> {
    pub form: M,
    pub force_table: &'a ForceTable<S>,
}

impl<S, M: Copy> Clone for Tabulated<'_, S, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, M: Copy> Copy for Tabulated<'_, S, M> {}

impl<L: Lanes, M: UnitChargeForce<L>> UnitChargeForce<L> for Tabulated<'_, L::Scalar, M> {
    const TABULATED: bool = true;
    #[inline(always)]
    fn direct(&self, r2: L, one: L) -> (L, L) {
        self.form.direct(r2, one)
    }
    #[inline(always)]
    fn apart(&self, r2: L) -> (L, L) {
        (self.form.apart(r2).0, self.force_table.at(r2))
    }
    #[inline(always)]
    fn least(&self) -> L {
        L::splat(self.force_table.least)
    }
}

/// A smooth function of r^2, and its force over distance, as sums of Chebyshev polynomials.
pub(super) struct Fitted<S> {
    scale: S,
    energy: Vec<S>,
    force: Vec<S>,
}

impl<S: Scalar> Fitted<S> {
    pub fn new(cutoff: f64, function: impl Fn(f64) -> (f64, f64)) -> Self {
        let precision = if is_single::<S>() { Precision::Mixed } else { Precision::Double };
        let ChebyshevSeries { scale, energy, force } = ChebyshevSeries::new(cutoff, precision, function);
        let numbers = |all: Vec<f64>| all.into_iter().map(S::from_f64).collect();
        Fitted { scale: S::from_f64(scale), energy: numbers(energy), force: numbers(force) }
    }

    #[inline(always)]
    fn at<L: Lanes<Scalar = S>>(&self, r2: L) -> (L, L) {
        let t = r2.mul_add(L::splat(self.scale), L::lit(-1.0));
        let energy = chebyshev(t, self.energy.iter().map(|c| L::splat(*c)));
        (energy, chebyshev(t, self.force.iter().map(|c| L::splat(*c))))
    }
}

/// A screened charge, and the smooth function that is taken from it.
pub(super) struct Screened<S> {
    kappa: S,
    smooth: Fitted<S>,
}

impl<L: Lanes> UnitChargeForce<L> for &Screened<L::Scalar> {
    #[inline(always)]
    fn direct(&self, r2: L, one: L) -> (L, L) {
        screened::direct(r2, one, L::splat(self.kappa), self.smooth.at(r2))
    }
}

/// The smooth function that is taken from the reciprocal-space sum of dispersion, shifted for atoms that are
/// not excluded.
pub(super) struct Dispersed<S> {
    shift: S,
    smooth: Fitted<S>,
}

impl<L: Lanes> UnitChargeForce<L> for &Dispersed<L::Scalar> {
    #[inline(always)]
    fn direct(&self, r2: L, one: L) -> (L, L) {
        let (energy, force) = self.smooth.at(r2);
        (energy - one * L::splat(self.shift), force)
    }
}

/// Ewald's splitting, 1/r less the potential of a Gaussian charge: powers of alpha.
#[derive(Clone, Copy)]
pub(super) struct EwaldSplitting<L>([L; 3]);

impl<L: Lanes> EwaldSplitting<L> {
    #[inline(always)]
    pub fn new(alpha: f64) -> Self {
        EwaldSplitting([L::lit(alpha), L::lit(alpha * alpha), L::lit(alpha.powi(3))])
    }
}

impl<L: Lanes> UnitChargeForce<L> for EwaldSplitting<L> {
    #[inline(always)]
    fn direct(&self, r2: L, one: L) -> (L, L) {
        let [alpha, alpha2, alpha3] = self.0;
        let (energy, force) = elementary::gaussian(alpha2 * r2);
        direct(r2, one, (alpha * energy, alpha3 * force))
    }
}

/// 1/r less the potential of a charge that is spread within the cut-off.
pub(super) struct Spread<S>(Fitted<S>);

impl<L: Lanes> UnitChargeForce<L> for &Spread<L::Scalar> {
    #[inline(always)]
    fn direct(&self, r2: L, one: L) -> (L, L) {
        direct(r2, one, self.0.at(r2))
    }
}

/// Number of powers of a [`Polynomial`].
const POWERS: usize = 12;

/// [`Spread`] in single precision: sums of few powers, by half as many operations as their series takes.
pub(super) struct Polynomial<S> {
    scale: S,
    energy: [S; POWERS],
    force: [S; POWERS],
}

impl<S: Scalar> Polynomial<S> {
    /// Powers for a charge; `None` where it takes more.
    pub fn new(charge: KaiserBessel) -> Option<Self> {
        let series = ChebyshevSeries::new(charge.radius, Precision::Mixed, |r2| charge.within(r2));
        let sum = |coefficients: &[f64]| {
            let powers = powers(coefficients, Precision::Mixed);
            let mut all = [S::from_f64(0.0); POWERS];
            let last = all.len().checked_sub(powers.len()).map(|zeros| &mut all[zeros..])?;
            last.iter_mut().zip(powers).for_each(|(place, c)| *place = S::from_f64(c));
            Some(all)
        };
        let (energy, force) = (sum(&series.energy)?, sum(&series.force)?);
        Some(Polynomial { scale: S::from_f64(series.scale), energy, force })
    }
}

impl<L: Lanes> UnitChargeForce<L> for &Polynomial<L::Scalar> {
    #[inline(always)]
    fn direct(&self, r2: L, one: L) -> (L, L) {
        let t = r2.mul_add(L::splat(self.scale), L::lit(-1.0));
        direct(r2, one, (at_powers(t, &self.energy), at_powers(t, &self.force)))
    }
}

/// Sum of powers of t, the odd and the even ones by themselves: two chains of six operations instead of one of twelve.
#[inline(always)]
fn at_powers<L: Lanes>(t: L, sum: &[L::Scalar; POWERS]) -> L {
    let square = t * t;
    let (mut odd, mut even) = (L::splat(sum[0]), L::splat(sum[1]));
    for pair in sum[2..].chunks_exact(2) {
        odd = odd.mul_add(square, L::splat(pair[0]));
        even = even.mul_add(square, L::splat(pair[1]));
    }
    odd.mul_add(t, even)
}

/// Ewald's splitting in single precision by a ratio of polynomials. Beyond the cut-off it may be NaN.
impl<L: Lanes> UnitChargeForce<L> for &Wide<L::Scalar> {
    #[inline(always)]
    fn direct(&self, r2: L, one: L) -> (L, L) {
        direct(r2, one, self.at(r2, L::splat))
    }
}

/// Coulomb's potential 1/r in a reaction field, or alone.
#[derive(Clone, Copy)]
pub(super) struct ReactionField<L>([L; 2]);

impl<L: Lanes> ReactionField<L> {
    #[inline(always)]
    pub fn new([k, c]: [f64; 2]) -> Self {
        ReactionField([L::lit(k), L::lit(c)])
    }
}

impl<L: Lanes> UnitChargeForce<L> for ReactionField<L> {
    #[inline(always)]
    fn direct(&self, r2: L, one: L) -> (L, L) {
        direct(r2, one, reaction(r2, self.0))
    }
}
