//! Types of atoms, with their Lennard-Jones forces and maps.
//!
//! GROMACS finds a map by the types of its five atoms. Force fields that have maps by residue give the same types
//! different maps, so an atom in the middle of a map has a type of its own for each.

use super::{number, unwritable};
use crate::forcefield::assembly::factor;
use crate::forcefield::{FAR, Molecules, elements, lorentz_berthelot, second_faster};
use jostle_core::{Dimension, Error, Result, UnitSystem};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

/// A species, and the map that an atom is in the middle of.
type AtomKind = (u16, Option<u32>);

/// Sigma, in nm, that a force without attraction is written with.
const REPULSIVE: f64 = 0.3;

/// Relative difference of parameters that comes of the eight digits that AMBER gives their products.
const ROUNDING: f64 = 1e-7;

/// Types of all atoms.
pub(super) struct AtomTypes {
    /// Type of each atom.
    of_atoms: Vec<usize>,
    /// Species and names of the types.
    types: Vec<(u16, String)>,
    /// Maps by the types of five atoms.
    maps: BTreeMap<[usize; 5], u32>,
}

impl AtomTypes {
    pub fn new(molecules: &Molecules) -> Result<Self> {
        let mut middle: HashMap<u32, u32> = HashMap::new();
        for term in &molecules.topology.cross_terms {
            let before = middle.insert(term.atoms[2], term.kind);
            if before.is_some_and(|before| before != term.kind) {
                return Err(unwritable("two maps around one atom"));
            }
        }
        let kind = |(atom, species): (usize, &u16)| (*species, middle.get(&(atom as u32)).copied());
        let kinds: Vec<AtomKind> = molecules.atoms.iter().enumerate().map(kind).collect();
        let different: BTreeSet<AtomKind> = kinds.iter().copied().collect();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let mut types = Vec::new();
        let mut numbers: HashMap<AtomKind, usize> = HashMap::new();
        for kind in different {
            let own = word(&molecules.species[usize::from(kind.0)].name);
            let own =
                if own.starts_with(|c: char| c.is_ascii_alphabetic()) { own } else { format!("T{own}") };
            let mut name = own.clone();
            for next in 2.. {
                if taken.insert(name.clone()) {
                    break;
                }
                name = format!("{own}_{next}");
            }
            numbers.insert(kind, types.len());
            types.push((kind.0, name));
        }
        let of_atoms: Vec<usize> = kinds.iter().map(|kind| numbers[kind]).collect();
        let cross_terms = molecules.topology.cross_terms.iter();
        let maps =
            cross_terms.map(|term| (term.atoms.map(|atom| of_atoms[atom as usize]), term.kind)).collect();
        Ok(AtomTypes { of_atoms, types, maps })
    }

    /// Name of the type of an atom.
    pub fn name(&self, atom: usize) -> &str {
        &self.types[self.of_atoms[atom]].1
    }

    /// The sections before the first molecule; `scale` is the factor of charges of 1-4 pairs.
    pub fn text(&self, molecules: &Molecules, scale: f64) -> String {
        let mut text = String::from("[ defaults ]\n; nbfunc  comb-rule  gen-pairs  fudgeLJ  fudgeQQ\n");
        let _ = writeln!(text, "1  2  no  1.0  {}\n", number(scale));
        text += "[ atomtypes ]\n; name  bonded  at.num  mass  charge  ptype  sigma  epsilon\n";
        for (species, name) in &self.types {
            let mass = molecules.units.mass_to_user(molecules.species[usize::from(*species)].mass);
            let element = elements::by_mass(mass).and_then(elements::number).unwrap_or(0);
            let (ptype, [sigma, epsilon]) =
                (if mass == 0.0 { "D" } else { "A" }, written(well(molecules, *species, *species)));
            let (mass, sigma, epsilon) = (number(mass), number(sigma), number(epsilon));
            let _ = writeln!(
                text,
                "{name:<8} {name:<8} {element:>3} {mass:>10}  0.0  {ptype}  {sigma}  {epsilon}"
            );
        }
        text += &self.unlike_pairs(molecules);
        text += &self.map_types(molecules);
        text
    }

    /// Pairs of types that do not follow from those of like atoms after Lorentz and Berthelot.
    fn unlike_pairs(&self, molecules: &Molecules) -> String {
        let mut rows = String::new();
        for (k, (a, one)) in self.types.iter().enumerate() {
            for (b, other) in &self.types[k + 1..] {
                let own = well(molecules, *a, *b);
                let [like, unlike] = [*a, *b].map(|s| well(molecules, s, s));
                if same(own, lorentz_berthelot(like, unlike)) {
                    continue;
                }
                let [sigma, epsilon] = written(own).map(number);
                let _ = writeln!(rows, "{one:<8} {other:<8} 1  {sigma}  {epsilon}");
            }
        }
        match rows.is_empty() {
            true => rows,
            false => format!("\n[ nonbond_params ]\n; i  j  func  sigma  epsilon\n{rows}"),
        }
    }

    fn map_types(&self, molecules: &Molecules) -> String {
        let mut text = String::new();
        let energy = factor(molecules.units, UnitSystem::Nano, Dimension::ENERGY);
        for (types, map) in &self.maps {
            let map = &molecules.forces.cmaps[*map as usize];
            let size = map.size();
            let energies: Vec<f64> = map.energies().map(|e| e * energy).collect();
            let _ = write!(text, "{} 1 {size} {size}", types.map(|t| self.types[t].1.as_str()).join(" "));
            for row in second_faster(size, &energies).chunks(8) {
                let row: Vec<String> = row.iter().map(|e| number(*e)).collect();
                let _ = write!(text, "\\\n{}", row.join(" "));
            }
            text += "\n\n";
        }
        if text.is_empty() { text } else { format!("\n[ cmaptypes ]\n{text}") }
    }
}

/// Epsilon in kJ/mol and sigma in nm of two species.
fn well(molecules: &Molecules, a: u16, b: u16) -> [f64; 2] {
    let [epsilon, sigma] = molecules.lennard_jones[usize::from(a) * molecules.species.len() + usize::from(b)];
    let units = [Dimension::ENERGY, Dimension::LENGTH].map(|d| factor(molecules.units, UnitSystem::Nano, d));
    [epsilon * units[0], sigma * units[1]]
}

/// Sigma and epsilon as files have them: a negative sigma stands for a repulsion alone.
pub(super) fn written([epsilon, sigma]: [f64; 2]) -> [f64; 2] {
    // One tenth of FAR in either of the units that it is meant in, nm and angstrom.
    match (epsilon > 0.0, sigma > 0.01 * FAR) {
        (false, _) => [0.0, 0.0],
        (true, true) => [-REPULSIVE, epsilon * (sigma / REPULSIVE).powi(12)],
        (true, false) => [sigma, epsilon],
    }
}

/// Returns true for wells that are equal but for rounding.
fn same([e, s]: [f64; 2], [f, t]: [f64; 2]) -> bool {
    let near = |x: f64, y: f64| (x - y).abs() <= ROUNDING * x.abs().max(y.abs());
    (e == 0.0 && f == 0.0) || (near(e, f) && near(s, t))
}

/// A name as one word without signs that mean something in a topology.
pub(super) fn word(name: &str) -> String {
    let plain = |c: char| if c.is_whitespace() || ";[]#\\\"<>".contains(c) { '_' } else { c };
    let word: String = name.trim().chars().map(plain).collect();
    if word.is_empty() { "X".into() } else { word }
}

/// An error for a term of a type without parameters.
pub(super) fn without_parameters(what: &str) -> Error {
    Error::input(format!("a {what} of the topology has no parameters"))
}
