//! Alchemy: one molecule, the solute, whose interactions with everything else are scaled along a path between a state
//! in which they act and one in which they do not.
//!
//! The devices know nothing of it. [`decouple`] turns a system and its forces into those of one state of the path:
//! - atoms of the solute become species of their own, whose Lennard-Jones force on all others is a pair force with a
//!   [soft core](SoftCore);
//! - their charges are scaled by `charges`, so that the energy of charges is a quadratic function of it, lattice sum,
//!   background and images of the solute included;
//! - forces between atoms of the solute become bonded terms without a cut-off (scaled pairs), which have their full
//!   strength in every state, so that the solute keeps its own energy, as alone in vacuum (decoupling), or are scaled as
//!   those on all others are (annihilation, [`OwnEnergy`]);
//! - Lennard-Jones tails follow from the species; the tail of the solute with its own images stays.
//!
//! [`exchange_parts`] does the same for two parts of one molecule or of two, each with a path of its own and no forces
//! between them (a dual topology): one part disappears, and the other one appears. Bonds, angles and dihedrals stay as
//! they are; 1-4 pairs with the rest of the molecule are scaled. Either part may be a whole molecule.
//!
//! [`Coupling`] gives the Lennard-Jones energies of other states at the same positions, and the derivative.

mod coupling;
mod own;
mod soft_core;

pub use coupling::{Coupling, CouplingEnergies, CouplingTable};
pub use own::{INTRAMOLECULAR_SOFT, OwnEnergy};
pub use soft_core::SoftCore;

use crate::Forces;
use crate::electrostatics::NetCharge;
use crate::pair::PairKind;
use crate::potential::Potential;
use crate::term::PairTerm;
use coupling::CoupledTerm;
use jostle_core::{Driven, Error, Exclude, Molecules, Result, System};
use own::{Retyped, add_own_forces};
use serde::{Deserialize, Serialize};

/// Name of the term with the forces between atoms of the solute.
pub const INTRAMOLECULAR: &str = "intramolecular";

/// Most atoms of a solute: every two of them may have a bonded term.
pub const MOST_ATOMS: usize = 1000;

/// State of a path: factors from 0 (no interaction) to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Factor of the charges of the solute.
    pub charges: f64,
    /// Coupling parameter of its Lennard-Jones force on all others.
    pub lennard_jones: f64,
}

/// Forms of the forces of a solute along a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decoupling {
    /// Soft core of Lennard-Jones forces.
    pub soft_core: SoftCore,
    /// Forces between atoms of the solute.
    pub own_energy: OwnEnergy,
}

impl From<SoftCore> for Decoupling {
    fn from(soft_core: SoftCore) -> Self {
        Decoupling { soft_core, own_energy: OwnEnergy::Kept }
    }
}

/// Everything that [`decouple`] has changed about a system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Original {
    /// Ids of the atoms of the solute, in ascending order.
    pub atoms: Vec<u32>,
    /// Their charges.
    pub charges: Vec<f64>,
    /// Species of all species that there are now.
    species: Vec<u16>,
    n_species: usize,
    n_bond_types: usize,
    n_bonds: usize,
    n_excluded: usize,
    has_charges: bool,
    retyped: Retyped,
}

impl Original {
    /// Total charge of the solute.
    pub fn net_charge(&self) -> f64 {
        self.charges.iter().sum()
    }

    /// Charges of all atoms by id, given those of one state, in a state with this factor.
    pub fn charges_at(&self, charges: &[f64], factor: f64) -> Vec<f64> {
        let mut charges = charges.to_vec();
        for (id, charge) in self.atoms.iter().zip(&self.charges) {
            charges[*id as usize] = factor * charge;
        }
        charges
    }

    /// Takes the changes back.
    ///
    /// # Errors
    /// If the system is not the one that was changed.
    pub fn restore(&self, system: &mut System) -> Result<()> {
        let known = system.species.len() == self.species.len()
            && system.topology.bonds.len() >= self.n_bonds
            && system.topology.bond_types.len() >= self.n_bond_types
            && system.topology.excluded.len() >= self.n_excluded
            && self.atoms.iter().all(|id| (*id as usize) < system.state.len())
            && self.retyped.iter().all(|(number, _)| (*number as usize) < self.n_bonds)
            && self.n_species <= self.species.len();
        if !known {
            return Err(Error::input("the checkpoint is that of another alchemical system"));
        }
        system.species.truncate(self.n_species);
        for species in &mut system.state.species {
            *species = self.species[usize::from(*species)];
        }
        system.topology.bond_types.truncate(self.n_bond_types);
        system.topology.bonds.truncate(self.n_bonds);
        for (number, kind) in &self.retyped {
            system.topology.bonds[*number as usize].kind = *kind;
        }
        system.topology.excluded.truncate(self.n_excluded);
        match self.has_charges {
            true => system.charges = self.charges_at(&system.charges, 1.0),
            false => system.charges.clear(),
        }
        Ok(())
    }
}

/// Turns a system and its forces into those of a state in which the molecule of these `atoms` (ids in ascending order)
/// is coupled to all others by the factors of `window`.
///
/// # Errors
/// If the atoms are not one whole molecule, or a force on them is of a kind that cannot be scaled.
pub fn decouple(
    system: &mut System,
    forces: &mut Forces,
    atoms: &[u32],
    window: Window,
    decoupling: impl Into<Decoupling>,
) -> Result<(Original, Coupling)> {
    check_molecule(system, atoms)?;
    let n_pairs = forces.pairs.len();
    decouple_part(system, forces, (atoms, &[], window), n_pairs, decoupling.into())
}

/// Turns a system and its forces into those of a state in which two parts, each of one molecule, have no forces on each
/// other, and each is coupled to all other atoms, those of the same molecule included, by the factors of a window of its
/// own.
///
/// # Errors
/// If a part has atoms of two molecules, the parts overlap, or a force on them is of a kind that cannot be scaled.
pub fn exchange_parts(
    system: &mut System,
    forces: &mut Forces,
    parts: [(&[u32], Window); 2],
    decoupling: impl Into<Decoupling>,
) -> Result<[(Original, Coupling); 2]> {
    let decoupling = decoupling.into();
    let [(first, first_window), (second, second_window)] = parts;
    check_parts(system, [first, second])?;
    if forces.exclude != Exclude::None {
        return Err(Error::input("two parts need excluded pairs that a topology lists")
            .hint("leave exclude out, and list the pairs in the topology"));
    }
    let n_pairs = forces.pairs.len();
    let one = decouple_part(system, forces, (first, second, first_window), n_pairs, decoupling)?;
    let other = decouple_part(system, forces, (second, first, second_window), n_pairs, decoupling)?;
    Ok([one, other])
}

/// Decouples the `atoms` of a molecule, which have no forces on `absent` ones of it. Pair forces from number `n_pairs` on
/// are those of a part that was decoupled before.
fn decouple_part(
    system: &mut System,
    forces: &mut Forces,
    (atoms, absent, window): (&[u32], &[u32], Window),
    n_pairs: usize,
    decoupling: Decoupling,
) -> Result<(Original, Coupling)> {
    check_forces(forces)?;
    let excluded = excluded_others(system, forces, atoms);
    let mut original = separate_species(system, atoms, forces);
    check_charges(forces, &original)?;
    let of: Vec<usize> = original.species.iter().map(|s| usize::from(*s)).collect();
    let own = add_own_forces(system, forces, &mut original, (absent, window), decoupling)?;
    system.topology.excluded.extend(atoms.iter().flat_map(|a| absent.iter().map(move |b| [*a, *b])));
    let soft_core = decoupling.soft_core;
    let coupled = couple_pairs(forces, n_pairs, (&of, original.n_species), soft_core)?;
    let soft = coupled.iter().map(|term| term.at(window.lennard_jones)).collect::<Result<Vec<_>>>()?;
    forces.pairs.extend(soft);
    for bonds in &mut forces.bonds {
        *bonds = bonds.clone().with_types(system.topology.bond_types.len());
    }
    if original.has_charges || forces.electrostatics.is_some() {
        system.charges = original.charges_at(&system.charges, window.charges);
    }
    if let (Some(term), true) = (&mut forces.electrostatics, is_charged(&original)) {
        term.net_charge = NetCharge::Background;
    }
    let atoms = (atoms.to_vec(), excluded);
    let coupling = Coupling::new(atoms, (original.n_species, coupled), (soft_core, own));
    Ok((original, coupling))
}

/// Ids of other atoms with which each of these has no force of pairs.
fn excluded_others(system: &System, forces: &Forces, atoms: &[u32]) -> Vec<Vec<u32>> {
    let excluded = system.topology.exclusions(system.state.len(), forces.exclude);
    let others = |id: &u32| {
        let of_atom = excluded.get(*id as usize).into_iter().flatten();
        of_atom.copied().filter(|other| atoms.binary_search(other).is_err()).collect()
    };
    atoms.iter().map(others).collect()
}

/// Returns true where the solute has a net charge.
fn is_charged(original: &Original) -> bool {
    let sizes: f64 = original.charges.iter().map(|q| q.abs()).sum();
    original.net_charge().abs() > 1e-6 * sizes
}

/// Refuses atoms that are not one whole molecule, or all that there are.
fn check_molecule(system: &System, atoms: &[u32]) -> Result<()> {
    let molecules = Molecules::new(&system.topology, &system.species, &system.state);
    let of = molecules.of_atoms();
    let Some(molecule) = atoms.first().map(|id| of[*id as usize]) else {
        return Err(Error::input("there is no atom to be decoupled"));
    };
    let describe = |id: u32| system.names.describe(id);
    if let Some(id) = atoms.iter().find(|id| of[**id as usize] != molecule) {
        let message = format!("{} and {} belong to two molecules", describe(atoms[0]), describe(*id));
        return Err(Error::input(message).hint("choose the atoms of one molecule"));
    }
    let missing =
        (0..of.len() as u32).find(|id| of[*id as usize] == molecule && atoms.binary_search(id).is_err());
    if let Some(id) = missing {
        let message = format!("{} belongs to the same molecule, but is not chosen", describe(id));
        return Err(Error::input(message).hint("choose whole molecules, as \"resname LIG\" does"));
    }
    if atoms.len() == of.len() {
        return Err(Error::input("there is no other atom that the molecule could be decoupled from"));
    }
    if atoms.len() > MOST_ATOMS {
        let message =
            format!("the molecule has {} atoms, and at most {MOST_ATOMS} can be decoupled", atoms.len());
        return Err(Error::input(message));
    }
    Ok(())
}

/// Refuses parts that have atoms of two molecules or common atoms, and parts that are all that there is.
fn check_parts(system: &System, parts: [&[u32]; 2]) -> Result<()> {
    let describe = |id: u32| system.names.describe(id);
    let molecules = Molecules::new(&system.topology, &system.species, &system.state);
    let of = molecules.of_atoms();
    for part in parts {
        let Some(first) = part.first() else {
            return Err(Error::input("a part of a dual topology has no atoms"));
        };
        if let Some(id) = part.iter().find(|id| of[**id as usize] != of[*first as usize]) {
            let message = format!("{} and {} belong to two molecules", describe(*first), describe(*id));
            let hint = "choose a molecule, or a part of one, that disappears, and one that appears";
            return Err(Error::input(message).hint(hint));
        }
    }
    if let Some(id) = parts[0].iter().find(|id| parts[1].binary_search(id).is_ok()) {
        let message = format!("{} belongs to both parts", describe(*id));
        return Err(Error::input(message).hint("choose parts without a common atom"));
    }
    match parts[0].len() + parts[1].len() {
        n if n == of.len() => {
            Err(Error::input("there is no other atom that the parts could be decoupled from"))
        }
        n if n > MOST_ATOMS => {
            Err(Error::input(format!("the parts have {n} atoms, and at most {MOST_ATOMS} can be decoupled")))
        }
        _ => Ok(()),
    }
}

/// Refuses forces that have parameters by species which are not scaled.
fn check_forces(forces: &Forces) -> Result<()> {
    let others = [
        (forces.embedded.is_some(), "embedded atoms"),
        (forces.dispersion.is_some(), "dispersion over all images"),
        (forces.vacuum.is_some(), "forces in open space"),
        (forces.three_body.is_some(), "three-body forces"),
        (forces.grains.is_some(), "grains"),
        (!forces.walls.is_empty() || !forces.reflecting_walls.is_empty(), "walls"),
        (!forces.fields.is_empty() || !forces.formula_fields.is_empty(), "fields"),
    ];
    match others.iter().find(|(present, _)| *present) {
        Some((_, what)) => Err(Error::input(format!("[alchemy] does not go together with {what}"))
            .hint("it scales Lennard-Jones forces with a cut-off, and charges")),
        None => Ok(()),
    }
}

/// Refuses charges of the solute whose forces are not those of an unscreened lattice sum.
fn check_charges(forces: &Forces, original: &Original) -> Result<()> {
    let Some(term) = &forces.electrostatics else { return Ok(()) };
    if original.charges.iter().all(|q| *q == 0.0) {
        return Ok(());
    }
    if term.method.alpha().is_none() || term.kappa().is_some() {
        let message = "the charges of the molecule of [alchemy] need a lattice sum that nothing screens";
        return Err(Error::input(message).hint("write [electrostatics] kind = \"pme\""));
    }
    Ok(())
}

/// Gives the atoms species of their own, which follow all others.
fn separate_species(system: &mut System, atoms: &[u32], forces: &Forces) -> Original {
    let index_by_id = system.state.index_by_id();
    let indices: Vec<usize> = atoms.iter().map(|id| index_by_id.of(*id)).collect();
    let charges = indices.iter().map(|index| system.charge(*index)).collect();
    let n_species = system.species.len();
    let has_charges = !system.charges.is_empty();
    if !has_charges && forces.electrostatics.is_some() {
        system.charges = index_by_id.iter().map(|index| system.charge(index)).collect();
    }
    let mut kinds: Vec<u16> = indices.iter().map(|index| system.state.species[*index]).collect();
    for index in indices {
        let kind = system.state.species[index];
        let number = original_number(&mut kinds, kind);
        system.state.species[index] = (n_species + number) as u16;
    }
    let own = kinds.iter().map(|kind| system.species[usize::from(*kind)].clone());
    system.species.extend(own.collect::<Vec<_>>());
    if let Driven::BySpecies(driven) = &mut system.driven
        && !driven.is_empty()
    {
        driven.extend(kinds.iter().map(|kind| driven[usize::from(*kind)]).collect::<Vec<_>>());
    }
    Original {
        atoms: atoms.to_vec(),
        charges,
        species: (0..n_species as u16).chain(kinds).collect(),
        n_species,
        n_bond_types: system.topology.bond_types.len(),
        n_bonds: system.topology.bonds.len(),
        n_excluded: system.topology.excluded.len(),
        has_charges,
        retyped: Retyped::new(),
    }
}

/// Number of a species among those of the solute, of which each is kept once.
fn original_number(kinds: &mut Vec<u16>, kind: u16) -> usize {
    kinds.sort_unstable();
    kinds.dedup();
    kinds.partition_point(|other| *other < kind)
}

/// Refuses pair forces other than Lennard-Jones.
fn check_kind(term: &PairTerm) -> Result<()> {
    match term.potential {
        Potential::BuiltIn(PairKind::LennardJones) => Ok(()),
        _ => Err(Error::input(format!(
            "a force of kind \"{}\" acts on the molecule of [alchemy], which scales Lennard-Jones forces alone",
            term.potential.name()
        ))
        .hint("choose a molecule on which no other pair force acts")),
    }
}

/// Extends pair forces to the species of the solute, and takes those between these and all others out. Forces from
/// number `n_pairs` on are those of another part of the molecule, which the solute has none of.
fn couple_pairs(
    forces: &mut Forces,
    n_pairs: usize,
    (of, n_species): (&[usize], usize),
    soft_core: SoftCore,
) -> Result<Vec<CoupledTerm>> {
    let mut coupled = Vec::new();
    let (plain, of_part) = forces.pairs.split_at_mut(n_pairs);
    for term in of_part {
        *term = term.over_species(of);
        let pairs = (n_species..of.len()).flat_map(|own| (0..of.len()).map(move |other| (own, other)));
        pairs.for_each(|(own, other)| term.remove(own, other));
    }
    for term in plain {
        let mut taken = Vec::new();
        for own in n_species..of.len() {
            for other in 0..n_species {
                if let Some(entry) = term.get(of[own], other) {
                    taken.push(([own, other], entry.clone()));
                }
            }
        }
        if !taken.is_empty() {
            check_kind(term)?;
        }
        *term = term.over_species(of);
        for ([own, other], _) in &taken {
            term.remove(*own, *other);
        }
        // Without a depth or a size there is no force.
        taken.retain(|(_, entry)| entry.parameters[0] != 0.0 && entry.parameters[1] != 0.0);
        if !taken.is_empty() {
            coupled.push(CoupledTerm::new(term, taken, soft_core));
        }
    }
    Ok(coupled)
}
