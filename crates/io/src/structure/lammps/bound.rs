//! Bonds, angles, dihedrals and impropers of a LAMMPS data file.

use super::{DataFile, split_comment};
use jostle_core::{Angle, Bond, Dihedral, Result, Topology};
use std::collections::HashMap;

/// Beginning of the names of types of impropers.
const IMPROPER: &str = "improper-";

/// Numbers of bonds, angles, dihedrals or impropers and of their types.
#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    pub members: u64,
    pub types: u64,
}

/// Lists of bonded atoms, which are read alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BondedList {
    Bonds = 0,
    Angles = 1,
    Dihedrals = 2,
    Impropers = 3,
}

impl BondedList {
    /// All lists.
    pub const ALL: [BondedList; 4] =
        [BondedList::Bonds, BondedList::Angles, BondedList::Dihedrals, BondedList::Impropers];

    /// Section of a data file.
    pub fn section(self) -> &'static str {
        ["Bonds", "Angles", "Dihedrals", "Impropers"][self as usize]
    }

    /// Section with labels of types.
    pub fn labels(self) -> &'static str {
        ["Bond Type Labels", "Angle Type Labels", "Dihedral Type Labels", "Improper Type Labels"]
            [self as usize]
    }

    /// Section with coefficients.
    pub fn coefficients(self) -> &'static str {
        ["Bond Coeffs", "Angle Coeffs", "Dihedral Coeffs", "Improper Coeffs"][self as usize]
    }

    /// Name of one.
    pub fn what(self) -> &'static str {
        ["bond", "angle", "dihedral", "improper"][self as usize]
    }

    /// Number of its atoms.
    fn n_atoms(self) -> usize {
        [2, 3, 4, 4][self as usize]
    }
}

/// Bonds, angles, dihedrals or impropers of a file.
#[derive(Default)]
pub(super) struct Members {
    /// Labels by type, from 0.
    pub labels: Vec<Option<String>>,
    /// Type and ids of the atoms, from 0 in their order.
    pub rows: Vec<(u32, Vec<u32>)>,
}

impl<'a> DataFile<'a> {
    pub(super) fn member_labels(&mut self, bound: BondedList) -> Result<Option<&'a str>> {
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

    /// A type by number or label, from 0.
    fn member_type(&self, bound: BondedList, word: Option<&str>) -> Result<u32> {
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

    /// Rows of a list: number, type, ids of the atoms.
    pub(super) fn members(
        &mut self,
        bound: BondedList,
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
            for _ in 0..bound.n_atoms() {
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

    /// Topology of the file. Impropers are dihedrals whose types come behind those of the others.
    pub(super) fn topology(&mut self) -> Topology {
        let [bonds, angles, dihedrals, impropers] = std::mem::take(&mut self.bound);
        let names = |labels: Vec<Option<String>>, before: &'static str| {
            let named = labels.into_iter().enumerate();
            named.map(move |(k, label)| format!("{before}{}", label.unwrap_or_else(|| (k + 1).to_string())))
        };
        let first_improper = dihedrals.labels.len() as u32;
        let later = impropers.rows.into_iter().map(|(kind, atoms)| (first_improper + kind, atoms));
        let all = dihedrals.rows.into_iter().chain(later);
        Topology {
            bonds: members(bonds.rows).map(|(kind, atoms)| Bond { kind, atoms }).collect(),
            angles: members(angles.rows).map(|(kind, atoms)| Angle { kind, atoms }).collect(),
            dihedrals: members(all).map(|(kind, atoms)| Dihedral { kind, atoms }).collect(),
            bond_types: names(bonds.labels, "").collect(),
            angle_types: names(angles.labels, "").collect(),
            dihedral_types: names(dihedrals.labels, "").chain(names(impropers.labels, IMPROPER)).collect(),
            ..Topology::default()
        }
    }
}

/// Rows with as many atoms as their list has.
fn members<const N: usize>(
    rows: impl IntoIterator<Item = (u32, Vec<u32>)>,
) -> impl Iterator<Item = (u32, [u32; N])> {
    rows.into_iter().filter_map(|(kind, atoms)| Some((kind, atoms.try_into().ok()?)))
}
