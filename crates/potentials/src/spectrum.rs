//! Weights of sums in reciprocal space.

use crate::dispersion;
use crate::electrostatics::{KaiserBessel, Splitting, gaussian};
use jostle_core::Real;

/// Number of inverse widths of the Gaussians beyond which weights vanish.
const WIDEST: f64 = 8.5;

/// The weights of a sum in reciprocal space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spectrum {
    /// Weights of charges, see [`gaussian::weight`].
    Charges {
        /// The inverse width of the Gaussian charges.
        alpha: f64,
        /// The inverse screening length; 0 where nothing screens.
        kappa: f64,
    },
    /// Weights of charges within a cut-off, see [`KaiserBessel::weight`].
    KaiserBessel(KaiserBessel),
    /// Weights of dispersion, see [`dispersion::weight`].
    Dispersion {
        /// The inverse length of the splitting.
        alpha: f64,
    },
}

impl Spectrum {
    /// The weight of a wave of squared length k2 and its virial's part along it.
    #[inline(always)]
    pub fn weight<R: Real>(&self, k2: R, volume: R) -> [R; 2] {
        match *self {
            Spectrum::Charges { alpha, kappa } => {
                gaussian::weight(k2 + R::lit(kappa * kappa), R::lit(alpha), volume)
            }
            Spectrum::KaiserBessel(charge) => charge.weight(k2, volume),
            Spectrum::Dispersion { alpha } => dispersion::weight(k2, R::lit(alpha), volume),
        }
    }

    /// Spectrum of charges that are split so, in a medium with this inverse screening length.
    pub fn of_charges(splitting: Splitting, kappa: f64) -> Self {
        match splitting {
            Splitting::Gaussian { alpha } => Spectrum::Charges { alpha, kappa },
            Splitting::KaiserBessel(charge) => Spectrum::KaiserBessel(charge),
        }
    }

    /// Wave number beyond which weights are 0, or next to it.
    pub fn end(&self) -> f64 {
        match *self {
            Spectrum::Charges { alpha, .. } | Spectrum::Dispersion { alpha } => WIDEST * alpha,
            Spectrum::KaiserBessel(charge) => charge.beta / charge.radius,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::electrostatics::reciprocal_space::virial;
    use jostle_core::{Dual, Vector};

    /// Amplitudes stay where atoms keep their fractional coordinates as the box is deformed: the virial is
    /// minus the derivative of the weight by the deformation.
    #[test]
    fn virials_are_exact_derivatives() {
        let k = [0.7, -1.1, 0.4];
        let charges = |kappa| Spectrum::Charges { alpha: 0.9, kappa };
        let pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
        let within = |beta: f64| Spectrum::KaiserBessel(KaiserBessel { beta, radius: 2.3 });
        // The wave number is 1.63.
        let all =
            [charges(0.0), charges(0.6), within(12.0), within(3.9), Spectrum::Dispersion { alpha: 0.9 }];
        for spectrum in all {
            for (component, (a, b)) in pairs.into_iter().enumerate() {
                // A strain r_a += strain r_b subtracts strain k_a from k_b.
                let strain = Dual::variable(0.0);
                let at = |c: usize| Dual::constant(k[c]);
                let own = Dual::constant(f64::from(u8::from(a == b)));
                let stretch = Dual::constant(1.0) + own * strain;
                let mut strained = [at(0), at(1), at(2)];
                strained[b] = if a == b { at(b) / stretch } else { at(b) - strain * at(a) };
                let k2 = strained[0] * strained[0] + strained[1] * strained[1] + strained[2] * strained[2];
                let [energy, along] = spectrum.weight(k2, Dual::constant(5.0) * stretch);
                let found = virial(energy.value, along.value, Vector(k))[component];
                assert!((found + energy.slope).abs() < 1e-14, "{component}: {found} {}", energy.slope);
            }
        }
    }
}
