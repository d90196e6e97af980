//! Parameters of bonded terms by their types, in the units of GROMACS.

use crate::forcefield::Molecules;
use crate::forcefield::assembly::factor;
use jostle_core::{Dimension, UnitSystem};
use jostle_potentials::bonded::BondedTerm;
use jostle_potentials::{AngleKind, BondKind, BondedKind, DihedralKind};
use std::collections::BTreeMap;

/// A type: its kind, the name of its energy, its parameters.
pub(super) type TermType<K> = (K, &'static str, Vec<f64>);

/// Parameters of all types.
pub(super) struct Parameters {
    pub bonds: Vec<Option<TermType<BondKind>>>,
    pub angles: Vec<Option<TermType<AngleKind>>>,
    pub dihedrals: Vec<Option<TermType<DihedralKind>>>,
    /// One unit of length in nm.
    pub length: f64,
    /// Coulomb's constant of GROMACS' units: the strength of a scaled pair divided by it is a product of charges.
    pub coulomb: f64,
    /// Factor of charges that most 1-4 pairs have.
    pub scale: f64,
}

impl Parameters {
    pub fn new(molecules: &Molecules) -> Self {
        let units = molecules.units;
        let (forces, topology) = (&molecules.forces, &molecules.topology);
        let mut parameters = Parameters {
            bonds: types(&forces.bonds, topology.bond_types.len(), units),
            angles: types(&forces.angles, topology.angle_types.len(), units),
            dihedrals: types(&forces.dihedrals, topology.dihedral_types.len(), units),
            length: factor(units, UnitSystem::Nano, Dimension::LENGTH),
            coulomb: UnitSystem::Nano.coulomb(),
            scale: 1.0,
        };
        parameters.scale = parameters.usual_scale(molecules);
        parameters
    }

    /// The factor of charges that most scaled pairs have, to nine digits.
    fn usual_scale(&self, molecules: &Molecules) -> f64 {
        let mut found: BTreeMap<u64, usize> = BTreeMap::new();
        for bond in &molecules.topology.bonds {
            let Some((BondKind::ScaledPair, _, p)) = &self.bonds[bond.kind as usize] else { continue };
            let product: f64 = bond.atoms.iter().map(|atom| molecules.charges[*atom as usize]).product();
            let scale = (1e9 * p[2] / self.coulomb / product).round();
            if scale.is_finite() && scale >= 0.0 {
                *found.entry(scale as u64).or_default() += 1;
            }
        }
        let most = found.into_iter().max_by_key(|(_, count)| *count);
        most.map_or(1.0, |(scale, _)| exact(scale as f64 * 1e-9))
    }
}

/// The fraction that is meant where it is a simple one, as 1/1.2.
fn exact(scale: f64) -> f64 {
    let simple = [1.0, 0.5, 1.0 / 1.2, 0.0];
    simple.into_iter().find(|known| (known - scale).abs() < 1e-8).unwrap_or(scale)
}

fn types<K: BondedKind>(terms: &[BondedTerm<K>], n: usize, units: UnitSystem) -> Vec<Option<TermType<K>>> {
    let one = |k: usize| {
        let (term, own) = terms.iter().find_map(|term| Some((term, term.parameters(k)?)))?;
        let known = term.kind.parameters().iter();
        let converted =
            own.iter().zip(known).map(|(x, p)| x * factor(units, UnitSystem::Nano, p.dimension)).collect();
        Some((term.kind, term.term(), converted))
    };
    (0..n).map(one).collect()
}
