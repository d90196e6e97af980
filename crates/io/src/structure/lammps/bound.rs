//! Bonds and angles of a LAMMPS data file.

use super::{DataFile, split_comment};
use jostle_core::{Angle, Bond, Result, Topology};
use std::collections::HashMap;

/// Numbers of bonds or angles and of their types.
#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    pub members: u64,
    pub types: u64,
}

/// Bonds or angles, which are read alike.
#[derive(Clone, Copy)]
pub(super) enum BondOrAngle {
    Bonds = 0,
    Angles = 1,
}

impl BondOrAngle {
    pub fn section(self) -> &'static str {
        ["Bonds", "Angles"][self as usize]
    }

    pub fn what(self) -> &'static str {
        ["bond", "angle"][self as usize]
    }
}

/// The bonds or angles of a file.
#[derive(Default)]
pub(super) struct Members {
    /// Labels by type, from 0.
    pub labels: Vec<Option<String>>,
    /// Type and ids of the atoms, from 0 in the order of the file.
    pub rows: Vec<(u32, Vec<u32>)>,
}

impl<'a> DataFile<'a> {
    pub(super) fn member_labels(&mut self, bound: BondOrAngle) -> Result<Option<&'a str>> {
        let types = self.header.bound[bound as usize].types;
        for k in 0..types {
            let (body, _) = split_comment(self.row("the labels", k, types)?);
            let mut words = body.split_whitespace();
            let kind = self.member_type(bound, words.next())?;
            let Some(label) = words.next() else {
                return Err(self.lines.error("the line ends before the label"));
            };
            self.bound[bound as usize].labels[kind as usize] = Some(label.to_string());
        }
        Ok(self.lines.next_filled())
    }

    /// A type of bonds or angles by number or label, from 0.
    fn member_type(&self, bound: BondOrAngle, word: Option<&str>) -> Result<u32> {
        let (what, labels) = (bound.what(), &self.bound[bound as usize].labels);
        let word = word.ok_or_else(|| self.lines.error(format!("the line ends before the {what} type")))?;
        let known = match word.parse::<usize>() {
            Ok(kind) => (1..=labels.len()).contains(&kind).then(|| kind - 1),
            Err(_) => labels.iter().position(|l| l.as_deref() == Some(word)),
        };
        known.map(|kind| kind as u32).ok_or_else(|| {
            self.lines
                .error(format!("\"{word}\" is not one of the {} {what} types of the header", labels.len()))
                .hint("types count from 1, or are names from a section of labels before this one")
        })
    }

    /// Bonds or angles: number, type, ids of the atoms.
    pub(super) fn members(
        &mut self,
        bound: BondOrAngle,
        by_id: &HashMap<u64, usize>,
    ) -> Result<Option<&'a str>> {
        let (section, what) = (bound.section(), bound.what());
        if by_id.is_empty() {
            return Err(self
                .lines
                .error(format!("the {section} come before the Atoms"))
                .hint("put the Atoms section first"));
        }
        let total = self.header.bound[bound as usize].members;
        let mut rows = Vec::with_capacity(self.lines.at_most_left().min(total as usize));
        for k in 0..total {
            let (body, _) = split_comment(self.row(section, k, total)?);
            let mut words = body.split_whitespace();
            self.lines.parse::<u64>(words.next(), &format!("the number of the {what}"))?;
            let kind = self.member_type(bound, words.next())?;
            let mut atoms = Vec::new();
            for _ in 0..2 + bound as usize {
                let id: u64 = self.lines.parse(words.next(), "the atom id")?;
                let place = by_id
                    .get(&id)
                    .ok_or_else(|| self.lines.error(format!("there is no atom with the id {id}")))?;
                if atoms.contains(&(*place as u32)) {
                    return Err(self.lines.error(format!("the atom {id} is there twice")));
                }
                atoms.push(*place as u32);
            }
            if words.next().is_some() {
                return Err(self.lines.error(format!("a line of {section} has too many columns")));
            }
            rows.push((kind, atoms));
        }
        if !std::mem::replace(&mut self.bound[bound as usize].rows, rows).is_empty() {
            return Err(self.lines.error(format!("there is a second {section} section")));
        }
        Ok(self.lines.next_filled())
    }

    pub(super) fn topology(&mut self) -> Topology {
        let [bonds, angles] = std::mem::take(&mut self.bound);
        let names = |labels: Vec<Option<String>>| {
            let named = labels.into_iter().enumerate();
            named.map(|(k, label)| label.unwrap_or_else(|| (k + 1).to_string())).collect()
        };
        let rows = bonds.rows.iter().filter_map(|(kind, atoms)| match atoms[..] {
            [a, b] => Some(Bond { kind: *kind, atoms: [a, b] }),
            _ => None,
        });
        let triples = angles.rows.iter().filter_map(|(kind, atoms)| match atoms[..] {
            [a, b, c] => Some(Angle { kind: *kind, atoms: [a, b, c] }),
            _ => None,
        });
        Topology {
            bonds: rows.collect(),
            angles: triples.collect(),
            bond_types: names(bonds.labels),
            angle_types: names(angles.labels),
            ..Topology::default()
        }
    }
}
