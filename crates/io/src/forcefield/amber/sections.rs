//! Sections of a prmtop: their fields, and whether there are as many as the file says elsewhere.

use super::format::FieldFormat;
use crate::structure::Lines;
use jostle_core::{Error, Result};
use std::collections::HashMap;
use std::path::Path;

const POINTERS: &str = "POINTERS";

/// Numbers of POINTERS in all files; later programs have added more.
const FEWEST_POINTERS: usize = 30;

const LOST: &str = "lines of the file are missing, or too many";

/// Fields of so many items.
type FieldsOf = fn(usize) -> usize;

/// Sections, the index in POINTERS of the number of their items, and how many fields so many items have.
const COUNTS: [(&str, usize, FieldsOf); 26] = [
    ("ATOM_NAME", 0, each::<1>),
    ("CHARGE", 0, each::<1>),
    ("MASS", 0, each::<1>),
    ("ATOM_TYPE_INDEX", 0, each::<1>),
    ("NUMBER_EXCLUDED_ATOMS", 0, each::<1>),
    ("AMBER_ATOM_TYPE", 0, each::<1>),
    ("RESIDUE_LABEL", 11, each::<1>),
    ("RESIDUE_POINTER", 11, each::<1>),
    ("NONBONDED_PARM_INDEX", 1, pairs_in_order),
    ("LENNARD_JONES_ACOEF", 1, pairs),
    ("LENNARD_JONES_BCOEF", 1, pairs),
    ("HBOND_ACOEF", 19, each::<1>),
    ("HBOND_BCOEF", 19, each::<1>),
    ("BONDS_INC_HYDROGEN", 2, each::<3>),
    ("BONDS_WITHOUT_HYDROGEN", 12, each::<3>),
    ("ANGLES_INC_HYDROGEN", 4, each::<4>),
    ("ANGLES_WITHOUT_HYDROGEN", 13, each::<4>),
    ("DIHEDRALS_INC_HYDROGEN", 6, each::<5>),
    ("DIHEDRALS_WITHOUT_HYDROGEN", 14, each::<5>),
    ("BOND_FORCE_CONSTANT", 15, each::<1>),
    ("BOND_EQUIL_VALUE", 15, each::<1>),
    ("ANGLE_FORCE_CONSTANT", 16, each::<1>),
    ("ANGLE_EQUIL_VALUE", 16, each::<1>),
    ("DIHEDRAL_FORCE_CONSTANT", 17, each::<1>),
    ("DIHEDRAL_PERIODICITY", 17, each::<1>),
    ("DIHEDRAL_PHASE", 17, each::<1>),
];

/// Sections of names, of which one may be blank.
const NAMES: [&str; 3] = ["ATOM_NAME", "RESIDUE_LABEL", "AMBER_ATOM_TYPE"];

/// Sections whose numbers are found by an index, behind which programs leave those of types that are gone (ParmEd).
const OR_MORE: [&str; 4] = ["LENNARD_JONES_ACOEF", "LENNARD_JONES_BCOEF", "HBOND_ACOEF", "HBOND_BCOEF"];

/// Divisors of 1-4 pairs by types of dihedrals; files before AMBER 11 have none of both.
const SCALES: [&str; 2] = ["SCEE_SCALE_FACTOR", "SCNB_SCALE_FACTOR"];

fn each<const N: usize>(n: usize) -> usize {
    n.saturating_mul(N)
}

fn pairs_in_order(n: usize) -> usize {
    n.saturating_mul(n)
}

/// Number of pairs of types, those of a type with itself among them.
fn pairs(n: usize) -> usize {
    n.saturating_mul(n.saturating_add(1)) / 2
}

/// A section: the text of its format, the line of its first field, and the lines themselves.
struct PrmtopSection<'a> {
    format: &'a str,
    line: usize,
    lines: Vec<&'a str>,
}

pub(super) struct PrmtopFile<'a> {
    pub path: &'a Path,
    sections: HashMap<&'a str, PrmtopSection<'a>>,
}

impl<'a> PrmtopFile<'a> {
    /// Sections of the text of a file.
    pub fn new(path: &'a Path, text: &'a str) -> Result<Self> {
        let mut lines = Lines::new(path, text);
        let mut sections = HashMap::new();
        let mut name = None;
        while let Some(line) = lines.next() {
            if let Some(flag) = line.strip_prefix("%FLAG") {
                name = Some(flag.trim());
            } else if let Some(format) = line.strip_prefix("%FORMAT") {
                let name = name.ok_or_else(|| lines.error("a format without a %FLAG before it"))?;
                let section = PrmtopSection { format, line: lines.at() + 1, lines: Vec::new() };
                if sections.insert(name, section).is_some() {
                    return Err(lines.error(format!("the file has a second section {name}")));
                }
            } else if let Some(section) = name.and_then(|name| sections.get_mut(name)) {
                section.lines.push(line);
            }
        }
        Ok(PrmtopFile { path, sections })
    }

    /// Returns true where the file has a section.
    pub fn has(&self, section: &str) -> bool {
        self.sections.contains_key(section)
    }

    /// An error at the start of a section.
    pub fn error(&self, section: &str, message: impl Into<String>) -> Error {
        match self.sections.get(section) {
            Some(found) => Error::file_line(self.path, found.line, message),
            None => Error::file(self.path, message),
        }
    }

    /// The fields of a section with the numbers of their lines; none where it is missing.
    fn fields(&self, name: &str) -> Result<Vec<(usize, &'a str)>> {
        let Some(section) = self.sections.get(name) else { return Ok(Vec::new()) };
        let format = FieldFormat::new(section.format).ok_or_else(|| {
            let message = format!("the format {} of {name} is not read", section.format.trim());
            Error::file_line(self.path, section.line - 1, message)
                .hint("formats are such as (10I8) and (5E16.8)")
        })?;
        // Comments between sections are no fields.
        let lines = (section.line..).zip(&section.lines).filter(|(_, line)| !line.starts_with('%'));
        let fields = lines.map(|(k, line)| format.fields(line).into_iter().map(move |field| (k, field)));
        Ok(fields.flatten().collect())
    }

    /// The numbers of a section that may be missing.
    pub fn optional<T: std::str::FromStr>(&self, name: &str) -> Result<Vec<T>> {
        let fields = self.fields(name)?.into_iter().filter(|(_, field)| !field.trim().is_empty());
        let number = |(line, field): (usize, &str)| {
            field.trim().parse().map_err(|_| {
                Error::file_line(self.path, line, format!("\"{}\" in {name} is no number", field.trim()))
            })
        };
        fields.map(number).collect()
    }

    /// The numbers of a section.
    pub fn numbers<T: std::str::FromStr>(&self, name: &str) -> Result<Vec<T>> {
        if !self.has(name) {
            return Err(Error::file(self.path, format!("the file has no section {name}"))
                .hint("topologies of AMBER 7 and later are read"));
        }
        self.optional(name)
    }

    /// Numbers of a section, of which there must be `n`.
    pub fn exactly<T: std::str::FromStr>(&self, name: &str, n: usize) -> Result<Vec<T>> {
        let numbers = self.numbers(name)?;
        match numbers.len() {
            found if found == n => Ok(numbers),
            found => Err(self.error(name, format!("{name} has {found} numbers, not {n}"))),
        }
    }

    /// Periodicities of dihedrals, which are whole numbers; the sign of some says that another term follows.
    pub fn periodicities(&self) -> Result<Vec<f64>> {
        let name = "DIHEDRAL_PERIODICITY";
        let turns: Vec<f64> = self.numbers(name)?;
        let Some(place) = turns.iter().position(|n| n.fract() != 0.0) else { return Ok(turns) };
        let mut filled = self.fields(name)?.into_iter().filter(|(_, field)| !field.trim().is_empty());
        let line = filled.nth(place).map_or(0, |(line, _)| line);
        let message = format!("the periodicity {} in {name} is no whole number", turns[place]);
        Err(Error::file_line(self.path, line, message))
    }

    /// Refuses sections that are missing, have lost lines, or have more than POINTERS says.
    pub fn check_counts(&self, pointers: &[i64]) -> Result<()> {
        if pointers.len() < FEWEST_POINTERS {
            let message = format!("POINTERS has {} numbers, not {FEWEST_POINTERS} or more", pointers.len());
            return Err(self.error("POINTERS", message).hint(LOST));
        }
        let count = |k: usize| usize::try_from(pointers[k]).unwrap_or(0);
        for (name, pointer, fields) in COUNTS {
            let by = format!("number {} of POINTERS", pointer + 1);
            self.check_count(name, fields(count(pointer)), (POINTERS, &by))?;
        }
        let (types, by) = (count(17), format!("number 18 of {POINTERS}"));
        if let Some(there) = SCALES.iter().find(|name| self.has(name)) {
            let by = format!("{by} and as {there} is there");
            SCALES.iter().try_for_each(|name| self.check_count(name, types, (POINTERS, &by)))?;
        }
        if self.has("ATOMIC_NUMBER") {
            self.check_count("ATOMIC_NUMBER", count(0), (POINTERS, "number 1 of POINTERS"))?;
        }
        if count(27) > 0 {
            self.check_count("SOLVENT_POINTERS", 3, (POINTERS, "number 28 of POINTERS, a box,"))?;
        }
        Ok(())
    }

    /// Refuses maps of two dihedrals of which sections or lines are missing: CMAP_COUNT has the numbers of terms and of
    /// maps.
    pub fn check_maps(&self) -> Result<()> {
        let Some(there) = self.sections.keys().filter(|name| name.starts_with("CMAP_")).min() else {
            return Ok(());
        };
        if !self.has("CMAP_COUNT") {
            let message = format!("the file has a section {there}, but no section CMAP_COUNT");
            return Err(self.error(there, message).hint(LOST));
        }
        let counts: Vec<usize> = self.exactly("CMAP_COUNT", 2)?;
        let by = ("CMAP_COUNT", "CMAP_COUNT");
        self.check_count("CMAP_RESOLUTION", counts[1], by)?;
        self.check_count("CMAP_INDEX", counts[0].saturating_mul(6), by)
    }

    /// Refuses a section that has not the number of fields that another one, in words, says.
    fn check_count(&self, name: &str, expected: usize, (other, by): (&str, &str)) -> Result<()> {
        let mut fields = self.fields(name)?;
        let what = if NAMES.contains(&name) { "names" } else { "numbers" };
        if what == "numbers" {
            fields.retain(|(_, field)| !field.trim().is_empty());
        }
        // Blanks behind the last name are no names.
        while fields.len() > expected && fields.last().is_some_and(|(_, field)| field.trim().is_empty()) {
            fields.pop();
        }
        let found = fields.len();
        let error = match self.has(name) {
            _ if found == expected || (found > expected && OR_MORE.contains(&name)) => return Ok(()),
            true => {
                let message = format!("{name} has {found} {what}, but by {by} it must have {expected}");
                self.error(name, message)
            }
            false => {
                let message =
                    format!("the file has no section {name}, but by {by} it must have {expected} {what}");
                self.error(other, message)
            }
        };
        Err(error.hint(LOST))
    }

    /// Names of `n` things; blank ones where the section is missing.
    pub fn names(&self, name: &str, n: usize) -> Result<Vec<String>> {
        let mut names: Vec<String> = self.fields(name)?.iter().map(|(_, f)| f.trim().to_string()).collect();
        names.resize(n, String::new());
        Ok(names)
    }
}
