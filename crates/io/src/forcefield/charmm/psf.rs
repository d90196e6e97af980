//! Protein structure files (PSF): atoms and bonded terms, in CHARMM's format, X-PLOR's, and
//! the extended ones of both.

use crate::structure::Lines;
use jostle_core::{Error, Residue, Result};
use std::collections::HashSet;
use std::path::Path;

/// Contents of a file; atoms by numbers from 0.
#[derive(Debug, Default)]
pub(super) struct Psf {
    pub atoms: Vec<PsfAtom>,
    pub bonds: Vec<[u32; 2]>,
    pub angles: Vec<[u32; 3]>,
    pub dihedrals: Vec<[u32; 4]>,
    pub impropers: Vec<[u32; 4]>,
    pub cross_terms: Vec<[u32; 8]>,
    /// Pairs that are left out besides those that follow from bonds.
    pub excluded: Vec<[u32; 2]>,
    pub lone_pairs: Vec<LonePair>,
}

/// A point that follows others, as CHARMM's `LONEPAIR` puts it there.
#[derive(Debug)]
pub(super) struct LonePair {
    pub site: u32,
    /// Atoms that the lone pair follows.
    pub hosts: Vec<u32>,
    /// Weight of hosts in an average of them.
    pub weight: Weight,
    /// Distance, angle and dihedral, or the numbers in their place.
    pub values: [f64; 3],
    /// Line in the file.
    pub line: usize,
}

/// Weight of atoms in an average.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Alike,
    Mass,
}

/// An atom.
#[derive(Debug)]
pub(super) struct PsfAtom {
    pub segment: String,
    /// Number and insertion code of the residue.
    pub residue: (i32, String),
    pub residue_name: String,
    pub name: String,
    /// The name of the type, or its number in CHARMM's format.
    pub of_type: String,
    pub charge: f64,
    pub mass: f64,
}

const WRONG_COUNT: &str = "the count before the section's name is wrong, or lines are missing or too many";

/// Columns of an atom, at least.
const COLUMNS: usize = 8;

/// Returns true where a file begins as a PSF does.
pub(in crate::forcefield) fn is_one(text: &str) -> bool {
    text.starts_with("PSF")
}

pub(super) fn read(path: &Path, text: &str) -> Result<Psf> {
    let mut file = PsfFile { lines: Lines::new(path, text), head: 0 };
    let first = file.lines.next().unwrap_or("").to_uppercase();
    if first.contains("DRUDE") {
        return Err(file
            .lines
            .error("this is a file of a polarisable (Drude) force field, which is not read"));
    }
    // A file that was cut short must not pass for one without the rest.
    let mut wanted = vec!["NATOM", "NBOND", "NTHETA", "NPHI", "NIMPHI"];
    if first.contains("CMAP") {
        wanted.push("NCRTERM");
    }
    let (mut found, mut seen) = (Psf::default(), HashSet::new());
    while let Some(line) = file.lines.next() {
        // `33 !NATOM`, `9 0 !NGRP NST2`
        let Some((counts, name)) = line.split_once('!') else { continue };
        let mut counts = counts.split_whitespace();
        let n: usize = file.lines.parse(counts.next(), "the number of entries")?;
        let name = name.split([':', ' ']).next().unwrap_or("").trim();
        file.head = file.lines.at();
        if !seen.insert(name) {
            return Err(file.lines.error(format!("the file has a second section {name}")));
        }
        wanted.retain(|section| *section != name);
        match name {
            // Lines of a title may look like anything.
            "NTITLE" => {
                for _ in 0..n {
                    if file.lines.next().is_none() {
                        break;
                    }
                }
            }
            "NATOM" => found.atoms = file.atoms(n)?,
            "NBOND" => found.bonds = file.groups(n, name)?,
            "NTHETA" => found.angles = file.groups(n, name)?,
            "NPHI" => found.dihedrals = file.groups(n, name)?,
            "NIMPHI" => found.impropers = file.groups(n, name)?,
            "NCRTERM" => found.cross_terms = file.groups(n, name)?,
            "NNB" => found.excluded = file.excluded(n, found.atoms.len())?,
            "NUMLP" => {
                let places = file.lines.parse(counts.next(), "the number of atoms of lone pairs")?;
                found.lone_pairs = file.lone_pairs(n, places)?;
            }
            _ => {}
        }
    }
    if let Some(section) = wanted.first() {
        return Err(Error::file(path, format!("the file has no section {section}"))
            .hint("the file seems to be truncated; make or copy it again"));
    }
    if found.atoms.is_empty() {
        return Err(Error::file(path, "the file has no atoms"));
    }
    Ok(found)
}

#[derive(Clone)]
struct PsfFile<'a> {
    lines: Lines<'a>,
    /// Line of the count of the present section.
    head: usize,
}

impl PsfFile<'_> {
    fn atoms(&mut self, n: usize) -> Result<Vec<PsfAtom>> {
        let mut atoms = Vec::with_capacity(n.min(self.lines.at_most_left() / COLUMNS));
        for k in 0..n {
            let Some(line) = self.lines.next().filter(|line| !line.trim().is_empty() && !is_head(line))
            else {
                return Err(self.lines.error(format!("the section NATOM ends after {k} of {n} atoms")));
            };
            let words: Vec<&str> = line.split_whitespace().collect();
            let &[_, segment, residue, residue_name, name, of_type, charge, mass, ..] = &words[..] else {
                return Err(self
                    .lines
                    .error("an atom has fewer than eight columns")
                    .hint("number, segment, residue's number and name, name, type, charge, mass"));
            };
            atoms.push(PsfAtom {
                segment: segment.to_string(),
                residue: Residue::numbered(residue),
                residue_name: residue_name.to_string(),
                name: name.to_string(),
                of_type: of_type.to_string(),
                charge: self.lines.number(Some(charge), "the charge")?,
                mass: self.lines.number(Some(mass), "the mass")?,
            });
        }
        match self.surplus(|_| 1) {
            0 => Ok(atoms),
            more => {
                let message = format!("the section NATOM has {} atoms, its count is {n}", n + more);
                Err(self.lines.error_at(self.head, message).hint(WRONG_COUNT))
            }
        }
    }

    /// Entries in lines up to the next section or the end of the file, by the entries of a line that is not blank.
    fn surplus(&mut self, entries: impl Fn(&str) -> usize) -> usize {
        let mut ahead = self.lines.clone();
        let mut found = 0;
        while let Some(line) = ahead.next().filter(|line| !is_head(line)) {
            found += if line.trim().is_empty() { 0 } else { entries(line) };
            self.lines = ahead.clone();
        }
        found
    }

    /// The numbers that are left of a section, which are `n`.
    fn last_numbers(&mut self, n: usize, what: &str) -> Result<Vec<i64>> {
        let numbers = self.numbers(n, what)?;
        match numbers.len() - n + self.surplus(|line| line.split_whitespace().count()) {
            0 => Ok(numbers),
            more => {
                let found = n + more;
                let message =
                    format!("the section {what} has {found} numbers, by its count it must have {n}");
                Err(self.lines.error_at(self.head, message).hint(WRONG_COUNT))
            }
        }
    }

    /// The next `n` whole numbers, and what is left of the last of their lines.
    fn numbers(&mut self, n: usize, what: &str) -> Result<Vec<i64>> {
        let mut numbers = Vec::with_capacity(n.min(self.lines.at_most_left()));
        while numbers.len() < n {
            let Some(line) = self.lines.next().filter(|line| !is_head(line)) else {
                let found = numbers.len();
                return Err(self.lines.error(format!("the section {what} has {found} of {n} numbers")));
            };
            for word in line.split_whitespace() {
                numbers.push(self.lines.parse(Some(word), "the number of an atom")?);
            }
        }
        Ok(numbers)
    }

    fn groups<const N: usize>(&mut self, n: usize, what: &str) -> Result<Vec<[u32; N]>> {
        let numbers = self.last_numbers(n.saturating_mul(N), what)?;
        let atom = |number: i64| u32::try_from(number - 1).unwrap_or(u32::MAX);
        Ok(numbers.as_chunks::<N>().0.iter().map(|group| group.map(atom)).collect())
    }

    /// Lone pairs with their hosts: the file has their rules first, then all hosts in one list, each lone pair
    /// before its own.
    fn lone_pairs(&mut self, n: usize, places: usize) -> Result<Vec<LonePair>> {
        let mut rows = Vec::with_capacity(n.min(self.lines.at_most_left()));
        for k in 0..n {
            let Some(line) = self.lines.next() else {
                return Err(self.lines.error(format!("the file ends after {k} of {n} lone pairs")));
            };
            let mut words = line.split_whitespace();
            let hosts: usize = self.lines.parse(words.next(), "the number of hosts")?;
            let first: usize = self.lines.parse(words.next(), "the place of the lone pair")?;
            let weight = match words.next() {
                Some("F") => Weight::Alike,
                Some("T") => Weight::Mass,
                word => {
                    let word = word.unwrap_or_default();
                    return Err(self.lines.error(format!("\"{word}\" should be T or F: whether by mass")));
                }
            };
            let values = self.lines.vector(&mut words, ["the distance", "the angle", "the dihedral"])?;
            rows.push((hosts, first, weight, values.0, self.lines.at()));
        }
        let all: Vec<u32> = self.groups(places, "NUMLP")?.into_iter().map(|[atom]| atom).collect();
        let pair = |(hosts, first, weight, values, line): (usize, usize, Weight, _, usize)| {
            let own = first.checked_sub(1).and_then(|first| all.get(first..=first.checked_add(hosts)?));
            let Some([site, hosts @ ..]) = own else {
                let message = format!("{hosts} hosts from place {first} on, but NUMLP has {places} atoms");
                return Err(self.lines.error_at(line, message));
            };
            Ok(LonePair { site: *site, hosts: hosts.to_vec(), weight, values, line })
        };
        rows.into_iter().map(pair).collect()
    }

    /// A list of atoms, and of every atom where its own end in there.
    fn excluded(&mut self, n: usize, atoms: usize) -> Result<Vec<[u32; 2]>> {
        let others = self.numbers(n, "NNB")?;
        if others.len() > n {
            let message =
                format!("the section NNB has {} numbers in the lines of its first {n}", others.len());
            return Err(self.lines.error_at(self.head, message).hint(WRONG_COUNT));
        }
        // The ends are left out by some programs where there are no atoms in the list.
        if n == 0 && self.clone().surplus(|_| 1) == 0 {
            return Ok(Vec::new());
        }
        let ends = self.last_numbers(atoms, "NNB")?;
        let mut pairs = Vec::new();
        let mut from = 0;
        for (atom, end) in ends.into_iter().enumerate() {
            let Some(own) = usize::try_from(end).ok().and_then(|end| others.get(from..end)) else {
                let message = format!(
                    "the exclusions of atom {} end at {end} in NNB, which has {n}; those before at {from}",
                    atom + 1
                );
                return Err(self.lines.error_at(self.head, message).hint(WRONG_COUNT));
            };
            for other in own {
                pairs.push([atom as u32, u32::try_from(other - 1).unwrap_or(u32::MAX)]);
            }
            from += own.len();
        }
        if from < n {
            let message = format!("the section NNB has {n} exclusions, {from} of which belong to atoms");
            return Err(self.lines.error_at(self.head, message).hint(WRONG_COUNT));
        }
        Ok(pairs)
    }
}

/// Returns true for a line with the count and the name of a section.
fn is_head(line: &str) -> bool {
    line.contains('!')
}
