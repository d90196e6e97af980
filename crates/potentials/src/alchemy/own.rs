//! Forces between atoms of the solute: kept in every state, or scaled along the path like those on all others.

use super::{Decoupling, INTRAMOLECULAR, Original, SoftCore, Window, check_kind};
use crate::Forces;
use crate::bonded::{BondKind, BondTerm};
use crate::pair::{Coulomb, PairFunction, PairKind};
use crate::truncation::Truncation;
use jostle_core::{Bond, Dual, Result, SimBox, System, Vec3};
use serde::{Deserialize, Serialize};

/// Name of the term with scaled Lennard-Jones forces between atoms of the solute.
pub const INTRAMOLECULAR_SOFT: &str = "intramolecular-soft";

/// Treatment of the forces between atoms of the solute along a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OwnEnergy {
    /// They act in every state, as in vacuum: decoupling.
    #[default]
    Kept,
    /// Charges and Lennard-Jones forces are scaled, those of atoms three bonds apart included: annihilation.
    Scaled,
}

/// A force between two atoms at full strength, of which one or both belong to the solute.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OwnPair {
    atoms: [u32; 2],
    /// Depth and size of its Lennard-Jones force.
    lennard_jones: [f64; 2],
    /// Energy of charges times the distance: the part that is proportional to the factor of charges, where one atom
    /// alone belongs to the solute, and that to its square.
    strength: [f64; 2],
}

impl OwnPair {
    /// Energy of its charges times the distance, for a factor of charges.
    fn strength_at(&self, factor: f64) -> f64 {
        factor * (self.strength[0] + factor * self.strength[1])
    }
}

/// Forces between atoms of the solute that a path scales.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnForces {
    /// Pairs whose Lennard-Jones force has the soft core.
    soft: Vec<OwnPair>,
    /// Pairs that bonds hold apart, whose energy is proportional to the coupling parameter.
    bound: Vec<OwnPair>,
}

/// Bonds of which a path has changed the type: their numbers, and the types that they had.
pub(super) type Retyped = Vec<(u32, u32)>;

/// Adds the forces between atoms of the solute as bonded terms, and excludes these pairs from all others; scales those
/// that a force field has scaled (1-4 pairs), also with atoms of the same molecule that do not belong to the solute, and
/// ends those with `absent` atoms. The forces are those before any change; species are those after it.
///
/// # Errors
/// If a pair force is not that of Lennard and Jones.
pub(super) fn add_own_forces(
    system: &mut System,
    forces: &mut Forces,
    original: &mut Original,
    (absent, window): (&[u32], Window),
    decoupling: Decoupling,
) -> Result<OwnForces> {
    let pairs = own_pairs(system, forces, original)?;
    let mut atoms: Vec<[u32; 2]> = pairs.iter().map(|pair| pair.atoms).collect();
    atoms.dedup();
    system.topology.excluded.extend(atoms);
    let mut own = OwnForces::default();
    match decoupling.own_energy {
        OwnEnergy::Kept => {
            let full =
                |pair: &OwnPair| vec![pair.lennard_jones[0], pair.lennard_jones[1], pair.strength_at(1.0)];
            let of = |pair: &OwnPair| acts(pair).then(|| (pair.atoms, full(pair)));
            add_term(system, forces, (BondKind::ScaledPair, INTRAMOLECULAR), pairs.iter().filter_map(of))?;
        }
        OwnEnergy::Scaled => {
            let Window { charges, lennard_jones } = window;
            let charge = |pair: &OwnPair| vec![0.0, 1.0, pair.strength_at(charges)];
            let of = |pair: &OwnPair| is_charged(pair).then(|| (pair.atoms, charge(pair)));
            add_term(system, forces, (BondKind::ScaledPair, INTRAMOLECULAR), pairs.iter().filter_map(of))?;
            let soft_core = decoupling.soft_core;
            let soft = |pair: &OwnPair| (pair.atoms, soft_core.parameters(pair.lennard_jones, lennard_jones));
            let of = |pair: &OwnPair| has_well(pair).then(|| soft(pair));
            let kind = (soft_core.bond_kind(), INTRAMOLECULAR_SOFT);
            add_term(system, forces, kind, pairs.iter().filter_map(of))?;
            own.soft = pairs.into_iter().filter(acts).collect();
        }
    }
    own.bound = scale_bound_pairs(system, forces, original, (absent, window, decoupling.own_energy))?;
    Ok(own)
}

fn has_well(pair: &OwnPair) -> bool {
    pair.lennard_jones.iter().all(|x| *x != 0.0)
}

fn is_charged(pair: &OwnPair) -> bool {
    pair.strength.iter().any(|x| *x != 0.0)
}

fn acts(pair: &OwnPair) -> bool {
    has_well(pair) || is_charged(pair)
}

/// All pairs of atoms of the solute that are not excluded, one for each Lennard-Jones force, the first with the charges.
fn own_pairs(system: &System, forces: &Forces, original: &Original) -> Result<Vec<OwnPair>> {
    let excluded = system.topology.exclusions(system.state.len(), forces.exclude);
    let is_excluded =
        |a: u32, b: u32| excluded.get(a as usize).is_some_and(|list| list.binary_search(&b).is_ok());
    let index_by_id = system.state.index_by_id();
    let kind = |id: &u32| original.species[usize::from(system.state.species[index_by_id.of(*id)])];
    let species: Vec<usize> = original.atoms.iter().map(|id| usize::from(kind(id))).collect();
    let coulomb = forces.electrostatics.as_ref().map_or(0.0, |term| term.coulomb);
    let mut pairs = Vec::new();
    for (i, a) in original.atoms.iter().enumerate() {
        for (j, b) in original.atoms.iter().enumerate().skip(i + 1).filter(|(_, b)| !is_excluded(*a, **b)) {
            let strength = coulomb * original.charges[i] * original.charges[j];
            let strength = [0.0, strength];
            pairs.push(OwnPair { atoms: [*a, *b], lennard_jones: [0.0, 1.0], strength });
            for term in &forces.pairs {
                let Some(entry) = term.get(species[i], species[j]) else { continue };
                check_kind(term)?;
                let lennard_jones = [entry.parameters[0], entry.parameters[1]];
                pairs.push(OwnPair { atoms: [*a, *b], lennard_jones, strength: [0.0; 2] });
            }
        }
    }
    Ok(pairs)
}

/// Adds a term between pairs of atoms with these parameters, each of a type of its own; none where there are none.
fn add_term(
    system: &mut System,
    forces: &mut Forces,
    (kind, name): (BondKind, &'static str),
    pairs: impl Iterator<Item = ([u32; 2], Vec<f64>)>,
) -> Result<()> {
    let pairs: Vec<_> = pairs.collect();
    if pairs.is_empty() {
        return Ok(());
    }
    let first = system.topology.bond_types.len();
    let mut term = BondTerm::new(kind, first + pairs.len()).named(name);
    for (k, (atoms, parameters)) in pairs.into_iter().enumerate() {
        term = term.with(first + k, &parameters)?;
        system.topology.bond_types.push(format!("{name}-{}", k + 1));
        system.topology.bonds.push(Bond { kind: (first + k) as u32, atoms });
    }
    forces.bonds.push(term);
    Ok(())
}

/// Gives pairs of the solute that a force field has scaled (1-4 pairs) types of their own, with the strength that they
/// have in this state; returns them at full strength.
fn scale_bound_pairs(
    system: &mut System,
    forces: &mut Forces,
    original: &mut Original,
    (absent, window, own_energy): (&[u32], Window, OwnEnergy),
) -> Result<Vec<OwnPair>> {
    let mut bound = Vec::new();
    for term in forces.bonds.iter_mut().filter(|term| term.kind == BondKind::ScaledPair) {
        for number in 0..original.n_bonds {
            let Bond { kind, atoms } = system.topology.bonds[number];
            let Some(&[epsilon, sigma, full]) = term.parameters(kind as usize) else { continue };
            let n_own = atoms.iter().filter(|id| original.atoms.binary_search(id).is_ok()).count();
            let strength = match n_own {
                0 => continue,
                1 => [full, 0.0],
                _ if own_energy == OwnEnergy::Kept => continue,
                _ => [0.0, full],
            };
            let is_absent = atoms.iter().any(|id| absent.contains(id));
            let lennard_jones = [if is_absent { 0.0 } else { epsilon }, sigma];
            let strength = if is_absent { [0.0; 2] } else { strength };
            let pair = OwnPair { atoms, lennard_jones, strength };
            let scaled = [window.lennard_jones * lennard_jones[0], sigma, pair.strength_at(window.charges)];
            let own_kind = system.topology.bond_types.len();
            let before = std::mem::replace(term, BondTerm::new(BondKind::ScaledPair, 0));
            *term = before.with_types(own_kind + 1).with(own_kind, &scaled)?;
            system.topology.bond_types.push(format!("{INTRAMOLECULAR}-bound-{}", bound.len() + 1));
            system.topology.bonds[number].kind = own_kind as u32;
            original.retyped.push((number as u32, kind));
            bound.push(pair);
        }
    }
    Ok(bound)
}

/// Forces between atoms of the solute with their coefficients at many coupling parameters.
pub(super) struct OwnTable(Vec<OwnCoefficients>);

struct OwnCoefficients {
    atoms: [u32; 2],
    strength: [f64; 2],
    kind: PairKind,
    by_lambda: Vec<Vec<f64>>,
    slope: Vec<Dual<f64>>,
}

impl OwnForces {
    /// Table for the energies at each of these coupling parameters, and the derivative at `lambda`.
    pub(super) fn table(&self, soft_core: SoftCore, lambdas: &[f64], lambda: f64) -> OwnTable {
        let of = |core: SoftCore, pair: &OwnPair| {
            let at = |x: &f64| core.plain_coefficients(pair.lennard_jones, *x, *x);
            OwnCoefficients {
                atoms: pair.atoms,
                strength: pair.strength,
                kind: core.kind(),
                by_lambda: lambdas.iter().map(at).collect(),
                slope: core.plain_coefficients(pair.lennard_jones, Dual::variable(lambda), lambda),
            }
        };
        let soft = self.soft.iter().map(|pair| of(soft_core, pair));
        OwnTable(soft.chain(self.bound.iter().map(|pair| of(SoftCore::HARD, pair))).collect())
    }
}

impl OwnTable {
    /// Adds the energies of a configuration to those at each coupling parameter; returns their derivative, and the
    /// energies of charges at full strength, that which is proportional to their factor and that to its square.
    pub(super) fn add_to(
        &self,
        energies: &mut [f64],
        simbox: &SimBox,
        position: impl Fn(u32) -> Vec3,
    ) -> (f64, [f64; 2]) {
        let (mut slope, mut charges) = (0.0, [0.0; 2]);
        for pair in &self.0 {
            let d = simbox.nearest_image(position(pair.atoms[1]) - position(pair.atoms[0]));
            let r2 = d.dot(d);
            for (energy, c) in energies.iter_mut().zip(&pair.by_lambda) {
                *energy += pair.kind.evaluate(Truncation::Plain, r2, c).0;
            }
            slope += pair.kind.evaluate(Truncation::Plain, Dual::constant(r2), &pair.slope).0.slope;
            for (sum, strength) in charges.iter_mut().zip(pair.strength) {
                *sum += Coulomb::evaluate(r2, &[strength]).0;
            }
        }
        (slope, charges)
    }
}
