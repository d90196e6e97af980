//! GROMACS' topologies (top, itp): nm, kJ/mol, degrees.

mod exclusions;
mod molecule;
mod preprocess;
mod state_b;
mod types;
mod virtual_sites;
mod write;

use super::assembly::Assembly;
use super::{Molecules, elements};
use crate::memory;
use jostle_core::{AtomName, Error, Residue, Result, UnitSystem};
use molecule::{MoleculeKind, add, atom};
use preprocess::SourceLine;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use types::{Defaults, Types, whole};

/// Returns true for a topology of GROMACS, by its first line with a word.
pub(super) fn is_one(text: &str) -> bool {
    let mut lines = text.lines().map(|line| line.split(';').next().unwrap_or("").trim());
    lines
        .find(|line| !line.is_empty() && !line.starts_with('*'))
        .is_some_and(|line| line.starts_with('#') || (line.starts_with('[') && line.ends_with(']')))
}

/// Reads the text of a file, with macros that are defined and folders of files to include.
///
/// # Errors
/// If a file is missing or damaged (the error has the line), a parameter is missing, or there is a
/// force that Jostle has not.
pub(super) fn read(
    path: &Path,
    text: &str,
    define: &[String],
    include: &[PathBuf],
    units: UnitSystem,
) -> Result<Molecules> {
    let mut file =
        TopologyFile { defaults: None, types: Types::default(), kinds: Vec::new(), molecules: Vec::new() };
    let mut section = String::new();
    for line in preprocess::lines(path, text, define, include)? {
        match heading(&line) {
            Some(name) => section = name,
            None => file.row(&section, line)?,
        }
    }
    file.assemble(units).map_err(|e| e.in_file(path))
}

/// The name of the section that a line begins: `[ atoms ]`.
fn heading(line: &SourceLine) -> Option<String> {
    let text = line.words.join(" ");
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    Some(inner.trim().to_string())
}

struct TopologyFile {
    defaults: Option<Defaults>,
    types: Types,
    kinds: Vec<MoleculeKind>,
    /// Kinds and numbers of molecules, in their order, with their lines.
    molecules: Vec<(usize, usize, SourceLine)>,
}

/// Bytes that an atom of a molecule takes, and a row of its bonded terms, at least: of a million atoms in chains
/// of four that were read with their coordinates, each took 930.
const BYTES: [usize; 2] = [400, 200];

/// Bytes of one thing that binds atoms, at least.
const TERM: usize = size_of::<[u32; 4]>();

/// Number of the first molecule that is a single residue. Such molecules are numbered through, as by GROMACS, after all
/// residues of molecules with several, which keep their numbers.
fn first_of_single_residues(kinds: &[MoleculeKind], molecules: &[(usize, usize, SourceLine)]) -> i32 {
    let present = molecules.iter().filter(|(_, count, _)| *count > 0).map(|(kind, ..)| &kinds[*kind]);
    let chains = present.filter(|kind| !kind.is_single_residue());
    let numbers = chains.flat_map(|kind| kind.atoms.iter().map(|atom| atom.residue.0));
    numbers.max().unwrap_or(0).max(0).saturating_add(1)
}

impl TopologyFile {
    fn row(&mut self, section: &str, line: SourceLine) -> Result<()> {
        let types = &mut self.types;
        match section {
            "defaults" => self.defaults = Some(Defaults::new(&line)?),
            "atomtypes" => types.add_atom(&line)?,
            "bondtypes" => types.bonds.add(types.bonded_row(&line, 2)?, &line),
            "constrainttypes" => types.constraints.add(types.bonded_row(&line, 2)?, &line),
            "angletypes" => types.angles.add(types.bonded_row(&line, 3)?, &line),
            "dihedraltypes" => types.add_dihedral(&line)?,
            "cmaptypes" => types.add_map(&line)?,
            "pairtypes" => types.pairs_14.extend([types.pair_row(&line)?]),
            "nonbond_params" => types.pairs.extend([types.pair_row(&line)?]),
            "moleculetype" => {
                let word = line.words.get(1).ok_or_else(|| line.error("a molecule needs name and nrexcl"))?;
                let excluded = whole(&line, word)?;
                let (name, atoms, rows) = (line.words[0].clone(), Vec::new(), Vec::new());
                self.kinds.push(MoleculeKind { name, excluded, atoms, rows });
            }
            "molecules" => {
                let (name, count) = match &line.words[..] {
                    [name, count, ..] => (name, count),
                    _ => return Err(line.error("the name of a molecule and how many there are is wanted")),
                };
                let kind = self.kinds.iter().position(|kind| kind.name == *name);
                let kind = kind.ok_or_else(|| {
                    let known: Vec<&str> = self.kinds.iter().map(|kind| kind.name.as_str()).collect();
                    line.error(format!("there is no molecule {name}"))
                        .hint(format!("there are {}", known.join(", ")))
                })?;
                let count = whole(&line, count)?;
                self.molecules.push((kind, count, line));
            }
            // A title; Born radii, which nothing here has.
            "system" | "implicit_genborn_params" => {}
            _ => {
                let kind = self.kinds.last_mut();
                let kind =
                    kind.ok_or_else(|| line.error(format!("a row of [ {section} ] before any molecule")))?;
                match section {
                    "atoms" => {
                        let atom = atom(&self.types, &line, kind.atoms.len() + 1, &kind.name)?;
                        kind.atoms.push(atom);
                    }
                    _ => kind.rows.push((section.to_string(), line)),
                }
            }
        }
        Ok(())
    }

    /// Refuses more molecules than memory holds, at their line.
    fn check_size(&self) -> Result<()> {
        let (mut atoms, mut bytes) = (0usize, 0usize);
        for (kind, count, line) in &self.molecules {
            let MoleculeKind { name, atoms: own, rows, .. } = &self.kinds[*kind];
            if own.is_empty() {
                return Err(line.error(format!("the molecule {name} has no atoms")));
            }
            let each = own.len() * BYTES[0] + rows.len() * BYTES[1];
            atoms = atoms.saturating_add(count.saturating_mul(own.len()));
            bytes = bytes.saturating_add(count.saturating_mul(each));
            let wrong = "is the number of molecules right?";
            if atoms > u32::MAX as usize {
                let message = format!("{count} molecules {name} make {atoms} atoms, more than {}", u32::MAX);
                return Err(line.error(message).hint(wrong));
            }
            let what = format!("{count} molecules {name} with {} atoms each", own.len());
            memory::room_for(&what, bytes as u64).map_err(|e| line.at(e).hint(wrong))?;
        }
        Ok(())
    }

    fn assemble(self, units: UnitSystem) -> Result<Molecules> {
        self.check_size()?;
        let TopologyFile { defaults, types, kinds, molecules } = self;
        let defaults = defaults.ok_or_else(|| {
            Error::input("the topology has no [ defaults ]").hint("include the file of a force field first")
        })?;
        let mut assembly = Assembly::new(UnitSystem::Nano, units)?;
        let mut maps = HashMap::new();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut order: Vec<String> = Vec::new();
        let mut next_residue = first_of_single_residues(&kinds, &molecules);
        for (kind, count, line) in molecules {
            let kind = &kinds[kind];
            let single = kind.is_single_residue();
            let terms = kind.terms(&types, &defaults, &mut assembly, &mut maps)?;
            let bytes = terms.len().saturating_mul(TERM).saturating_mul(count);
            let what = format!("what binds the atoms of {count} molecules {}", kind.name);
            memory::room_for(&what, bytes as u64).map_err(|e| line.at(e))?;
            for _ in 0..count {
                let first = assembly.n_atoms() as u32;
                let mut last = None;
                for atom in &kind.atoms {
                    let names = &mut assembly.names;
                    let residue = (&atom.residue, &atom.residue_name);
                    if last != Some(residue) {
                        last = Some(residue);
                        let (number, insertion) = atom.residue.clone();
                        let number = if single { next_residue } else { number };
                        let name = atom.residue_name.clone();
                        names.residues.push(Residue { name, number, insertion, ..Residue::default() });
                    }
                    names.atoms.push(AtomName {
                        name: atom.name.clone(),
                        element: elements::by_mass(atom.mass).unwrap_or_default().into(),
                        residue: names.residues.len() as u32 - 1,
                    });
                    let next = numbers.len();
                    let number = *numbers.entry(atom.of_type.clone()).or_insert_with(|| {
                        order.push(atom.of_type.clone());
                        next
                    });
                    assembly.atom(&atom.of_type, number, atom.mass, atom.charge)?;
                }
                next_residue = next_residue.saturating_add(i32::from(single));
                terms.iter().try_for_each(|(term, line)| {
                    add(&mut assembly, term, first).map_err(|e| line.as_ref().map_or(e.clone(), |l| l.at(e)))
                })?;
            }
        }
        if assembly.n_atoms() == 0 {
            return Err(Error::input("the topology has no atoms").hint("does it have [ molecules ]?"));
        }
        assembly.finish(|a, b| types.well(&defaults, &order[a], &order[b]))
    }
}
