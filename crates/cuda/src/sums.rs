//! Sums of forces and energies: fast, or exact.

use crate::box_geometry::OpenRange;
use jostle_potentials::Forces;

/// Numbers of the virial in a sample, which follow the energies by term.
pub const VIRIAL: usize = 6;
/// Numbers of the kinetic tensor and the momentum in a sample, which follow the virial.
pub const KINETIC: usize = 9;

/// Dependence of sums on the order in which atoms are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Summation {
    /// Sums that depend on the order, by rounding.
    Fast,
    /// Sums that do not: pair by pair in whole numbers, of fractions of this unit.
    Exact(f64),
}

impl Summation {
    /// Range of coordinates along open axes: exact sums need roundings that are the same in a run that is resumed.
    pub fn open_range(self) -> OpenRange {
        match self {
            Summation::Fast => OpenRange::OfAtoms,
            Summation::Exact(_) => OpenRange::OfBox,
        }
    }

    /// Exact sums for these forces. The unit is a power of two near their largest in the outer half of their
    /// range: sums extend from 2^-60 to 2^42 of it, so that it only needs to suit the system of units.
    pub fn exact(forces: &Forces) -> Self {
        let mut largest = 0.0_f64;
        for term in &forces.pairs {
            for (a, b) in (0..term.n_species()).flat_map(|a| (0..=a).map(move |b| (a, b))) {
                let (Some(entry), Some(coefficients)) = (term.get(a, b), term.coefficients(a, b)) else {
                    continue;
                };
                for k in 8..16 {
                    let r = entry.cutoff * f64::from(k) / 16.0;
                    let (_, force_over_r) = term.evaluate(r * r, &coefficients);
                    largest = largest.max((r * force_over_r).abs());
                }
            }
        }
        if let Some(term) = &forces.electrostatics {
            largest = largest.max(term.coulomb / (term.cutoff * term.cutoff));
        }
        let exponent = if largest > 0.0 && largest.is_finite() { largest.log2().round() } else { 0.0 };
        Summation::Exact(exponent.clamp(-100.0, 100.0).exp2())
    }

    /// Options for the compiler.
    pub fn options(&self) -> Vec<String> {
        let exact = i32::from(matches!(self, Summation::Exact(_)));
        vec![format!("-DEXACT={exact}"), format!("-DREPRODUCIBLE={exact}")]
    }

    /// Option for sums over pairs alone: other kernels are the same for all systems, and compiled once.
    pub fn unit(&self) -> Option<String> {
        match self {
            Summation::Fast => None,
            Summation::Exact(unit) => Some(format!("-DEXACT_UNIT={unit:e}")),
        }
    }

    /// Number of shares of sums over `n` atoms, in blocks of so many threads.
    pub fn shares(&self, n: usize, threads: u32) -> u32 {
        match self {
            Summation::Fast => n.div_ceil(threads as usize).max(1) as u32,
            Summation::Exact(_) => n as u32,
        }
    }
}
