//! Atoms of a system that an expression chooses.

use super::keywords::{
    AMINO_ACIDS, Class, NUCLEIC_BACKBONE, NUCLEOTIDES, Number, PROTEIN_BACKBONE, TextProperty, WATERS, among,
};
use super::parse::{Expression, NameValue, SharedProperty, Spelling};
use super::scan::NumberComparison;
use super::{Fault, meant};
use crate::forcefield::elements::is_symbol;
use jostle_analysis::cells::Cells;
use jostle_core::{IdIndex, Molecules, Residue, System, UnitSystem, Vec3};
use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;

/// Numbers that differ by less than this, relatively, are the same: masses have been converted.
const SAME: f64 = 1e-12;

/// Choice of atoms by id.
pub(super) fn evaluate(of: &Expression, system: &System, units: UnitSystem) -> Result<Vec<bool>, Fault> {
    AtomProperties::new(system, units).choose(of)
}

/// A hint about the first name in an expression that no atom has, with the nearest that one has.
pub(super) fn unknown_value(of: &Expression, system: &System, units: UnitSystem) -> Option<String> {
    let facts = AtomProperties::new(system, units);
    match of {
        Expression::Text(text, values) => values.iter().find_map(|value| facts.unknown(*text, value)),
        Expression::And(parts) | Expression::Or(parts) => {
            parts.iter().find_map(|part| unknown_value(part, system, units))
        }
        Expression::Not(inner) | Expression::Within(_, inner, _) | Expression::Same(_, inner, _) => {
            unknown_value(inner, system, units)
        }
        Expression::Class(_) | Expression::Groups(_) | Expression::Ranges(..) | Expression::Compare(..) => {
            None
        }
    }
}

/// Ranges in ascending order, those that overlap joined.
fn joined(ranges: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable_by(|[a, _], [b, _]| a.total_cmp(b));
    let mut joined: Vec<[f64; 2]> = Vec::new();
    for [from, to] in sorted {
        match joined.last_mut() {
            Some([_, end]) if from <= *end => *end = end.max(to),
            _ => joined.push([from, to]),
        }
    }
    joined
}

/// A system as selections see it, atom by atom in the order of ids.
struct AtomProperties<'a> {
    system: &'a System,
    units: UnitSystem,
    /// Index of each atom in storage.
    index_by_id: IdIndex,
    molecules: OnceCell<Molecules>,
    /// Kind of each residue.
    residues: OnceCell<Vec<Polymer>>,
}

/// Polymer that a residue is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Polymer {
    Protein,
    Nucleic,
    Other,
}

impl<'a> AtomProperties<'a> {
    fn new(system: &'a System, units: UnitSystem) -> Self {
        let index_by_id = system.state.index_by_id();
        AtomProperties { system, units, index_by_id, molecules: OnceCell::new(), residues: OnceCell::new() }
    }

    fn choose(&self, of: &Expression) -> Result<Vec<bool>, Fault> {
        let each = |chosen: &dyn Fn(usize) -> bool| (0..self.index_by_id.len()).map(chosen).collect();
        Ok(match of {
            Expression::Class(class) => self.class(*class),
            Expression::Text(text, values) => {
                values.iter().try_for_each(|value| self.check(*text, value))?;
                each(&|id| values.iter().any(|value| value.fits(self.text(*text, id))))
            }
            Expression::Groups(values) => self.groups(values)?,
            Expression::Ranges(number, ranges, span) => {
                let (numbers, ranges) = (self.numbers(*number, span)?, joined(ranges));
                each(&|id| {
                    let x = numbers[id];
                    let begun = ranges.partition_point(|[from, _]| *from < x || near(*from, x));
                    ranges[..begun].last().is_some_and(|[_, to]| x < *to || near(x, *to))
                })
            }
            Expression::Compare(number, comparison, with, span) => {
                let numbers = self.numbers(*number, span)?;
                each(&|id| comparison.holds(numbers[id], *with))
            }
            Expression::Not(inner) => self.choose(inner)?.into_iter().map(|chosen| !chosen).collect(),
            Expression::And(parts) => self.all_of(parts, |a, b| a && b)?,
            Expression::Or(parts) => self.all_of(parts, |a, b| a || b)?,
            Expression::Within(reach, inner, span) => self.within(*reach, &self.choose(inner)?, span)?,
            Expression::Same(shared, inner, span) => self.same(*shared, &self.choose(inner)?, span)?,
        })
    }

    fn all_of(&self, parts: &[Expression], join: fn(bool, bool) -> bool) -> Result<Vec<bool>, Fault> {
        let mut masks = parts.iter().map(|part| self.choose(part));
        let first = masks.next().unwrap_or(Ok(Vec::new()))?;
        masks.try_fold(first, |a, b| Ok(a.into_iter().zip(b?).map(|(a, b)| join(a, b)).collect()))
    }

    fn residue(&self, id: usize) -> Option<&'a Residue> {
        let atom = self.system.names.atoms.get(id)?;
        self.system.names.residues.get(atom.residue as usize)
    }

    fn species(&self, id: usize) -> &'a str {
        &self.system.species[usize::from(self.system.state.species[self.index_by_id.of(id as u32)])].name
    }

    fn text(&self, text: TextProperty, id: usize) -> &'a str {
        let residue = || self.residue(id);
        match text {
            TextProperty::Name => self.system.names.atoms.get(id).map_or(self.species(id), |atom| &atom.name),
            TextProperty::Element => self.element(id),
            TextProperty::Species => self.species(id),
            TextProperty::ResidueName => residue().map_or("", |r| &r.name),
            TextProperty::Chain => residue().map_or("", |r| &r.chain),
        }
    }

    /// The chemical symbol: as the file says, else by the name of the species; empty where neither tells.
    fn element(&self, id: usize) -> &'a str {
        let known = self.system.names.atoms.get(id).map_or("", |atom| &atom.element);
        if !known.is_empty() {
            return known;
        }
        let name = self.species(id);
        let letters = &name[..name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len())];
        let candidates = [letters, letters.get(..1).unwrap_or_default()];
        candidates.into_iter().find(|symbol| is_symbol(symbol)).unwrap_or_default()
    }

    fn molecules(&self) -> &Molecules {
        let System { topology, species, state, .. } = self.system;
        self.molecules.get_or_init(|| Molecules::new(topology, species, state))
    }

    fn needs_residues(&self, span: &Range<usize>) -> Result<(), Fault> {
        match self.system.names.residues.is_empty() {
            true => Err(Fault::new(
                span.clone(),
                "the atoms of this system have no residues",
                "species, index, molecule and coordinates are known",
            )),
            false => Ok(()),
        }
    }

    fn needs_chains(&self, span: &Range<usize>) -> Result<(), Fault> {
        self.needs_residues(span)?;
        match self.system.names.residues.iter().all(|residue| residue.chain.is_empty()) {
            true => Err(Fault::new(
                span.clone(),
                "the atoms of this system have no chains",
                "a PSF, or coordinates from a PDB or mmCIF file, may have them; resid, residue and molecule are known",
            )),
            false => Ok(()),
        }
    }

    /// Refuses names that are not there at all.
    fn check(&self, text: TextProperty, value: &NameValue) -> Result<(), Fault> {
        match text {
            TextProperty::ResidueName => self.needs_residues(&value.span),
            TextProperty::Chain => self.needs_chains(&value.span),
            TextProperty::Species => match self.system.species.iter().any(|s| value.fits(&s.name)) {
                true => Ok(()),
                false => {
                    let names = || self.system.species.iter().map(|s| s.name.as_str());
                    let otherwise = format!("the species are {}", names().collect::<Vec<_>>().join(", "));
                    let message = format!("there is no species \"{}\"", value.name);
                    Err(Fault::new(value.span.clone(), message, meant(&value.name, names(), &otherwise)))
                }
            },
            TextProperty::Name | TextProperty::Element => Ok(()),
        }
    }

    fn groups(&self, values: &[NameValue]) -> Result<Vec<bool>, Fault> {
        let mut mask = vec![false; self.index_by_id.len()];
        let groups = || self.system.groups.iter().filter(|group| !group.name.is_empty());
        for value in values {
            let mut any = false;
            for group in groups().filter(|group| value.fits(&group.name)) {
                group.atoms.iter().for_each(|id| mask[*id as usize] = true);
                any = true;
            }
            if !any {
                let names: Vec<&str> = groups().map(|group| group.name.as_str()).collect();
                let otherwise = match names[..] {
                    [] => "add [[group]] with name and atoms".to_string(),
                    _ => format!("the groups before it are {}", names.join(", ")),
                };
                let message = format!("there is no group \"{}\"", value.name);
                let hint = meant(&value.name, names.into_iter(), &otherwise);
                return Err(Fault::new(value.span.clone(), message, hint));
            }
        }
        Ok(mask)
    }

    fn unknown(&self, text: TextProperty, value: &NameValue) -> Option<String> {
        let known: HashSet<&str> = (0..self.index_by_id.len()).map(|id| self.text(text, id)).collect();
        if known.iter().any(|name| value.fits(name)) {
            return None;
        }
        let mut known: Vec<&str> = known.into_iter().collect();
        known.sort_unstable();
        let missing = format!("nothing is called \"{}\"", value.name);
        Some(format!(
            "{missing}{}",
            match meant(&value.name, known.into_iter(), "") {
                near if near.is_empty() => near,
                near => format!(": {near}"),
            }
        ))
    }

    fn numbers(&self, number: Number, span: &Range<usize>) -> Result<Vec<f64>, Fault> {
        let System { simbox, state, names, .. } = self.system;
        let each = |of: &dyn Fn(usize) -> f64| (0..self.index_by_id.len()).map(of).collect();
        Ok(match number {
            Number::Index => each(&|id| id as f64),
            Number::Serial => each(&|id| (id + 1) as f64),
            Number::ResidueNumber => {
                self.needs_residues(span)?;
                each(&|id| self.residue(id).map_or(f64::NAN, |r| f64::from(r.number)))
            }
            Number::Residue => {
                self.needs_residues(span)?;
                each(&|id| names.atoms.get(id).map_or(f64::NAN, |atom| f64::from(atom.residue)))
            }
            Number::Molecule => self.molecules().of_atoms().iter().map(|m| f64::from(*m)).collect(),
            Number::Coordinate(axis) => each(&|id| {
                let (mut position, mut image) = (state.position[self.index_by_id.of(id as u32)], [0; 3]);
                simbox.wrap(&mut position, &mut image);
                position[axis]
            }),
            Number::Mass => {
                each(&|id| self.units.mass_to_user(self.system.mass(self.index_by_id.of(id as u32))))
            }
            Number::Charge => each(&|id| self.system.charge(self.index_by_id.of(id as u32))),
            Number::Occupancy => self.column(&names.occupancy, ["occupancies", "occupancy"], span)?,
            Number::BFactor => self.column(&names.b_factor, ["B factors", "B factor"], span)?,
        })
    }

    /// Numbers of a column of the file, which every atom must have.
    fn column(&self, column: &[f64], [all, one]: [&str; 2], span: &Range<usize>) -> Result<Vec<f64>, Fault> {
        if column.len() != self.index_by_id.len() {
            let message = format!("the atoms of this system have no {all}");
            return Err(Fault::new(span.clone(), message, "coordinates from a PDB or mmCIF file have them"));
        }
        match column.iter().position(|x| x.is_nan()) {
            Some(id) => {
                let message = format!("{} has no {one}", self.system.names.describe(id as u32));
                Err(Fault::new(span.clone(), message, "give it a number in its column of the file"))
            }
            None => Ok(column.to_vec()),
        }
    }

    fn class(&self, class: Class) -> Vec<bool> {
        let each = |of: &dyn Fn(usize) -> bool| (0..self.index_by_id.len()).map(of).collect();
        let name = |id| self.text(TextProperty::Name, id);
        let polymer = |id: usize| {
            let residue = self.system.names.atoms.get(id).map(|atom| atom.residue as usize);
            residue.and_then(|r| self.polymers().get(r).copied()).unwrap_or(Polymer::Other)
        };
        let backbone = |id: usize| match polymer(id) {
            Polymer::Protein => among(PROTEIN_BACKBONE, name(id)),
            Polymer::Nucleic => among(NUCLEIC_BACKBONE, name(id)),
            Polymer::Other => false,
        };
        match class {
            Class::All => each(&|_| true),
            Class::Nothing => each(&|_| false),
            Class::Protein => each(&|id| polymer(id) == Polymer::Protein),
            Class::Nucleic => each(&|id| polymer(id) == Polymer::Nucleic),
            Class::Backbone => each(&backbone),
            Class::Sidechain => each(&|id| polymer(id) != Polymer::Other && !backbone(id)),
            Class::Hydrogen => each(&|id| matches!(self.element(id), "H" | "D")),
            Class::Ion => {
                let sizes = self.tally(|_| 1);
                let molecule = self.molecules().of_atoms();
                let charged = |id: usize| self.system.charge(self.index_by_id.of(id as u32)) != 0.0;
                each(&|id| sizes[molecule[id] as usize] == 1 && charged(id))
            }
            Class::Water => {
                // An oxygen and two hydrogens; sites without an element do not count.
                let atoms = self.tally(|id| match self.element(id) {
                    "O" => 1,
                    "H" | "D" => 1 << 16,
                    "" => 0,
                    _ => 1 << 32,
                });
                let molecule = self.molecules().of_atoms();
                let is_water = |id: usize| atoms[molecule[id] as usize] == 1 + (2 << 16);
                each(&|id| match self.residue(id) {
                    Some(residue) if among(WATERS, &residue.name) => true,
                    _ => is_water(id),
                })
            }
        }
    }

    /// Sum over the atoms of each molecule.
    fn tally(&self, of: impl Fn(usize) -> u64) -> Vec<u64> {
        let mut sums = vec![0; self.molecules().count()];
        for (id, molecule) in self.molecules().of_atoms().iter().enumerate() {
            sums[*molecule as usize] += of(id);
        }
        sums
    }

    fn polymers(&self) -> &[Polymer] {
        self.residues.get_or_init(|| {
            let names = &self.system.names;
            // Atoms of this list that each residue has.
            const MARKS: [&str; 6] = ["N", "CA", "C", "O", "C1'", "O4'"];
            let mut has = vec![0u8; names.residues.len()];
            for atom in &names.atoms {
                let mark = MARKS.iter().position(|mark| *mark == atom.name);
                if let (Some(mark), Some(has)) = (mark, has.get_mut(atom.residue as usize)) {
                    *has |= 1 << mark;
                }
            }
            let polymer = |(residue, has): (&Residue, u8)| match residue.name.as_str() {
                name if among(AMINO_ACIDS, name) || has & 0b1111 == 0b1111 => Polymer::Protein,
                name if among(NUCLEOTIDES, name) || has & 0b11_0000 == 0b11_0000 => Polymer::Nucleic,
                _ => Polymer::Other,
            };
            names.residues.iter().zip(has).map(polymer).collect()
        })
    }

    fn within(&self, reach: f64, of: &[bool], span: &Range<usize>) -> Result<Vec<bool>, Fault> {
        let System { simbox, state, .. } = self.system;
        let position = |id: usize| state.position[self.index_by_id.of(id as u32)];
        let centers: Vec<Vec3> = (0..of.len()).filter(|id| of[*id]).map(position).collect();
        if centers.is_empty() {
            return Ok(vec![false; of.len()]);
        }
        // No two atoms are further apart than this, so that images beyond need no search.
        let extent = |k: usize| {
            let along = || state.position.iter().map(|r| r[k]);
            let edge = simbox.edges()[k].iter().map(|x| x * x).sum::<f64>().sqrt();
            if simbox.periodic()[k] {
                edge
            } else {
                along().fold(0.0, f64::max) - along().fold(0.0, f64::min)
            }
        };
        let farthest = (0..3).map(extent).sum::<f64>();
        let cells = Cells::new(simbox, &centers, reach.min(farthest.max(f64::MIN_POSITIVE)));
        let cells = cells.map_err(|e| Fault::new(span.clone(), e.message(), e.help().unwrap_or_default()))?;
        let is_near = |id: usize| {
            let mut near = of[id];
            if !near {
                cells.around(position(id), |_, _| near = true);
            }
            near
        };
        Ok((0..of.len()).map(is_near).collect())
    }

    fn same(&self, shared: SharedProperty, of: &[bool], span: &Range<usize>) -> Result<Vec<bool>, Fault> {
        Ok(match shared {
            SharedProperty::Text(text) => {
                match text {
                    TextProperty::ResidueName => self.needs_residues(span)?,
                    TextProperty::Chain => self.needs_chains(span)?,
                    TextProperty::Name | TextProperty::Element | TextProperty::Species => {}
                }
                let there = |id: &usize| of[*id];
                let chosen: HashSet<&str> =
                    (0..of.len()).filter(there).map(|id| self.text(text, id)).collect();
                (0..of.len()).map(|id| chosen.contains(self.text(text, id))).collect()
            }
            SharedProperty::Number(number) => {
                let numbers = self.numbers(number, span)?;
                let chosen: HashSet<u64> =
                    numbers.iter().zip(of).filter(|(_, of)| **of).map(|(x, _)| x.to_bits()).collect();
                numbers.iter().map(|x| chosen.contains(&x.to_bits())).collect()
            }
        })
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * a.abs().max(b.abs())
}

impl NumberComparison {
    fn holds(self, a: f64, b: f64) -> bool {
        match self {
            NumberComparison::Less => a < b && !near(a, b),
            NumberComparison::AtMost => a <= b || near(a, b),
            NumberComparison::More => a > b && !near(a, b),
            NumberComparison::AtLeast => a >= b || near(a, b),
            NumberComparison::Equal => near(a, b),
            NumberComparison::Unequal => !near(a, b),
        }
    }
}

impl NameValue {
    /// Returns true for a name that the pattern means.
    fn fits(&self, name: &str) -> bool {
        match self.spelling {
            Spelling::Literal => self.name == name,
            Spelling::Pattern => fits(self.name.as_bytes(), name.as_bytes()),
        }
    }
}

/// Returns true for a name that is like a pattern, in time that grows with the product of their lengths at most.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Place to go on from if the part behind the last star does not fit.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == b'?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, n) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}
