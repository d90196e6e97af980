//! The soft cores of a path, as functions of the coupling parameter.

use crate::bonded::BondKind;
use crate::pair::{self, PairKind};
use crate::truncation::Truncation;
use jostle_core::Real;

/// Soft core of Lennard-Jones forces along a path: lambda, the coupling parameter, scales epsilon, and what keeps
/// energies finite where atoms overlap grows as lambda falls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SoftCore {
    /// [`pair::SoftCore`] with the softness alpha (1 - lambda)^power.
    Beutler {
        /// Softness at lambda = 0.
        alpha: f64,
        /// Exponent.
        power: u8,
    },
    /// [`pair::SoftCoreGapsys`] with forces linear below alpha (26/7 sigma^6 (1 - lambda))^(1/6).
    Gapsys {
        /// Factor of this distance.
        alpha: f64,
    },
}

impl SoftCore {
    /// None: lambda scales epsilon alone.
    pub(super) const HARD: SoftCore = SoftCore::Beutler { alpha: 0.0, power: 1 };

    /// Kind of the pair potential.
    pub fn kind(self) -> PairKind {
        match self {
            SoftCore::Beutler { .. } => PairKind::SoftCore,
            SoftCore::Gapsys { .. } => PairKind::SoftCoreGapsys,
        }
    }

    /// Kind of the same force between two atoms by name.
    pub(super) fn bond_kind(self) -> BondKind {
        match self {
            SoftCore::Beutler { .. } => BondKind::SoftPair,
            SoftCore::Gapsys { .. } => BondKind::SoftPairGapsys,
        }
    }

    /// Parameters of the pair potential at a coupling parameter, of a pair with these of Lennard-Jones.
    pub fn parameters(self, [epsilon, sigma]: [f64; 2], lambda: f64) -> Vec<f64> {
        let third = match self {
            SoftCore::Beutler { alpha, power } => softness(alpha, power, lambda),
            SoftCore::Gapsys { alpha } => linear_below(alpha, sigma, lambda).unwrap_or(0.0),
        };
        vec![lambda * epsilon, sigma, third]
    }

    /// Coefficients of the pair potential under a truncation, for any type of number.
    pub(super) fn coefficients<R: Real>(
        self,
        truncation: Truncation,
        ([epsilon, sigma], cutoff): ([f64; 2], f64),
        lambda: R,
        value: f64,
    ) -> Vec<R> {
        let mut c = self.plain_coefficients([epsilon, sigma], lambda, value);
        let end = self.kind().evaluate(Truncation::Plain, R::lit(cutoff * cutoff), &c);
        c.extend(truncation.coefficients(end, cutoff));
        c
    }

    /// Coefficients of the pair potential without a cut-off.
    pub(super) fn plain_coefficients<R: Real>(
        self,
        [epsilon, sigma]: [f64; 2],
        lambda: R,
        value: f64,
    ) -> Vec<R> {
        let scaled = lambda * R::lit(epsilon);
        match self {
            SoftCore::Beutler { alpha, power } => {
                pair::SoftCore::coefficients_of(scaled, sigma, softness(alpha, power, lambda)).to_vec()
            }
            SoftCore::Gapsys { alpha } => {
                // At lambda = 1 the distance is zero, and its derivative infinite.
                let below = if value < 1.0 { linear_below(alpha, sigma, lambda) } else { None };
                pair::SoftCoreGapsys::coefficients_of(scaled, sigma, below).to_vec()
            }
        }
    }
}

/// alpha (1 - lambda)^power
fn softness<R: Real>(alpha: f64, power: u8, lambda: R) -> R {
    (0..power).fold(R::lit(alpha), |softness, _| softness * (R::lit(1.0) - lambda))
}

/// alpha (26/7 sigma^6 (1 - lambda))^(1/6)
fn linear_below<R: Real>(alpha: f64, sigma: f64, lambda: R) -> Option<R> {
    let left = R::lit(26.0 / 7.0) * (R::lit(1.0) - lambda);
    (alpha > 0.0).then(|| R::lit(alpha * sigma) * (left.ln() * R::lit(1.0 / 6.0)).exp())
}
