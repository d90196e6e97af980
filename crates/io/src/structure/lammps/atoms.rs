//! Atoms of a LAMMPS data file: masses and labels of their types, their rows, and their velocities.

use super::style::{self, AtomColumn, Hint, Style};
use super::{DataFile, split_comment};
use crate::structure::same_charge;
use jostle_core::{Result, Vec3};
use std::collections::HashMap;

/// An atom as it stands in the file, and where.
pub(super) struct AtomLine {
    pub id: u64,
    pub kind: usize,
    pub charge: Option<f64>,
    pub position: Vec3,
    pub image: [i32; 3],
    pub lines_at: usize,
}

impl<'a> DataFile<'a> {
    /// A type by number or label, from 0.
    pub(super) fn kind(&self, word: Option<&str>) -> Result<usize> {
        let word = word.ok_or_else(|| self.lines.error("the line ends before the atom type"))?;
        let types = self.masses.len();
        match word.parse::<usize>() {
            Ok(kind) if (1..=types).contains(&kind) => Ok(kind - 1),
            Ok(kind) => Err(self
                .lines
                .error(format!("the atom type {kind} is not one of the {types} of the header"))
                .hint("types count from 1")),
            Err(_) => self.labels.iter().position(|l| l.as_deref() == Some(word)).ok_or_else(|| {
                self.lines
                    .error(format!("\"{word}\" is no atom type"))
                    .hint("types are numbers, or names from a section Atom Type Labels before this one")
            }),
        }
    }

    pub(super) fn masses(&mut self) -> Result<Option<&'a str>> {
        let types = self.masses.len() as u64;
        for k in 0..types {
            let (body, comment) = split_comment(self.row("Masses", k, types)?);
            let mut words = body.split_whitespace();
            let kind = self.kind(words.next())?;
            let mass = self.lines.number(words.next(), "the mass")?;
            if mass <= 0.0 {
                return Err(self.lines.error(format!("the mass {mass} is not greater than zero")));
            }
            self.masses[kind] = Some(mass);
            let name = comment.and_then(|c| c.split_whitespace().next());
            if let (Some(name), None) = (name, &self.labels[kind]) {
                self.labels[kind] = Some(name.to_string());
            }
        }
        Ok(self.lines.next_filled())
    }

    pub(super) fn type_labels(&mut self) -> Result<Option<&'a str>> {
        let types = self.labels.len() as u64;
        for k in 0..types {
            let (body, _) = split_comment(self.row("Atom Type Labels", k, types)?);
            let mut words = body.split_whitespace();
            let kind = self.kind(words.next())?;
            let Some(label) = words.next() else {
                return Err(self.lines.error("the line ends before the label"));
            };
            self.labels[kind] = Some(label.to_string());
        }
        Ok(self.lines.next_filled())
    }

    pub(super) fn atoms(&mut self, hint: Option<&str>) -> Result<Vec<AtomLine>> {
        let hinted = match Hint::new(hint) {
            Hint::Read(style) => Some(style),
            Hint::None => None,
            Hint::Other => {
                let message = format!("the atom style \"{}\" is not read", hint.unwrap_or(""));
                let hint = format!("the styles are {}", style::names());
                return Err(self.lines.error(message).hint(hint));
            }
        };
        let total = self.header.atoms.unwrap_or(0);
        if total == 0 {
            return Err(self.lines.error("the file has 0 atoms"));
        }
        if total > u64::from(u32::MAX) {
            return Err(self.lines.error(format!("the file has {total} atoms, more than 4294967295")));
        }
        let mut atoms = Vec::with_capacity(self.lines.at_most_left().min(total as usize));
        let mut style = hinted;
        for k in 0..total {
            let (body, _) = split_comment(self.row("Atoms", k, total)?);
            let columns = body.split_whitespace().count();
            let style = match style {
                Some(style) => style,
                None => *style.insert(self.guess_style(columns)?),
            };
            atoms.push(self.atom(body, columns, style)?);
        }
        Ok(atoms)
    }

    /// The style of a file that does not name it, where the number of columns leaves one choice.
    fn guess_style(&self, columns: usize) -> Result<Style> {
        match style::with_columns(columns)[..] {
            [style] => Ok(style),
            [] => Err(self
                .lines
                .error(format!("an atom cannot have {columns} columns"))
                .hint("atomic: id type x y z; charge: id type q x y z; full: id molecule type q x y z; each with or without 3 image flags")),
            _ => Err(self
                .lines
                .error("it is not clear what the columns of the atoms are")
                .hint("name the atom style behind the section: \"Atoms # charge\" or \"Atoms # molecular\"")),
        }
    }

    fn atom(&self, body: &str, columns: usize, style: Style) -> Result<AtomLine> {
        let expected = 4 + style.columns.len();
        if columns != expected && columns != expected + 3 {
            return Err(self
                .lines
                .error(format!("an atom of style {} has {columns} columns instead of {expected}", style.name))
                .hint(format!(
                    "{expected}, or {} with image flags; is the atom style right?",
                    expected + 3
                )));
        }
        let mut words = body.split_whitespace();
        let id: u64 = self.lines.parse(words.next(), "the atom id")?;
        let (mut kind, mut charge) = (0, None);
        for column in style.columns {
            match column {
                AtomColumn::Molecule => self.lines.parse::<i64>(words.next(), "the molecule id").map(drop)?,
                AtomColumn::Type => kind = self.kind(words.next())?,
                AtomColumn::Charge => charge = Some(self.lines.number(words.next(), "the charge")?),
            }
        }
        let position = self.lines.vector(&mut words, ["x", "y", "z"])?;
        let mut image = [0; 3];
        if columns > expected {
            for n in &mut image {
                *n = self.lines.parse(words.next(), "the image flag")?;
            }
        }
        Ok(AtomLine { id, kind, charge, position, image, lines_at: self.lines.at() })
    }

    pub(super) fn velocities(&mut self, by_id: &HashMap<u64, usize>) -> Result<Vec<Vec3>> {
        let total = by_id.len() as u64;
        let mut velocities = vec![None; by_id.len()];
        for k in 0..total {
            let (body, _) = split_comment(self.row("Velocities", k, total)?);
            let mut words = body.split_whitespace();
            let id: u64 = self.lines.parse(words.next(), "the atom id")?;
            let velocity = self.lines.vector(&mut words, ["vx", "vy", "vz"])?;
            if words.next().is_some() {
                return Err(self.lines.error("a line of Velocities has more than 4 columns"));
            }
            let place = by_id
                .get(&id)
                .ok_or_else(|| self.lines.error(format!("there is no atom with the id {id}")))?;
            if velocities[*place].replace(velocity).is_some() {
                return Err(self.lines.error(format!("the velocity of the atom {id} is given twice")));
            }
        }
        // All atoms are there: there are as many lines as atoms, and none twice.
        Ok(velocities.into_iter().flatten().collect())
    }
}

/// The charges of types whose atoms have the same one, and those of all atoms where others have not.
pub(super) fn charges(atoms: &[AtomLine], types: usize) -> (Vec<Option<f64>>, Vec<f64>) {
    let mut of_types: Vec<Option<f64>> = vec![None; types];
    let mut uniform = vec![true; types];
    for atom in atoms {
        if let Some(charge) = atom.charge {
            let known = *of_types[atom.kind].get_or_insert(charge);
            uniform[atom.kind] &= same_charge(charge, known);
        }
    }
    if uniform.iter().all(|uniform| *uniform) {
        return (of_types, Vec::new());
    }
    let of_types = of_types.into_iter().zip(uniform).map(|(charge, uniform)| charge.filter(|_| uniform));
    (of_types.collect(), atoms.iter().map(|atom| atom.charge.unwrap_or(0.0)).collect())
}
