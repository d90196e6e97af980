//! Sums over all images: charges or dispersion, as products of a strength of each atom.

use crate::electrostatics::Method;
use crate::{Dispersion, Electrostatics, dispersion, electrostatics};
use jostle_core::{Real, System};

/// A sum over all images of products of strengths of atoms.
#[derive(Debug, Clone, PartialEq)]
pub enum LatticeSum {
    /// Coulomb's forces, which may also end at a cut-off. Strengths are charges times the root of Coulomb's
    /// constant.
    Charges(Electrostatics),
    /// Dispersion. Strengths are roots of coefficients.
    Dispersion(Dispersion),
}

/// The weights of a sum in reciprocal space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spectrum {
    /// Weights of charges, see [`electrostatics::reciprocal_space::weight`].
    Charges {
        /// The inverse width of the Gaussian charges.
        alpha: f64,
        /// The inverse screening length; 0 where nothing screens.
        kappa: f64,
    },
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
                electrostatics::reciprocal_space::weight(k2 + R::lit(kappa * kappa), R::lit(alpha), volume)
            }
            Spectrum::Dispersion { alpha } => dispersion::weight(k2, R::lit(alpha), volume),
        }
    }
}

impl LatticeSum {
    /// Method of the sum.
    pub fn method(&self) -> Method {
        match self {
            LatticeSum::Charges(term) => term.method,
            LatticeSum::Dispersion(term) => term.method,
        }
    }

    /// Distance up to which pair lists must be complete.
    pub fn cutoff(&self) -> f64 {
        match self {
            LatticeSum::Charges(term) => term.cutoff,
            LatticeSum::Dispersion(term) => term.cutoff,
        }
    }

    /// The strengths of all atoms as they are stored.
    pub fn strengths(&self, system: &System) -> Vec<f64> {
        let all = 0..system.state.len();
        match self {
            LatticeSum::Charges(term) => {
                let root = term.coulomb.sqrt();
                all.map(|place| root * system.charge(place)).collect()
            }
            LatticeSum::Dispersion(term) => {
                all.map(|place| term.coefficients[usize::from(system.state.species[place])]).collect()
            }
        }
    }

    /// The energy of all atoms with themselves, and that of strengths that are spread evenly, which is
    /// inversely proportional to the volume.
    pub fn constants(&self, system: &System) -> [f64; 2] {
        match self {
            LatticeSum::Charges(term) => term.constants(system),
            LatticeSum::Dispersion(term) => term.constants(system),
        }
    }

    /// Interaction of two atoms of unit strength apart from reciprocal space; `one` is 0 where they are
    /// excluded.
    pub fn direct(&self, r2: f64, one: f64) -> (f64, f64) {
        match self {
            LatticeSum::Charges(term) => term.direct(r2, one),
            LatticeSum::Dispersion(term) => term.direct(r2, one),
        }
    }

    /// The weights in reciprocal space; `None` where there is no such sum.
    pub fn spectrum(&self) -> Option<Spectrum> {
        let alpha = self.method().alpha()?;
        Some(match self {
            LatticeSum::Charges(term) => Spectrum::Charges { alpha, kappa: term.kappa().unwrap_or(0.0) },
            LatticeSum::Dispersion(_) => Spectrum::Dispersion { alpha },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use electrostatics::reciprocal_space::virial;
    use jostle_core::Dual;

    /// Amplitudes stay where atoms keep their fractional coordinates as the box is deformed: the virial is
    /// minus the derivative of the weight by the deformation.
    #[test]
    fn virials_are_exact_derivatives() {
        let k = [0.7, -1.1, 0.4];
        let charges = |kappa| Spectrum::Charges { alpha: 0.9, kappa };
        let pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
        for spectrum in [charges(0.0), charges(0.6), Spectrum::Dispersion { alpha: 0.9 }] {
            for (place, (a, b)) in pairs.into_iter().enumerate() {
                // A strain r_a += strain r_b subtracts strain k_a from k_b.
                let strain = Dual::variable(0.0);
                let at = |c: usize| Dual::constant(k[c]);
                let own = Dual::constant(f64::from(u8::from(a == b)));
                let stretch = Dual::constant(1.0) + own * strain;
                let mut strained = [at(0), at(1), at(2)];
                strained[b] = if a == b { at(b) / stretch } else { at(b) - strain * at(a) };
                let k2 = strained[0] * strained[0] + strained[1] * strained[1] + strained[2] * strained[2];
                let [energy, along] = spectrum.weight(k2, Dual::constant(5.0) * stretch);
                let found = virial(energy.value, along.value, k)[place];
                assert!((found + energy.slope).abs() < 1e-14, "{place}: {found} {}", energy.slope);
            }
        }
    }
}
