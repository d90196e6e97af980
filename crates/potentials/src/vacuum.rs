//! Molecules in open space: every atom with every other one, without a cut-off.

use crate::electrostatics::scaled_charges;
use crate::pair::{Coulomb, LennardJones, PairFunction, PairKind};
use crate::term::{PairEntry, PairTerm};
use crate::truncation::Truncation;
use jostle_core::{Real, System};
use serde::{Deserialize, Serialize};

/// Lennard-Jones and Coulomb's forces between all atoms, at any distance. Charges are those of the
/// system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vacuum {
    /// The parameters of every pair of species.
    pub lennard_jones: PairTerm,
    /// Coulomb's constant, see [`jostle_core::UnitSystem::coulomb`].
    pub coulomb: f64,
}

impl Vacuum {
    /// The names of its energies.
    pub const TERMS: [&'static str; 2] = ["lennard-jones", "coulomb"];

    /// Forces from epsilon and sigma of two species.
    pub fn new(n_species: usize, coulomb: f64, parameters: impl Fn(usize, usize) -> [f64; 2]) -> Self {
        let mut lennard_jones = PairTerm::new(PairKind::LennardJones, Truncation::Plain, n_species);
        for a in 0..n_species {
            for b in a..n_species {
                let parameters = parameters(a, b).to_vec();
                lennard_jones.set(a, b, PairEntry { parameters, cutoff: f64::INFINITY });
            }
        }
        Vacuum { lennard_jones, coulomb }
    }

    /// The charges of all atoms by id, times the root of Coulomb's constant.
    pub fn charges(&self, system: &System) -> Vec<f64> {
        scaled_charges(self.coulomb, system)
    }

    /// The two coefficients of two species for [`Vacuum::evaluate`].
    pub fn coefficients(&self, a: usize, b: usize) -> [f64; 2] {
        let coefficients = self.lennard_jones.coefficients(a, b).unwrap_or_default();
        std::array::from_fn(|k| coefficients.get(k).copied().unwrap_or(0.0))
    }

    /// Both energies of two atoms, and force over distance; `strength` is Coulomb's constant times
    /// both charges.
    #[inline(always)]
    pub fn evaluate<R: Real>(r2: R, coefficients: [R; 2], strength: R) -> ([R; 2], R) {
        let (lennard_jones, force) = LennardJones::evaluate(r2, &coefficients);
        let (coulomb, more) = Coulomb::evaluate(r2, &[strength]);
        ([lennard_jones, coulomb], force + more)
    }
}
