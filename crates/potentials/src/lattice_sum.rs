//! Sums over all images: charges or dispersion, as products of a strength of each atom.

use crate::electrostatics::Method;
use crate::spectrum::Spectrum;
use crate::{Dispersion, Electrostatics};
use jostle_core::System;

/// A sum over all images of products of strengths of atoms.
#[derive(Debug, Clone, PartialEq)]
pub enum LatticeSum {
    /// Coulomb's forces, which may also end at a cut-off. Strengths are charges times the root of Coulomb's
    /// constant.
    Charges(Electrostatics),
    /// Dispersion. Strengths are roots of coefficients.
    Dispersion(Dispersion),
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
                all.map(|index| root * system.charge(index)).collect()
            }
            LatticeSum::Dispersion(term) => {
                all.map(|index| term.coefficients[usize::from(system.state.species[index])]).collect()
            }
        }
    }

    /// The energy of all atoms with themselves, and that of strengths that are spread evenly, which is
    /// inversely proportional to the volume.
    pub fn constants(&self, system: &System) -> [f64; 2] {
        self.constants_of(self.strength_sums(system), system.simbox.volume())
    }

    /// Sum of all strengths, and sum of their squares: in the order of ids, so that no bit depends on that of storage.
    pub fn strength_sums(&self, system: &System) -> [f64; 2] {
        let strengths = self.strengths(system);
        sums_of(system.state.index_by_id().into_iter().map(|index| strengths[index]))
    }

    /// Energies of [`LatticeSum::constants`] from the sums of all strengths and of their squares.
    pub fn constants_of(&self, sums: [f64; 2], volume: f64) -> [f64; 2] {
        match self {
            LatticeSum::Charges(term) => term.constants(sums, volume),
            LatticeSum::Dispersion(term) => term.constants(sums, volume),
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

    /// Largest wave number of the sum in reciprocal space, or of the mesh that stands for one; `None` where there is none.
    pub fn longest(&self) -> Option<f64> {
        let (_, longest) = self.method().reciprocal_sum()?;
        Some(match self.spectrum()? {
            spectrum @ Spectrum::KaiserBessel(_) => spectrum.end(),
            _ => longest,
        })
    }

    /// The weights in reciprocal space; `None` where there is no such sum.
    pub fn spectrum(&self) -> Option<Spectrum> {
        Some(match self {
            LatticeSum::Charges(term) => Spectrum::of_charges(term.splitting()?, term.kappa().unwrap_or(0.0)),
            LatticeSum::Dispersion(term) => Spectrum::Dispersion { alpha: term.method.alpha()? },
        })
    }
}

/// Sum of strengths, and sum of their squares.
pub fn sums_of(strengths: impl Iterator<Item = f64>) -> [f64; 2] {
    strengths.fold([0.0; 2], |[sum, squares], q| [sum + q, squares + q * q])
}
