//! What is summed over all images: charges or dispersion, as products of a strength of each atom.

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

/// What the waves of a sum weigh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spectrum {
    /// See [`electrostatics::waves::weight`].
    Charges {
        /// The inverse width of the Gaussian charges.
        alpha: f64,
        /// The inverse screening length; 0 where nothing screens.
        kappa: f64,
    },
    /// See [`dispersion::weight`].
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
                electrostatics::waves::weight(k2 + R::lit(kappa * kappa), R::lit(alpha), volume)
            }
            Spectrum::Dispersion { alpha } => dispersion::weight(k2, R::lit(alpha), volume),
        }
    }
}

impl LatticeSum {
    /// How waves are summed, if they are.
    pub fn method(&self) -> Method {
        match self {
            LatticeSum::Charges(term) => term.method,
            LatticeSum::Dispersion(term) => term.method,
        }
    }

    /// How far lists have to reach.
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

    /// What two atoms of unit strength do to each other besides waves; `one` is 0 where they are excluded.
    pub fn direct(&self, r2: f64, one: f64) -> (f64, f64) {
        match self {
            LatticeSum::Charges(term) => term.direct(r2, one),
            LatticeSum::Dispersion(term) => term.direct(r2, one),
        }
    }

    /// What waves weigh; `None` where there are none.
    pub fn spectrum(&self) -> Option<Spectrum> {
        let alpha = self.method().alpha()?;
        Some(match self {
            LatticeSum::Charges(term) => Spectrum::Charges { alpha, kappa: term.kappa().unwrap_or(0.0) },
            LatticeSum::Dispersion(_) => Spectrum::Dispersion { alpha },
        })
    }
}
